"""PDF files: the text of each page under a mark ``page N``, and the title in the properties.

Words broken at the end of a line are joined, ligatures are split into letters, and rows of dots are shortened, so that
words can be found. Pictures of text (scans) are not read: such a file has no text and says so.
"""

from __future__ import annotations

import re
import time
from importlib import import_module
from typing import Any

from ricordo.errors import Unreadable
from ricordo.ingest.formats.source import Source, meaningful
from ricordo.values.items import Mark, Parsed

# After this share of the allowed time, reading stops and the pages read so far are used.
_SHARE_OF_TIME = 0.8
_MOST_UNREAD = 100
_DAMAGED = "Open it in a PDF viewer and save it again."
_LIGATURES = dict(enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"), start=0xFB00))
_BROKEN_WORD = re.compile(r"(?:\ufffe|\u00ad|\x02)[ \t]*\n?[ \t]*")
_DOT_LEADER = re.compile(r"(?: ?[.·]){6,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


def parse(source: Source) -> Parsed:
    """All pages as one text."""
    started = time.monotonic()
    pdfium = import_module("pypdfium2")
    document = _opened(pdfium, source)
    pieces: list[str] = []
    marks: list[Mark] = []
    warnings: list[str] = []
    unread: list[int] = []
    length = 0
    try:
        pages = len(document)
        title = meaningful(document.get_metadata_dict().get("Title"))
        for number in range(1, pages + 1):
            if (
                time.monotonic() - started > _SHARE_OF_TIME * source.limits.seconds
                or length > source.limits.max_text_chars
            ):
                warnings.append(f"only the first {number - 1} of {pages} pages were read: the rest takes too long")
                break
            try:
                text = _page_text(document, number - 1)
            except pdfium.PdfiumError:
                unread.append(number)
                if len(unread) >= _MOST_UNREAD and not length:
                    raise Unreadable(f"{source.name} is damaged: its pages cannot be read", hint=_DAMAGED) from None
                continue
            if text:
                between = "\n\n" if length else ""
                marks.append(Mark(length + len(between), f"page {number}"))
                pieces.append(between + text)
                length += len(between) + len(text)
    finally:
        document.close()
    if unread:
        numbers = ", ".join(map(str, unread[:10])) + (" …" if len(unread) > 10 else "")
        warnings.append(f"{len(unread)} of {pages} pages could not be read: {numbers}")
    elif not length:
        warnings.append("no text on its pages: a scan needs text recognition (OCR) first")
    text = "".join(pieces)
    return Parsed(text, title, marks=tuple(marks), is_textual=bool(text), warnings=tuple(warnings))


def _opened(pdfium: Any, source: Source) -> Any:
    try:
        return pdfium.PdfDocument(source.data)
    except pdfium.PdfiumError as problem:
        if "password" in str(problem).lower():
            raise Unreadable(
                f"{source.name} is encrypted and needs a password", hint="Save a copy without the password."
            ) from None
        raise Unreadable(f"{source.name} is not a readable PDF: {problem}", hint=_DAMAGED) from None


def _page_text(document: Any, index: int) -> str:
    page = document[index]
    try:
        words = page.get_textpage()
        try:
            return _cleaned(words.get_text_bounded())
        finally:
            words.close()
    finally:
        page.close()


def _cleaned(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _BROKEN_WORD.sub("", text).translate(_LIGATURES)
    text = _DOT_LEADER.sub(" …", _CONTROL.sub("", text))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
