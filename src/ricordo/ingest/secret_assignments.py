"""Finds secrets that have no form of their own by the names they are assigned to.

``password=``, ``"api_key": …``, ``my API key is …``, credentials in addresses and on command lines, ``.netrc`` lines,
cookies and the words of a wallet. A value must also look random, so that prose, names in code, paths and placeholders
are not taken for secrets. Every expression here starts at a literal and is bounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from ricordo.ingest.secret_forms import FoundSecret, listed_words

_STEMS = (
    "passw",
    "passphrase",
    "passcode",
    "kennwort",
    "pwd",
    "secret",
    "token",
    "credential",
    "key",
    "_auth",
    '"auth"',
)
_OPENING_KEYS = re.compile(
    r"(?i)(?:api|access|auth|encryption|signing|account|secret|private|master|service|license|x)[ _.-]?$"
)
"""Words that show that a key gives access; a sort key or a primary key does not."""
_ASSIGNED = re.compile(
    r"(?i)\"?(?P<name>passw(?:or[dt]|d)|passphrase|passcode|kennwort|pwd|secret|token|credentials?|key|_?auth)"
    r"(?P<rest>[\w-]{0,30}?)[\"'`*]{0,3}"
    r"(?P<sign>\s{0,3}(?::=|=>|==?|:)\s{0,3}|\s{1,4}is:?\s{1,4}|\s{1,4})"
    r"(?P<quote>\\?[\"'`]?)(?P<value>[^\s\"'`<>\[\]{}(),;|\\]{4,500})(?P<after>[\"'`(\[]?)"
)
_PASSWORD = re.compile(r"(?i)^(?:passw(?:or[dt]|d)|passphrase|passcode|kennwort|pwd)$")
_ABOUT = re.compile(
    r"(?i)^(?:[a-z]|.*[_-]?(?:name|id|ids|ref|refs|path|file|dir|url|uri|type|kind|count|counts|len|length|size|limit|ttl"
    r"|expir\w*|policy|version|arn|alias|hint|field|column|label|prefix|suffix|index|hash|algorithm|format|usage|budget"
    r"|required|enabled|manager|store|provider|sort|order|map|list|set|ring|board|word|words)s?$)"
)
"""Names that only describe a secret, such as ``token_count``, or that are other words, such as ``keyboard``."""
_IS_NO_WORD = re.compile(r"[sS]?(?:[_\d-].*|[A-Z].*|)$")
_CODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+$")
_TEMPLATE = re.compile(r"^(?:[<\[{$%*].*|.*[>\]}*]|[xX]+|\.+|-+|_+|…+)$")
_PLACEHOLDERS = listed_words("placeholders")
_UUID = re.compile(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_PASSPHRASE = re.compile(r"^[A-Za-z]{2,15}(?:[-_.][A-Za-z]{2,15}){3,9}$")
_PART = re.compile(r"[A-Za-z0-9!@#$%^&*+=~?]+")
_KNOWN_WORDS = re.compile(
    r"(?i)^(?:v\d{1,2}\w{0,6}|sha-?\d+\w*|md5\w*|hs\d+|rs\d+|es\d+|utf-?\d+\w*|base\d+\w*|bcrypt\w*|argon2\w*|aes-?\d+\w*"
    r"|rsa-?\d+|ed25519|secp\d+\w\d|x25519|oauth2\w*|pbkdf2\w*|p?k?cs\d+\w*|int\d+|str\d*|http[s12]\w*|i18n|l10n)$"
)


def assigned(text: str) -> Iterator[FoundSecret]:
    """The values of names such as ``password`` or ``api_key``, if they look like secrets."""
    last = done = 0
    for place in _names(text):
        # Names come in groups, one for each stem; each group starts again at the beginning of the text.
        done, last = (done if place >= last else 0), place
        if place < done:
            continue
        match = _ASSIGNED.match(text, place)
        if match is None or match["after"] in ("(", "["):
            continue
        name, rest = match["name"], match["rest"]
        if not _IS_NO_WORD.match(rest) or _ABOUT.match(rest.strip("_-")):
            continue
        if text[max(0, place - 100) : place].rpartition(" ")[2].startswith("arn:"):
            continue
        is_password = _PASSWORD.match(name) is not None
        value = match["value"] if match["quote"] else match["value"].rstrip(".:!?")
        if len(value) > 100:  # names inside a value this long belong to the value, so the search goes on behind it
            done = match.end("value")
        if _holds(value, match, is_password, text[max(0, place - 40) : place]):
            done = match.start("value") + len(value)
            yield FoundSecret("password" if is_password else "secret", match.start("value"), done)


def _holds(value: str, match: re.Match[str], is_password: bool, before: str) -> bool:
    """Whether a value may be a password or a token, judged by how it is assigned and how it looks."""
    sign = match["sign"]
    if _TEMPLATE.match(value) or _UUID.match(value) or "://" in value or value.lower() in _PLACEHOLDERS:
        return False
    if match["name"].lower() == "pwd" and (value[0] in "/~." or value[1:3] in (":/", ":\\")):
        return False  # the working folder, as shells name it
    if not sign.strip():  # without a sign between them, only an option on a command line counts: "--password hunter2"
        return before.endswith(("--", "-p ")) and is_made_up(value, shortest=6, signs=is_password)
    if "is" in sign.lower():
        return is_made_up(value, shortest=6 if is_password else 12, signs=is_password)
    if is_password:
        is_variable = bool(re.search(r"[A-Z_]$", before)) or match["name"].isupper()
        if "=" in sign and (is_variable or match["quote"]) and len(value) >= 6 and not _CODE_NAME.match(value):
            return True  # a variable of a shell, or a text in quotes, needs no digits to be a password
        if _PASSPHRASE.match(value) or (value.isdigit() and "=" in sign and len(value) >= 6):
            return True
        return not _CODE_NAME.match(value) and is_made_up(value, shortest=6, signs=True)
    return is_made_up(value, shortest=8) and (len(value) > 60 or not _CODE_NAME.match(value))


def _names(text: str) -> Iterator[int]:
    """The positions of names that may hold a secret. It searches for plain strings, because an expression over all
    names is far slower.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become longer in lower case, which would shift the positions
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            if stem != "key" or _OPENING_KEYS.search(lower, max(0, at - 12), at):
                yield at
            at = lower.find(stem, at + len(stem))


