"""Secrets in texts: finding keys, tokens and passwords by rules, and writing a text without them.

The rules are few and meant to be sure of themselves: a token is known by the form its issuer gives it, anything else by
what it is assigned to (``password=``) and by looking made rather than written. Hashes, UUIDs and prose are no secrets.
Nothing is stored here, and a user's file is never written to.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.kinds import REDACTED_KINDS

"""What agents write: here secrets are taken out before anything is stored."""

_START, _END = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"


@frozen
class FoundSecret:
    """A secret: what it is, and where it stands."""

    kind: str
    start: int
    end: int


@frozen
class Rule:
    """A form that secrets of one kind have; ``group`` is the part that is secret, ``signs`` must occur for a match."""

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int = 0
    accepts: Callable[[re.Match[str]], bool] | None = None


def _token(kind: str, pattern: str, *signs: str) -> Rule:
    return Rule(kind, signs, re.compile(f"{_START}(?:{pattern}){_END}"))


def _is_jwt(match: re.Match[str]) -> bool:
    """Whether the first part says which algorithm signed it."""
    head = match.group(1)
    try:
        read = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, binascii.Error):
        return False
    return isinstance(read, dict) and "alg" in read


_TEMPLATE = re.compile(r"^(?:[<\[{$%*].*|.*[>\]}*]|[xX]+|\.+|-+|_+)$")


def _is_no_template(match: re.Match[str]) -> bool:
    return not _TEMPLATE.match(match.group(1))


def _looks_random(match: re.Match[str]) -> bool:
    return is_made_up(match.group(1), shortest=16)


_RULES: tuple[Rule, ...] = (
    Rule(
        "private key",
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]{0,8000}?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\\n|\s){0,4}[A-Za-z0-9+/=]{16,})*+)"
        ),
    ),
    _token("aws key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}|(?:AKIA|ASIA)[A-Z0-9]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _token("github token", r"gh[pousr]_[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github token", r"github_pat_[A-Za-z0-9_]{22,255}", "github_pat_"),
    _token(
        "gitlab token",
        r"gl(?:pat|ptt|dt|rt|oas|cbt|ft)-[A-Za-z0-9_-]{20,255}",
        "glpat-",
        "glptt-",
        "gldt-",
        "glrt-",
        "gloas-",
        "glcbt-",
        "glft-",
    ),
    _token("slack token", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}", "xox", "xapp-"),
    Rule(
        "slack webhook",
        ("hooks.slack.com/",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,})"),
        1,
    ),
    _token("anthropic key", r"sk-ant-[A-Za-z0-9_-]{20,250}", "sk-ant-"),
    _token("openai key", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}|sk-[A-Za-z0-9]{32,250}", "sk-"),
    _token(
        "google key",
        r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,500}",
        "AIza",
        "GOCSPX-",
        "ya29.",
    ),
    _token(
        "stripe key",
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/]{32,250}",
        "k_live_",
        "k_test_",
        "whsec_",
    ),
    _token("npm token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token("pypi token", r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,500}", "pypi-"),
    _token("hugging face token", r"hf_[A-Za-z0-9]{34,40}", "hf_"),
    _token("sendgrid key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", "SG."),
    _token("digitalocean token", r"do[opr]_v1_[a-f0-9]{64}", "_v1_"),
    _token("telegram token", r"\d{8,10}:AA[A-Za-z0-9_-]{33}", ":AA"),
    Rule(
        "jwt",
        ("eyJ",),
        re.compile(_START + r"(eyJ[A-Za-z0-9_-]{8,})\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}" + _END),
        accepts=_is_jwt,
    ),
    Rule(
        "azure key",
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,90}={0,2})"),
        1,
    ),
    Rule(
        "password in url",
        ("://",),
        re.compile(r"://[^\s:/@\"'<>`\[\]]{0,100}:([^\s@/\"'<>`]{1,200})@[^\s@/]"),
        1,
        _is_no_template,
    ),
    Rule("authorization", ("earer ",), re.compile(r"earer +([A-Za-z0-9._~+/-]{16,500}=*)"), 1, _looks_random),
    Rule("authorization", ("asic ",), re.compile(r"asic +([A-Za-z0-9._~+/-]{16,500}=*)"), 1, _looks_random),
)

_STEMS = ("passw", "passphrase", "pwd", "secret", "token", "credential", "key")
_KEYS = re.compile(r"(?i)(?:api|access|auth|encryption|signing|account|secret)[ _.-]?$")
"""What makes a key one that opens something: a sort key or a primary key is none."""
_ASSIGNED = re.compile(
    r"(?i)(?P<name>passw(?:or)?d|passphrase|pwd|secret|token|credentials?|key)(?P<rest>[\w-]{0,30}?)[\"'`*]{0,3}"
    r"(?P<sign>\s{0,3}(?::=|=>|==?|:)\s{0,3}|\s+is:?\s+)"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>\[\]{}(),;|]{6,500})(?P<after>[\"'`(\[]?)"
)
_PASSWORD = re.compile(r"(?i)^(?:passw(?:or)?d|passwd|passphrase|pwd)$")
_UUID = re.compile(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_PART = re.compile(r"[A-Za-z0-9!@#$%^&*+=~?]+")
_KNOWN_WORDS = re.compile(
    r"(?i)^(?:v\d{1,2}\w{0,6}|sha-?\d+\w*|md5\w*|hs\d+|rs\d+|es\d+|utf-?\d+|base\d+\w*|bcrypt\w*|argon2\w*|aes-?\d+\w*"
    r"|rsa-?\d+|ed25519|secp\d+\w\d|x25519|oauth2\w*|pbkdf2\w*|p?k?cs\d+\w*|int\d+|str\d*|http[s12]\w*|i18n|l10n)$"
)


def find_secrets(text: str) -> list[FoundSecret]:
    """The secrets of a text in order; none overlap.

    >>> [finding.kind for finding in find_secrets("key AKIAIOSFODNN7EXAMPLE, commit 9fceb02d0ae598e9")]
    ['aws key']
    """
    found = sorted((*_by_form(text), *_assigned(text)), key=lambda one: (one.start, -one.end))
    apart: list[FoundSecret] = []
    for one in found:
        if apart and one.start < apart[-1].end:
            last = apart[-1]
            apart[-1] = FoundSecret(last.kind, last.start, max(last.end, one.end))
        else:
            apart.append(one)
    return apart


def _by_form(text: str) -> Iterator[FoundSecret]:
    for rule in _RULES:
        if any(sign in text for sign in rule.signs):
            for match in rule.pattern.finditer(text):
                if rule.accepts is None or rule.accepts(match):
                    yield FoundSecret(rule.kind, *match.span(rule.group))


def _assigned(text: str) -> Iterator[FoundSecret]:
    """Values of names such as ``password`` or ``api_key``, where they look like what such a name holds."""
    for place in _names(text):
        match = _ASSIGNED.match(text, place)
        if match is None or match["after"] in ("(", "["):
            continue
        is_password = _PASSWORD.match(match["name"]) is not None and not match["rest"]
        if "is" in match["sign"].lower() and not is_password:
            continue
        value = match["value"] if match["quote"] else match["value"].rstrip(".:")
        if _TEMPLATE.match(value) or _UUID.match(value) or "://" in value:
            continue
        if is_made_up(value, shortest=6 if is_password else 8, signs=is_password) or (
            is_password and _is_pin(value, match["sign"])
        ):
            kind = "password" if _PASSWORD.match(match["name"]) else "secret"
            yield FoundSecret(kind, match.start("value"), match.start("value") + len(value))


def _names(text: str) -> Iterator[int]:
    """Where a name starts that may hold a secret. Plain string search: an expression over all names is far slower."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have longer small forms; places must stay what they are
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            if stem != "key" or _KEYS.search(lower, max(0, at - 12), at):
                yield at
            at = lower.find(stem, at + len(stem))


