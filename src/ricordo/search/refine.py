"""Refines the scores of a pool before it is ranked: by coverage, by neighbours in a thread, and by moving the query.

Each step was kept because it helped on most evaluation sets (docs/ranking.md has the figures):

1. A chunk that contains more of the query's words counts more, the more so the better the best chunk covers the query.
2. Neighbouring turns of a conversation raise each other's values, because an answer often follows its question.
3. Keyword scores are divided by the best one, and scaled by how much of the query that best one covers.
4. The keyword side counts less if its best match has only common words (measured in nats) or few words of the query.
5. The query's vector moves towards the best matches, as far as those agree, and the cosines are computed again.

Everything happens in the pool; only the last step asks the store once more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen
from ricordo.search.fusion import steadied_sides
from ricordo.search.pool import Pool
from ricordo.store.asking import Aim
from ricordo.store.parts import SearchIndex

Array = npt.NDArray[Any]
REACH = 2
LENT = (0.25, 0.10)
"""The share of the better neighbour at a distance of one and of two turns; the item's own value has the rest."""
FEEDBACK_ITEMS = 5
FEEDBACK_POOL = 60
"""In a smaller pool the query is not moved, because the best few say too little."""
FEEDBACK = 0.6
EVIDENCE = 6.0
"""In nats: with a best keyword score of this much, the keyword side keeps half of what coverage leaves open."""
RELATED = 0.35
"""The cosine from which best matches count as related to the query; below, they move it less, and not at all at 0."""


def refine(index: SearchIndex, pool: Pool, steps: Collection[str], lexical_share: float) -> None:
    """Replace each member's keyword score and cosine by their refined values, in place."""
    if not pool.members:
        return
    if "evidence" in steps and pool.answer.maximum:
        found = pool.best_lexical_of_sides() * pool.answer.maximum
        pool.belief = belief(found, pool.best_coverage_of_sides())
    near = pool.answer.neighbours if "neighbours" in steps else {}
    numbers = list(pool.members)
    passages = _Passages.of(pool)
    coverage = pool.best_coverage()
    lexical = lend(numbers, near, passages.covered(coverage**2 if "coverage" in steps else 0.0))
    best = float(lexical.max(initial=0.0))
    if best > 0:
        whole = pool.answer.by_substring  # the query stands there as it was written
        pool.scale = (1.0 if whole else math.sqrt(coverage * pool.answer.share)) / best
        lexical = lexical * pool.scale
    cosines = lend(numbers, near, np.array([max(m.cosine, 0.0) for m in pool.members.values()]))
    if "feedback" in steps:
        moved = _moved(index, pool, passages, (lexical, cosines), lexical_share * pool.belief)
        cosines = cosines if moved is None else lend(numbers, near, moved)
    for member, keyword, cosine in zip(pool.members.values(), lexical.tolist(), cosines.tolist(), strict=True):
        member.lexical, member.cosine = keyword, cosine


@frozen
class _Passages:
    """The passages of all members one after the other: ids, their members' places, keyword scores, coverage."""

    chunks: list[int]
    owners: Array
    scores: Array
    coverage: Array
    members: int

    @classmethod
    def of(cls, pool: Pool) -> _Passages:
        held = [member.chunks for member in pool.members.values()]
        chunks = [chunk for one in held for chunk in one]
        covered = pool.answer.coverage
        return cls(
            chunks,
            np.repeat(np.arange(len(held)), [len(one) for one in held]),
            np.array([score for one in held for score, _ in one.values()]),
            np.array([covered.get(chunk, 1.0) for chunk in chunks]),
            len(held),
        )

    def covered(self, power: float) -> Array:
        """By member: the best keyword score of its passages, each weighed by how much of the query it covers."""
        best = np.zeros(self.members)
        np.maximum.at(best, self.owners, self.scores * self.coverage**power)
        return best


def _moved(
    index: SearchIndex, pool: Pool, passages: _Passages, sides: tuple[Array, Array], lexical_share: float
) -> Array | None:
    """Each member's best cosine with the query moved towards the best matches; None where nothing moves it.

    A member without a vector keeps the value that replaces its cosine. The query moves little, so only the passages
    nearest to its old position are compared again.
    """
    lexical, cosines = sides
    members = list(pool.members.values())
    if pool.vector is None or not pool.has_vectors or len(members) < FEEDBACK_POOL:
        return None
    spread_lexical, spread_vector = steadied_sides(lexical, cosines)
    merit = cosines / spread_vector + (lexical_share * lexical / spread_lexical if lexical.any() else 0.0)
    best = np.argsort(-merit, kind="stable")[:FEEDBACK_ITEMS]
    weights = np.exp(merit[best] - merit[best[0]])
    towards = tuple(
        (chunk, float(weight))
        for i, weight in zip(best, weights, strict=True)
        if (chunk := members[i].found.vector_chunk) is not None
    )
    aim = Aim(pool.vector.values, towards, FEEDBACK, RELATED)
    moved = index.cosines(pool.vector.fingerprint, aim, passages.chunks)
    if moved is None:
        return None
    pool.moved = dict(zip(passages.chunks, moved, strict=True))
    found = np.array([m.cosine if m.found.vector_chunk is None else 0.0 for m in members])
    np.maximum.at(found, passages.owners, np.array(moved))
    return found


def belief(evidence: float, coverage: float) -> float:
    """The part of its weight that the keyword side keeps: a few common words of a long query say little about its
    meaning.

    >>> round(belief(4.0, 0.4), 2), round(belief(40.0, 0.4), 2), belief(4.0, 1.0)
    (0.64, 0.92, 1.0)
    """
    return 1.0 - (1.0 - coverage) * EVIDENCE / (evidence + EVIDENCE)


def lend(numbers: list[int], near: Mapping[int, Sequence[tuple[int, int]]], values: Array) -> Array:
    """Values with a share of the better neighbour's at each distance; where there is none, the item's own counts."""
    if not near:
        return values
    place = {n: i for i, n in enumerate(numbers)}
    lent = values.copy()
    for n, others in near.items():
        at = place.get(n)
        if at is None:
            continue
        own = float(values[at])
        total = own
        for distance, share in enumerate(LENT, start=1):
            found = [float(values[place[m]]) for m, away in others if abs(away) == distance and m in place]
            total += share * (max([*found, own] if len(found) < 2 else found) - own)
        lent[at] = total
    return lent
