"""Finds the type of a file, by its content first and its name second: a PDF named ``.txt`` is a PDF.

It returns a ``FileType``, looks only at the given bytes, unpacks nothing and never fails.
"""

from __future__ import annotations

import re

from ricordo.ingest.parse import encoding
from ricordo.ingest.parse.languages import language_of_first_line, language_of_name
from ricordo.ingest.parse.source import FileType

_OFFICE = "application/vnd.openxmlformats-officedocument."
TYPES: dict[str, FileType] = {
    known.format: known
    for known in (
        FileType("text", "text/plain"),
        FileType("markdown", "text/markdown", "markdown"),
        FileType("rst", "text/x-rst", "rst"),
        FileType("code", "text/x-code", "code"),
        FileType("csv", "text/csv", "table"),
        FileType("tsv", "text/tab-separated-values", "table"),
        FileType("json", "application/json", "code", "json"),
        FileType("jsonl", "application/x-ndjson", "text", "json"),
        FileType("html", "text/html", "markdown"),
        FileType("notebook", "application/x-ipynb+json", "markdown"),
        FileType("mail", "message/rfc822", "markdown"),
        FileType("pdf", "application/pdf"),
        FileType("docx", _OFFICE + "wordprocessingml.document", "markdown"),
        FileType("pptx", _OFFICE + "presentationml.presentation", "markdown"),
        FileType("xlsx", _OFFICE + "spreadsheetml.sheet", "markdown"),
        FileType("epub", "application/epub+zip", "markdown"),
        FileType("ole", "application/x-ole-storage"),
        FileType("zip", "application/zip"),
        FileType("binary", "application/octet-stream"),
    )
}
_FORMAT_OF_EXTENSION: dict[str, str] = {
    extension: format_
    for format_, extensions in {
        "text": "txt text log asc nfo org adoc asciidoc tex bib srt vtt po pot textile wiki",
        "markdown": "md markdown mdown mkd mkdn mdx qmd rmd mdc",
        "rst": "rst rest",
        "csv": "csv",
        "tsv": "tsv tab",
        "json": "json geojson",
        "jsonl": "jsonl ndjson",
        "html": "html htm xhtml xht",
        "notebook": "ipynb",
        "mail": "eml",
        "pdf": "pdf",
        "docx": "docx docm dotx",
        "pptx": "pptx pptm ppsx potx",
        "xlsx": "xlsx xlsm xltx",
        "epub": "epub",
    }.items()
    for extension in extensions.split()
}
_FORMAT_OF_MIME: dict[str, str] = {known.mime: known.format for known in TYPES.values()} | {
    "application/xhtml+xml": "html",
    "text/x-markdown": "markdown",
    "application/jsonl": "jsonl",
    "application/x-jsonlines": "jsonl",
    "text/prs.fallenstein.rst": "rst",
}
# Servers send these types when they do not know the real one, so name and content decide instead.
_VAGUE_MIMES = frozenset(
    {"text/plain", "application/octet-stream", "binary/octet-stream", "text/x-code", "application/zip"}
)

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (4, b"ftyp", "video/mp4"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"\x00\x00\x01\x00", "image/x-icon"),
    (0, b"8BPS", "image/vnd.adobe.photoshop"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\x1aE\xdf\xa3", "video/x-matroska"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
    (0, b"\x00asm", "application/wasm"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"\x93NUMPY", "application/x-numpy"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO\x00", "font/otf"),
    (0, b"\x00\x01\x00\x00\x00", "font/ttf"),
)
_MAIN_PARTS = {
    "docx": b"word/document",
    "pptx": b"ppt/presentation",
    "xlsx": b"xl/workbook",
    "epub": b"META-INF/container.xml",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def detect(name: str, data: bytes, mime: str | None = None) -> FileType:
    """The type of a file from what it holds, what it is called and what a server said about it."""
    by_content = _by_magic(data, name)
    if by_content is not None:
        return by_content
    if encoding.looks_binary(data):
        return _binary(_mime_of(mime) or TYPES["binary"].mime)
    return _text_type(name, data[:4096], _mime_of(mime))


def _by_magic(data: bytes, name: str) -> FileType | None:
    if _is_pdf(data, name):
        return TYPES["pdf"]
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(data, name)
    if data.startswith(_OLE):
        return _ole_type(data)
    for offset, magic, mime in _MAGIC:
        # A signature made of letters may also be the start of a sentence.
        if data.startswith(magic, offset) and (not magic.isalnum() or encoding.looks_binary(data)):
            return _binary(mime)
    return None


def _is_pdf(data: bytes, name: str) -> bool:
    """Whether a PDF signature is at the top, and not merely a text that mentions it."""
    place = data.find(b"%PDF-", 0, 1024)
    if place < 0 or (data[:place].strip() and not encoding.looks_binary(data)):
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
        return TYPES["epub"]
    promised = _FORMAT_OF_EXTENSION.get(_extension(name), "")
    found = {format_: place for format_, part in _MAIN_PARTS.items() if (place := _part_at(data, part)) >= 0}
    if promised in found or (promised in _ARCHIVES and not found):
        return TYPES[promised]
    # A document may contain the parts of another one; its own main part usually comes first.
    return TYPES[min(found, key=lambda format_: found[format_])] if found else TYPES["zip"]


def _part_at(data: bytes, part: bytes) -> int:
    """The position of the header of an archive's part with such a name, or -1."""
    place = data.find(part)
    while place >= 0 and not data.startswith(b"PK\x03\x04", max(0, place - 30)):
        place = data.find(part, place + 1)
    return place


def _ole_type(data: bytes) -> FileType:
    """The type of an old Office file: the names of its streams are in it, in UTF-16."""
    for stream, known in (
        ("EncryptedPackage", TYPES["ole"]),
        ("WordDocument", _binary("application/msword")),
        ("PowerPoint Document", _binary("application/vnd.ms-powerpoint")),
        ("Workbook", FileType("xlsx", "application/vnd.ms-excel", "markdown")),
        ("__properties_version1.0", _binary("application/vnd.ms-outlook")),
    ):
        if stream.encode("utf-16-le") in data:
            return known
    return _binary(TYPES["ole"].mime)


def _extension(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1].lower()
    return base.rpartition(".")[2] if "." in base.lstrip(".") else ""


def _mime_of(mime: str | None) -> str:
    return (mime or "").partition(";")[0].strip().lower()


def _text_type(name: str, head: bytes, mime: str) -> FileType:
    if mime in _FORMAT_OF_MIME and mime not in _VAGUE_MIMES:
        return TYPES[_FORMAT_OF_MIME[mime]]
    start = encoding.decode(head).text.lstrip()
    language = language_of_name(name)
    format_ = "" if language == "cmake" else _FORMAT_OF_EXTENSION.get(_extension(name), "")
    if format_:
        return TYPES[format_] if format_ not in _ARCHIVES else _text_in_disguise(start)
    if mime.endswith("+json"):
        return TYPES["json"]
    language = language or language_of_first_line(start.partition("\n")[0])
    if language:
        return FileType("code", f"text/x-{language}", "code", language)
    return _text_in_disguise(start)


_ARCHIVES = frozenset({"pdf", "docx", "pptx", "xlsx", "epub"})


def _text_in_disguise(start: str) -> FileType:
    """Recognise text whose file name says nothing, or names a format (PDF, archive) that the content is not."""
    if re.match(r"(?i)(?>(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*)<(!doctype html|html)\b", start, re.DOTALL):
        return TYPES["html"]
    if re.match(r"---[ \t]*\n|#{1,6} \S", start):
        return TYPES["markdown"]
    return TYPES["text"]