_IN_URL = re.compile(r"://[^\s:/@\"'<>`\[\]]{0,100}:([^\s@/\"'<>`]{1,200})@[^\s@/]")
_AUTHORIZATION = re.compile(r"(?:earer|EARER|asic|ASIC|oken|SSWS) {1,4}([A-Za-z0-9._~+/-]{16,500}={0,2})")
_AUTHORIZATION_SIGNS = ("earer ", "EARER ", "asic ", "ASIC ", "oken ", "SSWS ")
_OPTION = re.compile(r"(?:-u|--user|--proxy-user|-U)[ =]{0,2}[\"']?[^\s:\"'<>$]{1,100}:([^\s\"'<>$]{3,200})")
_SSHPASS = re.compile(r"sshpass +-p *[\"']?([^\s\"'$]{3,200})")
_MYSQL = re.compile(r"(?:mysql|mysqldump|mariadb)\b[^\n]{0,150}? -p([^\s\"'$]{4,200})")
_NETRC = re.compile(
    r"(?:machine\s{1,8}\S{1,200}|default)\s{1,8}login\s{1,8}\S{1,200}\s{1,8}(?:account\s{1,8}\S{1,200}\s{1,8})?password\s{1,8}"
    r"([^\s\[]{1,200})"
)
_PGPASS = re.compile(r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,64}:[\w-]{1,64}:([^\s:\[]{4,200})$")
_LOOSE = (
    ("password in url", "://", _IN_URL),
    ("password", "sshpass", _SSHPASS),
    ("password", " -p", _MYSQL),
    ("password", "login", _NETRC),
    ("password", ":", _PGPASS),
)


def in_commands(text: str) -> Iterator[FoundSecret]:
    """Passwords in addresses, on command lines and in the files that programs read them from."""
    for kind, sign, pattern in _LOOSE:
        if sign in text:
            for match in pattern.finditer(text):
                if not _TEMPLATE.match(match.group(1)):
                    yield FoundSecret(kind, *match.span(1))
    for match in _AUTHORIZATION.finditer(text) if any(sign in text for sign in _AUTHORIZATION_SIGNS) else ():
        if is_made_up(match.group(1), shortest=16):
            yield FoundSecret("authorization", *match.span(1))
    if "curl" in text:
        for match in _OPTION.finditer(text):
            line = text[max(0, match.start() - 300) : match.start()].rpartition("\n")[2]
            value = match.group(1)
            if "curl" in line and not _TEMPLATE.match(value) and value.lower() not in _PLACEHOLDERS | {"pass"}:
                yield FoundSecret("password", *match.span(1))


_COOKIE = re.compile(r"(?i)(?:cookie:|--cookie|-b)[ \t=]{0,3}[\"']?([^\n\r]{1,4000})")
_PAIR = re.compile(r"[\w.-]{1,80}=(\"?)([^\s;,\"'\[\]]{12,2000})")


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


_WALLET = re.compile(
    r"(?i)\b(?:seed|recovery|mnemonic|backup|wallet)\b[ _-]?(?:phrase|words?|mnemonic|seed|key)?\b(?: is\b| are\b)?"
)
_WALLET_SIGNS = ("seed", "recovery", "mnemonic", "backup", "wallet")
_WALLET_WORD = re.compile(r"[\s,\"'`:=.\d)*-]{1,12}([a-z]{3,8})(?![A-Za-z])")
_WORD_COUNTS = (24, 21, 18, 15, 12)
_PROSE = listed_words("prose")


def wallet_words(text: str) -> Iterator[FoundSecret]:
    """Twelve to twenty-four small words after "seed phrase", "recovery words" and the like."""
    folded = text.lower() if text.isascii() else text.casefold()
    if not any(sign in folded for sign in _WALLET_SIGNS):
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


def is_made_up(value: str, *, shortest: int, signs: bool = False) -> bool:
    """Whether a value looks made by a machine or for a password, rather than a word, a name in code or a number.

    A part of it must mix letters with digits (or ``signs``), must not be a known word such as sha256, and must vary
    enough.
    """
    if len(value) < shortest:
        return False
    if _is_dense(value):
        return True
    for part in _PART.findall(value):
        if len(part) >= shortest and _is_mixed(part, signs) and not _KNOWN_WORDS.match(part):
            return _entropy(part) >= min(3.0, math.log2(len(part)) - 0.6)
    return False


_DENSE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/=_%.~-]{24,}")


def _is_dense(value: str) -> bool:
    """Whether it is one long run of mixed letters and digits, like base64; names in code vary less."""
    return _DENSE.fullmatch(value) is not None and _entropy(value) >= 4.0


def _is_mixed(part: str, signs: bool) -> bool:
    letters = sum(c.isalpha() for c in part)
    digits = sum(c.isdigit() for c in part)
    return letters >= 2 and (digits >= 1 or (signs and not part.strip("=").isalnum()))


def _entropy(text: str) -> float:
    """Bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
