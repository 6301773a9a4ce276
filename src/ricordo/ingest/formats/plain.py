"""Texts kept exactly as they stand: how bytes become text, and plain text, code, reStructuredText, CSV and JSON.

Decoded text has no byte order mark and no NUL, and a newline for every kind of line end. Nothing raises for bad bytes:
what cannot be decoded becomes U+FFFD, with a warning. Line numbers stay those of the file. The names of a table's
columns, which a reader of one row needs, go to ``context``, which is put before every passage.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from itertools import pairwise

from ricordo.frozen import frozen
from ricordo.ingest.formats.source import Source
from ricordo.values.items import Parsed

_SAMPLE = 64 * 1024
# UTF-32 comes first, because its little-endian mark starts with that of UTF-16.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The order of preference when the detector finds several encodings equally likely, as it does for short texts.
_LEGACY: tuple[str, ...] = (
    "cp1252", "gb18030", "cp1251", "shift_jis", "euc_jp", "euc_kr", "big5", "cp1250", "iso8859_2", "koi8_r",
    "cp1253", "iso8859_7", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "mac_roman", "cp850",
)  # fmt: skip
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


@frozen
class Decoded:
    """A file's text, and how it was read."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def looks_binary(data: bytes) -> bool:
    """Whether the start of a file has too many control characters to be text in any encoding."""
    sample = data[:_SAMPLE]
    if not sample or marked_encoding(sample) or _unmarked_wide(sample):
        return False
    controls = (len(sample) - len(sample.translate(None, _CONTROL))) / len(sample)
    if controls > 0.3:
        return True
    return controls > 0.02 and not _is_utf8(sample)


def marked_encoding(data: bytes) -> str:
    """The encoding a byte order mark declares, or an empty string."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), "")


def decode(data: bytes, declared: str = "") -> Decoded:
    """The text of the bytes. ``declared`` (by a header or meta tag) is used if the bytes decode with it without
    errors.
    """
    encoding = marked_encoding(data) or _unmarked_wide(data[:_SAMPLE])
    if encoding:
        return _with_replacement(data, encoding)
    for candidate in dict.fromkeys((_known(declared), "utf-8")):
        if candidate:
            try:
                return Decoded(normalise(data.decode(candidate)), candidate)
            except (UnicodeDecodeError, UnicodeError):
                continue
    guess = "" if _mostly_utf8(data) else _guess(data)
    return _with_replacement(data, guess or "utf-8")


def normalise(text: str) -> str:
    """The text without byte order mark and NUL, with a newline for every line end."""
    text = text.removeprefix("\ufeff")
    if "\x00" in text:
        text = text.replace("\x00", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def without_surrogates(text: str) -> str:
    """The text as every store can write it: without NUL, and with U+FFFD in place of lone surrogates."""
    text = text.replace("\x00", "")
    if text.isascii() or not re.search("[\ud800-\udfff]", text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _with_replacement(data: bytes, encoding: str) -> Decoded:
    text = normalise(data.decode(encoding, "replace"))
    already = data.count("\ufffd".encode()) if encoding == "utf-8" else 0
    lost = text.count("\ufffd") - already
    if lost <= 0:
        return Decoded(text, encoding)
    things = "character was" if lost == 1 else "characters were"
    return Decoded(text, encoding, (f"{lost} {things} replaced: not valid {encoding}",))


def _known(name: str) -> str:
    try:
        info = codecs.lookup(name.strip().strip("\"'")) if name.strip() else None
    except (LookupError, ValueError):
        return ""
    # No browser reads UTF-7, because it can hide markup from programs that look at the bytes.
    if info is None or not info._is_text_encoding or info.name == "utf-7":
        return ""
    # Pages that declare Latin-1 are windows-1252 in practice, and browsers read them so.
    return "cp1252" if info.name in ("iso8859-1", "ascii") else info.name


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _unmarked_wide(sample: bytes) -> str:
    """Recognise UTF-16 without a mark: Latin text in it has a NUL in almost every second byte."""
    if len(sample) < 8 or b"\x00" not in sample:
        return ""
    even, odd = sample[0::2], sample[1::2]
    even_nuls, odd_nuls = even.count(0) / len(even), odd.count(0) / len(odd)
    if odd_nuls > 0.7 and even_nuls < 0.05:
        return "utf-16-le"
    if even_nuls > 0.7 and odd_nuls < 0.05:
        return "utf-16-be"
    return ""


def _mostly_utf8(data: bytes) -> bool:
    """Whether it is UTF-8 text with a few broken bytes, rather than text in an older encoding."""
    sample = _around_first_high_byte(data)
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(char > "\x7f" for char in text) - broken
    # Texts in older East Asian encodings can have, by chance, one valid UTF-8 sequence for every three broken ones.
    return whole > 0.5 * broken


def _around_first_high_byte(data: bytes) -> bytes:
    match = re.search(rb"[\x80-\xff]", data)
    start = max(0, (match.start() if match else 0) - 1024)
    return data[start : start + _SAMPLE]


def _guess(data: bytes) -> str:
    """The most likely older encoding, which charset-normalizer finds from a sample of limited size."""
    from charset_normalizer import from_bytes

    matches = from_bytes(_around_first_high_byte(data), cp_isolation=list(_LEGACY))
    ranked = sorted(
        (round(match.chaos, 2), -round(match.coherence, 2), _LEGACY.index(name))
        for match in matches
        for name in match.could_be_from_charset
        if name in _LEGACY
    )
    return _LEGACY[ranked[0][2]] if ranked else ""


_REACH = 64 * 1024
_RST_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
# Fields at the very top, as in PEPs (``Title: ...``) and Docutils documents (``:Title: ...``).
_RST_HEADER = re.compile(r"(?::?[A-Za-z][\w -]{0,40}:[^\n]*\n(?:[ \t]+[^\n]+\n)*){2,}")
_RST_TITLE_FIELD = re.compile(r"^:?title:[ \t]*([^\n]+(?:\n[ \t]+[^\n]+)*)", re.IGNORECASE | re.MULTILINE)
# Roles and links in a title, `:ref:`text <target>`` and ```code```: only their words are the title.
_RST_MARKUP = re.compile(
    r":[\w:-]+:`([^`<]*?)\s*(?:<[^`>]*>)?`|``([^`]+)``|`([^`<]+?)\s*(?:<[^`>]*>)?`_{0,2}|\*{1,2}([^*]+)\*{1,2}"
)


def parse(source: Source) -> Parsed:
    """The decoded file, and for reStructuredText the title of its first section."""
    decoded = decode(source.data, source.charset)
    title = rst_title(decoded.text) if source.type.format == "rst" else ""
    return Parsed(decoded.text, title, warnings=decoded.warnings)


def rst_title(text: str) -> str:
    """The title in the header fields, else the first section's: a line with a rule of punctuation under it."""
    header = _RST_HEADER.match(text[:_REACH])
    if header and (named := _RST_TITLE_FIELD.search(header[0])):
        return " ".join(named[1].split())[:300]
    lines = text[:_REACH].split("\n")
    for line, rule in pairwise(lines):
        title = line.strip()
        if not title or len(title) > 300 or _RST_RULE.match(line) or line.startswith(("..", "    ", "\t")):
            continue
        if _RST_RULE.match(rule) and len(rule.rstrip()) >= min(len(title), 4):
            words = _RST_MARKUP.sub(lambda match: next(filter(None, match.groups()), ""), title)
            return " ".join(words.split())
    return ""


