"""The files inside a downloaded package: wheels (zip), npm packages (tar.gz), Debian packages (ar with a tar inside).

``texts_in(path)`` yields ``(name, text)`` for every member whose ending is wanted; nothing is unpacked to disk. Members
that are too large, or no UTF-8, are passed over: one bad file must not end a run of an hour.
"""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

LARGEST = 4_000_000
"""Bytes of the largest file that is read; longer ones are generated data more often than text."""
LARGEST_DATA = 60_000_000
"""The same for data formats, where one file may describe a whole service."""


def texts_in(archive: Path, endings: tuple[str, ...], enough: int) -> Iterator[tuple[str, str]]:
    """Wanted members as text, with their names inside the package: an even choice of about ``enough`` bytes."""
    part = max(1, round(_size(archive, endings) / enough))
    for name, size, read in _members(archive):
        plain = name.removesuffix(".gz")
        if not plain.endswith(endings) or zlib.crc32(name.encode()) % part:
            continue
        if size > (LARGEST_DATA if plain.endswith((".json", ".xml", ".noun")) else LARGEST):
            continue
        data = read()
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        try:
            yield plain, data.decode("utf-8")
        except UnicodeDecodeError:
            continue


def _size(archive: Path, endings: tuple[str, ...]) -> int:
    """About how many bytes of text the package holds; a tar would have to be read through to know."""
    if archive.suffix != ".whl":
        return 4 * archive.stat().st_size
    with zipfile.ZipFile(archive) as wheel:
        return sum(
            entry.file_size for entry in wheel.infolist() if entry.filename.removesuffix(".gz").endswith(endings)
        )


def _members(archive: Path) -> Iterator[tuple[str, int, object]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for entry in wheel.infolist():
                if not entry.is_dir():
                    yield entry.filename, entry.file_size, lambda entry=entry: wheel.read(entry)
    elif archive.suffix == ".deb":
        yield from _of_tar(_data_of_deb(archive))
    else:
        with archive.open("rb") as stream:
            yield from _of_tar(stream)


def _of_tar(stream: IO[bytes]) -> Iterator[tuple[str, int, object]]:
    with tarfile.open(fileobj=stream, mode="r|*") as tar:
        for member in tar:
            if member.isfile():
                yield member.name, member.size, lambda member=member: tar.extractfile(member).read()


def _data_of_deb(archive: Path) -> IO[bytes]:
    """The tar with the files of a Debian package, which is an ``ar`` archive of three members."""
    raw = archive.read_bytes()
    at = len(b"!<arch>\n")
    while at < len(raw):
        name = raw[at : at + 16].decode("ascii").strip().rstrip("/")
        size = int(raw[at + 48 : at + 58])
        body = raw[at + 60 : at + 60 + size]
        if name.startswith("data.tar"):
            if name.endswith(".xz"):
                return io.BytesIO(lzma.decompress(body))
            if name.endswith(".zst"):
                raise ValueError(f"{archive.name}: packed with zstd; repack it, or take another version")
            return io.BytesIO(body)
        at += 60 + size + (size & 1)
    raise ValueError(f"{archive.name} holds no data.tar")
