"""Counts the tokens of texts, and cuts a text to a number of them."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.models.base import TokenCounter

CUT = " …"
_MOST_LETTERS = 64
"""Tokens of prose are shorter than this, so no more letters per token need to be counted."""


class Tokens:
    """Counts with one counter, and remembers what it counted."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._seen: dict[str, int] = {}

    def of(self, text: str) -> int:
        if text not in self._seen:
            self._seen[text] = self._counter.count_tokens([text])[0]
        return self._seen[text]

    def of_all(self, texts: Sequence[str]) -> int:
        return sum(map(self.of, texts))

    def cut(self, text: str, room: int) -> str:
        """The beginning of a text that takes at most ``room`` tokens with the mark of the cut; empty if nothing
        fits.
        """
        room -= self._counter.count_tokens([CUT])[0]
        if room < 1:
            return ""
        low, high = 0, min(len(text), room * _MOST_LETTERS)
        while low < high:
            middle = (low + high + 1) // 2
            if self._counter.count_tokens([text[:middle]])[0] <= room:
                low = middle
            else:
                high = middle - 1
        kept = text[:low]
        # End with a whole line or word if there is one near.
        for sign, share in (("\n", 0.7), (" ", 0.5)):
            at = kept.rfind(sign)
            if low < len(text) and at > low * share:
                kept = kept[:at]
                break
        kept = kept.rstrip()
        return kept + CUT if kept else ""