_LONGEST_CONTEXT = 300
# A larger document is not parsed as a whole only to look for a title.
_LARGEST_JSON = 1024 * 1024


def parse_csv(source: Source) -> Parsed:
    """Rows as they stand; the header names, when there is a header, as context."""
    decoded = decode(source.data, source.charset)
    names = column_names(decoded.text, "\t" if source.type.format == "tsv" else "")
    fields = {"context": ("Columns: " + ", ".join(names))[:_LONGEST_CONTEXT]} if names else {}
    return Parsed(decoded.text, fields=fields, warnings=decoded.warnings)


def parse_json(source: Source) -> Parsed:
    """The document as it stands; a top-level "title" is its title."""
    decoded = decode(source.data, source.charset)
    title, warnings = "", decoded.warnings
    if 0 < len(decoded.text) <= _LARGEST_JSON:
        try:
            document = json.loads(decoded.text)
            value = document.get("title") if isinstance(document, dict) else None
            title = " ".join(value.split())[:300] if isinstance(value, str) else ""
        except RecursionError:
            warnings += ("the JSON is nested too deeply to look inside; it was kept as text",)
        except ValueError as problem:
            warnings += (f"not valid JSON, kept as text: {problem}",)
    return Parsed(decoded.text, title, warnings=warnings)


def column_names(text: str, delimiter: str = "") -> tuple[str, ...]:
    """The names in the first row, if it is a header: all filled, all different, none a number."""
    sample = text[:_REACH]
    first = sample.partition("\n")[0]
    if not delimiter:
        delimiter = max(",;\t|", key=first.count)
    if len(first) > _REACH // 2 or delimiter not in first:
        return ()
    try:
        names = tuple(name.strip() for name in next(csv.reader([first], delimiter=delimiter), []))
    except csv.Error:
        return ()
    has_number = any(re.sub(r"[.,-]", "", name).isdigit() for name in names)
    is_header = len(names) > 1 and all(names) and len(set(names)) == len(names) and not has_number
    return names if is_header else ()
