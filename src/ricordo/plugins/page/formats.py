"""A text as what it is: Markdown, reStructuredText, a mail, a table, code, or plain text."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

import nh3
from markupsafe import Markup

from ricordo.plugins.page.markdown import rendered
from ricordo.plugins.page.markup import (
    Heading,
    HeadingIds,
    HeadingLevels,
    Rendered,
    cleaned,
    code_html,
    heading_id,
    language_of,
    lines_text,
    mark_html,
    mark_words,
)
from ricordo.values.items import Item
from ricordo.values.kinds import KNOWLEDGE_FOLDERS, REMEMBERED_KINDS

if TYPE_CHECKING:
    from ricordo.values.hits import Hit

MOST_SHOWN = 200_000
"""Characters of a text that are shown at once; of a longer one, the part around the passage."""
MOST_RENDERED = 16
"""How many texts are kept as they were shown, because one goes to and fro between passages of the same text."""
NOTEBOOK = "application/x-ipynb+json"
_OFFICE = "application/vnd.openxmlformats-officedocument."
AS_MARKDOWN = frozenset({
    "text/markdown", "text/x-markdown", "text/html", "application/xhtml+xml", "application/epub+zip", NOTEBOOK,
    f"{_OFFICE}wordprocessingml.document", f"{_OFFICE}presentationml.presentation", f"{_OFFICE}spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
})  # fmt: skip
"""Of these, reading makes Markdown."""


def shown(item: Item, links: Mapping[str, str], lines: tuple[int, int] | None) -> Rendered:
    """The text of an item as what it is; of a very long one, the part in which the lines stand."""
    text, first_line = window(item.content, item.first_line, lines)
    at = lines[0] if lines else 0
    form = form_of(item)
    part = _shown(
        text,
        form,
        item.ref.path,
        str(item.ref),
        first_line=first_line,
        title=item.title,
        links=tuple(links.items()),
        at=at if form in ("csv", "tsv") else 0,
    )
    if len(text) == len(item.content):
        return part
    last = first_line + text.count("\n")
    note = f'<p class="note">Lines {first_line:,} to {last:,} of a long text. All of it is in the source.</p>'
    return Rendered(Markup(note) + part.html, part.outline, part.classes)


def form_of(item: Item) -> str:
    """What a text is: markdown, notebook, rst, mail, csv, tsv, code or text."""
    mime = item.fields.mime_type or ""
    name = item.ref.path.lower()
    if mime == NOTEBOOK:
        return "notebook"
    if mime in AS_MARKDOWN or name.endswith((".md", ".markdown")):
        return "markdown"
    if item.kind in REMEMBERED_KINDS or item.kind in KNOWLEDGE_FOLDERS or (not mime and item.ref.drive != "disk"):
        return "markdown"
    known = {"text/x-rst": "rst", "message/rfc822": "mail", "text/csv": "csv", "text/tab-separated-values": "tsv"}
    if mime in known or (not mime and name.endswith(".rst")):
        return known.get(mime, "rst")
    return "code" if mime.startswith("text/x-") or language_of(name) else "text"


def window(text: str, first_line: int, lines: tuple[int, int] | None) -> tuple[str, int]:
    """The part of a text that is shown, and its first line: all of it, or whole lines around the passage.

    >>> window("short", 3, None)
    ('short', 3)
    """
    if len(text) <= MOST_SHOWN:
        return text, first_line
    rows = text.split("\n")
    at = min(len(rows) - 1, max(0, (lines[0] if lines else first_line) - first_line))
    room = MOST_SHOWN // 2
    start = at
    while start > 0 and room > len(rows[start - 1]):
        start -= 1
        room -= len(rows[start]) + 1
    room += MOST_SHOWN // 2
    end = at
    while end < len(rows) and (room > len(rows[end]) or end == at):
        room -= len(rows[end]) + 1
        end += 1
    return "\n".join(rows[start:end])[: 2 * MOST_SHOWN], first_line + start


@lru_cache(maxsize=MOST_RENDERED)
def _shown(
    text: str,
    form: str,
    path: str,
    ref: str,
    *,
    first_line: int,
    title: str,
    links: tuple[tuple[str, str], ...],
    at: int,
) -> Rendered:
    made: Rendered | None = None
    if form in ("markdown", "notebook"):
        is_notebook = form == "notebook"
        made = rendered(text, ref, first_line=first_line, title=title, links=dict(links), is_notebook=is_notebook)
    elif form == "rst":
        made = rendered_rst(text, first_line=first_line, title=title)
    elif form == "mail":
        made = rendered_mail(text, first_line=first_line, title=title)
    elif form in ("csv", "tsv"):
        made = rendered_table(text, is_tab=form == "tsv", first_line=first_line, at=at)
    elif form == "code":
        code = code_html(text.removesuffix("\n"), language_of(path), first_line)
        made = Rendered(Markup(code), classes="whole-file")  # escaped there
    return made if made is not None else plain(text, first_line)


def plain(text: str, first_line: int) -> Rendered:
    """A text as it is written, each line in its place."""
    lines = "".join(
        f'<span class="line" data-at="{number}">{escape(line)}\n</span>'
        for number, line in enumerate(text.removesuffix("\n").split("\n"), first_line)
    )
    return Rendered(Markup(f'<pre class="text" tabindex="0">{lines}</pre>'), classes="whole-file")  # escaped above


LONGEST_RST = 200_000
SETTINGS: dict[str, Any] = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 6,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
    "doctitle_xform": False,
    "docinfo_xform": False,
    "sectsubtitle_xform": False,
    "smart_quotes": False,
    "syntax_highlight": "none",
    "line_length_limit": 20_000,
}
_PLAIN_TAGS = {
    "paragraph": "p", "bullet_list": "ul", "enumerated_list": "ol", "list_item": "li", "emphasis": "em",
    "strong": "strong", "literal": "code", "block_quote": "blockquote", "definition_list": "dl", "term": "dt",
    "definition": "dd", "subscript": "sub", "superscript": "sup", "table": "table", "thead": "thead", "tbody": "tbody",
    "row": "tr", "title_reference": "cite", "field_list": "dl", "field_name": "dt", "field_body": "dd",
    "option_list": "dl", "option_group": "dt", "description": "dd", "line_block": "div", "line": "div",
    "caption": "p", "attribution": "p", "footnote": "div", "citation": "div", "transition": "hr",
    "abbreviation": "abbr",
}  # fmt: skip
_LEFT_OUT = frozenset({"comment", "system_message", "substitution_definition", "target", "pending", "meta", "raw"})


def rendered_rst(text: str, *, first_line: int = 1, title: str = "") -> Rendered | None:
    """The text as HTML with its headings; None if docutils cannot read it, or it is too long."""
    from docutils.core import publish_doctree
    from docutils.utils import SystemMessage

    if len(text) > LONGEST_RST:
        return None
    settings = SETTINGS | {"warning_stream": io.StringIO()}
    try:
        tree = publish_doctree(text, settings_overrides=settings)
        writer = _Writer(first_line, title)
        html = writer.of(tree)
    except (SystemMessage, RecursionError, ValueError, TypeError, AttributeError, LookupError, AssertionError):
        return None  # its parser fails in many ways on what is not quite its language
    return Rendered(Markup(cleaned(html)), tuple(writer.outline))  # cleaned here


class _Writer:
    """Writes the nodes of a document as HTML."""

    def __init__(self, first_line: int, title: str) -> None:
        self.first = first_line
        self.title = " ".join(title.casefold().split())
        self.outline: list[Heading] = []
        self._ids = HeadingIds()
        self._levels = HeadingLevels()
        self._depth = 0

    def of(self, node: Any) -> str:
        """A node with all that is in it."""
        name = type(node).__name__
        if name == "Text":
            return escape(str(node))
        if name in _LEFT_OUT:
            return ""
        special = getattr(self, f"_{name}", None)
        if special is not None:
            return str(special(node))
        inside = self._inside(node)
        tag = _PLAIN_TAGS.get(name)
        return f"<{tag}{self._at(node)}>{inside}</{tag}>" if tag else inside

    def _inside(self, node: Any) -> str:
        return "".join(self.of(one) for one in node.children)

    def _at(self, node: Any) -> str:
        """Where a block stands; one that holds others says it by those."""
        is_block = type(node).__name__ in ("paragraph", "term", "line", "field_name", "option_group")
        return f' data-at="{self.first + node.line - 1}"' if node.line and is_block else ""

    def _section(self, node: Any) -> str:
        self._depth += 1
        inside = self._inside(node)
        self._depth -= 1
        return inside

    def _title(self, node: Any) -> str:
        words = " ".join(str(node.astext()).split())
        if not self.outline and words.casefold() == self.title and self._depth == 1:
            return ""
        level = self._levels.of(max(1, self._depth))
        line = self.first + (node.line or 1) - 1
        id_ = self._ids.of(words)
        self.outline.append(Heading(level, words, id_, line))
        return f'<h{level + 1} id="{escape(id_)}" data-at="{line}">{self._inside(node)}</h{level + 1}>\n'

    def _subtitle(self, node: Any) -> str:
        return f"<p>{self._inside(node)}</p>\n"

    def _literal_block(self, node: Any) -> str:
        words = [one for one in node.get("classes", ()) if one != "code"]
        text = str(node.astext())
        # docutils names the last line of a block of code.
        start = max(1, (node.line or 1) - text.count("\n") - bool(words))
        return code_html(text, words[0] if words else "", self.first + start - 1)

    def _doctest_block(self, node: Any) -> str:
        return code_html(str(node.astext()), "pycon", self.first + (node.line or 1) - 1)

    def _reference(self, node: Any) -> str:
        target = str(node.get("refuri", ""))
        if not target and node.get("refid"):
            target = "#" + heading_id(str(node.get("name", node["refid"])))
        return f'<a href="{escape(target)}">{self._inside(node)}</a>' if target else self._inside(node)

    def _entry(self, node: Any) -> str:
        tag = "th" if type(node.parent.parent).__name__ == "thead" else "td"
        return f"<{tag}>{self._inside(node)}</{tag}>"

    def _image(self, node: Any) -> str:
        return f'<span class="picture">{escape(str(node.get("alt") or "picture"))}</span>'

    def _problematic(self, node: Any) -> str:
        return escape(str(node.astext()))

    def _told(self, node: Any) -> str:
        """A note or a warning; what it is called stands before it, unless it has a title of its own."""
        name = type(node).__name__
        words = "" if name == "admonition" else f"<p><strong>{name.capitalize()}</strong></p>"
        return f'<blockquote class="admonition">{words}{self._inside(node)}</blockquote>\n'

    _attention = _caution = _danger = _error = _hint = _important = _note = _tip = _warning = _admonition = _told


_HEADER = re.compile(r"(From|To|Cc|Date|Subject): (.*)")
_QUOTED = re.compile(r"(?:>[ \t]?)+")
_ADDRESS = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)\]]")
DEEPEST_QUOTE = 5


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
    return min(DEEPEST_QUOTE, found[0].count(">")) if found else 0


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


MOST_ROWS = 500
MOST_COLUMNS = 100
LONGEST_CELL = 2_000


def rendered_table(text: str, *, is_tab: bool = False, first_line: int = 1, at: int = 0) -> Rendered | None:
    """The rows as a table, the first as its head; None if the text cannot be read as one. ``at`` is a line to show."""
    delimiter = "\t" if is_tab else max(",;\t|", key=text.partition("\n")[0].count)
    try:
        rows = list(_rows(text, delimiter, first_line))
    except csv.Error:
        return None
    if len(rows) < 2 or max(len(cells) for _, cells in rows[:20]) < 2:
        return None
    (top, head), body = rows[0], rows[1:]
    before = sum(1 for line, _ in body if line < at)
    start = max(0, min(before - MOST_ROWS // 2, len(body) - MOST_ROWS))
    shown = body[start : start + MOST_ROWS]
    cells = "".join(f'<th scope="col">{_cell(one)}</th>' for one in head[:MOST_COLUMNS])
    parts = [
        f'<div class="scroll" tabindex="0"><table class="sheet"><thead><tr data-at="{top}">{cells}</tr></thead><tbody>'
    ]
    for line, row in shown:
        parts.append(
            f'<tr data-at="{line}">' + "".join(f"<td>{_cell(one)}</td>" for one in row[:MOST_COLUMNS]) + "</tr>"
        )
    parts.append("</tbody></table></div>")
    if len(shown) < len(body):
        rows_shown = f"Rows {start + 1:,} to {start + len(shown):,} of {len(body):,}"
        parts.append(f'<p class="note">{rows_shown}. All of them are in the source.</p>')
    return Rendered(Markup("".join(parts)), classes="sheet-box")  # every cell was escaped


def _rows(text: str, delimiter: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    line = first_line
    for row in reader:
        if row:
            yield line, row
        line = first_line + reader.line_num


def _cell(text: str) -> str:
    return escape(text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "…")


INLINE = {"b", "strong", "i", "em", "code", "kbd", "s", "sub", "sup"}
LONGEST_SNIPPET = 1_500
SEEN = 150
"""Characters of a snippet that are seen in any case; where the first found word comes later, it begins there."""
_HEADINGS = re.compile(r"<h[2-6][^>]*>.*?</h[2-6]>", re.DOTALL)
_SIGNS = frozenset("`*_[]<>#|~\\&\n")
"""What a text has in it, if it may be Markdown."""
_NAME = re.compile(r"[\w.-]+")
"""A title that is the name of a file, such as ``__init__.py``: nothing in it is emphasis."""
_BLOCK_END = re.compile(r"</(?:p|li|pre|tr|td|th|div|blockquote|dt|dd)>|<br>")


def inline_html(text: str, terms: Iterable[str] = (), language: str = "english") -> Markup:
    """A short Markdown text in one run, as a title or a snippet shows it: without headings, links and blocks."""
    if (text[:1].isalpha() and _SIGNS.isdisjoint(text)) or _NAME.fullmatch(text):
        return mark_words(" ".join(text[:LONGEST_SNIPPET].split()), terms, language)
    html = rendered(text[:LONGEST_SNIPPET], links={}).html
    blocks = _HEADINGS.sub("", html) or html
    run = nh3.clean(_BLOCK_END.sub(" ", blocks), tags=INLINE, attributes={})
    return mark_html(" ".join(run.split()), terms, language)


def hit_html(hit: Hit, terms: Iterable[str], language: str) -> Markup:
    """The piece of a hit that answers: of a Markdown text as it reads, of another one as it is written."""
    lines = (hit.evidence[0].in_lines if hit.evidence else hit.snippet).split("\n")
    lines = [line for line in lines if line.strip("`~|:- …") and not line.lstrip("… ").startswith(("```", "~~~"))]
    rows = [line.lstrip("… ").startswith("|") for line in lines]
    lines = [line.strip("…| ").replace("|", "·") if is_row else line for line, is_row in zip(lines, rows, strict=True)]
    marked = (at for at, line in enumerate(lines) if "<mark>" in mark_words(line, terms, language))
    first = next(marked, 0)
    text = "\n".join(lines[first if sum(map(len, lines[:first])) > SEEN else 0 :])
    if hit.item is None or form_of(hit.item) in ("markdown", "notebook"):
        return inline_html(text, terms, language)
    return mark_words(text[:LONGEST_SNIPPET], terms, language)


_TOKENS = re.compile(r"\s+|\w+|[^\w\s]")
MOST_COMPARED = 20_000
"""Tokens of two texts that are compared word by word; of longer ones, lines are."""
AROUND = 160
MOST_MARKED = 0.6
"""The part of a text that may differ from another one and still be marked."""
_QUOTES = re.compile(r"`|\*\*")
"""Characters of what stayed that are shown before and after a change."""


def changed_words(before: str, after: str) -> Markup:
    """What was taken out and put in between two texts, with some of what stayed around it; empty if nothing was."""
    if before == after:
        return Markup("")
    is_long = len(before) + len(after) > 5 * MOST_COMPARED
    old, new = ((text.splitlines(keepends=True) if is_long else _TOKENS.findall(text)) for text in (before, after))
    parts: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[a:b]), "".join(new[c:d])
        if tag == "equal":
            is_cut = len(gone) > 2 * AROUND
            kept = f"{gone[:AROUND] if a else ''} … {gone[-AROUND:] if b < len(old) else ''}" if is_cut else gone
            parts.append(escape(kept))
        else:
            parts += (f"<del>{escape(gone)}</del>" if gone else "", f"<ins>{escape(come)}</ins>" if come else "")
    return Markup("".join(parts))  # every piece was escaped above


def changed_lines(before: str, first: int, after: str, first_after: int) -> Markup:
    """The lines that went and those that came between two texts, each group with where it stood and where it stands."""
    old, new = before.splitlines(), after.splitlines()
    parts: list[Markup] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(
        None, old, new, autojunk=len(old) + len(new) > MOST_ROWS
    ).get_opcodes():
        if tag == "equal":
            continue
        places = (lines_text((start + first, end + first - 1)) if end > start else "nothing"
                  for start, end, first in ((a, b, first), (c, d, first_after)))  # fmt: skip
        parts.append(Markup('<span class="faint">{} → {}</span>').format(*places))
        parts += [Markup('<span class="removed">− {}</span>').format(line) for line in old[a:b]]
        parts += [Markup('<span class="added">+ {}</span>').format(line) for line in new[c:d]]
    return Markup("").join(parts)


def differing_words(other: str, text: str) -> Markup:
    """A text with the words marked that another one does not have in their place; none where nearly all are others."""
    old, new = (_TOKENS.findall(_QUOTES.sub("", one[:MOST_COMPARED])) for one in (other, text))
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    pieces = [(tag == "equal", "".join(new[c:d])) for tag, _, _, c, d in opcodes if d > c]
    is_other = sum(len(one) for is_same, one in pieces if not is_same) > MOST_MARKED * len(text)
    return Markup("").join(
        Markup("{}" if is_same or is_other else "<mark>{}</mark>").format(one) for is_same, one in pieces
    )
