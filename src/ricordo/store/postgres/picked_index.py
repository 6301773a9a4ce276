"""The keyword index of the few passages that a search engine picked: exact scores, by the code that a file has.

The engine only says which passages to look at. What they hold is read from the server, and so is in how many passages
each word occurs; so scores do not depend on when the engine was fed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.index.lexical import LexicalIndex, laid_end_to_end
from ricordo.store.index.postings import Posting
from ricordo.store.index.scoring import Snapshot, View
from ricordo.store.index.segments import READY, Arrays
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.passage_words import number_of, terms_in, unpacked
from ricordo.store.sql import protocols
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.matches import Wanted
from ricordo.store.sql.new_chunks import FIELDS
from ricordo.store.values import Scoring

FREQUENCIES = "SELECT term, chunks FROM index_terms WHERE term = ANY(?)"
_WORDS = (
    f"SELECT p.term, p.term FROM segments s JOIN postings p ON p.segment = s.id WHERE s.state = {READY}"
    " AND p.term >= ? AND p.term < ? UNION SELECT word, term FROM vocabulary WHERE word >= ? AND word < ?"
)


@frozen
class PickedPassage:
    """A passage that was picked: its item, the lengths of its fields, and its words."""

    item: int
    lengths: bytes
    words: bytes


class _PickedView(View):
    """A view of the picked passages in which words are as rare as they are among all."""

    index: PickedIndex

    def document_frequency(self, word: Wanted) -> int:
        return min(self.live, sum(self.index.frequency(term) for term in word.terms))

    def counts(self, terms: Collection[str]) -> dict[str, int]:
        return {term: self.index.frequency(term) for term in terms}


class PickedIndex(LexicalIndex):
    """Grows with the passages that are added; lives as long as one ask."""

    def __init__(self, totals: Mapping[int, int], came: Iterable[bytes], went: Iterable[bytes]) -> None:
        """``came`` are the words of passages that the counts of words do not hold yet, ``went`` those to leave out."""
        super().__init__()
        self.totals = totals
        self._passages: dict[int, PickedPassage] = {}
        self._made: Snapshot | None = None
        self._entries: tuple[Array, Array] = unpacked(())
        self._growth = 0
        self._frequencies: dict[int, int] = {}
        self._came, self._went = (_laid([terms_in(words) for words in some]) for some in (came, went))

    @property
    def live(self) -> int:
        """How many passages there are."""
        return self.totals[-1]

    def add(self, passages: Mapping[int, PickedPassage]) -> None:
        """Take in passages, by their chunks."""
        if not passages.keys() <= self._passages.keys():
            self._passages |= passages
            self._made = None

    def items_of(self, chunks: Collection[int]) -> dict[int, int]:
        """The items of those of some chunks that were taken in, in the order of the chunks."""
        return {chunk: self._passages[chunk].item for chunk in chunks if chunk in self._passages}

    def snapshot(self, connection: protocols.Connection) -> Snapshot:
        if self._made is None:
            self._growth += 1
            chunks = sorted(self._passages)
            held = [self._passages[chunk] for chunk in chunks]
            lengths = np.frombuffer(b"".join(one.lengths for one in held), np.uint32).reshape(-1, len(FIELDS))
            arrays = Arrays(
                np.array(chunks, np.int64),
                np.array([one.item for one in held], np.int64),
                np.ascontiguousarray(lengths.T),
                np.zeros(len(held), np.uint8),
            )
            self._entries = unpacked(one.words for one in held)
            self._made = laid_end_to_end(self._growth, {self._growth: arrays}, (), self.totals)
        return self._made

    def postings(self, connection: protocols.Connection, segment: int, terms: set[str]) -> dict[str, Posting]:
        entries, owners = self._entries
        found: dict[str, Posting] = {}
        for term in terms:
            here = np.flatnonzero(entries["term"] == number_of(term))
            if not len(here):
                continue
            ordinals, places = np.unique(owners[here], return_inverse=True)
            planes = np.zeros((len(FIELDS), len(ordinals)), np.uint16)
            planes[entries["field"][here], places] = entries["count"][here]
            present = [field for field in range(len(FIELDS)) if planes[field].any()]
            found[term] = Posting(ordinals.astype(np.uint32), tuple((field, planes[field]) for field in present))
        return found

    def frequency(self, term: str) -> int:
        """In how many passages a term occurs; it was brought before."""
        return self._frequencies[number_of(term)]

    def take_frequencies(self, asked: Collection[int], rows: Iterable[tuple[int, int]]) -> None:
        """Keep how often some terms occur; ``rows`` is what the server counted."""
        counted = dict(rows)
        for number in asked:
            moved = int(np.count_nonzero(self._came == number)) - int(np.count_nonzero(self._went == number))
            self._frequencies[number] = max(0, counted.get(number, 0) + moved)

    def bring(self, connection: protocols.Connection, terms: Collection[str]) -> None:
        """Read how often some terms occur, as far as it is not known yet."""
        missing = [number for number in {number_of(term) for term in terms} if number not in self._frequencies]
        if missing:
            assert isinstance(connection, Connection)
            unknown = [number for number in missing if number not in connection.counted]
            if unknown:
                connection.counted |= dict.fromkeys(unknown, 0) | dict(connection.rows(FREQUENCIES, (unknown,)))
            self.take_frequencies(missing, connection.counted.items())

    def _view(
        self,
        connection: protocols.Connection,
        wanted: Sequence[Wanted],
        scoring: Scoring,
        times: Array | None,
        also: Collection[str] = (),
    ) -> View:
        terms = {*also, *(term for word in wanted for term in word.terms)}
        self.bring(connection, terms)
        view = _PickedView(self, connection, self.snapshot(connection), scoring, times)
        view.hold(wanted, also)
        return view

    def document_frequencies(
        self, connection: protocols.Connection, terms: Collection[str]
    ) -> tuple[int, dict[str, int]]:
        self.bring(connection, terms)
        return self.live, {term: self.frequency(term) for term in terms}

    def words_like(self, connection: protocols.Connection, unknown: Sequence[str]) -> dict[str, tuple[str, ...]]:
        assert isinstance(connection, Connection)
        if set(unknown) <= connection.unknown:
            return connection.likely
        return super().words_like(connection, unknown)

    def _words_from(self, connection: protocols.Connection, letter: str) -> dict[str, tuple[str, ...]]:
        end = letter + "\U0010ffff"
        words: dict[str, tuple[str, ...]] = {}
        for word, term in connection.rows(_WORDS, (letter, end, letter, end)):
            words[word] = (*words.get(word, ()), term)
        return words

    def weights(self, wanted: Sequence[Wanted]) -> list[tuple[int, float]]:
        """How much each term counts in a search, by its number; terms that occur nowhere are left out."""
        found = []
        for word in wanted:
            held = min(self.live, sum(self.frequency(term) for term in word.terms))
            if held:
                weight = math.log1p((self.live - held + 0.5) / (held + 0.5)) * word.weight * word.certainty
                found += [(number_of(term), weight) for term in word.terms if self.frequency(term)]
        return found


def _laid(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
