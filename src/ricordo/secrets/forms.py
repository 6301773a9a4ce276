"""What secrets look like: the forms that issuers give their keys and tokens, private keys, and values that look chosen.

A form cannot be mistaken: it has a prefix that nobody else uses, or a shape that no word has (``secrets.toml``). Every
expression runs in time linear in the text: it starts at a literal ``sign``, and what follows is bounded. Secrets that
have no form of their own, such as passwords, are found by what they are assigned to (``assignments``); whether such a
value looks like a password, or like a word, a name in code or a placeholder, is judged here.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ricordo.patterns import late


class FoundSecret(NamedTuple):
    """A secret: what it is, and where it stands."""

    kind: str
    start: int
    end: int


class Form(NamedTuple):
    """What secrets of one kind look like, a row of ``secrets.toml``; ``group`` is the part that is secret.

    The expression is tried where one of ``signs`` occurs, because searching for a literal is far faster than matching
    an expression. With ``within``, a sign may be anywhere in the match, and the match holds no space.
    """

    kind: str
    signs: tuple[str, ...]
    expression: str
    group: int = 0
    accepts: Callable[[re.Match[str]], bool] | None = None
    within: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Compiled when a sign of it is met first: few texts hold any, and compiling all takes longer than most saves."""
    return re.compile(expression)


