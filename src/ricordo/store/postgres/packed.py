"""Values in the bytes that PostgreSQL itself sends and receives.

Of a vector, or of a thousand numbers, writing and reading a text takes about a millisecond; these bytes take none.
A statement must name the type of each such value, as in ``?::vector``.
"""

from __future__ import annotations

import struct

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from ricordo.store.sql.arrays import Array

_BIGINT, _TID = 20, 27
"""The numbers of types in ``pg_type``."""


class Packed(bytes):
    """A value in PostgreSQL's own bytes."""


class _PackedDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Packed) -> Packed:
        return obj


psycopg.adapters.register_dumper(Packed, _PackedDumper)


def vector(values: Array) -> Packed:
    """A vector of pgvector: its size, then big-endian numbers in single precision."""
    return Packed(struct.pack(">hh", len(values), 0) + values.astype(">f4").tobytes())


def bigints(numbers: Array) -> Packed:
    """An array of whole numbers."""
    rows = np.empty(len(numbers), [("size", ">i4"), ("value", ">i8")])
    rows["size"], rows["value"] = 8, numbers
    return _array(_BIGINT, rows)


def tids(pages: Array, lines: Array) -> Packed:
    """An array of places of rows in their table."""
    rows = np.empty(len(pages), [("size", ">i4"), ("page", ">u4"), ("line", ">u2")])
    rows["size"], rows["page"], rows["line"] = 6, pages, lines
    return _array(_TID, rows)


def _array(kind: int, rows: Array) -> Packed:
    """An array of one dimension, counted from 1, without nulls."""
    if not len(rows):
        return Packed(struct.pack(">iii", 0, 0, kind))
    return Packed(struct.pack(">iiiii", 1, 0, kind, len(rows), 1) + rows.tobytes())
