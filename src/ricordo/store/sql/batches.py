"""Lists of values for statements: in parts that one statement takes, each with its question marks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def marks(values: Collection[object]) -> str:
    """A question mark for each value."""
    return ",".join("?" * len(values))


def in_parts(values: Iterable[T], size: int = 512) -> Iterator[tuple[str, list[T]]]:
    """The values in parts for ``IN``, each with its question marks.

    A part is filled up with its last value to a power of two: so there are few forms of a statement, and the database
    need not compile one for every number of values.
    """
    ordered = list(values)
    for at in range(0, len(ordered), size):
        part = ordered[at : at + size]
        part += part[-1:] * ((1 << (len(part) - 1).bit_length()) - len(part))
        yield marks(part), part


def not_in(column: str, values: Collection[T]) -> tuple[str, list[T]]:
    """The condition that a column has none of some values, to be put behind others, and what is bound in it."""
    return (f" AND {column} NOT IN ({marks(values)})", list(values)) if values else ("", [])
