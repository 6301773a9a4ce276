"""Finds secrets on command lines, in addresses, in the files that programs read them from, in cookies and wallets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ricordo.patterns import late
from ricordo.secrets.forms import OPTIONS, FoundSecret, is_chosen, is_made_up, is_placeholder, listed_words, matches_at

_VALUE = r"[^\s\"'$<>|;()\[\]]"
_IN_URL = late(r"(?:://|sips?:)[^\s:/@\"'<>`\[\]]{0,100}:([^\s@/\"'<>`]{1,200})@[^\s@/]")
_PGPASS = late(r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,64}:[\w-]{1,64}:([^\s:\[]{4,200})$")
_PORT = late(r":(?:\d{2,5}|\*):")
_NETRC = late(
    r"(?:machine\s{1,8}\S{1,200}|default)\s{1,8}login\s{1,8}\S{1,200}\s{1,8}(?:account\s{1,8}\S{1,200}\s{1,8})?password\s{1,8}"
    r"([^\s\[]{1,200})"
)
_PIPED = late(
    rf"(?:echo|printf) +(?:-\w +)?[\"']?(?:[\w.-]{{1,40}}:)?({_VALUE}{{4,200}})[\"']?"
    r" *\| *(?:sudo|chpasswd|passwd|smbpasswd|[^\n|]{0,80}(?:stdin|-fd))"
)
_ASKED = late(rf"pass[\w-]{{0,20}}[= ]{{1,2}}[\"'<(]{{0,3}}echo +({_VALUE}{{4,200}})")
_NET_USE = late(rf"net use [^\n]{{0,150}}?/user:\S{{1,80}} +({_VALUE}{{4,100}})")
_NET_USE_FIRST = late(rf"net use (?:[A-Za-z*]: +)?\\\\\S{{1,100}} +(?!/)({_VALUE}{{4,100}}) +/user:")
_WEP = late(rf"iwconfig \w{{1,20}} key (?:restricted |open )?s:({_VALUE}{{4,64}})")
_WITH_USER = late(rf"-U ?[\"']?[\w.\\-]{{1,60}}%({_VALUE}{{3,100}})")
_ORACLE = late(r"(?:(?:sqlplus|expdp|impdp|sqlldr) [^\n/]{0,60}|oracle:(?:thin|oci):\w{1,60})/([^\s@/\"'$<>]{3,100})@")
_OPENSSL = late(rf"-pass(?:in|out|word)? +pass:({_VALUE}{{4,100}})")
_HTPASSWD = late(rf"htpasswd +-\w{{0,6}}b\w{{0,6}} +(?:[^\s]{{1,100}} +){{1,2}}({_VALUE}{{4,100}}) *(?=\n|$)")
_PASSWD = late(rf"(?:passwd|net user) +[\w.-]{{1,40}} +({_VALUE}{{4,100}})")
_HERE_STRING = late(rf"chpasswd *<<< *[\"']?[\w.-]{{1,40}}:({_VALUE}{{4,100}})")
_SET_FOR = late(r"(?i)password for [^\n=]{1,80}= *(?:password\()?['\"]([^'\"\n]{4,100})['\"]")
_AUTH_PAIR = late(r"auth=\(\s{0,4}[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,4}[\"']([^\"'\n]{4,100})[\"']")
_COMMUNITY = late(r"(?:snmp-server |r[ow])community +([^\s\"'<>\[]{4,100})")
_SECURE_STRING = late(r"SecureString +(?:-String +)?[\"']([^\"'$\n]{4,100})[\"']")
_CALL = late(
    r"(?:login|auth|authenticate|sign_?in|wifi\.begin)\(\s{0,4}[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,4}[\"']([^\"'\n]{4,100})[\"']",
    re.IGNORECASE,
)
_KEYED = late(r"(?:Fernet|SecretKeySpec|AES\.new|hmac\.new|SigningKey)\(\s{0,4}b?[\"']([^\"'\n]{8,200})[\"']")
_SIGNED = late(
    r"(?i)jwt\.(?:sign|verify|encode|decode)\(\s{0,4}(?:\{[^{}\n]{0,150}\}|[^\s\"'{}(),]{1,60}),\s{0,4}[\"']([^\"'\n]{6,200})[\"']"
)
_PAIRED = late(
    r"(?:reds|redentials|ogins?|ugangsdaten|dentifiants|redenciales)\b[^\n:/-]{0,20}?[:\s]\s?[\w.@+-]{2,40}\s?[:/]\s?"
    r"([^\s\"'`<>|,;()\[\]]{6,80})"
)
_LOOSE = (
    ("password in url", ("://", "sip:", "sips:"), _IN_URL),
    ("password", ("login(", "Login(", "auth(", "Auth(", "authenticate(", "sign_in(", "signIn(", "WiFi.begin("), _CALL),
    ("password", ("reds", "redentials", "ogin", "ugangsdaten", "dentifiants", "redenciales"), _PAIRED),
    ("password", ("echo ", "printf "), _PIPED),
    ("password", ("password", "passphrase"), _ASKED),
    ("password", ("net use ",), _NET_USE),
    ("password", ("net use ",), _NET_USE_FIRST),
    ("password", ("iwconfig ",), _WEP),
    ("secret", ("jwt.", "JWT."), _SIGNED),
    ("password", ("-U",), _WITH_USER),
    ("password", ("sqlplus ", "expdp ", "impdp ", "sqlldr ", "oracle:thin:", "oracle:oci:"), _ORACLE),
    ("password", ("-pass",), _OPENSSL),
    ("password", ("htpasswd",), _HTPASSWD),
    ("password", ("passwd ", "net user "), _PASSWD),
    ("password", ("chpasswd",), _HERE_STRING),
    ("password", ("PASSWORD FOR ", "password for "), _SET_FOR),
    ("password", ("auth=(",), _AUTH_PAIR),
    ("password", ("snmp-server community ", "rocommunity ", "rwcommunity "), _COMMUNITY),
    ("password", ("machine", "default"), _NETRC),
    ("password", ("SecureString ",), _SECURE_STRING),
    ("secret", ("Fernet(", "SecretKeySpec(", "AES.new(", "hmac.new(", "SigningKey("), _KEYED),
)
"""What an expression starts with, so that it is tried only there. Searching for a literal is far faster."""
_MUST_LOOK_CHOSEN = (_CALL, _PAIRED, _COMMUNITY, _KEYED, _SIGNED, _PASSWD, _AUTH_PAIR)
_NO_PASSWORDS = frozenset({"pass", "pw", "passwd", "password", "pwd"})
_AUTHORIZATION = late(r"(?:earer|EARER|asic|ASIC|oken|SSWS|[Aa]pi[Kk]ey) {1,4}([A-Za-z0-9._~+/-]{16,500}={0,2})")
_AUTHORIZATION_SIGNS = ("earer ", "EARER ", "asic ", "ASIC ", "oken ", "SSWS ", "apikey ", "apiKey ", "ApiKey ")
_USER = late(r"(?:-u|--user|--proxy-user|-U)[ =]{0,2}[\"']?[^\s:\"'<>$]{1,100}:([^\s\"'<>$]{3,200})")


COMMAND_SIGNS = (*(sign for _, signs, _ in _LOOSE for sign in signs), *_AUTHORIZATION_SIGNS, "curl")


def in_commands(text: str, held: Collection[str]) -> Iterator[FoundSecret]:
    """Passwords in addresses, on command lines and in the files that programs read them from."""
    for kind, signs, pattern in _LOOSE if held else ():
        for match in matches_at([sign for sign in signs if sign in held], pattern, text):
            value = match[1]
            if value.lower() in _NO_PASSWORDS or is_placeholder(value):
                continue
            if (
                pattern not in _MUST_LOOK_CHOSEN
                or ("/" not in value and is_chosen(value))
                or is_made_up(value, shortest=16)
            ):
                yield FoundSecret(kind, *match.span(1))
    if _PORT.search(text):  # found faster than the beginning of every line
        for match in _PGPASS.finditer(text):
            if not is_placeholder(match[1]):
                yield FoundSecret("password", *match.span(1))
    for match in matches_at([sign for sign in _AUTHORIZATION_SIGNS if sign in held], _AUTHORIZATION, text):
        if is_made_up(match.group(1), shortest=16):
            yield FoundSecret("authorization", *match.span(1))
    if "curl" in held:
        for match in _USER.finditer(text):
            value = match.group(1)
            if "curl" in _line_before(text, match.start()) and not is_placeholder(value) and value.lower() != "pass":
                yield FoundSecret("password", *match.span(1))
    if " -" in text or " /p:" in text:
        yield from _in_options(text)


def _line_before(text: str, at: int) -> str:
    return text[max(0, at - 300) : at].rpartition("\n")[2]


_OPTION = late(
    r" (-(?:pw|hp|[pPawskKcAXN])|/p:)( ?)"
    r"(?:\"([^\"$\n]{4,100})\"|'([^'\n]{4,100})'|([^\s\"'$<>|;()\[\]=-][^\s\"'$<>|;()\[\]]{3,100}))"
)
_NAMES_A_USER = late(r" (?:-[uUD]|--user(?:name)?)[ =]?\S")


def _in_options(text: str) -> Iterator[FoundSecret]:
    """The values of short options by which programs take passwords; an unknown program must be given a user, too."""
    for match in _OPTION.finditer(text):
        option, is_apart, group = match[1], bool(match[2]), match.lastindex or 0
        value = match[group]
        if is_placeholder(value) or value[0] in "-/.~":
            continue
        line = _line_before(text, match.start())
        taken = {how for program in OPTIONS.keys() & set(line.split()) for how in OPTIONS[program]}
        if option in taken or (not is_apart and option + "…" in taken):
            is_password = not value.isdigit() or len(value) > 5
        else:
            is_password = is_apart and ":" not in value and bool(_NAMES_A_USER.search(line)) and is_chosen(value)
        if is_password:
            yield FoundSecret("password", *match.span(group))


_COOKIE = late(r"(?i)(?:cookie:|--cookie|-b)[ \t=]{0,3}[\"']?([^\n\r]{1,4000})")
_PAIR = late(r"[\w.-]{1,80}=(\"?)([^\s;,\"'\[\]]{12,2000})")


def in_cookies(text: str) -> Iterator[FoundSecret]:
    """Values of cookies that look random, after ``Cookie:`` or the option of a command."""
    if "ookie" not in text and "OOKIE" not in text and "curl" not in text:
        return
    for line in _COOKIE.finditer(text):
        if line.group(0).startswith("-b") and "curl" not in text[max(0, line.start() - 300) : line.start()]:
            continue
        for pair in _PAIR.finditer(text, line.start(1), line.end(1)):
            if is_made_up(pair.group(2), shortest=12):
                yield FoundSecret("cookie", *pair.span(2))


_WALLET = late(
    r"(?i)\b(?:seed|recovery|mnemonic|backup|wallet)\b[ _-]?(?:phrase|words?|mnemonic|seed|key)?\b(?: is\b| are\b)?"
)
WALLET_SIGNS = ("seed", "recovery", "mnemonic", "backup", "wallet")
_WALLET_WORD = late(r"[\s,\"'`:=.\d)*-]{1,12}([a-z]{3,8})(?![A-Za-z])")
_WORD_COUNTS = (24, 21, 18, 15, 12)
_PROSE = listed_words("prose")


def wallet_words(text: str, stems: Collection[str]) -> Iterator[FoundSecret]:
    """Twelve to twenty-four small words after "seed phrase", "recovery words" and the like."""
    if not any(sign in stems for sign in WALLET_SIGNS):
        return
    done = 0
    for label in _WALLET.finditer(text):
        if label.start() < done:
            continue
        at = label.end()
        words: list[str] = []
        starts: list[tuple[int, int]] = []
        while len(words) < 27 and (match := _WALLET_WORD.match(text, at)):
            words.append(match.group(1))
            starts.append(match.span(1))
            at = match.end()
        while words and words[0] in ("is", "are", "phrase", "words", "word", "key", "mnemonic"):
            words, starts = words[1:], starts[1:]
        if len(words) in _WORD_COUNTS and not _PROSE & set(words):
            done = at
            yield FoundSecret("seed phrase", starts[0][0], starts[-1][1])
