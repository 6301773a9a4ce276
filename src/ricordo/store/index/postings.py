"""The bytes of the lexical index: how postings of many chunks become one row per term, and back.

A posting list is one blob: ``uint32`` ordinals of the chunks in their segment (ascending), then for each field
that holds the term one frequency per chunk (``uint8``, or ``uint16`` when one exceeds 255), then one byte that says
which fields follow and how wide they are. Everything here is pure; tables and scores live elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array
from ricordo.store.sql.database import FIELDS
from ricordo.store.values import TermCounts

MAX_FREQUENCY = 65535
_WIDE = 0x80


@frozen
class Posting:
    """A decoded list: ordinals and, for each field present, its frequencies."""

    ordinals: Array
    frequencies: tuple[tuple[int, Array], ...]

    def frequencies_at(self, ordinal: int) -> dict[int, int]:
        """How often each field of a chunk holds the term, by field; empty if none does."""
        at = int(np.searchsorted(self.ordinals, ordinal))
        if at >= len(self.ordinals) or self.ordinals[at] != ordinal:
            return {}
        return {field: int(values[at]) for field, values in self.frequencies if values[at]}


def decode(data: bytes) -> Posting:
    """Read a blob without copying it."""
    flags = data[-1]
    present = [field for field in range(len(FIELDS)) if flags >> field & 1]
    width = 2 if flags & _WIDE else 1
    count, rest = divmod(len(data) - 1, 4 + width * len(present))
    if rest or not count:
        raise ValueError("a posting list of the keyword index is damaged")
    kind = np.uint16 if width == 2 else np.uint8
    planes = tuple(
        (field, np.frombuffer(data, kind, count, 4 * count + i * width * count)) for i, field in enumerate(present)
    )
    return Posting(np.frombuffer(data, np.uint32, count), planes)


def invert(chunks: Sequence[TermCounts]) -> Iterator[tuple[str, bytes]]:
    """The posting rows of a batch of chunks, in term order. The n-th chunk gets the ordinal n."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    fields = list(chain.from_iterable(chunks))
    sizes = list(map(len, fields))
    entries = sum(sizes)
    if not entries:
        return
    owners = np.fromiter(map(numbers.__getitem__, chain.from_iterable(fields)), np.int64, entries)
    frequencies = np.fromiter(chain.from_iterable([counts.values() for counts in fields]), np.int64, entries)
    terms = sorted(numbers)
    # Entries come by chunk and field, and a stable sort keeps that order; numbers of 16 bits are sorted in linear time.
    rank = np.empty(len(terms), np.uint16 if len(terms) <= 1 << 16 else np.int64)
    rank[[numbers[term] for term in terms]] = np.arange(len(terms))
    ranked = rank[owners]
    order = np.argsort(ranked, kind="stable")
    owner = ranked[order]
    block = np.repeat(np.arange(len(sizes)), sizes)[order]  # which chunk and field an entry belongs to
    values = np.minimum(frequencies[order], MAX_FREQUENCY)
    ordinals, field = np.divmod(block, len(FIELDS))
    fresh = np.empty(len(owner), bool)  # where a new (term, chunk) starts: its fields share one row
    fresh[0] = True
    fresh[1:] = (owner[1:] != owner[:-1]) | (ordinals[1:] != ordinals[:-1])
    planes = np.zeros((len(FIELDS), int(fresh.sum())), np.uint16)
    planes[field, np.cumsum(fresh) - 1] = values
    rows = np.bincount(owner[fresh], minlength=len(terms))
    yield from _write(terms, rows, ordinals[fresh].astype(np.uint32), planes)