def _is_pin(value: str, sign: str) -> bool:
    return value.isdigit() and "=" in sign


def is_made_up(value: str, *, shortest: int, signs: bool = False) -> bool:
    """Whether a value looks made by a machine or for a password, rather than a word, a name in code or a number.

    Some run of it must mix letters with digits (or ``signs``), be no known word such as sha256, and vary enough.
    """
    if len(value) < shortest:
        return False
    if _is_dense(value):
        return True
    for part in _PART.findall(value):
        if len(part) >= shortest and _is_mixed(part, signs) and not _KNOWN_WORDS.match(part):
            return _entropy(part) >= min(3.0, math.log2(len(part)) - 0.6)
    return False


_DENSE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/=_-]{24,}")


def _is_dense(value: str) -> bool:
    """Whether it is one long run of all sorts of letters and digits, as base64 is; names in code vary less."""
    return _DENSE.fullmatch(value) is not None and _entropy(value) >= 4.0


def _is_mixed(part: str, signs: bool) -> bool:
    letters = sum(c.isalpha() for c in part)
    digits = sum(c.isdigit() for c in part)
    return letters >= 2 and (digits >= 1 or (signs and not part.strip("=").isalnum()))


def _entropy(text: str) -> float:
    """Bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


_MOST_ROUNDS = 8


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by what it was, and the kinds of what was replaced, in order.

    >>> redact("use AKIAIOSFODNN7EXAMPLE here")
    ('use [redacted: aws key] here', ('aws key',))
    """
    kinds: list[str] = []
    for _ in range(_MOST_ROUNDS):  # what stood right behind one secret may show as another once that is gone
        findings = find_secrets(text)
        if not findings:
            break
        pieces: list[str] = []
        at = 0
        for one in findings:
            pieces += [text[at : one.start], f"[redacted: {one.kind}]"]
            at = one.end
        text = "".join((*pieces, text[at:]))
        kinds += [one.kind for one in findings]
    return text, tuple(kinds)


def redact_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same for every text in a mapping, however deep it stands."""
    kinds: list[str] = []

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            text, found = redact(value)
            kinds.extend(found)
            return text
        if isinstance(value, Mapping):
            return {key: clean(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(clean(inner) for inner in value)
        return value

    return {name: clean(value) for name, value in values.items()}, tuple(kinds)


def redact_item(
    kind: str, text: str, fields: Mapping[str, Any], *, allow_secrets: bool
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Text and fields as they are to be stored, and the kinds of what was taken out; only what agents write changes."""
    if allow_secrets or (kind not in REDACTED_KINDS and fields.get("source") != "agent"):
        return text, dict(fields), ()
    text, in_text = redact(text)
    clean, in_fields = redact_values(fields)
    return text, clean, (*in_text, *in_fields)


def secret_counts(text: str) -> dict[str, int]:
    """How many secrets of each kind stand in a text."""
    return dict(Counter(one.kind for one in find_secrets(text)))
