"""Opens ZIP archives, and checks them first, because they may be hostile.

Before anything is unpacked, the sizes the archive declares are checked; reading a part never gives more than was
declared. A password, a zip bomb, a missing end and damage each raise ``Unreadable`` with a message of their own.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from types import TracebackType
from typing import Self

from ricordo.errors import Unreadable

_MOST_PARTS = 20_000
_LARGEST_TOTAL = 1024 * 1024 * 1024
_LARGEST_PART = 256 * 1024 * 1024
# XML compresses to a tenth of its size, a repetitive table to a hundredth, a zip bomb to a thousandth.
_HIGHEST_RATIO = 250
_RATIO_MATTERS_FROM = 32 * 1024 * 1024
_UNPACKING_FAILURES = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError,
)  # fmt: skip
DAMAGED = "Open it in its own program and save it again."


class Archive:
    """A ZIP archive that passed the checks; use it as a context manager."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
            raise Unreadable(f"{name} is damaged or cut off: {problem}", hint=DAMAGED) from None
        self._parts = {part.filename.replace("\\", "/").lower(): part for part in self._zip.infolist()}
        self._check(len(data))

    def _check(self, packed: int) -> None:
        parts = self._zip.infolist()
        total = sum(part.file_size for part in parts)
        is_bomb = total > _RATIO_MATTERS_FROM and total > _HIGHEST_RATIO * packed
        if len(parts) > _MOST_PARTS or total > _LARGEST_TOTAL or is_bomb:
            raise Unreadable(
                f"{self.name} would unpack to {total / 1024**2:,.0f} MB in {len(parts):,} parts",
                hint="It looks like a zip bomb; do not trust this file.",
            )
        if any(part.flag_bits & 1 for part in parts):
            raise Unreadable(f"{self.name} is protected by a password", hint="Save a copy without the password.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts, in lower case, because they are looked up so."""
        return tuple(self._parts)

    def has(self, part: str) -> bool:
        return _key(part) in self._parts

    def read(self, part: str) -> bytes:
        """The bytes of a part; a part that is missing or damaged raises ``Unreadable``."""
        entry = self._parts.get(_key(part))
        if entry is None:
            raise Unreadable(f"{self.name} is damaged: {part} is missing", hint=DAMAGED)
        if entry.file_size > _LARGEST_PART:
            raise Unreadable(
                f"{self.name} holds a part of {entry.file_size / 1024**2:,.0f} MB",
                hint="Split it, or unpack it yourself and name that file.",
            )
        try:
            return self._zip.read(entry)
        except _UNPACKING_FAILURES as problem:
            raise Unreadable(f"{self.name} is damaged: {part} cannot be unpacked ({problem})", hint=DAMAGED) from None

    def verify(self) -> None:
        """Unpack everything once as a check, before a library unpacks the archive itself."""
        for part in self._zip.infolist():
            try:
                with self._zip.open(part) as stream:
                    while stream.read(1 << 20):
                        pass
            except _UNPACKING_FAILURES as problem:
                raise Unreadable(f"{self.name} is damaged: {problem}", hint=DAMAGED) from None


def _key(part: str) -> str:
    return part.lstrip("/").lower()
