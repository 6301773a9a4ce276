"""Finds the type of a file, by its content first and its name second: a PDF named ``.txt`` is a PDF.

It returns a ``FileType``, looks only at the given bytes, unpacks nothing and never fails. ``file_types.toml`` lists the
formats, signatures and programming languages; plugins read some of these formats, and may add others.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.frozen import frozen
from ricordo.ingest.formats.plain import decode, looks_binary
from ricordo.ingest.formats.source import FileType
from ricordo.plugin import installed

# Servers send these types when they do not know the real one, so name and content decide instead.
_VAGUE_MIMES = frozenset(
    {"text/plain", "application/octet-stream", "binary/octet-stream", "text/x-code", "application/zip"}
)
_PACKAGE = "ricordo.ingest.formats"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@frozen
class FileFormat:
    """A format: how its files are known, which function reads them, and what that needs."""

    type: FileType
    extensions: str
    mimes: tuple[str, ...]
    main_part: bytes = b""
    """The beginning of a part's name that only ZIP archives of this format have."""
    signature: bytes = b""
    reader: str = ""
    """``module:function``; empty if nothing reads its files."""
    sandboxed: bool = False
    needs: str = ""
    """The library of the extra "documents" that the reader needs."""
    called: str = ""
    """What its files are called in the error when they cannot be read."""


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("file_types.toml").read_text("utf-8"))


@cache
def formats() -> Mapping[str, FileFormat]:
    """All formats by name: those of the core, and those that plugins read or add."""
    by_name = {name: _of_row(name, row) for name, row in _table()["formats"].items()}
    for plugin in installed().values():
        for name, added in plugin.formats.items():
            listed = by_name.get(name) or FileFormat(
                FileType(name, added.mime, added.structure),
                added.extensions,
                (added.mime,) if added.mime not in _VAGUE_MIMES else (),
                signature=added.signature,
                called=f"{name} files",
            )
            reader = f"{plugin.package}.{added.reader}"
            by_name[name] = replace(listed, reader=reader, sandboxed=True, needs=added.needs)
    return by_name


def _of_row(name: str, row: Mapping[str, Any]) -> FileFormat:
    return FileFormat(
        FileType(name, row["mime"], row.get("structure", "text"), row.get("language", "")),
        row.get("extensions", ""),
        (row["mime"], *row.get("also", ())),
        main_part=row.get("main_part", "").encode(),
        reader=f"{_PACKAGE}.{row['reader']}" if "reader" in row else "",
        sandboxed=row.get("sandboxed", False),
        called=row.get("called", ""),
    )


def _type(name: str) -> FileType:
    return formats()[name].type


@cache
def _formats_by_extension() -> Mapping[str, str]:
    return _by_word({name: file_format.extensions for name, file_format in formats().items()})


@cache
def _formats_by_mime() -> Mapping[str, str]:
    return {mime: name for name, file_format in formats().items() for mime in file_format.mimes}


@cache
def _languages(key: str) -> Mapping[str, str]:
    """Languages by ``extensions`` or by ``names`` of files."""
    return _by_word(_table()["languages"][key])


def _by_word(listed: Mapping[str, str]) -> dict[str, str]:
    return {word: name for name, words in listed.items() for word in words.split()}


def detect(name: str, data: bytes, mime: str | None = None) -> FileType:
    """The type of a file from what it holds, what it is called and what a server said about it."""
    by_content = _by_magic(data, name)
    if by_content is not None:
        return by_content
    if looks_binary(data):
        return _binary(_mime_of(mime) or _type("binary").mime)
    return _text_type(name, data[:4096], _mime_of(mime))


def _by_magic(data: bytes, name: str) -> FileType | None:
    if _is_pdf(data, name):
        return _type("pdf")
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(data, name)
    if data.startswith(_OLE):
        return _ole_type(data)
    for file_format in formats().values():
        if file_format.signature and data.startswith(file_format.signature):
            return file_format.type
    for row in _table()["signatures"]:
        signature = row["bytes"].encode("latin-1")
        # A signature made of letters may also be the start of a sentence.
        if data.startswith(signature, row["at"]) and (not signature.isalnum() or looks_binary(data)):
            return _binary(row["mime"])
    return None


