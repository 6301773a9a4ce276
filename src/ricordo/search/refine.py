"""Refines the scores of a pool before it is ranked: by coverage, by neighbours in a thread, and by moving the query.

Each step was kept because it helped on most evaluation sets (docs/ranking.md has the figures):

1. A chunk that contains more of the query's words counts more, the more so the better the best chunk covers the query.
2. Neighbouring turns of a conversation lend to each other, because an answer often follows its question.
3. Keyword scores are divided by the best one, and scaled by how much of the query that best one covers.
4. The keyword side counts less if its best match has only common words (measured in nats) or few words of the query.
5. The query's vector moves towards the best matches, as far as those agree, and the cosines are computed again.
6. If the query asks for several things, a passage that is near to one of them counts as near to the query.

Everything happens in the pool, and the store is asked once more at most: by the last two steps together or, if there
are turns of conversations, by the second. Then the last two are left out, because they bring nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.search.fusion import steady_spreads
from ricordo.search.neighbours import Lending, places_in
from ricordo.search.pool import Pool
from ricordo.store.asking import Aim
from ricordo.store.found import NO_CHUNK
from ricordo.store.parts import SearchIndex

Array = npt.NDArray[Any]
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
