"""Reads rows straight from the pages of a SQLite file, where the tree that leads to them is damaged.

Every page of a table that holds rows says so itself, and each row says how many values it has and of which types. So
rows can be read without the pages above them and without the schema; which table they belong to, their shape tells.
The format is described in https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmap import mmap

    from ricordo.store.sql.protocols import Row

MAGIC = b"SQLite format 3\0"
HEADER = 100
"""Bytes at the beginning of a file, before its first page's own."""
USUAL_PAGE = 4096
_ROWS, _KEYS, _KEYS_ABOVE = 13, 10, 2
"""The types of pages that hold rows, and of the two that hold entries of indexes and of tables without row numbers."""
_WHOLE_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""How many bytes a whole number of each type has."""


class RawRow(NamedTuple):
    """The values of a row, and its number; entries of an index have none."""

    number: int | None
    values: Row


def page_size(header: bytes) -> int:
    """The size of a file's pages; the usual one if its header is damaged."""
    if header[:16] == MAGIC:
        said = int.from_bytes(header[16:18], "big")
        size = 65_536 if said == 1 else said
        if 512 <= size <= 65_536 and size & (size - 1) == 0:
            return size
    return USUAL_PAGE


class RawPages:
    """The pages of a file that has no write-ahead log beside it."""

    def __init__(self, data: mmap) -> None:
        self._data = data
        self._size = page_size(data[:HEADER])

    def rows(self) -> Iterator[list[RawRow]]:
        """The rows of each page that holds any. What cannot be read is not among them."""
        for page in range(1, len(self._data) // self._size + 1):
            start = (page - 1) * self._size
            head = start + (HEADER if page == 1 else 0)
            kind = self._data[head]
            if kind not in (_ROWS, _KEYS, _KEYS_ABOVE):
                continue
            count = int.from_bytes(self._data[head + 3 : head + 5], "big")
            first = head + (12 if kind == _KEYS_ABOVE else 8)
            places = self._data[first : min(first + 2 * count, start + self._size)]
            found = []
            for (place,) in struct.iter_unpack(">H", places[: len(places) // 2 * 2]):
                try:
                    skipped = 4 if kind == _KEYS_ABOVE else 0  # the number of the page below
                    found.append(self._row(start, place + skipped, numbered=kind == _ROWS))
                except (ValueError, IndexError, struct.error, OverflowError):
                    continue  # other rows of the page may be whole
            if found:
                yield found

    def _row(self, start: int, place: int, *, numbered: bool) -> RawRow:
        length, at = varint(self._data, start + place)
        number = None
        if numbered:
            number, at = varint(self._data, at)
        if not 0 < length <= len(self._data):
            raise ValueError("a row is longer than the file")
        most = self._size - 35 if numbered else (self._size - 12) * 64 // 255 - 23
        here = length
        if length > most:  # the rest stands on pages of its own
            least = (self._size - 12) * 32 // 255 - 23
            kept = least + (length - least) % (self._size - 4)
            here = kept if kept <= most else least
        if at + here > start + self._size:
            raise ValueError("a row reaches over the end of its page")
        payload = self._data[at : at + here]
        if here < length:
            payload += self._overflow(int.from_bytes(self._data[at + here : at + here + 4], "big"), length - here)
        return RawRow(number, _values(payload))

    def _overflow(self, page: int, length: int) -> bytes:
        parts = []
        while length > 0:
            start = (page - 1) * self._size
            if page < 1 or start + self._size > len(self._data):
                raise ValueError("a row goes on outside the file")
            page = int.from_bytes(self._data[start : start + 4], "big")
            parts.append(self._data[start + 4 : start + 4 + min(length, self._size - 4)])
            length -= self._size - 4
        return b"".join(parts)


def varint(data: bytes | mmap, at: int) -> tuple[int, int]:
    """A whole number of one to nine bytes, and where it ends.

    >>> varint(bytes([0x81, 0x00, 7]), 0)
    (128, 2)
    """
    value = 0
    for end in range(at, at + 8):
        byte = data[end]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, end + 1
    value = value << 8 | data[at + 8]
    return (value - (1 << 64) if value >> 63 else value), at + 9


def _values(payload: bytes) -> Row:
    length, at = varint(payload, 0)
    place = length
    found = []
    while at < length:
        kind, at = varint(payload, at)
        value, place = _value(payload, kind, place)
        found.append(value)
    if at != length or place != len(payload):
        raise ValueError("a row is not as long as it says")
    return tuple(found)


def _value(payload: bytes, kind: int, place: int) -> tuple[object, int]:
    """A value of some type, and where it ends."""
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], place
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    if kind in (10, 11) or kind < 0:
        raise ValueError("no such type of value")
    size = _WHOLE_NUMBERS.get(kind) or (kind - 12) // 2
    data = payload[place : place + size]
    if len(data) < size:
        raise ValueError("a value reaches over the end of its row")
    if kind in _WHOLE_NUMBERS:
        return int.from_bytes(data, "big", signed=True), place + size
    return (data.decode() if kind % 2 else data), place + size
