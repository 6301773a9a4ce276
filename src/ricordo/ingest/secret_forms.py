"""The forms that issuers give their keys and tokens, as a table, and the few secrets that span several lines.

A form cannot be mistaken: it has a prefix that nobody else uses, or a shape that no word has. Every expression runs in
time linear in the text: it starts at a literal ``sign``, and what follows is bounded. Secrets that have no form of
their own, such as passwords, are found by what they are assigned to (``secret_assignments``).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from ricordo.frozen import frozen


@frozen
class FoundSecret:
    """A secret: what it is, and where it stands."""

    kind: str
    start: int
    end: int


@frozen
class Form:
    """What secrets of one kind look like; ``group`` is the part that is secret.

    The pattern is tried where one of ``signs`` occurs, because searching for a literal is far faster than matching an
    expression. With ``within``, a sign may be anywhere in the match, and the match holds no space.
    """

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int = 0
    accepts: Callable[[re.Match[str]], bool] | None = None
    within: bool = False


_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Matches a start that is not within a word; the place right behind an escaped line break counts as a start."""
_END = r"(?![A-Za-z0-9_-])"


def _token(kind: str, pattern: str, *signs: str, within: bool = False) -> Form:
    return Form(kind, signs, re.compile(f"{_START}(?:{pattern}){_END}"), within=within)


def _inside(kind: str, pattern: str, *signs: str) -> Form:
    """A form whose first group is the secret; the text around it is kept."""
    return Form(kind, signs, re.compile(pattern), 1)


def _is_jwt(match: re.Match[str]) -> bool:
    """Whether the first part says which algorithm signed or encrypted it."""
    head = match.group(1)
    try:
        read = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(read, dict) and "alg" in read


def _varies(match: re.Match[str]) -> bool:
    """Whether it mixes upper case, lower case and digits, as random letters do and names do not."""
    text = match.group(0)
    return any(c.isdigit() for c in text) and any(c.islower() for c in text) and any(c.isupper() for c in text)


_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

