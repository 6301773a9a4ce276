"""The items that a store found for an ask: one by one, or as columns.

A search computes with whole columns, because a hundred candidates with a few passages each would cost a millisecond
item by item. A simple store may answer with a tuple of ``Candidate``; ``columns_of`` makes columns of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen

Array = npt.NDArray[Any]
CHUNKS_KEPT = 5
"""How many passages of each item are kept of either side: more are never shown."""
NO_CHUNK = -1
"""Stands in a column for a passage that there is not."""


@frozen
class Candidate:
    """An item that was found: its best keyword score (of at most 1) and cosine, and the passages that gave them."""

    n: int
    ref: str
    lexical: float = 0.0
    cosine: float = 0.0
    lexical_chunk: int | None = None
    vector_chunk: int | None = None
    chunks: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Keyword score and cosine of its best passages, by their ids."""
    version: int | None = None
    """Its version at the moment asked for; None where that one is no longer kept, and in a search of the present."""
    joined: bool = False
    """Whether it was found only as a neighbour or by a link, and not by words or meaning."""


@frozen
class PassageColumns:
    """The best passages of all candidates, candidate by candidate."""

    chunks: Array
    starts: Array
    """Where the passages of each candidate begin, and where the last one's end."""
    scores: Array
    cosines: Array
    coverage: Array
    """The share of the query's words that a passage contains, weighted by rarity; NaN where it was not measured."""

    @property
    def owners(self) -> Array:
        """The place of each passage's candidate."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def kept(self, which: Array) -> PassageColumns:
        """Only those of some candidates, given as a mask."""
        mask = np.repeat(which, np.diff(self.starts))
        starts = np.concatenate(([0], np.cumsum(np.diff(self.starts)[which])))
        return PassageColumns(self.chunks[mask], starts, self.scores[mask], self.cosines[mask], self.coverage[mask])


@frozen
class FoundColumns(Sequence[Candidate]):
    """Candidates as columns; read as a sequence, it makes a ``Candidate`` of each row."""

    numbers: list[int]
    refs: list[str]
    lexical: Array
    cosines: Array
    lexical_chunks: Array
    vector_chunks: Array
    joined: Array
    passages: PassageColumns
    versions: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Candidate]:
        return (self[place] for place in range(len(self.numbers)))

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        number = self.numbers[place]
        part = slice(*self.passages.starts[place : place + 2].tolist())
        values = zip(self.passages.scores[part].tolist(), self.passages.cosines[part].tolist(), strict=True)
        return Candidate(
            number,
            self.refs[place],
            float(self.lexical[place]),
            float(self.cosines[place]),
            chunk_at(self.lexical_chunks, place),
            chunk_at(self.vector_chunks, place),
            dict(zip(self.passages.chunks[part].tolist(), values, strict=True)),
            self.versions.get(number),
            bool(self.joined[place]),
        )

    def kept(self, which: Array) -> FoundColumns:
        """Only some of the candidates, given as a mask."""
        places = np.flatnonzero(which).tolist()
        return FoundColumns(
            [self.numbers[place] for place in places],
            [self.refs[place] for place in places],
            self.lexical[which],
            self.cosines[which],
            self.lexical_chunks[which],
            self.vector_chunks[which],
            self.joined[which],
            self.passages.kept(which),
            self.versions,
        )


def chunk_at(column: Array, place: int) -> int | None:
    """The passage at a place of a column; None where there is none."""
    chunk = int(column[place])
    return None if chunk == NO_CHUNK else chunk


def columns_of(found: Sequence[Candidate], coverage: Mapping[int, float]) -> FoundColumns:
    """The columns of candidates that a store gave one by one."""
    if isinstance(found, FoundColumns):
        return found
    chunks = [chunk for one in found for chunk in one.chunks]
    values = np.array([pair for one in found for pair in one.chunks.values()], np.float64).reshape(-1, 2)
    return FoundColumns(
        [one.n for one in found],
        [one.ref for one in found],
        np.array([one.lexical for one in found], np.float64),
        np.array([one.cosine for one in found], np.float64),
        _chunk_column([one.lexical_chunk for one in found]),
        _chunk_column([one.vector_chunk for one in found]),
        np.array([one.joined for one in found], bool),
        PassageColumns(
            np.array(chunks, np.int64),
            np.concatenate(([0], np.cumsum([len(one.chunks) for one in found]))).astype(np.int64),
            values[:, 0],
            values[:, 1],
            np.array([coverage.get(chunk, np.nan) for chunk in chunks], np.float64),
        ),
        {one.n: one.version for one in found if one.version is not None},
    )


def _chunk_column(chunks: Sequence[int | None]) -> Array:
    return np.array([NO_CHUNK if chunk is None else chunk for chunk in chunks], np.int64)
