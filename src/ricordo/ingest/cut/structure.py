"""Finds the structure of a text: its sections with their breadcrumbs, and the places where a block begins.

It goes over the lines once. It finds boundaries and headings; ``chunk`` decides where to cut. Source code has its own
pass in ``code_units``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ricordo.frozen import frozen

CRUMB = " › "
_ADORNMENTS = frozenset("=-~^\"'`#*+.:_<>!$%&,/;?@")
_LONGEST_ROW = 8_000
_LONGEST_CRUMB = 120

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t\r]|\Z)")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_LINK = re.compile(r"!?\[([^\][]*)\](?:\([^()]*\)|\[[^\][]*\])")
_ANCHOR = re.compile(r"\s*(?:\{#[^{}]*\}|\{\{[^{}]*\}\}|<a\s[^<>]*>(?:</a>)?)\s*")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")


@frozen
class Section:
    """The text under one heading: where it and its body start, its level, and its breadcrumb."""

    start: int
    body: int
    level: int
    heading: str


@dataclass(slots=True)
class Outline:
    """The sections of a text and the offsets where blocks begin, all ascending.

    ``blocks`` are good places to cut. ``joints`` are places inside a block (an item of a loose list, an
    indented continuation) that are second best. ``begins`` holds the start of every block, and ``rigid`` says
    of each whether it is made of lines (a fence, a table, a list, code) and not of sentences.
    """

    sections: list[Section] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    joints: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    rigid: list[bool] = field(default_factory=list)

    def begin(self, start: int, *, rigid: bool) -> None:
        """Note that a block begins here."""
        self.begins.append(start)
        self.rigid.append(rigid)


class Trail:
    """The headings above a place; pushing a heading returns the breadcrumb."""

    def __init__(self) -> None:
        self._above: list[tuple[int, str]] = []

    def push(self, level: int, title: str) -> str:
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        if title:
            self._above.append((level, title))
        return CRUMB.join(name for _, name in self._above)


def outline_markdown(text: str) -> Outline:
    """Headings (ATX and setext), fences, lists, tables and paragraphs of a Markdown text."""
    return _MarkdownScan(text).run()


class _Scan:
    """The state of one pass over the lines of a text with markup."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Outline()
        self.trail = Trail()
        self.fresh = True  # the next line that is not blank begins a block
        self.bare = True  # only headings so far in this section: a cut here would leave one alone
        self.in_list = False
        self.paragraph = -1  # the start of a one-line paragraph, which an underline would turn into a heading

    def _finished(self) -> Outline:
        if not self.found.sections or self.text[: self.found.sections[0].start].strip():
            self.found.sections.insert(0, Section(0, 0, 0, ""))
        return self.found

    def _heading(self, start: int, body: int, level: int, title: str) -> None:
        self.found.sections.append(Section(start, body, level, self.trail.push(level, plain_heading(title))))
        self.fresh = self.bare = True
        self.in_list, self.paragraph = False, -1

    def _underline(self, body: int, level: int, above: int = -1) -> None:
        """Turn the paragraph that just began into a heading."""
        start = self.paragraph
        found = self.found
        for places in (found.blocks, found.joints):
            if places[-1:] == [start]:
                places.pop()
        found.begins.pop()
        found.rigid.pop()
        title = self.text[start : self.text.index("\n", start)]
        self._heading(start if above < 0 else above, body, level, title.strip())

    def _line(self, line: str, start: int, mark: str, *, rigid: bool) -> None:
        """A line with text on it, outside fences: it begins a block, or goes on with one."""
        if not self.fresh:
            self.paragraph = -1
            return
        indented = line[0] in " \t"
        item = mark in "-*+0123456789" and _ITEM.match(line) is not None
        if self.bare:
            self.bare = False
        elif indented or (self.in_list and item):
            self.found.joints.append(start)
        else:
            self.found.blocks.append(start)
        self.in_list = item or (self.in_list and indented)
        self.found.begin(start, rigid=rigid or item or mark == "|" or indented)
        self.fresh = False
        self.paragraph = -1 if rigid or item or indented or mark in "|>" else start