FORMS: tuple[Form, ...] = (
    # clouds
    _token("aws key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _token("aws key", rf"amzn\.mws\.{_UUID}", "amzn.mws."),
    _token("google key", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}", "AIza", "GOCSPX-"),
    _token("google token", r"ya29\.[A-Za-z0-9_-]{20,500}|1//0[A-Za-z0-9_-]{30,200}", "ya29.", "1//0"),
    _inside(
        "azure key",
        r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,90}={0,2})",
        "AccountKey=",
        "SharedAccessKey=",
    ),
    _inside("azure signature", r"[?&;]sig=([A-Za-z0-9%+/_-]{30,150}={0,2})", "?sig=", "&sig=", ";sig="),
    _token("azure secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", "Q~", within=True),
    _token("azure devops token", r"[A-Za-z0-9]{40,80}AZDO[A-Za-z0-9]{4}", "AZDO", within=True),
    _token("digitalocean token", r"do[opr]_v1_[a-f0-9]{64}", "dop_v1_", "doo_v1_", "dor_v1_"),
    _token("alibaba key", r"LTAI[A-Za-z0-9]{16,24}", "LTAI"),
    _token("tencent key", r"AKID[A-Za-z0-9]{32}", "AKID"),
    _token("yandex key", r"AQVN[A-Za-z0-9_-]{35,38}", "AQVN"),
    _token("heroku key", r"HRKU-[A-Za-z0-9_-]{30,70}", "HRKU-"),
    _token("fly token", r"fo1_[A-Za-z0-9_-]{40,60}|fm[12][ar]?_[A-Za-z0-9+/_-]{80,800}={0,2}", "fo1_", "fm1", "fm2"),
    _token("netlify token", r"nf[pcoub]_[A-Za-z0-9]{36,40}", "nfp_", "nfc_", "nfo_", "nfu_", "nfb_"),
    _token(
        "vercel token", r"vercel_blob_rw_[A-Za-z0-9_]{20,80}|vc[pria]k?_[A-Za-z0-9]{50,70}", "vercel_blob_rw_", "vc"
    ),
    _token("cloudflare key", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,160}", "v1.0-"),
    _token("supabase key", r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,60}", "sbp_", "sb_secret_"),
    _token("planetscale secret", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9._=-]{30,70}", "pscale_"),
    _token("neon key", r"napi_[a-z0-9]{60,70}", "napi_"),
    _token("databricks token", r"(?:dapi|dose|dkea)[a-f0-9]{32}(?:-\d)?", "dapi", "dose", "dkea"),
    _token("tailscale key", r"tskey-(?:[a-z]+-)?[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,40}", "tskey-"),
    # code and packages
    _token("github token", r"gh[pousr]_[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github token", r"github_pat_[A-Za-z0-9_]{22,255}", "github_pat_"),
    _token(
        "gitlab token",
        r"gl(?:pat|ptt|dt|rt|rtr|oas|cbt|ft|imt|agent|soat)-[A-Za-z0-9_.-]{20,255}|GR1348941[A-Za-z0-9_-]{20}",
        *("glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "gloas-", "glcbt-"),
        *("glft-", "glimt-", "glagent-", "glsoat-", "GR1348941"),
    ),
    _token("atlassian token", r"ATATT3[A-Za-z0-9_=-]{50,300}|ATBB[A-Za-z0-9]{28,40}", "ATATT3", "ATBB"),
    _token("npm token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token("pypi token", r"pypi-AgE[A-Za-z0-9_-]{50,500}", "pypi-"),
    _token("rubygems key", r"rubygems_[a-f0-9]{48}", "rubygems_"),
    _token("cargo token", r"cio[A-Za-z0-9]{32}", "cio"),
    _token("nuget key", r"oy2[a-z0-9]{43}", "oy2"),
    _token("artifactory key", r"AKC[A-Za-z0-9]{10,90}", "AKC"),
    _token("docker token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,60}", "dckr_"),
    _token("sourcegraph token", r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}", "sgp_"),
    _token("buildkite token", r"bk(?:ua|ct|at)_[a-f0-9]{40}", "bkua_", "bkct_", "bkat_"),
    _token("circleci token", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{20,24}_[a-f0-9]{40}", "CCIPAT_", "CCIPRJ_"),
    _token("sonar token", r"sq[pua]_[a-f0-9]{40}", "sqp_", "squ_", "sqa_"),
    # secrets and infrastructure
    _token(
        "vault token", r"hv[sbr]\.[A-Za-z0-9_-]{24,500}|[sb]\.(?-i:[A-Za-z0-9]{24})", "hvs.", "hvb.", "hvr.", "s.", "b."
    ),
    _token("terraform token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,100}", ".atlasv1.", within=True),
    _token("doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", "dp."),
    _token("pulumi token", r"pul-[a-f0-9]{40}", "pul-"),
    _token("1password token", r"ops_eyJ[A-Za-z0-9+/_-]{100,1500}={0,2}", "ops_eyJ"),
    _token("1password key", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{6}-[A-Z0-9]{5}|[A-Z0-9]{11})(?:-[A-Z0-9]{5}){3}", "A3-"),
    _token("age key", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}", "AGE-SECRET-KEY-1"),
    _token("age key", r"AGE-SECRET-KEY-PQ-1[02-9AC-HJ-NP-Z]{40,80}", "AGE-SECRET-KEY-PQ-1"),
    _inside(
        "wireguard key", r"(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)", "PrivateKey", "PresharedKey"
    ),
    _inside("kubernetes key", r"client-key-data:\s{0,4}([A-Za-z0-9+/]{60,12000}={0,2})", "client-key-data:"),
    _inside("json web key", r"\"(?:d|k)\"\s{0,4}:\s{0,4}\"([A-Za-z0-9_-]{42,600})\"", '"d"', '"k"'),
    _inside(
        "password hash",
        r"(?<![\w$])(\$(?:2[aby]|5|6|y|argon2id?)\$[A-Za-z0-9./+=,$]{30,200})",
        "$2",
        "$5$",
        "$6$",
        "$y$",
        "$argon2",
    ),
    # messages
    _token("slack token", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}", "xox"),
    _token("slack token", r"xapp-\d-[A-Za-z0-9-]{20,250}", "xapp-"),
    _inside(
        "slack webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,200})",
        "hooks.slack.com/",
    ),
    Form(
        "discord token",
        ("M", "N", "O", "mfa."),
        re.compile(
            _START
            + r"(?:[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|mfa\.[A-Za-z0-9_-]{84})"
            + _END
        ),
        accepts=_varies,
    ),
    _inside("discord webhook", r"discord(?:app)?\.com/api/webhooks/\d{15,25}/([A-Za-z0-9_-]{30,100})", "discord"),
    _inside("teams webhook", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,300})", "webhook.office.com"),
    _inside("zapier webhook", r"hooks\.zapier\.com/hooks/catch/(\d{3,12}/[A-Za-z0-9]{5,20})", "hooks.zapier.com/"),
    _token("telegram token", r"\d{8,10}:AA[A-Za-z0-9_-]{32,33}", ":AA", within=True),
    _token("sendgrid key", r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}", "SG."),
    _token("mailgun key", r"key-[a-f0-9]{32}", "key-"),
    _token("mailgun key", r"[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}", "-", within=True),
    _token("mailchimp key", r"[a-f0-9]{32}-us\d{1,2}", "-us", within=True),
    _token("brevo key", r"x(?:keysib|smtpsib)-[a-f0-9]{64}-[A-Za-z0-9]{16}", "xkeysib-", "xsmtpsib-"),
    _token("twilio key", r"SK[a-f0-9]{32}", "SK"),
    _token("facebook token", r"EAA[A-Za-z0-9]{80,300}", "EAA"),
    _token("twitter token", r"A{12,22}[A-Za-z0-9%]{60,110}", "A" * 12),
    # payment and shops
    _token(
        "stripe key",
        r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/]{32,250}",
        "sk_",
        "rk_",
        "pk_",
        "whsec_",
    ),
    _token("shopify token", r"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}", "shp"),
    _token("square token", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{58,62}", "sq0", "EAAA"),
    _token("braintree token", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", "access_token$"),
    _token("razorpay key", r"rzp_(?:live|test)_[A-Za-z0-9]{14,30}", "rzp_"),
    _token(
        "plaid token",
        rf"(?:access|link|public)-(?:production|sandbox|development)-{_UUID}",
        "access-",
        "link-",
        "public-",
    ),
    _token("flutterwave key", r"FLW(?:SECK|PUBK)(?:_TEST)?-[a-f0-9]{12,40}(?:-X)?", "FLWSECK", "FLWPUBK"),
    _token("easypost key", r"EZ[AT]K[A-Za-z0-9]{54}", "EZAK", "EZTK"),
    _token("shippo token", r"shippo_(?:live|test)_[a-f0-9]{40}", "shippo_"),
    # language models
    _token("anthropic key", r"sk-ant-[A-Za-z0-9_-]{20,250}", "sk-ant-"),
    _token("openai key", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}|sk-[A-Za-z0-9]{32,250}", "sk-"),
    _token("openrouter key", r"sk-or-v1-[a-f0-9]{64}", "sk-or-"),
    _token("langfuse key", rf"sk-lf-{_UUID}", "sk-lf-"),
    _token("hugging face token", r"(?:hf|api_org)_[A-Za-z0-9]{34,40}", "hf_", "api_org_"),
    _token("groq key", r"gsk_[A-Za-z0-9]{40,60}", "gsk_"),
    _token("xai key", r"xai-[A-Za-z0-9_-]{60,120}", "xai-"),
    _token("perplexity key", r"pplx-[A-Za-z0-9]{40,60}", "pplx-"),
    _token("replicate token", r"r8_[A-Za-z0-9]{37,40}", "r8_"),
    _token("fireworks key", r"fw_[A-Za-z0-9]{22,40}", "fw_"),
    _token("langsmith key", r"ls(?:v2_(?:pt|sk)|__)_?[a-f0-9]{32}(?:_[a-f0-9]{10})?", "lsv2_", "ls__"),
    _token("pinecone key", r"pcsk_[A-Za-z0-9_]{40,90}", "pcsk_"),
    _token("tavily key", r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{28,60}", "tvly-"),
    _token("nvidia key", r"nvapi-[A-Za-z0-9_-]{50,80}", "nvapi-"),
    Form("voyage key", ("pa-",), re.compile(_START + r"pa-[A-Za-z0-9_-]{40,50}" + _END), accepts=_varies),
    # work
    _token("linear key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,70}", "lin_api_", "lin_oauth_"),
    _token("notion token", r"secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,50}", "secret_", "ntn_"),
    _token("new relic key", r"NR(?:AK|AA|II|IQ|RA|JS|SP|BR)-[A-Za-z0-9-]{19,40}", "NR"),
    _token("new relic key", r"[a-f0-9]{36}NRAL|eu01xx[a-f0-9]{30}NRAL", "NRAL", within=True),
    _token("grafana token", r"glc_[A-Za-z0-9+/]{32,400}={0,2}|glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}", "glc_", "glsa_"),
    _token("grafana key", r"eyJrIjoi[A-Za-z0-9+/]{60,400}={0,2}", "eyJrIjoi"),
    _token("sentry token", r"sntrys_eyJ[A-Za-z0-9+/=_-]{60,500}|sntry[ua]_[a-f0-9]{64}", "sntry"),
    _inside("sentry key", r"https://[a-f0-9]{32}:([a-f0-9]{32})@", "https://"),
    _token("dynatrace token", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "dt0"),
    _token("airtable token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "pat"),
    _token("figma token", r"fig[dour]{1,2}_[A-Za-z0-9_-]{38,50}", "figd_", "figo", "figu", "figr"),
    _token("postman key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "PMAK-"),
    _token("hubspot token", rf"pat-(?:na|eu)\d-{_UUID}", "pat-na", "pat-eu"),
    _token("contentful token", r"CFPAT-[A-Za-z0-9_-]{40,50}", "CFPAT-"),
    _token("typeform token", r"tfp_[A-Za-z0-9_.=-]{40,70}", "tfp_"),
    _token("asana token", r"[12]/\d{13,20}(?:/\d{13,20})?:[a-f0-9]{32}", "1/", "2/"),
    _token("dropbox token", r"sl\.(?:u\.)?[A-Za-z0-9_-]{120,1500}", "sl."),
    _token("okta token", r"SSWS +00[A-Za-z0-9_-]{40}", "SSWS"),
    _token("readme key", r"rdme_[a-z0-9]{70}", "rdme_"),
    _token("prefect key", r"pn[ub]_[A-Za-z0-9]{36}", "pnu_", "pnb_"),
    _token("octopus key", r"API-[A-Z0-9]{26,32}", "API-"),
    _token("adafruit key", r"aio_[A-Za-z0-9]{28}", "aio_"),
    _token("duffel token", r"duffel_(?:live|test)_[A-Za-z0-9_=-]{43}", "duffel_"),
    Form(
        "jwt",
        ("eyJ",),
        re.compile(
            _START + r"(eyJ[A-Za-z0-9_-]{8,4000})\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{8,8000}){1,3}" + _END
        ),
        accepts=_is_jwt,
    ),
)


_FORMS_OF = {sign: [form for form in FORMS if sign in form.signs] for form in FORMS for sign in form.signs}
_SHORTEST = {
    "-": 50, "s.": 26, "b.": 26, "M": 59, "N": 59, "O": 59, "https://": 74, "pat": 82, "figu": 43, "-us": 36,
    "1/": 48, "2/": 48,
}  # fmt: skip
"""For signs that plain texts are full of: how many characters without a space what matches has at least."""
_MOST_PIECES = 100_000
_LONGEST_KEPT = 64
_signless: set[str] = set()
"""Pieces of text without a sign that were met before; texts repeat themselves, so that few are looked at twice."""


def by_form(text: str) -> Iterator[FoundSecret]:
    """Secrets that are known by their form alone."""
    signs = _signs_in(text)
    for form in FORMS if signs else ():
        held = [sign for sign in form.signs if sign in signs]
        if not held:
            continue
        pieces = {piece for sign in held for piece in signs[sign]}
        for match in _within(form, pieces, text) if form.within else _at_signs(form, held, text):
            if form.accepts is None or form.accepts(match):
                yield FoundSecret(form.kind, *match.span(form.group))


def _signs_in(text: str) -> dict[str, list[str]]:
    """The signs at which something may match, with the pieces that hold them. A piece is what stands between spaces."""
    global _signless
    fresh = set(text.split()) - _signless
    together = " ".join(fresh)
    found: dict[str, list[str]] = {}
    signed: set[str] = set()
    for sign in _FORMS_OF:
        if sign in together:
            least = _SHORTEST.get(sign, 0)
            held = [piece for piece in fresh if len(piece) >= least and sign in piece]
            if held:
                found[sign] = held
                signed.update(held)
    if len(_signless) > _MOST_PIECES:
        _signless = set()  # a new one, as other threads may be reading the old
    _signless |= {piece for piece in fresh - signed if len(piece) <= _LONGEST_KEPT}
    return found


def _within(form: Form, pieces: Collection[str], text: str) -> Iterator[re.Match[str]]:
    """What matches in some pieces of a text. Neither a sign nor anything that matches has a space."""
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            end = at + len(piece)
            if text[at - 1 : at].strip() == "" and text[end : end + 1].strip() == "":  # not a part of a longer one
                yield from form.pattern.finditer(text, at, end)
            at = text.find(piece, end)


def _at_signs(form: Form, signs: Sequence[str], text: str) -> Iterator[re.Match[str]]:
    for sign in signs:
        at = text.find(sign)
        while at >= 0:
            match = form.pattern.match(text, at)
            if match:
                yield match
            at = text.find(sign, match.end() if match else at + 1)


_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"(?:(?:\\n|\\r|\s){0,4}+[A-Za-z0-9+/=]{16,128}+)*+")
_LONGEST_KEY = 16_000
_PUTTY = re.compile(
    r"Private-Lines: {0,4}\d{1,4}\s{1,4}(?:[A-Za-z0-9+/=]{1,80}\s{1,4}){1,200}+(?:Private-MAC: ?[a-f0-9]{1,80})?"
)


def private_keys(text: str) -> Iterator[FoundSecret]:
    """Blocks of private keys, also those that were cut off before their end.

    It goes through the text once, because searching for the end from every beginning would take seconds in a text that
    repeats the first line.
    """
    if "PRIVATE KEY" in text:
        ends = _KEY_ENDS.finditer(text)
        end = next(ends, None)
        done = 0
        for begin in _KEY_BEGINS.finditer(text):
            if begin.start() < done:
                continue
            while end is not None and end.start() < begin.end():
                end = next(ends, None)
            if end is not None and end.start() - begin.end() <= _LONGEST_KEY:
                done = end.end()
            else:
                body = _KEY_BODY.match(text, begin.end())
                done = body.end() if body else begin.end()
            yield FoundSecret("private key", begin.start(), done)
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield FoundSecret("private key", *match.span())