_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Matches a start that is not within a word; the place right behind an escaped line break counts as a start."""
_END = r"(?![A-Za-z0-9_-])"


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
_CHECKS = {"is_jwt": _is_jwt, "varies": _varies}


def _form(row: Mapping[str, Any]) -> Form:
    signs, is_token = tuple(row["signs"]), "token" in row
    expression = f"{_START}(?:{row['token']}){_END}" if is_token else row["inside"]
    check = _CHECKS[row["check"]] if "check" in row else None
    group = 0 if is_token else 1
    return Form(row["kind"], signs, expression.replace("UUID", _UUID), group, check, row.get("within", False))


_TABLE = tomllib.loads(Path(__file__).with_name("secrets.toml").read_text("utf-8"))
FORMS: tuple[Form, ...] = tuple(map(_form, _TABLE["forms"]))
OPTIONS: Mapping[str, frozenset[str]] = {
    program: frozenset(row["options"]) for row in _TABLE["programs"] for program in row["names"]
}
"""The short options by which programs take passwords; one that ends in … takes it without a space."""


def listed_words(name: str) -> frozenset[str]:
    """One of the lists of words in ``secrets.toml``."""
    return frozenset(_TABLE["words"][name].split())


def listed_names(name: str) -> tuple[str, ...]:
    """Words that say that a secret follows; some hold a space, which the list writes as a plus."""
    return tuple(word.replace("+", " ") for word in _TABLE["names"][name].split())


_BY_SIGN: dict[str, list[int]] = {}
for _number, _one in enumerate(FORMS):
    for _sign in _one.signs:
        _BY_SIGN.setdefault(_sign, []).append(_number)
LEAST = 20
"""So many characters without a space a token of nearly every form has at least."""
SHORTEST = {
    "-": 50, "s.": 26, "b.": 26, "M": 59, "N": 59, "O": 59, "https://": 74, "pat": 82, "figu": 43, "-us": 36,
    "1/": 48, "2/": 48, "5H": 51, "5J": 51, "5K": 51, "K": 52, "L": 52, "prv": 104, "AKC": 13, "xox": 15,
    **dict.fromkeys(("PrivateKey", "PresharedKey", "client-key-data:", '"d"', '"k"', "SSWS"), 0),
}  # fmt: skip
"""The same for signs of tokens that may hold spaces or are short, and for signs that plain texts are full of."""
_FEW_PIECES = 8


def by_form(text: str, signs: Mapping[str, Sequence[str]]) -> Iterator[FoundSecret]:
    """Secrets that are known by their form alone, by the signs that the text holds and the pieces that hold them."""
    for number in sorted({number for sign in signs for number in _BY_SIGN[sign]}):
        form = FORMS[number]
        held = [sign for sign in form.signs if sign in signs]
        pieces = {piece for sign in held for piece in signs[sign]}
        for match in _matches(form, held, pieces, text):
            if form.accepts is None or form.accepts(match):
                yield FoundSecret(form.kind, *match.span(form.group))


def _matches(form: Form, held: Sequence[str], pieces: Collection[str], text: str) -> Iterator[re.Match[str]]:
    """What matches a form; where few pieces hold its signs only there, as a sign may stand in thousands of others."""
    if not form.within and len(pieces) > _FEW_PIECES:
        yield from matches_at(held, form.pattern, text)
        return
    for span in _standing(pieces, text):
        yield from form.pattern.finditer(text, *span) if form.within else matches_at(held, form.pattern, text, span)


def _standing(pieces: Collection[str], text: str) -> Iterator[tuple[int, int]]:
    """Where some pieces of a text stand."""
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            end = at + len(piece)
            if text[at - 1 : at].strip() == "" and text[end : end + 1].strip() == "":  # not a part of a longer one
                yield at, end
            at = text.find(piece, end)


def matches_at(
    signs: Sequence[str], pattern: re.Pattern[str], text: str, within: tuple[int, int] = (0, sys.maxsize)
) -> Iterator[re.Match[str]]:
    """What matches where one of the signs stands, with which the expression must start; ``within`` bounds the signs."""
    start, end = within
    for sign in signs:
        at = text.find(sign, start, end)
        while at >= 0:
            match = pattern.match(text, at)
            if match:
                yield match
            at = text.find(sign, match.end() if match else at + 1, end)


_KEY_BEGINS = late(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = late(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = late(r"(?:(?:\\n|\\r|\s){0,4}+[A-Za-z0-9+/=]{16,128}+)*+")
_LONGEST_KEY = 16_000
_PUTTY = late(
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


_TEMPLATE = late(
    r"^(?:[<\[{$%*].*|.*[>\]}*]|!(?:[A-Z].*|vault|secret|env\w*|ref\w*|include|encrypted\S*)|[xX]+|\.+|-+|_+|…+|[&:@][A-Za-z_]+|\[?redacted.*)$"
)
_PLACEHOLDERS = listed_words("placeholders")
_ASKED_FOR = late(
    r"(?i)^(?:your|my|the|some|new|old|change|replace|insert|enter|example|sample|dummy|fake|put|set|todo|add|use|see|any)"
    r"(?:[-_ ]?[a-z]+){0,5}$"
)
"""Letters that ask for a value, such as ``YOUR_API_KEY`` or ``replace-me``."""
_IS_UUID = late(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_CODE_NAME = late(r"(?!.*[a-z]\d\d+$)[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+$")
_PASSPHRASE = late(r"^[A-Za-z]{2,15}(?:[-_.][A-Za-z]{2,15}){3,9}$")
_PART = late(r"[A-Za-z0-9!@#$%^&*+=~?]+")
_KNOWN_WORDS = late(
    r"(?i)^(?:v\d{1,2}\w{0,6}|sha-?\d+\w*|md5\w*|hs\d+|rs\d+|es\d+|utf-?\d+\w*|base\d+\w*|bcrypt\w*|argon2\w*|aes-?\d+\w*"
    r"|rsa-?\d+|ed25519\w*|ed448\w*|secp\d+\w\d|x25519|oauth2\w*|pbkdf2\w*|p?k?cs\d+\w*|int\d+|str\d*|http[s12]\w*|i18n|l10n)$"
)
_PATH = late(r"^(?:[~.]{0,2}/|[A-Za-z]:[\\/])|\.(?:[a-z]{2,4}|json|yaml|html)$")
_EAST_ASIAN = late("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
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
        or _IS_UUID.match(value) is not None
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


_DENSE = late(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/=_%.~-]{24,}")


def is_dense(value: str) -> bool:
    """Whether it is one long run of mixed letters and digits, like base64; names in code vary less."""
    return _DENSE.fullmatch(value) is not None and _entropy(value) >= 4.0


def _is_mixed(part: str, signs: bool) -> bool:
    letters = sum(c.isalpha() for c in part)
    digits = sum(c.isdigit() for c in part)
    return letters >= 2 and (digits >= 1 or (signs and not part.strip("=").isalnum()))


def _entropy(text: str) -> float:
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
