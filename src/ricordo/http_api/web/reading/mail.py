"""A mail as people know it: who wrote to whom, the text with its quotes, what was attached, and messages within.

The text is that which reading the mail made of it: lines ``From: …`` on top, a gap, the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

from markupsafe import Markup

from ricordo.http_api.web.reading.rendered import Rendered

_HEADER = re.compile(r"(From|To|Cc|Date|Subject): (.*)")
_QUOTED = re.compile(r"(?:>[ \t]?)+")
_ADDRESS = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)\]]")
DEEPEST = 5


def rendered_mail(text: str, *, first_line: int = 1, title: str = "") -> Rendered:
    """The mail; its subject is left out where the page is headed by it."""
    lines = list(enumerate(text.split("\n"), first_line))
    return Rendered(Markup("".join(_parts(lines, title))), classes="prose mail")  # every line is escaped below


def _parts(lines: list[tuple[int, str]], title: str) -> Iterator[str]:
    at = 0
    while at < len(lines):
        if _starts_message(lines, at):
            end = at
            while end < len(lines) and _HEADER.fullmatch(lines[end][1]):
                end += 1
            yield _head(lines[at:end], title if at == 0 else "")
            at = end
            continue
        end = at + 1
        while end < len(lines) and not _starts_message(lines, end):
            end += 1
        yield from _body(lines[at:end])
        at = end


def _starts_message(lines: list[tuple[int, str]], at: int) -> bool:
    """Whether the headers of a message begin here: at the top, or where one was attached."""
    if _HEADER.fullmatch(lines[at][1]) is None:
        return False
    return at == 0 or (at > 1 and lines[at - 2][1] == "Attached message:")


def _head(lines: list[tuple[int, str]], title: str) -> str:
    rows = []
    for number, line in lines:
        name, _, value = line.partition(": ")
        if name == "Subject" and value.strip() == title.strip():
            continue
        rows.append(f'<dt>{name}</dt><dd data-at="{number}">{escape(value)}</dd>')
    return f'<dl class="mail-head">{"".join(rows)}</dl>' if rows else ""


def _body(lines: list[tuple[int, str]]) -> Iterator[str]:
    """Paragraphs; what is quoted stands in quotes as deep as its signs."""
    for depth, group in groupby(lines, key=lambda one: _depth(one[1])):
        inside = "".join(_paragraphs(list(group)))
        if inside:
            yield "<blockquote>" * depth + inside + "</blockquote>" * depth


def _depth(line: str) -> int:
    found = _QUOTED.match(line)
    return min(DEEPEST, found[0].count(">")) if found else 0


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[str]:
    plain = [(number, _QUOTED.sub("", line, count=1)) for number, line in lines]
    for is_blank, group in groupby(plain, key=lambda one: not one[1].strip()):
        if is_blank:
            continue
        block = list(group)
        words = "<br>".join(_linked(line) for _, line in block)
        kind = ' class="soft"' if block[0][1].startswith(("Attachments: ", "Attached message:", "-- ")) else ""
        yield f'<p{kind} data-at="{block[0][0]}-{block[-1][0]}">{words}</p>'


def _linked(line: str) -> str:
    """A line with its addresses as links; everything is escaped."""
    parts: list[str] = []
    at = 0
    for found in _ADDRESS.finditer(line):
        address = escape(found[0])
        parts += (escape(line[at : found.start()]), f'<a href="{address}" rel="noopener noreferrer">{address}</a>')
        at = found.end()
    return "".join((*parts, escape(line[at:])))
