"""Refines the scores of a pool before it is ranked: by coverage, by neighbours in a thread, and by moving the query.

Each step was kept because it helped on most evaluation sets (docs/ranking.md has the figures):

1. A chunk that contains more of the query's words counts more, the more so the better the best chunk covers the query.
2. Neighbouring turns of a conversation raise each other's values, because an answer often follows its question.
3. Keyword scores are divided by the best one, and scaled by how much of the query that best one covers.
4. The keyword side counts less if its best match has only common words (measured in nats) or few words of the query.
5. The query's vector moves towards the best matches, as far as those agree, and the cosines are computed again.
6. If the query asks for several things, a passage that is near to one of them counts as near to the query.

Everything happens in the pool; only the last two steps ask the store once more, together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.search.fusion import steady_spreads
from ricordo.search.pool import Pool
from ricordo.store.asking import Aim
from ricordo.store.found import NO_CHUNK
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
    """Replace the keyword scores and cosines of a pool by their refined values."""
    if not len(pool):
        return
    if "evidence" in steps and pool.answer.maximum:
        found = pool.best_lexical_of_sides() * pool.answer.maximum
        pool.belief = belief(found, pool.best_coverage_of_sides())
    near = pool.answer.neighbours if "neighbours" in steps else {}
    numbers = pool.found.numbers
    owners = pool.found.passages.owners
    coverage = pool.best_coverage()
    lexical = lend(numbers, near, _covered(pool, owners, coverage**2 if "coverage" in steps else 0.0))
    best = float(lexical.max(initial=0.0))
    if best > 0:
        whole = pool.answer.by_substring  # the query stands there as it was written
        pool.scale = (1.0 if whole else math.sqrt(coverage * pool.answer.share)) / best
        lexical = lexical * pool.scale
    cosines = lend(numbers, near, np.maximum(pool.cosines, 0.0))
    if "feedback" in steps or "questions" in steps:
        towards = _best_matches(pool, (lexical, cosines), lexical_share * pool.belief) if "feedback" in steps else ()
        moved = _moved(index, pool, owners, towards)
        cosines = cosines if moved is None else lend(numbers, near, moved)
    pool.lexical, pool.cosines = lexical, cosines


def _covered(pool: Pool, owners: Array, power: float) -> Array:
    """By member: the best keyword score of its passages, each weighed by how much of the query it covers."""
    passages = pool.found.passages
    coverage = np.where(np.isnan(passages.coverage), 1.0, passages.coverage)
    best = np.zeros(len(pool))
    np.maximum.at(best, owners, passages.scores * coverage**power)
    return best


def _best_matches(pool: Pool, sides: tuple[Array, Array], lexical_share: float) -> tuple[tuple[int, float], ...]:
    """The passages that the query moves towards, each with its weight; none if the candidates are too few."""
    lexical, cosines = sides
    if len(pool) < FEEDBACK_POOL:
        return ()
    spread_lexical, spread_vector = steady_spreads(lexical, cosines)
    merit = cosines / spread_vector + (lexical_share * lexical / spread_lexical if lexical.any() else 0.0)
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
    found = np.where(pool.found.vector_chunks == NO_CHUNK, pool.cosines, 0.0)
    np.maximum.at(found, owners, pool.moved)
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
