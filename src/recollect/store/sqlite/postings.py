"""The bytes of the lexical index: how postings of many chunks become one row per term, and back.

A posting list is one blob: ``uint32`` ordinals of the chunks in their segment (ascending), then for each field
that holds the term one frequency per chunk (``uint8``, or ``uint16`` when one exceeds 255), then one byte that says
which fields follow and how wide they are. Everything here is pure; tables and scores live elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

FIELDS: tuple[str, ...] = ("title", "path", "description", "tags", "context", "body")
BODY = FIELDS.index("body")
MAX_FREQUENCY = 65535
_WIDE = 0x80

Array = npt.NDArray[Any]
TermCounts = tuple[Mapping[str, int], ...]
"""Term frequencies of one chunk, a mapping per field."""


@dataclass(frozen=True, slots=True)
class Posting:
    """A decoded list: ordinals and, for each field present, its frequencies."""

    ordinals: Array
    frequencies: tuple[tuple[int, Array], ...]


def decode(data: bytes) -> Posting:
    """Read a blob without copying it."""
    flags = data[-1]
    present = [field for field in range(len(FIELDS)) if flags >> field & 1]
    width = 2 if flags & _WIDE else 1
    count = (len(data) - 1) // (4 + width * len(present))
    kind = np.uint16 if width == 2 else np.uint8
    planes = tuple(
        (field, np.frombuffer(data, kind, count, 4 * count + i * width * count)) for i, field in enumerate(present)
    )
    return Posting(np.frombuffer(data, np.uint32, count), planes)


def invert(chunks: Sequence[TermCounts]) -> Iterator[tuple[str, bytes]]:
    """The posting rows of a batch of chunks, in term order. The n-th chunk gets the ordinal n."""
    lists: dict[str, list[int]] = {}
    for ordinal, fields in enumerate(chunks):
        base = ordinal << 20
        for field, counts in enumerate(fields):
            code = base | field << 16
            for term, frequency in counts.items():
                entry = code | (frequency if frequency < MAX_FREQUENCY else MAX_FREQUENCY)
                known = lists.get(term)
                if known is None:
                    lists[term] = [entry]
                else:
                    known.append(entry)
    terms = sorted(lists)
    sizes = np.fromiter((len(lists[term]) for term in terms), np.int64, len(terms))
    codes = np.fromiter(chain.from_iterable(lists[term] for term in terms), np.int64, int(sizes.sum()))
    yield from _rows_of_codes(terms, sizes, codes)


def _rows_of_codes(terms: Sequence[str], sizes: Array, codes: Array) -> Iterator[tuple[str, bytes]]:
    """One code per (term, chunk, field): fold the fields of a chunk into one row, then write out."""
    if not terms:
        return
    owner = np.repeat(np.arange(len(terms)), sizes)
    pair = (codes >> 20) + owner * (int(codes.max() >> 20) + 1)
    fresh = np.empty(len(codes), bool)
    fresh[0] = True
    np.not_equal(pair[1:], pair[:-1], out=fresh[1:])
    row = np.cumsum(fresh) - 1
    planes = np.zeros((len(FIELDS), int(row[-1]) + 1), np.uint16)
    planes[(codes >> 16) & 15, row] = codes & 0xFFFF
    ordinals = (codes[fresh] >> 20).astype(np.uint32)
    counts = np.bincount(owner[fresh], minlength=len(terms))
    yield from _write(terms, counts, ordinals, planes)


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
    for term, start, end, flag in zip(terms, starts.tolist(), ends.tolist(), flags.tolist(), strict=True):
        if flag & _WIDE:
            parts = [wide[field][2 * start : 2 * end] for field in layouts[flag]]
        else:
            parts = [narrow[field][start:end] for field in layouts[flag]]
        yield term, b"".join((ordinal_bytes[4 * start : 4 * end], *parts, bytes((flag,))))


def combine(rows: Iterable[tuple[str, int, bytes]], moves: Sequence[Array]) -> Iterator[tuple[str, bytes]]:
    """Merge rows ``(term, source, blob)``, sorted by term then source, into one row per term.

    ``moves[source]`` maps the source's ordinals to those of the merged segment, or to -1 for chunks left behind.
    """
    owners: list[int] = []
    terms: list[str] = []
    ordinals: list[Array] = []
    planes: list[Array] = []
    for term, source, data in rows:
        posting = decode(data)
        moved = moves[source][posting.ordinals]
        plane = np.zeros((len(FIELDS), len(moved)), np.uint16)
        for field, frequencies in posting.frequencies:
            plane[field] = frequencies
        if (moved < 0).any():
            kept = moved >= 0
            moved, plane = moved[kept], plane[:, kept]
            if not len(moved):
                continue
        if not terms or terms[-1] != term:
            terms.append(term)
        owners.append(len(terms) - 1)
        ordinals.append(moved)
        planes.append(plane)
    if not terms:
        return
    counts = np.bincount(owners, weights=[len(part) for part in ordinals], minlength=len(terms)).astype(np.int64)
    yield from _write(terms, counts, np.concatenate(ordinals).astype(np.uint32), np.concatenate(planes, axis=1))
