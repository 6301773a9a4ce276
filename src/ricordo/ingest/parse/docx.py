"""Word documents: paragraphs, headings, lists, tables, text boxes and notes, as Markdown.

It reads the XML itself, so that it also finds the text in content controls, tracked insertions and text boxes. Deleted
text, comments, headers, footers and pictures are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ricordo.frozen import frozen
from ricordo.ingest.parse.archive import Archive
from ricordo.ingest.parse.office import attribute, child, children, main_part, markdown_table, title_property
from ricordo.ingest.parse.source import Source
from ricordo.ingest.parse.trees import Element, local_name
from ricordo.values.items import Parsed

# A fallback repeats the shape beside it for older programs.
_SKIPPED = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "sdtPr"))


@frozen
class _Style:
    """What a paragraph style says: a heading level (1 to 9), the document's title, or a list."""

    level: int = 0
    is_title: bool = False
    list_id: str = ""


def parse(source: Source) -> Parsed:
    """The document's body, then its foot- and endnotes."""
    with Archive(source.data, source.name) as archive:
        part = main_part(archive, "word/document.xml")
        reader = _Reader(_styles(archive, part), _bullets(archive, part))
        body = child(archive.xml(part), "body")
        blocks = list(reader.blocks(body)) if body is not None else []
        blocks += _notes(archive, part, reader)
        title = reader.title or title_property(archive) or reader.first_heading
    return Parsed(_spaced(blocks), title)


def _spaced(blocks: list[str]) -> str:
    """Blocks joined with an empty line between them; the items of a list follow each other directly."""
    text = ""
    previous = ""
    for block in blocks:
        both_items = _is_item(previous) and _is_item(block)
        text += ("\n" if both_items else "\n\n" if text else "") + block
        previous = block
    return text


def _is_item(block: str) -> bool:
    return re.match(r"\s*(- |\d+\. )", block) is not None


def _styles(archive: Archive, part: str) -> dict[str, _Style]:
    """Paragraph styles by id, each with what it inherits."""
    listed = archive.related(part, "styles")
    nodes = {attribute(node, "styleId"): node for node in children(archive.xml(listed), "style")} if listed else {}
    return {style_id: _style(nodes, style_id, 0) for style_id in nodes}


def _style(nodes: dict[str, Element], style_id: str, depth: int) -> _Style:
    node = nodes.get(style_id)
    if node is None or depth > 10:
        return _Style()
    parent = _style(nodes, attribute(child(node, "basedOn"), "val"), depth + 1)
    name = attribute(child(node, "name"), "val").lower()
    named = re.fullmatch(r"heading (\d)", name)
    outline = attribute(child(node, "pPr", "outlineLvl"), "val")
    level = int(named[1]) if named else int(outline) + 1 if outline in list("012345678") else parent.level
    if outline == "9" or name.startswith("toc "):
        level = 0
    list_id = attribute(child(node, "pPr", "numPr", "numId"), "val") or parent.list_id
    return _Style(level, name == "title" or parent.is_title, list_id)


def _bullets(archive: Archive, part: str) -> set[tuple[str, str]]:
    """The (list, level) pairs that are marked by bullets; all others are numbered."""
    listed = archive.related(part, "numbering")
    if not listed:
        return set()
    root = archive.xml(listed)
    of_abstract = {
        attribute(abstract, "abstractNumId"): {
            attribute(level, "ilvl")
            for level in children(abstract, "lvl")
            if attribute(child(level, "numFmt"), "val") in ("bullet", "none", "")
        }
        for abstract in children(root, "abstractNum")
    }
    pairs: set[tuple[str, str]] = set()
    for number in children(root, "num"):
        levels = of_abstract.get(attribute(child(number, "abstractNumId"), "val"), set())
        pairs |= {(attribute(number, "numId"), level) for level in levels}
    return pairs


def _notes(archive: Archive, part: str, reader: _Reader) -> list[str]:
    found: list[str] = []
    for kind, sign in (("footnotes", ""), ("endnotes", "e")):
        listed = archive.related(part, kind)
        for note in archive.xml(listed) if listed else ():
            if attribute(note, "type") not in ("", "normal"):
                continue
            text = " ".join(" ".join(reader.blocks(note)).split())
            if text:
                found.append(f"[^{sign}{attribute(note, 'id')}]: {text}")
    return found