def _is_pdf(data: bytes, name: str) -> bool:
    """Whether a PDF signature is at the top, and not merely a text that mentions it."""
    place = data.find(b"%PDF-", 0, 1024)
    if place < 0 or (data[:place].strip() and not looks_binary(data)):
        return False
    return b" obj" in data or _extension(name) == "pdf"


def _binary(mime: str) -> FileType:
    return FileType("binary", mime)


def _zip_type(data: bytes, name: str) -> FileType:
    """Which of the formats that are ZIP archives this one is, by the names of its parts.

    The archive is not opened: its list of parts may be cut off, or hold millions.
    """
    if data.startswith(b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", 30):
        return FileType("xlsx", "application/vnd.oasis.opendocument.spreadsheet", "markdown")
    if data.startswith(b"mimetypeapplication/epub+zip", 30):
        return _type("epub")
    promised = _formats_by_extension().get(_extension(name), "")
    parts = {name: file_format.main_part for name, file_format in formats().items() if file_format.main_part}
    places = {name: place for name, part in parts.items() if (place := _part_at(data, part)) >= 0}
    if promised in places or (promised in _ARCHIVES and not places):
        return _type(promised)
    # A document may contain the parts of another one; its own main part usually comes first.
    return _type(min(places, key=lambda format_: places[format_])) if places else _type("zip")


def _part_at(data: bytes, part: bytes) -> int:
    """The position of the header of an archive's part with such a name, or -1."""
    place = data.find(part)
    while place >= 0 and not data.startswith(b"PK\x03\x04", max(0, place - 30)):
        place = data.find(part, place + 1)
    return place


def _ole_type(data: bytes) -> FileType:
    """The type of an old Office file: the names of its streams are in it, in UTF-16."""
    for stream, file_type in (
        ("EncryptedPackage", _type("ole")),
        ("WordDocument", _binary("application/msword")),
        ("PowerPoint Document", _binary("application/vnd.ms-powerpoint")),
        ("Workbook", FileType("xlsx", "application/vnd.ms-excel", "markdown")),
        ("__properties_version1.0", _binary("application/vnd.ms-outlook")),
    ):
        if stream.encode("utf-16-le") in data:
            return file_type
    return _binary(_type("ole").mime)


def _extension(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1].lower()
    return base.rpartition(".")[2] if "." in base.lstrip(".") else ""


def _mime_of(mime: str | None) -> str:
    return (mime or "").partition(";")[0].strip().lower()


def _text_type(name: str, head: bytes, mime: str) -> FileType:
    if mime in _formats_by_mime() and mime not in _VAGUE_MIMES:
        return _type(_formats_by_mime()[mime])
    start = decode(head).text.lstrip()
    language = language_of_name(name)
    format_ = "" if language == "cmake" else _formats_by_extension().get(_extension(name), "")
    if format_:
        return _type(format_) if format_ not in _ARCHIVES else _text_in_disguise(start)
    if mime.endswith("+json"):
        return _type("json")
    language = language or language_of_first_line(start.partition("\n")[0])
    if language:
        return FileType("code", f"text/x-{language}", "code", language)
    return _text_in_disguise(start)


_ARCHIVES = frozenset({"pdf", "docx", "pptx", "xlsx", "epub"})


def _text_in_disguise(start: str) -> FileType:
    """Recognise text whose file name says nothing, or names a format (PDF, archive) that the content is not."""
    if re.match(r"(?i)(?>(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*)<(!doctype html|html)\b", start, re.DOTALL):
        return _type("html")
    if re.match(r"---[ \t]*\n|#{1,6} \S", start):
        return _type("markdown")
    return _type("text")


def language_of_name(name: str) -> str:
    """The language that a file name stands for (``make`` for ``src/Makefile``), or an empty string."""
    base = re.split(r"[/\\]", name)[-1].lower()
    extension = base.rpartition(".")[2] if "." in base else ""
    return _languages("names").get(base) or _languages("extensions").get(extension, "")


def language_of_first_line(line: str) -> str:
    """The language of a script by its ``#!`` line, or an empty string."""
    if not line.startswith("#!"):
        return ""
    words = re.split(r"[\s/]+", line[2:].strip().lower())
    interpreters = _table()["languages"]["interpreters"].items()
    return next((language for word in words for start, language in interpreters if word.startswith(start)), "")
