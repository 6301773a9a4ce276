"""Turns an HTML tree into Markdown: keeps headings, lists, tables, quotes and code; the rest becomes paragraphs.

It keeps all visible text; ``html`` chooses the main part of a page. It walks the tree in a loop, not by recursion, so
it can read pages nested to any depth.
"""

from __future__ import annotations

import re
from typing import Any

from ricordo.ingest.parse.trees import Element, local_name, walk

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SILENT = frozenset(
    (
        "script", "style", "template", "noscript", "head", "svg", "math", "canvas", "iframe", "object",
        "embed", "audio", "video", "map", "select", "datalist", "button", "input", "textarea", "dialog",
    )
)  # fmt: skip
# Elements around the text of a page that are not part of it.
_FRAME = frozenset(("nav", "footer", "aside"))
_FRAME_ROLES = frozenset(("navigation", "banner", "contentinfo", "complementary", "search"))
_BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
        "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup",
        "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "section", "summary", "table",
        "tbody", "tfoot", "thead", "tr", "ul",
    )
)  # fmt: skip
# Links that documentation generators put beside each heading.
_ANCHOR_SIGNS = frozenset(("¶", "§", "#", "🔗"))
_DEEPEST = 8


def to_markdown(root: Element, *, whole: bool = True) -> str:
    """The visible text under ``root``; ``whole=False`` leaves out navigation, asides and footers."""
    writer = _Writer()
    left_out: Element | None = None
    steps = walk(root, ("start", "end", "comment", "pi"))
    for event, element in steps:
        if event == "start":
            tag = local_name(element)
            if element is root or not _is_silent(tag, element, whole):
                writer.start(tag, element)
                writer.add(element.text)
            else:
                left_out = element
                steps.skip_subtree()
            continue
        # The end event of an element that was left out still comes, because the text behind it counts.
        if event == "end" and element is not left_out:
            writer.end(local_name(element), element)
        if element is not root:
            writer.add(element.tail)
    return writer.text()


def _is_silent(tag: str, element: Element, whole: bool) -> bool:
    if not tag or tag in _SILENT or (not whole and tag in _FRAME):
        return True
    if tag == "a" and len(element) == 0 and (element.text or "").strip() in _ANCHOR_SIGNS:
        return True
    attributes = element.attrib
    if not attributes:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    return not whole and attributes.get("role") in _FRAME_ROLES


class _Writer:
    """Collects blocks of Markdown from the start, text and end of elements."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._after_item = False
        self._inline: list[str] = []
        self._prefix = ""
        self._lists: list[list[Any]] = []
        self._quotes = 0
        self._pre = 0
        self._row: list[str] | None = None
        self._tables: list[bool] = []
        self._rows = 0

    def start(self, tag: str, element: Element) -> None:
        if tag == "pre":
            self._flush()
            self._pre += 1
        elif self._pre:
            if tag == "br":
                self._inline.append("\n")
        elif tag == "br":
            self._inline.append("\n" if self._row is None else " ")
        elif tag == "img":
            self._inline.append(f" {alt} " if (alt := (element.get("alt") or "").strip()) else "")
        elif tag == "code":
            self._inline.append("`")
        elif tag == "table":
            self._flush()
            self._tables.append(_holds_values(element))
            self._rows = 0
        elif self._tables and self._tables[-1]:
            self._start_in_table(tag)
        elif tag in _HEADINGS:
            self._flush()
            self._prefix = "#" * _HEADINGS[tag] + " "
        elif tag in ("td", "th") or tag in _BLOCKS:
            self._flush()
            self._start_block(tag)

    def _start_in_table(self, tag: str) -> None:
        if tag == "tr":
            self._row = []
            self._inline = []
        elif tag in _BLOCKS:
            self._inline.append(" ")

    def _start_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._lists.append([tag, 0])
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "li":
            self._start_item()

    def _start_item(self) -> None:
        indent = "  " * min(max(0, len(self._lists) - 1), _DEEPEST)
        if self._lists and self._lists[-1][0] == "ol":
            self._lists[-1][1] += 1
            self._prefix = f"{indent}{self._lists[-1][1]}. "
        else:
            self._prefix = f"{indent}- "

    def end(self, tag: str, element: Element) -> None:
        if tag == "pre" and self._pre:
            self._end_pre(element)
        elif self._pre:
            return
        elif tag == "code":
            self._inline.append("`")
        elif tag == "table":
            self._end_table()
        elif self._tables and self._tables[-1]:
            self._end_in_table(tag)
        elif tag in _HEADINGS or tag in _BLOCKS or tag in ("td", "th", "blockquote"):
            self._flush()
            self._prefix = ""
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            elif tag == "blockquote":
                self._quotes = max(0, self._quotes - 1)

    def _end_pre(self, element: Element) -> None:
        self._pre -= 1
        if self._pre:
            return
        code = "".join(self._inline).strip("\n")
        self._inline = []
        if code.strip():
            language = re.search(r"\b(?:lang|language|brush:?|highlight-source)[- ]([\w+#-]+)", _classes(element))
            fence = "````" if "```" in code else "```"
            self._put(f"{fence}{language[1] if language else ''}\n{code}\n{fence}")

    def _end_table(self) -> None:
        self._flush()
        if self._tables:
            self._tables.pop()
        self._row = None

    def _end_in_table(self, tag: str) -> None:
        if tag in ("td", "th") and self._row is not None:
            self._row.append(" ".join("".join(self._inline).split()).replace("|", "\\|"))
            self._inline = []
        elif tag == "tr" and self._row is not None:
            self._end_row()
        elif tag == "caption":
            self._flush()

    def _end_row(self) -> None:
        cells = self._row or []
        self._row = None
        self._inline = []
        if not any(cells):
            return
        line = "| " + " | ".join(cells) + " |"
        if self._rows:
            self._pieces.append("\n" + line)
        else:
            self._put(line + "\n|" + "---|" * len(cells))
        self._rows += 1

    def add(self, text: str | None) -> None:
        if text:
            self._inline.append(text if self._pre else _collapsed(text))

    def _flush(self) -> None:
        """End the paragraph that is being collected."""
        text = "".join(self._inline)
        self._inline = []
        lines = [" ".join(line.split()) for line in text.split("\n")]
        text = "\n".join(lines).strip("\n").replace("``", "")
        if not text.strip(" `"):
            return
        if self._prefix.startswith("#"):
            text = text.replace("\n", " ")
        is_item = self._prefix.lstrip()[:1] in ("-", *"0123456789") and bool(self._prefix)
        block = "> " * min(self._quotes, _DEEPEST) + self._prefix + text
        self._put(block, is_item=is_item)
        self._prefix = ""

    def _put(self, block: str, *, is_item: bool = False) -> None:
        """Add a block; items of a list stay together, one line each."""
        if self._pieces:
            self._pieces.append("\n" if is_item and self._after_item else "\n\n")
        self._pieces.append(block)
        self._after_item = is_item

    def text(self) -> str:
        self._flush()
        return "".join(self._pieces)


def _collapsed(text: str) -> str:
    """Runs of white space as one space, also at both ends."""
    words = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}" if words else " "


def _classes(element: Element) -> str:
    inner = element.find(".//code")
    return " ".join(part.get("class") or "" for part in (element, inner) if part is not None)


def _holds_values(table: Element) -> bool:
    """Whether a table holds values and does not lay out a page: several columns, and only short texts in its cells."""
    if next(table.iterdescendants("table", "h1", "h2", "h3", "ul", "ol", "pre", "form"), None) is not None:
        return False
    rows = list(table.iterdescendants("tr"))
    return any(len(row) > 1 for row in rows[:50])
