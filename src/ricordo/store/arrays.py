"""What searches do with arrays of numbers: distinct values, first places, groups.

numpy's own ``unique`` loads ``numpy.ma``, which takes 13 ms of every fresh process; nothing here does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen

Array = npt.NDArray[Any]
_PLACE_BITS = 22
ADDED_AT_MOST = 2_000
ADDED_SHARE = 16
"""How many added numbers are grouped apart, besides one for every sixteen that were there. With more, all are grouped
again.
"""


def distinct(values: Array) -> Array:
    """Each value once, ascending."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def count_distinct(numbers: Array) -> int:
    """How many different whole numbers there are; no sorting, so it is quick for hundreds of thousands.

    >>> count_distinct(np.array([7, 3, 7, 3]))
    2
    """
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, bool)
    seen[numbers] = True
    return int(np.count_nonzero(seen))


def stable_order(numbers: Array) -> Array:
    """The order of whole numbers from 0 to 2**40, equal ones in their order; three times as fast as ``argsort``.

    >>> stable_order(np.array([7, 3, 7, 3])).tolist()
    [1, 3, 0, 2]
    """
    if len(numbers) >> _PLACE_BITS:
        return numbers.argsort(kind="stable")
    keys = (numbers.astype(np.int64) << _PLACE_BITS) | np.arange(len(numbers))
    keys.sort()
    order: Array = keys & ((1 << _PLACE_BITS) - 1)
    return order


def first_places(values: Array) -> Array:
    """The first position of each distinct value, ascending.

    >>> first_places(np.array([7, 7, 3, 7, 5])).tolist()
    [0, 2, 4]
    """
    order = stable_order(values)
    ordered = values[order]
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return np.sort(order[first])


def few_per_group(numbers: Array, scores: Array, few: int) -> tuple[Array, Array]:
    """Positions of the best few of each group, group by group and best first; equal numbers are a group.

    The second array says where among them each group begins, and where the last one ends.
    """
    best = (-scores).argsort(kind="stable")
    order = best[stable_order(numbers[best])]
    owners = numbers[order]
    starts = np.concatenate(([True], owners[1:] != owners[:-1])).nonzero()[0] if len(owners) else owners[:0]
    sizes = np.diff(np.append(starts, len(owners)))
    place = np.arange(len(owners)) - starts.repeat(sizes)
    return order[place < few], np.concatenate(([0], np.minimum(sizes, few).cumsum())).astype(np.int64)


def lookup(values: Array, wanted: Array) -> Array:
    """Like ``np.isin`` for small whole numbers, without sorting."""
    table = np.zeros(int(max(values.max(initial=0), wanted.max(initial=0))) + 1, bool)
    table[wanted] = True
    present: Array = table[values]
    return present


def only_among(pairs: tuple[Array, Array], among: Array) -> tuple[Array, Array]:
    """Of places that hold a word, and the values there, those that are among some places; all of them ascending."""
    places, values = pairs
    if len(among) < len(places):
        spots = np.minimum(np.searchsorted(places, among), len(places) - 1)
        spots = spots[places[spots] == among]
    else:
        there = np.minimum(np.searchsorted(among, places), len(among) - 1)
        spots = (among[there] == places).nonzero()[0]
    return places[spots], values[spots]


class Growing:
    """An array that grows at the end of its last axis without being copied each time.

    What ``grown`` gave before stays as it was: only the room behind it is written. When a number comes that its kind
    cannot hold, the array has 64 bits from then on.
    """

    def __init__(self, shape: tuple[int, ...], kind: npt.DTypeLike) -> None:
        self._room: Array = np.empty(shape, kind)

    def grown(self, size_before: int, parts: Sequence[Array]) -> Array:
        """The first ``known`` numbers, with some parts behind them."""
        size = size_before + sum(part.shape[-1] for part in parts)
        kind = self._room.dtype
        if any(part.dtype != kind and np.any(part != part.astype(kind)) for part in parts):
            kind = np.dtype(np.int64)
        if size > self._room.shape[-1] or kind != self._room.dtype:
            wider = np.empty((*self._room.shape[:-1], size + size // 8), kind)
            wider[..., :size_before] = self._room[..., :size_before]
            self._room = wider
        for part in parts:
            self._room[..., size_before : size_before + part.shape[-1]] = part
            size_before += part.shape[-1]
        return self._room[..., :size]


@frozen
class Grouped:
    """Positions grouped by the number at them, so that the positions of a few numbers are found without a scan."""

    order: Array
    starts: Array
    """By number: where its positions begin in ``order``; the next entry is where they end."""
    added: Grouped | None = None
    """The positions behind these, counted from there."""

    @classmethod
    def of(cls, numbers: Array) -> Grouped:
        """The groups of an array of small whole numbers."""
        order = stable_order(numbers)
        counts = np.bincount(numbers, minlength=1) if len(numbers) else np.zeros(1, np.int64)
        return cls(order.astype(np.int32), np.concatenate(([0], counts.cumsum())))

    def __len__(self) -> int:
        """One more than the highest number, at least."""
        return max(len(self.starts) - 1, 0 if self.added is None else len(self.added))

    def of_longer(self, numbers: Array) -> Grouped:
        """The groups of an array that begins with the numbers of this one; a few that were added are grouped apart."""
        size = len(self.order)
        if len(numbers) - size > ADDED_AT_MOST + size // ADDED_SHARE:
            return Grouped.of(numbers)
        return replace(self, added=Grouped.of(numbers[size:]) if len(numbers) > size else None)

    def positions(self, wanted: Array) -> Array:
        """The positions of some distinct numbers, those of each number ascending."""
        here = wanted[wanted < len(self.starts) - 1]
        starts = self.starts[here]
        sizes = self.starts[here + 1] - starts
        ends = sizes.cumsum()
        total = int(ends[-1]) if len(ends) else 0
        picked: Array = self.order[(starts - (ends - sizes)).repeat(sizes) + np.arange(total)].astype(np.intp)
        if self.added is None:
            return picked
        return np.concatenate((picked, self.added.positions(wanted) + len(self.order)))
