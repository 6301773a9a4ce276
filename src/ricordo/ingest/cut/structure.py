"""Finds the structure of a text: its sections with their breadcrumbs, and the places where a block begins.

It goes over the lines once. It finds boundaries and headings; ``chunk`` decides where to cut.

The units of source code are classes, functions, tables and targets, each with its name as a breadcrumb. No grammar is
parsed: a unit begins where a line looks like a definition in the file's language, and the comments and decorators right
above belong to it. If a line is misread, the cut is worse but no text is lost. Parser packages are not used, because
they download grammars while they run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.patterns import late

CRUMB = " › "
_ADORNMENTS = frozenset("=-~^\"'`#*+.:_<>!$%&,/;?@")
_LONGEST_ROW = 8_000
_LONGEST_CRUMB = 120

_ATX = late(r" {0,3}(#{1,6})(?=[ \t\r]|\Z)")
_FENCE = late(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_ITEM = late(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_LINK = late(r"!?\[([^\][]*)\](?:\([^()]*\)|\[[^\][]*\])")
_ANCHOR = late(r"\s*(?:\{#[^{}]*\}|\{\{[^{}]*\}\}|<a\s[^<>]*>(?:</a>)?)\s*")
_EMPHASIS = late(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")


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
        self.outline = Outline()
        self.trail = Trail()
        self.fresh = True  # the next line that is not blank begins a block
        self.bare = True  # only headings so far in this section: a cut here would leave one alone
        self.in_list = False
        self.paragraph = -1  # the start of a one-line paragraph, which an underline would turn into a heading

    def _finished(self) -> Outline:
        if not self.outline.sections or self.text[: self.outline.sections[0].start].strip():
            self.outline.sections.insert(0, Section(0, 0, 0, ""))
        return self.outline

    def _heading(self, start: int, body: int, level: int, title: str) -> None:
        self.outline.sections.append(Section(start, body, level, self.trail.push(level, plain_heading(title))))
        self.fresh = self.bare = True
        self.in_list, self.paragraph = False, -1

    def _underline(self, body: int, level: int, above: int = -1) -> None:
        """Turn the paragraph that just began into a heading."""
        start = self.paragraph
        outline = self.outline
        for places in (outline.blocks, outline.joints):
            if places[-1:] == [start]:
                places.pop()
        outline.begins.pop()
        outline.rigid.pop()
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
            self.outline.joints.append(start)
        else:
            self.outline.blocks.append(start)
        self.in_list = item or (self.in_list and indented)
        self.outline.begin(start, rigid=rigid or item or mark == "|" or indented)
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
            if above >= 0 and self.outline.begins[-1:] == [start]:
                self.paragraph = start
        return self._finished()


def outline_rows(text: str, *, quotes: bool) -> Outline:
    """The rows of a table: its lines, except that with ``quotes`` a quoted cell may span several."""
    outline = Outline(sections=[Section(0, 0, 0, "")])
    outline.begin(0, rigid=True)
    opened = -1  # the start of the row whose quote is still open
    for start, line in lines_with_offsets(text):
        if start - opened > _LONGEST_ROW:
            opened = -1  # the quote has no partner: without this, the rest of the file would be one row
        if opened < 0 and start and line and not line.isspace():
            outline.blocks.append(start)
        if quotes and line.count('"') % 2:
            opened = -1 if opened >= 0 else start
    return outline


def outline_text(text: str) -> Outline:
    """Paragraphs of a plain text: what blank lines separate."""
    outline = Outline(sections=[Section(0, 0, 0, "")])
    fresh = True
    for start, line in lines_with_offsets(text):
        if not line or line.isspace():
            fresh = True
        elif fresh:
            if start:
                (outline.joints if line[0] in " \t" else outline.blocks).append(start)
            outline.begin(start, rigid=line[0] in " \t")
            fresh = False
    return outline


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


_BEFORE = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|inline|virtual"
    r"|override|open|sealed|data|case|declare|partial|suspend|mutating|local|extern|const|pub(?:\([^)]*\))?|@\w+)\s+)*"
)
_AFTER = (
    r"(?=\s*(?:[({:<\[=;,|]|$|(?:extends|implements|for|where|is|struct|interface|func|with|do|begin|returns?|final"
    r"|permits)\b))"
)
_ARROW = late(
    r"(?:export\s+)?(?:default\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]{1,80})?=\s*(?:async\b\s*)?"
    r"(?:function\b|\([^()]*\)\s*(?::[^=]{1,80})?=>|[\w$]+\s*=>|\($)"
)
_METHOD = late(r"(?:(?:async|static|get|set|public|private|protected)\s+|[*#])*(?P<name>[\w$]+)\s*\([^;]*\{\s*$")
_SIGNATURE = late(
    r"(?!(?:return|else|new|throw|delete|using|goto|case|await|typedef|if|for|while|switch|catch|do)\b)"
    r"(?:[\w:<>,\[\]*&?.@]{1,80}\s+){1,8}?[*&]{0,3}(?P<name>~?[A-Za-z_][\w:~]*)\s*\([^;=]*[{),(]\s*$"
)
_OWN: dict[str, re.Pattern[str]] = {
    "bash": late(r"(?:function\s+)?(?P<name>[\w-]+)\s*\(\)|function\s+(?P<name2>[\w-]+)"),
    "sql": late(
        r"(?i)create\s+(?:or\s+replace\s+)?(?:\w+\s+){1,3}?(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)"
        r"\s*(?:\(|$|as\b|on\b|returns\b)"
    ),
    "toml": late(r"\[+(?P<name>[^\]]+)\]+"),
    "yaml": late(r"(?P<name>[\w./\"'-]+):(?:\s|$)"),
    "json": late(r"\"(?P<name>[^\"]+)\"\s*:\s*[\[{]"),
    "css": late(r"(?P<name>[^\s{}/;][^{};]*?)\s*(?:\{|,$)"),
    "make": late(r"(?P<name>[\w.%/$()-]+(?: [\w.%/$()-]+)*)\s*:(?![=:])"),
    "hcl": late(r"(?P<name>\w+(?:\s+\"[^\"]+\")*)\s*\{"),
    "graphql": late(r"(?:extend\s+)?(?:type|input|query|mutation|fragment|enum)\s+(?P<name>\w+)"),
    "dockerfile": late(r"(?i)from\s+(?P<name>\S+)"),
}  # fmt: skip
_SAME_OWN = {"ini": "toml", "scss": "css", "fish": "bash", "just": "make"}
_C_LIKE = frozenset({"c", "cpp", "cuda", "objc", "java", "csharp", "d", "dart", "groovy", "glsl", "hlsl"})
_JS_LIKE = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
_FLAT = frozenset({"yaml", "css", "make", "toml", "dockerfile", "hcl", "sql"})  # units are never indented
_NOT_NAMES = frozenset({"if", "for", "while", "switch", "catch", "function", "return", "with"})
_LEADS = ("@", "//", "#", "/*", "--", ";;", "%", "template", "[")
_CLOSERS = ("}", ")", "]", "end", "*/", "else", "elif", "except", "finally", "catch")
_LONGEST_LINE = 400


def outline_code(text: str, language: str) -> Outline:
    """The units of a source file and the blank lines between its statements."""
    outline = Outline(sections=[Section(0, 0, 0, "")])
    outline.begin(0, rigid=True)
    scan = _CodeScan(outline, _SAME_OWN.get(language, language))
    for start, line in lines_with_offsets(text):
        scan.line(start, line)
    if len(outline.sections) > 1 and not text[: outline.sections[1].start].strip():
        del outline.sections[0]
    return outline


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("code_units.toml").read_text("utf-8"))


@lru_cache
def _keyword_unit(language: str) -> re.Pattern[str]:
    """Matches a line that begins a unit in this language; the group ``holds`` means that it contains other units."""
    table = _table()
    words = table["units"].get(table["units_like"].get(language, language), table["units"]["other"])
    holders, _, doers = ("|".join(map(re.escape, side.split())) for side in words.partition("|"))
    return re.compile(
        rf"{_BEFORE}(?:(?P<holds>{holders or '(?!)'})|(?:{doers or '(?!)'}))(?!\w)\s*(?:<[^>]*>\s*)?"
        rf"(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$.!?]*(?:::\w+)*)(?:<[^{{]*?>)?(?P<rest>\s+for\s+[\w:]+)?{_AFTER}"
    )


class _CodeScan:
    """The state of one pass over the lines of a source file."""

    def __init__(self, outline: Outline, language: str) -> None:
        self.outline = outline
        self.language = language
        self.keyword_unit = _keyword_unit(language)
        self.trail = Trail()
        self.fresh = True
        self.lead = -1  # where the comments and decorators right above this line begin
        self.lead_indent = 0
        self.open: list[tuple[int, bool]] = []  # indentation of the units around, and whether they hold others

    def line(self, start: int, line: str) -> None:
        bare = line.strip()
        if not bare:
            self.fresh, self.lead = True, -1
            return
        indent = len(line) - len(line.lstrip())
        unit = self._unit(bare, indent) if len(bare) <= _LONGEST_LINE else None
        if unit:
            name, holds = unit
            self._begin(start, indent, body=start + len(line) + 1, name=name, holds=holds)
        elif bare.startswith(_LEADS):
            if self.lead < 0:
                self.lead, self.lead_indent = start, indent
            self._plain(start, indent, bare)
        elif self.lead >= 0 and (indent > self.lead_indent or bare[0] in "*)]"):
            self._plain(start, indent, bare)
        else:
            self.lead = -1
            self._plain(start, indent, bare)
        self.fresh = False

    def _unit(self, bare: str, indent: int) -> tuple[str, bool] | None:
        """The name of the unit this line begins, and whether it holds other units; None if it begins none."""
        if indent and (self.language in _FLAT or not self._inside_holder(indent)):
            return None
        own = _OWN.get(self.language)
        if own is not None:
            match = own.match(bare)
            if match is None or (self.language == "json" and indent > 4):
                return None
            return next((name for name in match.groups() if name), bare), self.language == "json"
        if match := self.keyword_unit.match(bare):
            return match["name"].rstrip(".") + (match["rest"] or ""), match["holds"] is not None
        if self.language in _JS_LIKE:
            match = _ARROW.match(bare) or (_METHOD.match(bare) if indent else None)
        elif self.language in _C_LIKE:
            match = _SIGNATURE.match(bare)
        if match and match["name"] not in _NOT_NAMES:
            return match["name"], False
        return None

    def _inside_holder(self, indent: int) -> bool:
        around = [holds for depth, holds in self.open if depth < indent]
        return bool(around) and all(around)

    def _begin(self, start: int, indent: int, *, body: int, name: str, holds: bool) -> None:
        first = self.lead if self.lead >= 0 and self.lead_indent == indent else start
        self._close(indent)
        heading = self.trail.push(indent + 1, name[:80])
        self._section(Section(first, body, indent + 1, heading))
        self.open.append((indent, holds))
        self.lead = -1

    def _plain(self, start: int, indent: int, bare: str) -> None:
        """A line that begins no unit: it may begin a block, or end the unit it is not indented under."""
        if not self.fresh or start == 0:
            return
        stays = bare.startswith(_CLOSERS) or (bare[0] == "#" and self.language in _C_LIKE)
        if self.open and indent <= self.open[-1][0] and not stays:
            self._close(indent)
            self._section(Section(start, start, indent + 1, self.trail.push(indent + 1, "")))
        elif indent:
            self.outline.joints.append(start)
        else:
            self.outline.blocks.append(start)
        self.outline.begin(start, rigid=True)

    def _close(self, indent: int) -> None:
        while self.open and self.open[-1][0] >= indent:
            self.open.pop()

    def _section(self, section: Section) -> None:
        """Add a section; it replaces a section that the comments right above it began, because they belong to it."""
        sections = self.outline.sections
        while len(sections) > 1 and sections[-1].start >= section.start:
            sections.pop()
        sections.append(section)
