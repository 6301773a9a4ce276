"""Judges whether a value looks like a password or a token, or like a word, a name in code or a placeholder."""

from __future__ import annotations

import math
import re
from collections import Counter

from ricordo.ingest.secret_forms import listed_names, listed_words

_TEMPLATE = re.compile(
    r"^(?:[<\[{$%*].*|.*[>\]}*]|!(?:[A-Z].*|vault|secret|env\w*|ref\w*|include|encrypted\S*)|[xX]+|\.+|-+|_+|…+|[&:@][A-Za-z_]+|\[?redacted.*)$"
)
_PLACEHOLDERS = listed_words("placeholders")
_ASKED_FOR = re.compile(
    r"(?i)^(?:your|my|the|some|new|old|change|replace|insert|enter|example|sample|dummy|fake|put|set|todo|add|use|see|any)"
    r"(?:[-_ ]?[a-z]+){0,5}$"
)
"""Letters that ask for a value, such as ``YOUR_API_KEY`` or ``replace-me``."""
_UUID = re.compile(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_CODE_NAME = re.compile(r"(?!.*[a-z]\d\d+$)[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+$")
_PASSPHRASE = re.compile(r"^[A-Za-z]{2,15}(?:[-_.][A-Za-z]{2,15}){3,9}$")
_PART = re.compile(r"[A-Za-z0-9!@#$%^&*+=~?]+")
_KNOWN_WORDS = re.compile(
    r"(?i)^(?:v\d{1,2}\w{0,6}|sha-?\d+\w*|md5\w*|hs\d+|rs\d+|es\d+|utf-?\d+\w*|base\d+\w*|bcrypt\w*|argon2\w*|aes-?\d+\w*"
    r"|rsa-?\d+|ed25519\w*|ed448\w*|secp\d+\w\d|x25519|oauth2\w*|pbkdf2\w*|p?k?cs\d+\w*|int\d+|str\d*|http[s12]\w*|i18n|l10n)$"
)
_PATH = re.compile(r"^(?:[~.]{0,2}/|[A-Za-z]:[\\/])|\.(?:[a-z]{2,4}|json|yaml|html)$")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
"""Letters of languages that put no space between words, so that a value is more likely the rest of a sentence."""
_TELLING = tuple(
    word for name in ("password", "secret") for word in listed_names(name) if word[0] not in '_"' and len(word) > 2
)
_PROSE = listed_words("prose")


def is_placeholder(value: str) -> bool:
    """Whether a value stands for another: ``${PASSWORD}``, ``<token>``, ``changeme``, ``****``, ``YOUR_API_KEY``."""
    folded = value.strip().casefold()
    return (
        folded in _PLACEHOLDERS
        or _TEMPLATE.match(value) is not None
        or _UUID.match(value) is not None
        or "://" in value
        or "[redacted:" in value
        or (
            _ASKED_FOR.match(folded) is not None
            and (says_secret(folded) or folded.endswith(("me", "here", "this", "key")))
        )
    )


def says_secret(folded: str) -> bool:
    """Whether a text in lower case names a secret itself, as a label or a name in code does."""
    return any(word in folded for word in _TELLING)


def is_plain_word(value: str) -> bool:
    """Whether it has letters only, or letters joined as names in code are."""
    return value.replace("_", "").replace("-", "").replace(".", "").isalpha()


def is_chosen(value: str, *, shortest: int = 6) -> bool:
    """Whether a value looks like a password that a person chose: letters with digits or signs, and no name in code."""
    if len(value) < shortest or _CODE_NAME.match(value) or _PATH.search(value) or _EAST_ASIAN.search(value):
        return False
    letters = sum(c.isalpha() for c in value)
    if letters < 2 or letters == len(value):
        return False
    if any(_KNOWN_WORDS.match(part) for part in re.findall(r"[A-Za-z0-9]+", value)):
        return False
    has_digit = any(c.isdigit() for c in value)
    has_sign = any(not c.isalnum() and c not in "-_.:/" for c in value)
    return (has_digit or has_sign) and len(set(value)) >= 4


def is_chosen_text(text: str) -> bool:
    """Whether a text in quotes, perhaps of several words, looks like a password rather than a label or a sentence."""
    words = text.split()
    folded = text.casefold()
    if len(words) < 2:
        return not (is_plain_word(text) and says_secret(folded)) and not _CODE_NAME.match(text)
    if len(words) > 8 or says_secret(folded) or _PROSE.intersection(folded.split()):
        return False
    if any(c.isdigit() for c in text):
        return True
    return len(words) >= 4 and all(word.islower() and word.isalpha() for word in words)


def is_passphrase(value: str) -> bool:
    """Whether it is four words or more, joined by signs."""
    return _PASSPHRASE.match(value) is not None


def is_code_name(value: str) -> bool:
    """Whether it is names joined by dots, such as ``settings.API_KEY``."""
    return _CODE_NAME.match(value) is not None


def is_made_up(value: str, *, shortest: int, signs: bool = False) -> bool:
    """Whether a value looks made by a machine or for a password, rather than a word, a name in code or a number.

    A part of it must mix letters with digits (or ``signs``), must not be a known word such as sha256, and must vary
    enough.
    """
    if len(value) < shortest:
        return False
    if is_dense(value):
        return True
    for part in _PART.findall(value):
        if len(part) >= shortest and _is_mixed(part, signs) and not _KNOWN_WORDS.match(part):
            return _entropy(part) >= min(3.0, math.log2(len(part)) - 0.6)
    return False


def is_grouped(value: str) -> bool:
    """Whether it is short groups of mixed letters and digits, such as ``9fK2-mmQp-77Lx``; names in code hold words."""
    parts = [part for part in re.split(r"[-_.~/+]", value) if part]
    if len(parts) < 2 or sum(map(len, parts)) < 10 or not all(part.isascii() and part.isalnum() for part in parts):
        return False
    mixed = sum(_is_mixed(part, signs=False) or not (part.isalpha() or part.isdigit()) for part in parts)
    return mixed * 2 >= len(parts) and not any(part.isalpha() and len(part) >= 5 for part in parts)


_DENSE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/=_%.~-]{24,}")


def is_dense(value: str) -> bool:
    """Whether it is one long run of mixed letters and digits, like base64; names in code vary less."""
    return _DENSE.fullmatch(value) is not None and _entropy(value) >= 4.0


def _is_mixed(part: str, signs: bool) -> bool:
    letters = sum(c.isalpha() for c in part)
    digits = sum(c.isdigit() for c in part)
    return letters >= 2 and (digits >= 1 or (signs and not part.strip("=").isalnum()))


def _entropy(text: str) -> float:
    """Bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