class _Reader:
    """Turns block elements into Markdown, counting numbered lists as it goes."""

    def __init__(self, styles: dict[str, _Style], bullets: set[tuple[str, str]]) -> None:
        self._styles = styles
        self._bullets = bullets
        self._counts: Counter[tuple[str, int]] = Counter()
        self.title = ""
        self.first_heading = ""

    def blocks(self, parent: Element) -> Iterator[str]:
        """Markdown blocks of everything below an element that holds paragraphs and tables."""
        for element in parent:
            name = local_name(element)
            if name == "p":
                yield from self._paragraph(element)
            elif name == "tbl":
                yield from self._table(element)
            elif name not in _SKIPPED:
                # Content controls, tracked insertions and similar elements only wrap blocks.
                yield from self.blocks(element)

    def _paragraph(self, paragraph: Element) -> Iterator[str]:
        boxes: list[Element] = []
        text = "\n".join(" ".join(line.split()) for line in "".join(_words(paragraph, boxes)).split("\n")).strip()
        if text:
            yield self._prefix(paragraph, text) + text
        for box in boxes:
            yield from self.blocks(box)

    def _prefix(self, paragraph: Element, text: str) -> str:
        properties = child(paragraph, "pPr")
        style = self._styles.get(attribute(child(properties, "pStyle"), "val"), _Style())
        outline = attribute(child(properties, "outlineLvl"), "val")
        level = int(outline) + 1 if outline in list("012345678") else style.level
        if style.is_title:
            self.title = self.title or text.replace("\n", " ")
            return "# "
        if level:
            self.first_heading = self.first_heading or text.replace("\n", " ")
            return "#" * min(level, 6) + " "
        numbering = child(properties, "numPr")
        list_id = attribute(child(numbering, "numId"), "val") or style.list_id
        if not list_id or list_id == "0":
            return ""
        return self._item(list_id, attribute(child(numbering, "ilvl"), "val") or "0")

    def _item(self, list_id: str, level: str) -> str:
        depth = int(level) if level.isdigit() and int(level) < 9 else 0
        indent = "  " * depth
        if (list_id, level) in self._bullets:
            return f"{indent}- "
        self._counts[list_id, depth] += 1
        for deeper in range(depth + 1, 9):
            self._counts.pop((list_id, deeper), None)
        return f"{indent}{self._counts[list_id, depth]}. "

    def _table(self, table: Element) -> Iterator[str]:
        rows = [_cells(row) for row in _rows(table)]
        if max((len(row) for row in rows), default=0) < 2:
            # A table with one column only frames text.
            for row in rows:
                for cell in row:
                    yield from self.blocks(cell)
            return
        texts = [[" ".join(" ".join(self.blocks(cell)).split()) for cell in row] for row in rows]
        yield markdown_table(row for row in texts if any(row))


def _rows(table: Element) -> Iterator[Element]:
    for element in table:
        if local_name(element) == "tr":
            yield element
        elif local_name(element) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _rows(element)


def _cells(row: Element) -> list[Element]:
    found: list[Element] = []
    for element in row:
        if local_name(element) == "tc":
            found.append(element)
        elif local_name(element) in ("sdt", "sdtContent", "ins", "customXml"):
            found += _cells(element)
    return found


def _words(element: Element, boxes: list[Element]) -> Iterator[str]:
    """The text of a paragraph in order; the text boxes anchored in it are collected separately."""
    for part in element:
        name = local_name(part)
        if name == "t":
            yield part.text or ""
        elif name in ("tab", "ptab"):
            yield "\t"
        elif name in ("br", "cr"):
            yield "\n" if attribute(part, "type") in ("", "textWrapping") else " "
        elif name == "noBreakHyphen":
            yield "-"
        elif name in ("footnoteReference", "endnoteReference"):
            yield f"[^{'e' if name[0] == 'e' else ''}{attribute(part, 'id')}]"
        elif name == "txbxContent":
            boxes.append(part)
        elif name and name not in _SKIPPED:
            yield from _words(part, boxes)
