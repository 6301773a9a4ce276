"""Memories and sessions searched apart: by words alone, each with the same fixed score, merged with the rest by score.

Only profiles with a ``memory_score`` do this, and only when asked to; to all others, memories are items like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ricordo.errors import UsageError
from ricordo.search.profile import Profile
from ricordo.search.ranking import Standing
from ricordo.search.sides import Member, Pool
from ricordo.values.hits import Filters, SignalShare
from ricordo.values.items import Item
from ricordo.values.kinds import KINDS

APART = ("memory", "session")
NO_KIND = ("\x00none",)
"""A filter that nothing passes."""


def score_of(profile: Profile) -> float:
    """What a memory scores in this profile, or a usage error where it has no such score."""
    if profile.memory_score is None:
        raise UsageError(
            f"the profile '{profile.name}' ranks memories with everything else",
            hint="Leave out --memories, or use --profile vault.",
        )
    return profile.memory_score


def split(filters: Filters) -> tuple[Filters, Filters]:
    """The filters for everything but memories, and those for memories alone.

    A filter by kind that names none of the kinds apart does not hold for them: they were asked for in addition.
    """
    kinds = filters.kinds or KINDS
    rest = tuple(kind for kind in kinds if kind not in APART) or NO_KIND
    apart = tuple(kind for kind in kinds if kind in APART) or APART
    return replace(filters, kinds=rest), replace(filters, kinds=apart)


def merged(
    standings: Sequence[Standing], pool: Pool, found: Pool, items: Mapping[int, Item], score: float
) -> list[Standing]:
    """The order of both: by value, and among memories, which all have the same, by how well their words match.

    The members of ``found``, whose items are given, become members of the pool.
    """
    pool.maximum = pool.maximum or found.maximum
    pool.candidates += found.candidates
    share = SignalShare("memory", score, 1.0, score)

    def place(entry: tuple[int, Member]) -> tuple[float, str]:
        return -entry[1].lexical, str(items[entry[0]].ref)

    best = sorted(((n, member) for n, member in found.members.items() if n in items), key=place)
    pool.members.update(best)
    apart = [Standing(n, score, (share,)) for n, _ in best]
    return sorted([*standings, *apart], key=lambda standing: -standing.value)
