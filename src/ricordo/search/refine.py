"""Refines the scores of a pool before it is ranked: by coverage, by neighbours in a thread, and by moving the query.

Each step was kept because it helped on most evaluation sets (docs/ranking.md has the figures):

1. A chunk that contains more of the query's words counts more, the more so the better the best chunk covers the query.
2. Neighbouring turns of a conversation lend to each other, because an answer often follows its question; whole
   conversations that follow each other do not.
3. Keyword scores are divided by the best one, and scaled by how much of the query that best one covers.
4. The keyword side counts less if its best match has only common words (measured in nats) or few words of the query.
5. The query's vector moves towards the best matches, as far as those agree, and the cosines are computed again.
6. If the query asks for several things, a passage that is near to one of them counts as near to the query.

Everything happens in the pool, and the store is asked once more at most: by the last two steps together or, if there
are turns of conversations, by the second. Then the last two are left out, because they bring nothing there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.search.candidates import Pool
from ricordo.search.ranking import steady_spreads
from ricordo.store.query import NO_CHUNK, Aim, Shown

if TYPE_CHECKING:
    from ricordo.store.search.index import SearchIndex

Array = npt.NDArray[Any]
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
STRANGERS, RELATED_TURNS = 0.25, 0.5
"""Cosines of two turns: up to the first they lend nothing, from the second all that is said above."""
UNKNOWN = 0.5
"""How much of it counts if there are no vectors to compare."""
QUESTION_MARKS = frozenset("?？؟")


@frozen
class Lending:
    """What the members of a pool lend to each other: an answer often follows its question, and says little by itself.

    A turn that is near to a better one gains a share of that one's lead, most of it if the turn before it asks
    something. A turn that stands out alone loses a little. Both count only as far as two turns speak of the same thing,
    by the cosine of their vectors: in a chat that jumps from topic to topic, the next turn says nothing about this one.
    And they count the less the more passages the two have, because a long text says enough by itself.
    """

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
        asks, sizes, vectors = _read_turns(index, pool, np.flatnonzero(looked_at))
        there = (places >= 0) & looked_at[:, None] & looked_at[places]
        shares = np.tile(BY_PLACE, (len(pool), 1))
        shares[:, 1] = np.where(asks[places[:, 1]], AFTER_A_QUESTION, shares[:, 1])
        shares[:, 2] = np.where(asks, TO_A_QUESTION, shares[:, 2])
        together = np.where(there, UNKNOWN if vectors is None else _related(vectors, places), 0.0)
        together /= sizes[:, None] * sizes[places]
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
    places = np.full((len(pool), len(PLACES)), -1)
    for n, others in pool.answer.neighbours.items():
        for other, away in others:
            if n in place and other in place and away in PLACES:
                places[place[n], PLACES.index(away)] = place[other]
    return places if (places >= 0).any() else None


def _read_turns(index: SearchIndex, pool: Pool, members: Array) -> tuple[Array, Array, Array | None]:
    """Which members ask something, how many passages each has, and the vectors of all; None if meaning does not
    count.
    """
    numbers = [pool.found.numbers[at] for at in members]
    chunks = pool.found.vector_chunks[members].tolist()
    fingerprint = pool.vector.fingerprint if pool.vector is not None and pool.has_vectors else ""
    wanted = [Shown(n, () if chunk == NO_CHUNK else (chunk,)) for n, chunk in zip(numbers, chunks, strict=True)]
    read = index.passages(wanted, vectors=fingerprint)
    asks, sizes = np.zeros(len(pool), bool), np.ones(len(pool))
    texts = [read.texts.get(n, ()) for n in numbers]
    asks[members] = [not QUESTION_MARKS.isdisjoint("".join(part.text for part in parts)) for parts in texts]
    sizes[members] = [max((part.of for part in parts), default=1) for parts in texts]
    compared = [(at, read.vectors[chunk]) for at, chunk in zip(members, chunks, strict=True) if chunk in read.vectors]
    if not compared:
        return asks, sizes, None
    vectors = np.zeros((len(pool), len(compared[0][1])), np.float32)
    for at, vector in compared:
        vectors[at] = vector
    return asks, sizes, vectors


def _related(vectors: Array, places: Array) -> Array:
    cosines = np.stack([np.einsum("nd,nd->n", vectors, vectors[column]) for column in places.T], axis=1)
    related: Array = np.clip((cosines - STRANGERS) / (RELATED_TURNS - STRANGERS), 0.0, 1.0)
    return related


MOST_QUESTIONS = 4
"""Questions that are looked for separately; a long text begins with what it is about."""
MOST_OF_A_TEXT = 2
"""The same of the sentences that stand for a long text: each takes as long as a short question."""
FEWEST_WORDS = 3
"""A part with fewer words says too little by itself."""

_BETWEEN = late(
    r"""(?<=[.!?;\n])\s+ | \n+
    | ,\s+(?=(?:and|but|then|also|or)\b)
    | \s+(?=and\s(?:also|then|I|can|could|how|what|who|when|where)\b)""",
    re.VERBOSE,
)
_BETWEEN_SIGNS = (*".!?;\n,", "and")
"""One of these is in every match of that."""


def questions_in(text: str, most: int = MOST_QUESTIONS) -> tuple[str, ...]:
    """The separate things that a query asks for, at most ``most``; nothing if it asks for one thing only.

    >>> questions_in("Will it rain in London? Also, suggest a museum there.")
    ('Will it rain in London?', 'Also, suggest a museum there.')
    >>> questions_in("how do I rotate the keys of a server and its clients")
    ()
    """
    inside = text.strip()[:-1]
    if not any(map(inside.__contains__, _BETWEEN_SIGNS)):
        return ()  # most questions ask for one thing
    parts = [part.strip() for part in _BETWEEN.split(text) if len(part.split()) >= FEWEST_WORDS]
    return tuple(parts[:most]) if len(parts) > 1 else ()


FEEDBACK_ITEMS = 5
FEEDBACK_POOL = 60
"""In a smaller pool the query is not moved, because the best few say too little."""
FEEDBACK = 0.6
EVIDENCE = 6.0
"""In nats: with a best keyword score of this much, the keyword side keeps half of what coverage leaves open."""
RELATED = 0.35
"""The cosine from which best matches count as related to the query; below, they move it less, and not at all at 0."""


def refine(index: SearchIndex, pool: Pool, steps: Collection[str], lexical_share: float) -> None:
    """Replace the keyword scores and cosines of a pool by their refined values."""
    if not len(pool):
        return
    if "evidence" in steps and pool.answer.maximum:
        best, covered = pool.best_of_sides()
        pool.belief = belief(best * pool.answer.maximum, covered)
    owners = pool.found.passages.owners
    lexical = _covered(pool, owners, pool.best_coverage() ** 2 if "coverage" in steps else 0.0)
    cosines = np.maximum(pool.cosines, 0.0)
    share = lexical_share * pool.belief
    places = places_in(pool) if "neighbours" in steps else None
    if places is not None:
        lending = Lending.among(index, pool, places, _merit(lexical * _scale(pool, lexical), cosines, share))
        lexical, cosines = lending.of(lexical), lending.of(cosines)
    pool.scale = _scale(pool, lexical)
    lexical = lexical * pool.scale
    if places is None and ("feedback" in steps or "questions" in steps):
        towards = _best_matches(pool, _merit(lexical, cosines, share)) if "feedback" in steps else ()
        moved = _moved(index, pool, owners, towards)
        cosines = cosines if moved is None else moved
    pool.lexical, pool.cosines = lexical, cosines


def _scale(pool: Pool, lexical: Array) -> float:
    """What keyword scores are multiplied by: the best one counts as much as it covers of the query."""
    best = float(lexical.max(initial=0.0))
    if best <= 0:
        return 1.0
    whole = pool.answer.by_substring  # the query stands there as it was written
    return (1.0 if whole else math.sqrt(pool.best_coverage() * pool.answer.share)) / best


def _covered(pool: Pool, owners: Array, power: float) -> Array:
    """By member: the best keyword score of its passages, each weighed by how much of the query it covers."""
    passages = pool.found.passages
    coverage = np.where(np.isnan(passages.coverage), 1.0, passages.coverage)
    best = np.zeros(len(pool))
    np.maximum.at(best, owners, passages.scores * coverage**power)
    return best


def _merit(lexical: Array, cosines: Array, lexical_share: float) -> Array:
    """How good each member looks by both sides."""
    spread_lexical, spread_vector = steady_spreads(lexical, cosines)
    merit: Array = cosines / spread_vector + (lexical_share * lexical / spread_lexical if lexical.any() else 0.0)
    return merit


def _best_matches(pool: Pool, merit: Array) -> tuple[tuple[int, float], ...]:
    """The passages that the query moves towards, each with its weight; none if the candidates are too few."""
    if len(pool) < FEEDBACK_POOL:
        return ()
    best = np.argsort(-merit, kind="stable")[:FEEDBACK_ITEMS]
    weights = np.exp(merit[best] - merit[best[0]])
    chunks = pool.found.vector_chunks[best]
    return tuple(pair for pair in zip(chunks.tolist(), weights.tolist(), strict=True) if pair[0] != NO_CHUNK)


def _moved(index: SearchIndex, pool: Pool, owners: Array, towards: tuple[tuple[int, float], ...]) -> Array | None:
    """Each member's best cosine with the moved query and its parts; None if it neither moves nor has parts.

    A member without a vector keeps the value that replaces its cosine. The query moves little, so only the passages
    nearest to its old position are compared again.
    """
    vector = pool.vector
    if vector is None or not pool.has_vectors or not (towards or vector.parts):
        return None
    aim = Aim(vector.values, towards, FEEDBACK, RELATED, vector.parts)
    moved = index.cosines(vector.fingerprint, aim, pool.found.passages.chunks.tolist())
    if moved is None:
        return None
    raw = np.asarray(moved, np.float64)
    # A passage that has a vector of another model alone keeps its cosine.
    pool.moved = np.where(raw > -1 + 1e-9, vector.comparable(raw), pool.found.passages.cosines)
    best = np.where(pool.found.vector_chunks == NO_CHUNK, pool.cosines, 0.0)
    np.maximum.at(best, owners, pool.moved)
    return best


def belief(evidence: float, coverage: float) -> float:
    """The part of its weight that the keyword side keeps: a few common words of a long query say little about its
    meaning.

    >>> round(belief(4.0, 0.4), 2), round(belief(40.0, 0.4), 2), belief(4.0, 1.0)
    (0.64, 0.92, 1.0)
    """
    return 1.0 - (1.0 - coverage) * EVIDENCE / (evidence + EVIDENCE)