class _MarkdownScan(_Scan):
    """The state of one pass over the lines of a Markdown text."""

    def run(self) -> Outline:
        offset = 0
        fence = ""
        for line in self.text.split("\n"):
            start = offset
            offset += len(line) + 1
            bare_line = line.strip()
            if fence:
                if bare_line.startswith(fence) and not bare_line.strip(fence[0]):
                    fence, self.fresh = "", True
                continue
            if not bare_line:
                self.fresh, self.paragraph = True, -1
                continue
            mark = bare_line[0]
            if mark == "#" and (heading := _ATX.match(line)):
                self._heading(start, offset, len(heading[1]), _without_closing(line[heading.end() :].strip()))
                continue
            if mark in "=-" and self.paragraph >= 0 and len(bare_line) > 1 and not bare_line.strip(mark):
                self._underline(offset, 1 if mark == "=" else 2)
                continue
            if ("```" in bare_line or "~~~" in bare_line) and (opening := _FENCE.match(line)):
                fence = opening[1]
            self._line(line, start, mark, rigid=bool(fence))
        return self._finished()


def outline_rst(text: str) -> Outline:
    """Titles (underlined, or between two lines), directives, lists and paragraphs of a reStructuredText."""
    return _RstScan(text).run()


class _RstScan(_Scan):
    """The state of one pass over the lines of a reStructuredText."""

    def run(self) -> Outline:
        offset = 0
        above = -1  # the position of a line of punctuation that may be the upper one of two around a title
        levels: dict[tuple[str, bool], int] = {}
        for line in self.text.split("\n"):
            start = offset
            offset += len(line) + 1
            bare_line = line.strip()
            if not bare_line:
                self.fresh, self.paragraph, above = True, -1, -1
                continue
            mark = bare_line[0]
            if mark in _ADORNMENTS and line[0] == mark and len(bare_line) > 1 and not bare_line.strip(mark):
                if self.paragraph >= 0 and start - self.paragraph <= len(bare_line) + 2:
                    level = levels.setdefault((mark, above >= 0), len(levels) + 1)
                    self._underline(offset, level, above)
                    above = -1
                elif self.fresh:
                    above = start
                continue
            self._line(line, start, mark, rigid=bare_line.startswith(".. "))
            if above >= 0 and self.found.begins[-1:] == [start]:
                self.paragraph = start
        return self._finished()


def outline_rows(text: str, *, quotes: bool) -> Outline:
    """The rows of a table: its lines, except that with ``quotes`` a quoted cell may span several."""
    found = Outline(sections=[Section(0, 0, 0, "")])
    found.begin(0, rigid=True)
    opened = -1  # the start of the row whose quote is still open
    for start, line in lines_with_offsets(text):
        if start - opened > _LONGEST_ROW:
            opened = -1  # the quote has no partner: without this, the rest of the file would be one row
        if opened < 0 and start and line and not line.isspace():
            found.blocks.append(start)
        if quotes and line.count('"') % 2:
            opened = -1 if opened >= 0 else start
    return found


def outline_text(text: str) -> Outline:
    """Paragraphs of a plain text: what blank lines separate."""
    found = Outline(sections=[Section(0, 0, 0, "")])
    fresh = True
    for start, line in lines_with_offsets(text):
        if not line or line.isspace():
            fresh = True
        elif fresh:
            if start:
                (found.joints if line[0] in " \t" else found.blocks).append(start)
            found.begin(start, rigid=line[0] in " \t")
            fresh = False
    return found


def lines_with_offsets(text: str) -> Iterator[tuple[int, str]]:
    """Each line without its newline, and where it starts."""
    offset = 0
    for line in text.split("\n"):
        yield offset, line
        offset += len(line) + 1


def _without_closing(title: str) -> str:
    """An ATX heading may end in a run of ``#`` that is not part of it."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def plain_heading(title: str) -> str:
    """A heading as a reader sees it, on one short line: without link targets, anchors, emphasis or backticks.

    >>> plain_heading("**Install** on [Linux](/linux) {#linux}")
    'Install on Linux'
    """
    title = title[: 4 * _LONGEST_CRUMB]
    if "[" in title:
        title = _LINK.sub(r"\1", title)
    if "{" in title or "<" in title:
        title = _ANCHOR.sub(" ", title)
    if "*" in title or "_" in title or "`" in title:
        title = _EMPHASIS.sub("", title)
    return " ".join(title.split())[:_LONGEST_CRUMB].rstrip()
