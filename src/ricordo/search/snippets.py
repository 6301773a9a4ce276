"""The few words that are shown of a passage: where the query's words stand in it, and which part has most of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from ricordo.text.sentences import sentence_starts
from ricordo.text.words import Analyzer, runs, words_in

SNIPPET = 240
LEADING = 0.5
"""What a word counts more that stands in the first third of a snippet, because an answer follows what it is about."""
MARGIN = 40
"""So many characters before a word are shown where its sentence begins too far away."""


class Marker:
    """Which words of a text the query asked for. The texts of a page are looked at together: they share most words."""

    def __init__(self, terms: frozenset[str], analyzer: Analyzer) -> None:
        self.terms = terms
        self.analyzer = analyzer
        self._runs: dict[str, list[str]] = {}
        self._asked_for: dict[str, tuple[str, ...]] = {}
        """The runs that were asked for, each with the words in it that were."""
        self._wanted: dict[str, set[str]] = {}
        self._shares: dict[str, float] = {}
        self._order: dict[str, int] = {}
        self._known_bits: dict[str, int] = {}

    def look_at(self, texts: Iterable[str]) -> None:
        """Find out which words of some texts were asked for."""
        fresh = {text: runs(text) for text in texts}
        self._runs |= fresh
        for run in self.analyzer.words_with(set().union(*fresh.values()), self.terms):
            is_word = run.isalnum()  # others may have signs around them, or consist of several words
            self._asked_for[run] = (run,) if is_word else tuple(self.analyzer.words_with(words_in(run), self.terms))

    def wanted(self, text: str) -> set[str]:
        """The words of a text that the query asked for."""
        known = self._wanted.get(text)
        if known is None:
            if text not in self._runs:
                self.look_at([text])
            found = self._asked_for.keys() & self._runs[text]
            known = self._wanted[text] = {word for run in found for word in self._asked_for[run]}
        return known

    def share_of(self, text: str) -> float:
        """How many of the terms asked for stand in a short text, of at most 1."""
        if not self.terms or not text:
            return 0.0
        share = self._shares.get(text)
        if share is None:
            share = len(self.analyzer.terms_among(text, self.terms)) / len(self.terms)
            self._shares[text] = share
        return share

    def count_in(self, text: str) -> int:
        """How many of the terms asked for stand in a text."""
        return reduce(or_, map(self._bits, self.wanted(text)), 0).bit_count()

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where words of the query stand in a text, each with its terms, as bits."""
        spots = []
        for word in self.wanted(text):
            at, bits = text.find(word), self._bits(word)
            while at >= 0:
                spots.append((at, bits))
                at = text.find(word, at + len(word))
        return sorted(spots)

    def _bits(self, word: str) -> int:
        """The terms that a word has, one bit for each."""
        known = self._known_bits.get(word)
        if known is None:
            found = self.analyzer.terms_among(word, self.terms)
            known = self._known_bits[word] = sum(1 << self._order.setdefault(one, len(self._order)) for one in found)
        return known


def window_of(text: str, marker: Marker, size: int = SNIPPET) -> tuple[int, int]:
    """Where the part of a text starts and ends that contains most of the query's words.

    It begins where a sentence does, if it can: of several parts with as many words, the one that begins with them.
    """
    if len(text) <= size:
        return 0, len(text)
    places = marker.places(text)
    start = _best_start(places, _starts(text, places, size), size) if places else 0
    end = min(len(text), start + size)
    if end < len(text):
        cut = text.rfind(" ", start + size // 2, end)
        end = cut if cut > 0 else end
    return start, end


def _starts(text: str, places: Sequence[tuple[int, int]], size: int) -> list[int]:
    """Where a snippet may begin: with the sentence of a word, or a little before it if that begins too far away."""
    sentences = sentence_starts(text, places[-1][0] + MARGIN)
    starts = set()
    for at, _ in places:
        start = sentences[bisect_right(sentences, at) - 1]
        if at >= start + size - MARGIN:
            cut = text.find(" ", at - MARGIN, at)
            start = cut + 1 if cut >= 0 else at - MARGIN
        starts.add(start)
    return sorted(starts)


def _best_start(places: Sequence[tuple[int, int]], starts: Sequence[int], size: int) -> int:
    """The start after which most terms stand; those near to it count more."""
    best, most = 0, -1.0
    for start in starts if len(starts) > 1 else ():
        near = all_of = 0
        for at, bits in places[bisect_left(places, (start,)) :]:
            if at >= start + size - MARGIN // 4:
                break
            all_of |= bits
            near = all_of if at < start + size // 3 else near
        found = all_of.bit_count() + LEADING * near.bit_count()
        if found > most:
            best, most = start, found
    return best if most >= 0 else starts[0]


def place_of(marks: Sequence[tuple[int, str]], text: str, window: tuple[int, int], marker: Marker) -> str:
    """The label of the page, slide or sheet in a part of a text that contains most of the query's words."""
    start, end = window
    best, most = "", -1
    ends = [at for at, _ in marks[1:]] + [len(text)]
    for (at, label), following in zip(marks, ends, strict=False):
        first, last = max(at, start), min(following, end)
        if first < last:
            count = len(Marker(marker.terms, marker.analyzer).wanted(text[first:last]))
            if count > most:
                best, most = label, count
    return best


def cut_out(text: str, window: tuple[int, int]) -> str:
    """The part of a text between two places, with its lines; where more precedes or follows, an ellipsis says so."""
    start, end = window
    body = text[start:end].rstrip() if start else text[:end].strip("\n").rstrip()
    return f"{'…' if start else ''}{body.lstrip() if start else body}{'…' if end < len(text) else ''}"
