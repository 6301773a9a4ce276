"""What a store needs of a search engine that finds points by their vectors; two ways to call Qdrant fulfil it.

A space holds the vectors of one model. A point's id is the number of its passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.masking import masked_in
from ricordo.store.arrays import Array

LEAST_LOOKED_AT = 200
"""How many points a search in a graph of neighbours keeps in view at least; more find more of the true nearest."""
VECTOR = "v"
_OWN_MISTAKES = (TypeError, AttributeError, LookupError, AssertionError)
"""Errors of this program, not of an engine: they are not turned into ours."""


class IndexAway(Unavailable):
    """The search engine does not answer, or lacks what it was given."""

    code = "index_away"


class IndexLost(IndexAway):
    """The search engine answers, and what it was given is not there, or is not what it was given."""

    code = "index_lost"


@frozen
class Space:
    """Where the points of one model are."""

    name: str
    dimensions: int = 0


@frozen
class Point:
    """A passage in a space, with the number of its item."""

    id: int
    item: int
    vector: Array


class PointEngine(Protocol):
    """Keeps points, and finds the nearest. What returned is kept; whatever fails raises ``IndexAway``."""

    def check(self) -> None:
        """Fail if it cannot be used."""
        ...

    def make(self, space: Space) -> None:
        """Make a space; nothing happens if it is there."""
        ...

    def put(self, space: Space, points: Sequence[Point], seq: int) -> None:
        """Write points, in place of those with the same ids, unless these were written with a later ``seq``."""
        ...

    def remove(self, space: Space, ids: Sequence[int]) -> None: ...
    def nearest(self, space: Space, vector: Array, limit: int, items: Sequence[int] | None) -> list[int]:
        """The ids of the points with the largest products, best first; with ``items``, among the passages of these."""
        ...

    def count(self, space: Space) -> int: ...
    def held(self, space: Space, ids: Sequence[int]) -> set[int]:
        """Those of some ids that are there."""
        ...

    def drop(self, space: Space) -> None:
        """Throw a space away; nothing happens if it is not there."""
        ...

    def settle(self) -> None:
        """Make searches among what was written fast; called when nothing is left to write."""
        ...

    def close(self) -> None: ...


def point_number(given: object, name: str) -> int:
    """The number of a point that an engine found; Ricordo gives no other names to points."""
    if isinstance(given, int):
        return given
    raise IndexLost(
        f"the search engine {name} holds a point that is not Ricordo's ({given})",
        hint="Let no other program write to its collections, and run ‹:index --rebuild›.",
    )


def lost(space: Space, name: str) -> IndexLost:
    """The error for a space that is gone."""
    return IndexLost(f"the search engine {name} has lost its collection {space.name}", hint="Run ‹:index --rebuild›.")


@contextmanager
def calling(name: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Turn an engine's errors into ours; ``Exception`` stands for those that have no class of their own."""
    try:
        yield
    except errors as error:
        named = tuple(one for one in errors if one is not Exception)
        is_engines = type(error) is Exception or isinstance(error, named)
        if isinstance(error, (IndexAway, *_OWN_MISTAKES)) or not is_engines:
            raise
        text = str(error).strip().splitlines()
        raise IndexAway(
            f"the search engine {name} did not do its work: {masked_in(text[0]) if text else type(error).__name__}",
            hint="Nothing is lost: PostgreSQL answers meanwhile. If the engine lost its data, run ‹:index --rebuild›.",
        ) from error
