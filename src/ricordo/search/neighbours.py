"""Lets the turns of a conversation lend to each other: an answer often follows its question, and says little by itself.

A turn that is near to a better one gains a share of that one's lead, most of it if the turn before it asks something. A
turn that stands out alone loses a little. Both count only as far as two turns speak of the same thing, by the cosine of
their vectors: in a chat that jumps from topic to topic, the next turn says nothing about this one.

Only the best turns and their neighbours are looked at. docs/ranking.md has the figures behind the constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen
from ricordo.search.pool import Pool
from ricordo.store.asking import Shown
from ricordo.store.found import NO_CHUNK
from ricordo.store.parts import SearchIndex

Array = npt.NDArray[Any]
REACH = 2
PLACES = (-2, -1, 1, 2)
"""How many places away the neighbours are that the columns stand for."""
BEST = 30
"""So many of the best turns may lend."""
BY_PLACE = (0.2, 0.4, 0.4, 0.2)
"""The share of its lead that a neighbour lends."""
AFTER_A_QUESTION = 0.8
"""The same for the turn before, if that asks something."""
TO_A_QUESTION = 0.2
"""The same for the turn after, if this one asks: what follows is its answer, and the question is none."""
ALONE = 0.15
"""The share of its lead over the better of its two neighbours that a turn loses."""
STRANGERS, RELATED = 0.25, 0.5
"""Cosines of two turns: up to the first they lend nothing, from the second all that is said above."""
UNKNOWN = 0.5
"""How much of it counts if there are no vectors to compare."""
QUESTION_MARKS = frozenset("?？؟")


@frozen
class Lending:
    """What the members of a pool lend to each other."""

    places: Array
    """By member, the members at ``PLACES``; -1 where there is none."""
    shares: Array
    """By member, the share of each neighbour's lead that it gets."""
    alone: Array
    """By member, the share of its own lead over its neighbours that it loses."""

    @classmethod
    def among(cls, index: SearchIndex, pool: Pool, places: Array, merit: Array) -> Lending:
        """The turns' texts and vectors are read for the best members by ``merit`` and those near them."""
        best = np.zeros(len(pool), bool)
        best[np.argsort(-merit, kind="stable")[:BEST]] = True
        near = places[best]
        looked_at = best.copy()
        looked_at[near[near >= 0]] = True
        asks, vectors = _read(index, pool, np.flatnonzero(looked_at))
        there = (places >= 0) & looked_at[:, None] & looked_at[places]
        shares = np.tile(BY_PLACE, (len(pool), 1))
        shares[:, 1] = np.where(asks[places[:, 1]], AFTER_A_QUESTION, shares[:, 1])
        shares[:, 2] = np.where(asks, TO_A_QUESTION, shares[:, 2])
        together = np.where(there, UNKNOWN if vectors is None else _related(vectors, places), 0.0)
        next_to = there[:, 1:3].all(axis=1) & best
        alone = np.where(next_to, ALONE * together[:, 1:3].max(axis=1), 0.0)
        return cls(places, np.where(best[places], shares * together, 0.0), alone)

    def of(self, values: Array) -> Array:
        """Values with what each member gains and loses."""
        leads = values[self.places] - values[:, None]
        gained = np.maximum((leads * self.shares).max(axis=1), 0.0)
        lost = np.minimum(leads[:, 1:3].max(axis=1), 0.0) * self.alone
        lent: Array = values + gained + lost
        return lent


def places_in(pool: Pool) -> Array | None:
    """By member, where its neighbours at ``PLACES`` are in the pool, -1 where there is none; None if nobody has any."""
    place = {n: at for at, n in enumerate(pool.found.numbers)}
    found = np.full((len(pool), len(PLACES)), -1)
    for n, others in pool.answer.neighbours.items():
        for other, away in others:
            if n in place and other in place and away in PLACES:
                found[place[n], PLACES.index(away)] = place[other]
    return found if (found >= 0).any() else None


def _read(index: SearchIndex, pool: Pool, members: Array) -> tuple[Array, Array | None]:
    """Which members ask something, and the vectors of all; None if meaning does not count."""
    numbers = [pool.found.numbers[at] for at in members]
    chunks = pool.found.vector_chunks[members].tolist()
    fingerprint = pool.vector.fingerprint if pool.vector is not None and pool.has_vectors else ""
    shown = [Shown(n, () if chunk == NO_CHUNK else (chunk,)) for n, chunk in zip(numbers, chunks, strict=True)]
    read = index.passages(shown, vectors=fingerprint)
    asks = np.zeros(len(pool), bool)
    asks[members] = [not QUESTION_MARKS.isdisjoint("".join(one.text for one in read.texts.get(n, ()))) for n in numbers]
    known = [(at, read.vectors[chunk]) for at, chunk in zip(members, chunks, strict=True) if chunk in read.vectors]
    if not known:
        return asks, None
    vectors = np.zeros((len(pool), len(known[0][1])), np.float32)
    for at, vector in known:
        vectors[at] = vector
    return asks, vectors


def _related(vectors: Array, places: Array) -> Array:
    cosines = np.stack([np.einsum("nd,nd->n", vectors, vectors[column]) for column in places.T], axis=1)
    found: Array = np.clip((cosines - STRANGERS) / (RELATED - STRANGERS), 0.0, 1.0)
    return found
