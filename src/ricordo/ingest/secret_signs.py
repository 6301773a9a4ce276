"""Which signs of secrets a text holds: the prefixes of tokens, the names of passwords, the beginnings of commands.

Searching for a literal is far faster than matching an expression, and most texts hold few signs. Texts repeat their
words, so that a piece of text (what stands between spaces) without any sign is remembered and not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ricordo.frozen import frozen

_MOST_PIECES = 100_000
_LONGEST_KEPT = 64


@frozen
class HeldSigns:
    """The signs that a text holds: those of forms with their pieces, those of commands, and stems of names."""

    forms: Mapping[str, Sequence[str]]
    commands: frozenset[str]
    stems: frozenset[str]


_NO_SIGNS = HeldSigns({}, frozenset(), frozenset())


class SignFinder:
    """Finds signs in texts. ``least`` says how long a piece must be at least for a sign that plain texts are full of.

    A stem that is one of ``whole`` counts only where no letter stands next to it. A sign with spaces is looked for by
    its longest word.
    """

    def __init__(
        self,
        forms: Sequence[str],
        commands: Sequence[str],
        stems: Sequence[str],
        whole: Sequence[str],
        least: Mapping[str, int],
    ) -> None:
        rare = tuple(dict.fromkeys(sign for sign in forms if sign not in least))
        self._rare_forms = dict.fromkeys(rare, 0)
        self._common_forms = {sign: shortest for sign, shortest in least.items() if sign in forms}
        self._shortest = min(least.values())
        self._commands = _by_longest_word(commands)
        self._ascii_stems = _by_longest_word([stem for stem in stems if stem.isascii()])
        self._all_stems = _by_longest_word(stems)
        self._whole = {word: _standing_alone(word) for stem in whole for word in [_longest_word(stem)]}
        self._signless: set[str] = set()

    def held_by(self, text: str) -> HeldSigns:
        """The signs at which something may match."""
        fresh = set(text.split()) - self._signless
        if not fresh:
            return _NO_SIGNS
        pieces = list(fresh)
        together = " ".join(pieces)
        signed: set[str] = set()
        long = [piece for piece in pieces if len(piece) >= self._shortest]
        forms = {
            **_held(self._rare_forms, pieces, together, signed),
            **_held(self._common_forms, long, " ".join(long), signed),
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
    found: dict[str, list[str]] = {}
    for sign, least in signs.items():
        if sign in together:
            held = [piece for piece in pieces if sign in piece and len(piece) >= least]
            if held:
                found[sign] = held
                signed.update(held)
    return found


def _standing_alone(word: str) -> re.Pattern[str]:
    """An expression for a word with no letter next to it, or at the end of a name in code, such as ``smtpPass``."""
    alone = rf"(?i:(?<![^\W\d_]){re.escape(word)}(?![^\W\d_]))"
    return re.compile(rf"{alone}|(?<=[a-z0-9]){word[:1].upper()}{re.escape(word[1:])}(?![a-z])")


def _longest_word(sign: str) -> str:
    return max(sign.split(), key=len)


def _by_longest_word(signs: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for sign in signs:
        found.setdefault(_longest_word(sign), []).append(sign)
    return found
