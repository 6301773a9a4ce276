"""What the pool says about itself before it is ranked: coverage, neighbours in a thread, the query moved to its best.

Each step was kept because it helped on most evaluation sets (docs/ranking.md has the figures):

1. A chunk that holds more of what was asked for counts more; the better the best one covers the query, the more so.
2. Turns of a conversation lend each other their values: the answer to a question often stands one line further.
3. The keyword side is set against its best, scaled by how much of the query that best one covers.
4. It counts the less, the less it found: the rarity of what its best match holds, in nats, and how much of the query.
5. The query's vector moves towards the best matches, as far as those agree with each other, and cosines are taken anew.

Everything happens on the pool; the store is asked once more, for the last step alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.search.fusion import steadied_sides
from ricordo.search.pool import Member, Pool
from ricordo.store.asking import Aim
from ricordo.store.parts import SearchIndex

Array = npt.NDArray[Any]
REACH = 2
LENT = (0.25, 0.10)
"""What the better neighbour at one and at two places away gives; the item itself keeps the rest."""
FEEDBACK_ITEMS = 5
FEEDBACK_POOL = 60
"""In a smaller pool the best few are not best of enough to say where the query should go."""
FEEDBACK = 0.6
EVIDENCE = 6.0
"""Nats: with a best keyword score of so much, half of what coverage leaves open is earned."""
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
    power = pool.best_coverage() ** 2 if "coverage" in steps else 0.0
    lexical = lend(numbers, near, np.array([_covered(m, pool, power) for m in pool.members.values()]))
    best = float(lexical.max(initial=0.0))
    if best > 0:
        whole = pool.answer.by_substring  # the query stands there as it was written
        lexical = lexical / best * (1.0 if whole else math.sqrt(pool.best_coverage() * pool.answer.share))
    cosines = lend(numbers, near, np.array([max(m.cosine, 0.0) for m in pool.members.values()]))
    if "feedback" in steps:
        moved = _moved(index, pool, lexical, cosines, lexical_share * pool.belief)
        cosines = cosines if moved is None else lend(numbers, near, moved)
    for member, keyword, cosine in zip(pool.members.values(), lexical.tolist(), cosines.tolist(), strict=True):
        member.lexical, member.cosine = keyword, cosine


def _moved(index: SearchIndex, pool: Pool, lexical: Array, cosines: Array, lexical_share: float) -> Array | None:
    """Each member's best cosine with the query moved towards the best matches; None where nothing moves it.

    A member without a vector keeps the value that it was given in its place. The query moves little, so that the
    passages nearest to where it stood are enough to ask.
    """
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
    held = [(i, chunk) for i, member in enumerate(members) for chunk in member.chunks]
    aim = Aim(pool.vector.values, towards, FEEDBACK, RELATED)
    moved = index.cosines(pool.vector.fingerprint, aim, [chunk for _, chunk in held])
    if moved is None:
        return None
    found = np.array([m.cosine if m.found.vector_chunk is None else 0.0 for m in members])
    np.maximum.at(found, np.array([i for i, _ in held], np.int64), np.array(moved))
    return found


def belief(evidence: float, coverage: float) -> float:
    """What of its share the keyword side has earned: a few common words of a long query say little about what it means.

    >>> round(belief(4.0, 0.4), 2), round(belief(40.0, 0.4), 2), belief(4.0, 1.0)
    (0.64, 0.92, 1.0)
    """
    return 1.0 - (1.0 - coverage) * EVIDENCE / (evidence + EVIDENCE)


def _covered(member: Member, pool: Pool, power: float) -> float:
    """The best keyword score of a member's chunks, each weighed by how much of the query it covers."""
    return max(
        (
            score * pool.answer.coverage.get(chunk, 1.0) ** power
            for chunk, (score, _) in member.chunks.items()
            if score > 0
        ),
        default=0.0,
    )


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
