"""Finds keys, tokens and passwords in texts by rules, and writes texts without them.

The rules avoid false alarms: a token is recognised by the form that its issuer gives it (``forms``), any other secret
by the name it is assigned to and by looking random (``assignments``, ``commands``). Hashes, UUIDs and prose are no
secrets. Nothing is stored here, and a user's file is never written to.

Searching for a literal is far faster than matching an expression, and most texts hold few signs of secrets. Texts
repeat their words, so that a piece of text (what stands between spaces) without any sign is remembered and not looked
at again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ricordo.patterns import late
from ricordo.secrets.assignments import STEMS, WHOLE_STEMS, assigned
from ricordo.secrets.commands import COMMAND_SIGNS, WALLET_SIGNS, in_commands, in_cookies, wallet_words
from ricordo.secrets.forms import FORMS, LEAST, SHORTEST, FoundSecret, by_form, private_keys
from ricordo.secrets.private import PRIVATE_MARK, without_private

_MOST_PIECES = 100_000
_LONGEST_KEPT = 64


class HeldSigns(NamedTuple):
    """The signs that a text holds: those of forms with their pieces, those of commands, and stems of names."""

    forms: Mapping[str, Sequence[str]]
    commands: frozenset[str]
    stems: frozenset[str]


_NO_SIGNS = HeldSigns({}, frozenset(), frozenset())


class SignFinder:
    """Finds signs in texts. The sign of a form counts only in pieces that are long enough to hold what it begins.

    A stem that is a whole word counts only where no letter stands next to it. A sign with spaces is looked for by its
    longest word.
    """

    def __init__(self) -> None:
        forms = [sign for form in FORMS for sign in form.signs]
        stems = (*STEMS, *WALLET_SIGNS)
        shortest = {sign: SHORTEST.get(sign, LEAST) for sign in forms}
        self._short_forms = {sign: least for sign, least in shortest.items() if least < LEAST}
        self._long_forms = {sign: least for sign, least in shortest.items() if least >= LEAST}
        self._commands = _by_longest_word(COMMAND_SIGNS)
        self._ascii_stems = _by_longest_word([stem for stem in stems if stem.isascii()])
        self._all_stems = _by_longest_word(stems)
        self._whole = {word: _standing_alone(word) for stem in WHOLE_STEMS for word in [_longest_word(stem)]}
        self._signless: set[str] = set()

    def held_by(self, text: str) -> HeldSigns:
        """The signs at which something may match."""
        fresh = set(text.split()) - self._signless
        if not fresh:
            return _NO_SIGNS
        pieces = list(fresh)
        together = " ".join(pieces)
        signed: set[str] = set()
        long = [piece for piece in pieces if len(piece) >= LEAST]
        forms = {
            **_held(self._short_forms, pieces, together, signed),
            **_held(self._long_forms, long, " ".join(long), signed),
        }
        commands: set[str] = set()
        for word, signs in self._commands.items():
            if word in together:
                commands.update(signs)
                signed.update([piece for piece in pieces if word in piece])
        stems = frozenset(self._stems_in(together, pieces, signed))
        if len(self._signless) > _MOST_PIECES:
            self._signless = set()  # a new one, as other threads may be reading the old
        self._signless |= {piece for piece in fresh - signed if len(piece) <= _LONGEST_KEPT}
        return HeldSigns(forms, frozenset(commands), stems)

    def _stems_in(self, together: str, pieces: Sequence[str], signed: set[str]) -> Iterator[str]:
        """The stems of names that the pieces hold; the pieces are added to those that hold a sign."""
        lower = together.lower()
        lowered = lower.split(" ")
        for word, stems in (self._ascii_stems if together.isascii() else self._all_stems).items():
            if word in lower:
                held = [piece for piece, small in zip(pieces, lowered, strict=True) if word in small]
                if (shape := self._whole.get(word)) is not None:
                    held = [piece for piece in held if shape.search(piece)]
                if held:
                    signed.update(held)
                    yield from stems


def _held(signs: Mapping[str, int], pieces: Sequence[str], together: str, signed: set[str]) -> dict[str, list[str]]:
    """The signs of forms with the pieces that hold them and are long enough; the pieces are added to ``signed``."""
    by_sign: dict[str, list[str]] = {}
    for sign, least in signs.items():
        if sign in together:
            held = [piece for piece in pieces if sign in piece and len(piece) >= least]
            if held:
                by_sign[sign] = held
                signed.update(held)
    return by_sign


def _standing_alone(word: str) -> re.Pattern[str]:
    """An expression for a word with no letter next to it, or at the end of a name in code, such as ``smtpPass``."""
    alone = rf"(?i:(?<![^\W\d_]){re.escape(word)}(?![^\W\d_]))"
    return late(rf"{alone}|(?<=[a-z0-9]){word[:1].upper()}{re.escape(word[1:])}(?![a-z])")


def _longest_word(sign: str) -> str:
    return max(sign.split(), key=len)


def _by_longest_word(signs: Sequence[str]) -> dict[str, list[str]]:
    by_word: dict[str, list[str]] = {}
    for sign in signs:
        by_word.setdefault(_longest_word(sign), []).append(sign)
    return by_word


_INVISIBLE = late("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
"""Characters that show nothing; between the letters of a token they hide it from a search for its form."""

_SIGNS = SignFinder()


def find_secrets(text: str) -> list[FoundSecret]:
    """The secrets of a text in order; none overlap.

    >>> [finding.kind for finding in find_secrets("key AKIAIOSFODNN7EXAMPLE, commit 9fceb02d0ae598e9")]
    ['aws key']
    """
    if text.isascii() or not _INVISIBLE.search(text):
        return _secrets_in(text)
    visible = [0, *(place for match in _INVISIBLE.finditer(text) for place in match.span()), len(text)]
    places = [place for start, end in zip(visible[::2], visible[1::2], strict=True) for place in range(start, end)]
    behind_invisible = (
        FoundSecret(finding.kind, places[finding.start], places[finding.end - 1] + 1)
        for finding in _secrets_in(_INVISIBLE.sub("", text))
    )
    return _without_overlaps((*behind_invisible, *_secrets_in(text)))


def _secrets_in(text: str) -> list[FoundSecret]:
    held = _SIGNS.held_by(text)
    return _without_overlaps(
        (
            *private_keys(text),
            *by_form(text, held.forms),
            *assigned(text, held.stems),
            *in_commands(text, held.commands),
            *in_cookies(text),
            *wallet_words(text, held.stems),
        )
    )


def _without_overlaps(findings: Iterable[FoundSecret]) -> list[FoundSecret]:
    """The findings in order; those that overlap are joined under the kind of the first."""
    merged: list[FoundSecret] = []
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = FoundSecret(last.kind, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return merged


_MOST_ROUNDS = 8


def redact(text: str, *, allow_secrets: bool = False) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by what it was, and the kinds of what was replaced, in order. What its author
    marked as private is removed even where secrets are allowed.

    >>> redact("use AKIAIOSFODNN7EXAMPLE here")
    ('use [redacted: aws key] here', ('aws key',))
    """
    kinds: list[str] = []
    if (public := without_private(text, PRIVATE_MARK)) != text:
        text = public
        kinds.append("private")
    for _ in range(0 if allow_secrets else _MOST_ROUNDS):  # a secret may only show when the one before it is gone
        findings = find_secrets(text)
        if not findings:
            break
        pieces: list[str] = []
        at = 0
        for finding in findings:
            pieces += [text[at : finding.start], f"[redacted: {finding.kind}]"]
            at = finding.end
        text = "".join((*pieces, text[at:]))
        kinds += [finding.kind for finding in findings]
    return text, tuple(kinds)


def redact_values(values: Mapping[str, Any], *, allow_secrets: bool = False) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same for every text in a mapping, at any depth, and for the names in it; names that become the same are
    numbered.
    """
    kinds: list[str] = []

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            text, replaced = redact(value, allow_secrets=allow_secrets)
            kinds.extend(replaced)
            return text
        if isinstance(value, Mapping):
            return named(value)
        if isinstance(value, (list, tuple)):
            return type(value)(clean(inner) for inner in value)
        return value

    def named(inside: Mapping[Any, Any]) -> dict[Any, Any]:
        cleaned: dict[Any, Any] = {}
        for key, inner in inside.items():
            name = bare = clean(key)
            number = 2
            while name in cleaned:
                name, number = f"{bare} {number}", number + 1
            cleaned[name] = clean(inner)
        return cleaned

    return named(values), tuple(kinds)


def secret_counts(text: str) -> dict[str, int]:
    """How many secrets of each kind a text contains."""
    return dict(Counter(finding.kind for finding in find_secrets(text)))