def _write(terms: Sequence[str], counts: Array, ordinals: Array, planes: Array) -> Iterator[tuple[str, bytes]]:
    """Cut the rows of all terms into blobs; slices of a few large byte strings, so that small terms stay cheap."""
    ends = np.cumsum(counts)
    starts = ends - counts
    present = np.maximum.reduceat(planes, starts, axis=1)
    flags = ((present > 0) << np.arange(len(FIELDS))[:, None]).sum(axis=0) | np.where(
        present.max(axis=0) > 255, _WIDE, 0
    )
    ordinal_bytes = np.ascontiguousarray(ordinals).tobytes()
    narrow = [plane.astype(np.uint8).tobytes() for plane in planes]
    wide = [plane.tobytes() for plane in planes]
    layouts = {flag: [f for f in range(len(FIELDS)) if flag >> f & 1] for flag in set(flags.tolist())}
    alone = {1 << field: (plane, bytes((1 << field,))) for field, plane in enumerate(narrow)}
    for term, start, end, flag in zip(terms, starts.tolist(), ends.tolist(), flags.tolist(), strict=True):
        if flag in alone:  # most terms stand in one field only
            plane, last = alone[flag]
            yield term, ordinal_bytes[4 * start : 4 * end] + plane[start:end] + last
            continue
        if flag & _WIDE:
            parts = [wide[field][2 * start : 2 * end] for field in layouts[flag]]
        else:
            parts = [narrow[field][start:end] for field in layouts[flag]]
        yield term, b"".join((ordinal_bytes[4 * start : 4 * end], *parts, bytes((flag,))))


def combine(rows: Sequence[tuple[str, int, bytes]], moves: Sequence[Array]) -> Iterator[tuple[str, bytes]]:
    """Merge rows ``(term, source, blob)``, sorted by term then source, into one row per term.

    ``moves[source]`` maps the source's ordinals to those of the merged segment, or to -1 for chunks left behind. All
    blobs are read as one buffer, because a step handles thousands of short lists, and arrays for each would be slow.
    """
    if not rows:
        return
    buffer = np.frombuffer(b"".join(row[2] for row in rows), np.uint8)
    ends = np.cumsum([len(row[2]) for row in rows])
    flags = buffer[ends - 1]
    width = np.where(flags & _WIDE, 2, 1)
    entry = 4 + width * np.bitwise_count(flags & ~np.uint8(_WIDE))  # bytes per posting
    starts = np.concatenate(([0], ends[:-1]))
    sizes = (ends - 1 - starts) // entry
    row = np.repeat(np.arange(len(rows)), sizes)
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    raw = buffer[(starts[row] + 4 * place)[:, None] + np.arange(4)]
    ordinals = raw.reshape(-1).view(np.uint32).astype(np.int64)
    planes = np.zeros((len(FIELDS), len(row)), np.uint16)
    for field in range(len(FIELDS)):
        before = np.bitwise_count(flags & np.uint8((1 << field) - 1))
        base = starts + 4 * sizes + before * width * sizes
        has = (flags >> field & 1).astype(bool)
        for wide in (False, True):
            picked = np.flatnonzero((has & ((flags & _WIDE > 0) == wide))[row])
            at = base[row[picked]] + place[picked] * (2 if wide else 1)
            planes[field, picked] = buffer[at]
            if wide:
                planes[field, picked] += buffer[at + 1].astype(np.uint16) << 8
    source = np.array([entry_[1] for entry_ in rows])[row]
    offsets = np.cumsum([0, *(len(move) for move in moves[:-1])])
    moved = np.concatenate(moves)[offsets[source] + ordinals]
    yield from _merged(rows, row, moved, planes)


def _merged(
    rows: Sequence[tuple[str, int, bytes]], row: Array, moved: Array, planes: Array
) -> Iterator[tuple[str, bytes]]:
    """Drop the chunks that are left behind and write the rest, one row per term."""
    stays = moved >= 0
    if not stays.all():
        row, moved, planes = row[stays], moved[stays], planes[:, stays]
    fresh_term = [i == 0 or rows[i][0] != rows[i - 1][0] for i in range(len(rows))]
    number = np.cumsum(fresh_term) - 1
    counts = np.bincount(number[row], minlength=int(number[-1]) + 1)
    terms = [rows[i][0] for i, fresh in enumerate(fresh_term) if fresh]
    held = [term for term, size in zip(terms, counts.tolist(), strict=True) if size]
    if held:
        yield from _write(held, counts[counts > 0], moved.astype(np.uint32), planes)
