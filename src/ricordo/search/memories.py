"""Searches memories and sessions separately: by words, all with the same score, merged with the other hits by score.

Only profiles with a ``memory_score`` do this, and only when asked to; to all others, memories are items like any other.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ricordo.errors import UsageError
from ricordo.search.pool import Pool
from ricordo.search.profile import Profile
from ricordo.search.ranking import Ranking, Weighed
from ricordo.values.hits import Filters, SignalShare
from ricordo.values.kinds import KINDS

ON_THEIR_OWN = ("memory", "session")
NO_KIND = ("\x00none",)
"""A filter that nothing passes."""


def score_of(profile: Profile) -> float:
    """The score of a memory in this profile; a usage error if the profile has no such score."""
    if profile.memory_score is None:
        raise UsageError(
            f"the profile '{profile.name}' ranks memories with everything else",
            hint="Leave out ‹memories›, or use ‹profile=vault›.",
        )
    return profile.memory_score


def split(filters: Filters) -> tuple[Filters, Filters]:
    """The filters for everything but memories, and those for memories alone.

    A filter by kind that names neither memories nor sessions does not apply to them, because they were asked for in
    addition.
    """
    kinds = filters.kinds or KINDS
    rest = tuple(kind for kind in kinds if kind not in ON_THEIR_OWN) or NO_KIND
    own = tuple(kind for kind in kinds if kind in ON_THEIR_OWN) or ON_THEIR_OWN
    return replace(filters, kinds=rest), replace(filters, kinds=own)


def merged(ranking: Ranking, found: Pool, score: float, as_of: datetime | None = None) -> Ranking:
    """The order of all hits by value; memories, which all have the same value, are ordered by how well their words
    match.

    The ranking then holds the members of both pools.
    """
    pool = ranking.pool
    pool.total += found.total
    share = SignalShare("memory", score, 1.0, score)
    best = sorted(found.members(), key=lambda member: (-member.lexical, member.ref))
    pool.others.append(found)
    moment = as_of or datetime.now(UTC)
    memories = [Weighed(member, score, (share,), lowered=found.lowered(member.n, moment)) for member in best]
    return replace(ranking, order=sorted([*ranking.order, *memories], key=lambda entry: -entry.counted))
