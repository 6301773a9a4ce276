"""Office documents as Markdown: Word, PowerPoint and spreadsheets.

- Word: paragraphs, headings, lists, tables, text boxes and notes. The XML is read here, so that the text in content
  controls and tracked insertions is found; deleted text, comments, headers, footers and pictures are left out.
- PowerPoint: slides in order, each under a mark ``slide N``, with titles, tables and notes; hidden slides are read,
  pictures, charts and animations are not.
- Spreadsheets: every sheet is a section under a mark ``sheet NAME``, every row an item of a list. When the first row is
  a header, each value follows its column's name, so that a row can be understood alone. The values last computed are
  read; formulas, formats, charts and comments are left out.

``Package`` is the ZIP archive that an Office document or an EPUB book is.
"""

from __future__ import annotations

import datetime
import io
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from ricordo.errors import Unreadable
from ricordo.frozen import frozen
from ricordo.ingest.formats.archive import DAMAGED, Archive
from ricordo.ingest.formats.source import Source, meaningful
from ricordo.ingest.formats.trees import Element, local_name, xml_tree
from ricordo.values.items import Mark, Parsed


class Package(Archive):
    """An archive whose parts refer to each other."""

    def xml(self, part: str) -> Element:
        """The root of an XML part."""
        return xml_tree(self.read(part), f"{part} in {self.name}")

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """The references of a part of an Office document: id to (kind, part). Targets outside the archive are left
        out.
        """
        folder, base = posixpath.split(part)
        listing = posixpath.join(folder, "_rels", f"{base}.rels")
        if not self.has(listing):
            return {}
        relations: dict[str, tuple[str, str]] = {}
        for relation in self.xml(listing):
            target = relation.get("Target") or ""
            if local_name(relation) == "Relationship" and relation.get("TargetMode") != "External" and target:
                kind = (relation.get("Type") or "").rpartition("/")[2]
                relations[relation.get("Id") or ""] = (kind, resolve(folder, target))
        return relations

    def related(self, part: str, kind: str) -> str:
        """The first part of a kind that ``part`` refers to, or an empty string."""
        targets = (target for named, target in self.relations(part).values() if named == kind)
        return next((target for target in targets if self.has(target)), "")


def resolve(folder: str, target: str) -> str:
    """A reference inside an archive as a path from its root."""
    target = unquote(target.partition("#")[0])
    return posixpath.normpath(target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target))


def main_part(archive: Package, usual: str) -> str:
    """The part an Office document starts from; ``usual`` is where programs put it."""
    named = archive.related("", "officeDocument")
    if named or archive.has(usual):
        return named or usual
    raise Unreadable(f"{archive.name} is damaged: its main part is missing", hint=DAMAGED)


def title_property(archive: Package) -> str:
    """The title in the document's properties, if a person chose it."""
    part = archive.related("", "core-properties") or "docProps/core.xml"
    try:
        root = archive.xml(part) if archive.has(part) else None
    except Unreadable:
        # A document with broken properties can still be read.
        return ""
    return meaningful(next((part.text for part in root if local_name(part) == "title"), "")) if root is not None else ""


def children(element: Element, name: str) -> list[Element]:
    """The direct children of that name, in any namespace (strict and transitional Office differ in it)."""
    return [child for child in element if local_name(child) == name]


def child(element: Element | None, *path: str) -> Element | None:
    """The first child down a path of names, or None."""
    for name in path:
        if element is None:
            return None
        element = next((part for part in element if local_name(part) == name), None)
    return element


def attribute(element: Element | None, name: str) -> str:
    """An attribute by its local name, or an empty string."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a Markdown table, the first one as its header."""
    lines = ["| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |" for row in rows]
    if not lines:
        return ""
    width = lines[0].count(" | ") + 1
    return "\n".join([lines[0], "|" + "---|" * width, *lines[1:]])


# A fallback repeats the shape beside it for older programs.
_SKIPPED = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "sdtPr"))


@frozen
class _ParagraphStyle:
    """What a paragraph style says: a heading level (1 to 9), the document's title, or a list."""

    level: int = 0
    is_title: bool = False
    list_id: str = ""


def parse_docx(source: Source) -> Parsed:
    """The document's body, then its foot- and endnotes."""
    with Package(source.data, source.name) as archive:
        part = main_part(archive, "word/document.xml")
        reader = _WordReader(_styles(archive, part), _bullets(archive, part))
        body = child(archive.xml(part), "body")
        blocks = list(reader.blocks(body)) if body is not None else []
        blocks += _footnotes(archive, part, reader)
        title = reader.title or title_property(archive) or reader.first_heading
    return Parsed(_spaced(blocks), title)


def _spaced(blocks: list[str]) -> str:
    """Blocks joined with an empty line between them; the items of a list follow each other directly."""
    text = ""
    previous = ""
    for block in blocks:
        both_items = all(re.match(r"\s*(- |\d+\. )", part) for part in (previous, block))
        text += ("\n" if both_items else "\n\n" if text else "") + block
        previous = block
    return text


def _styles(archive: Package, part: str) -> dict[str, _ParagraphStyle]:
    listed = archive.related(part, "styles")
    nodes = {attribute(node, "styleId"): node for node in children(archive.xml(listed), "style")} if listed else {}
    return {style_id: _style(nodes, style_id, 0) for style_id in nodes}


def _style(nodes: dict[str, Element], style_id: str, depth: int) -> _ParagraphStyle:
    node = nodes.get(style_id)
    if node is None or depth > 10:
        return _ParagraphStyle()
    parent = _style(nodes, attribute(child(node, "basedOn"), "val"), depth + 1)
    name = attribute(child(node, "name"), "val").lower()
    named = re.fullmatch(r"heading (\d)", name)
    outline = attribute(child(node, "pPr", "outlineLvl"), "val")
    level = int(named[1]) if named else int(outline) + 1 if outline in list("012345678") else parent.level
    if outline == "9" or name.startswith("toc "):
        level = 0
    list_id = attribute(child(node, "pPr", "numPr", "numId"), "val") or parent.list_id
    return _ParagraphStyle(level, name == "title" or parent.is_title, list_id)


def _bullets(archive: Package, part: str) -> set[tuple[str, str]]:
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


def _footnotes(archive: Package, part: str, reader: _WordReader) -> list[str]:
    notes: list[str] = []
    for kind, sign in (("footnotes", ""), ("endnotes", "e")):
        listed = archive.related(part, kind)
        for note in archive.xml(listed) if listed else ():
            if attribute(note, "type") not in ("", "normal"):
                continue
            text = " ".join(" ".join(reader.blocks(note)).split())
            if text:
                notes.append(f"[^{sign}{attribute(note, 'id')}]: {text}")
    return notes


class _WordReader:
    """Turns block elements into Markdown, counting numbered lists as it goes."""

    def __init__(self, styles: dict[str, _ParagraphStyle], bullets: set[tuple[str, str]]) -> None:
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
        text = "\n".join(" ".join(line.split()) for line in "".join(_run_text(paragraph, boxes)).split("\n")).strip()
        if text:
            yield self._prefix(paragraph, text) + text
        for box in boxes:
            yield from self.blocks(box)

    def _prefix(self, paragraph: Element, text: str) -> str:
        properties = child(paragraph, "pPr")
        style = self._styles.get(attribute(child(properties, "pStyle"), "val"), _ParagraphStyle())
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
        rows = [list(_wrapped(row, "tc")) for row in _wrapped(table, "tr")]
        if max((len(row) for row in rows), default=0) < 2:
            # A table with one column only frames text.
            for row in rows:
                for cell in row:
                    yield from self.blocks(cell)
            return
        texts = [[" ".join(" ".join(self.blocks(cell)).split()) for cell in row] for row in rows]
        yield markdown_table(row for row in texts if any(row))


def _wrapped(element: Element, name: str) -> Iterator[Element]:
    """The children of a name, also within content controls and tracked insertions, which only wrap them."""
    for part in element:
        if local_name(part) == name:
            yield part
        elif local_name(part) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _wrapped(part, name)


def _run_text(element: Element, boxes: list[Element]) -> Iterator[str]:
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
            yield from _run_text(part, boxes)


_TITLES = ("title", "ctrTitle")
# Dates, footers and slide numbers repeat on every slide.
_REPEATED = ("dt", "ftr", "sldNum", "hdr", "sldImg")


def parse_pptx(source: Source) -> Parsed:
    """All slides as one Markdown text, a heading for each slide's title."""
    text = ""
    marks: list[Mark] = []
    warnings: list[str] = []
    first_title = ""
    with Package(source.data, source.name) as archive:
        for number, part in enumerate(_slides(archive), start=1):
            try:
                title, block = _slide(archive, part)
            except Unreadable as problem:
                warnings.append(f"slide {number} was left out: {problem.message}")
                continue
            if number == 1:
                first_title = title
            if block:
                text += "\n\n" if text else ""
                marks.append(Mark(len(text), f"slide {number}"))
                text += block
        title = first_title or title_property(archive)
    return Parsed(text, title, marks=tuple(marks), warnings=tuple(warnings))


def _slides(archive: Package) -> list[str]:
    """The slides' parts in the order they are shown."""
    part = main_part(archive, "ppt/presentation.xml")
    targets = {key: target for key, (kind, target) in archive.relations(part).items() if kind == "slide"}
    listed = child(archive.xml(part), "sldIdLst")
    # The id of the relation is the attribute with a namespace; the other is the slide's own.
    named = (pair for slide in (listed if listed is not None else ()) for pair in slide.attrib.items())
    return [targets[value] for key, value in named if key.endswith("}id") and value in targets]


def _slide(archive: Package, part: str) -> tuple[str, str]:
    tree = child(archive.xml(part), "cSld", "spTree")
    title = ""
    blocks: list[str] = []
    for shape in _shapes(tree) if tree is not None else ():
        role = _role(shape)
        if role in _REPEATED:
            continue
        if role in _TITLES and not title:
            title = " ".join(" ".join(_paragraphs(shape)).split())
            continue
        blocks += _shape_blocks(archive, part, shape)
    if title:
        blocks.insert(0, f"## {title}")
    if notes := _slide_notes(archive, part):
        blocks.append("Notes:\n\n" + notes)
    return title, "\n\n".join(blocks)


def _shapes(tree: Element) -> Iterator[Element]:
    """Shapes in drawing order, those in groups included."""
    for element in tree:
        name = local_name(element)
        if name in ("sp", "graphicFrame"):
            yield element
        elif name in ("grpSp", "AlternateContent", "Choice"):
            yield from _shapes(element)


def _role(shape: Element) -> str:
    """What the placeholder is for, or an empty string for a free shape."""
    for container in ("nvSpPr", "nvGraphicFramePr"):
        placeholder = child(shape, container, "nvPr", "ph")
        if placeholder is not None:
            return attribute(placeholder, "type") or "body"
    return ""


def _shape_blocks(archive: Package, part: str, shape: Element) -> list[str]:
    table = child(shape, "graphic", "graphicData", "tbl")
    if table is not None:
        rows = [[" ".join(_paragraphs(cell)) for cell in children(row, "tc")] for row in children(table, "tr")]
        return [markdown_table(row for row in rows if any(row))] if any(map(any, rows)) else []
    diagram = child(shape, "graphic", "graphicData", "relIds")
    if diagram is not None:
        _, target = archive.relations(part).get(attribute(diagram, "dm"), ("", ""))
        texts = _paragraphs(archive.xml(target)) if target and archive.has(target) else []
        return ["\n".join(f"- {text}" for text in texts)] if texts else []
    lines = [f"{'  ' * depth}- {text}" if depth else text for depth, text in _leveled(shape)]
    if _role(shape) == "body" and len(lines) > 1:
        lines = [f"{'  ' * depth}- {text}" for depth, text in _leveled(shape)]
    return ["\n".join(lines)] if lines else []


def _leveled(element: Element) -> Iterator[tuple[int, str]]:
    for paragraph in element.iter("{*}p"):
        parts = paragraph.iter("{*}t", "{*}br", "{*}tab")
        text = " ".join("".join((part.text or "") if local_name(part) == "t" else " " for part in parts).split())
        if text:
            level = attribute(child(paragraph, "pPr"), "lvl")
            yield int(level) if level.isdigit() and int(level) < 9 else 0, text


def _paragraphs(element: Element) -> list[str]:
    return [text for _, text in _leveled(element)]


def _slide_notes(archive: Package, part: str) -> str:
    notes = archive.related(part, "notesSlide")
    tree = child(archive.xml(notes), "cSld", "spTree") if notes else None
    if tree is None:
        return ""
    texts = [text for shape in _shapes(tree) if _role(shape) not in _REPEATED for text in _paragraphs(shape)]
    return "\n".join(texts)


def parse_xlsx(source: Source) -> Parsed:
    """All sheets as one text."""
    title = ""
    if source.data.startswith(b"PK"):
        with Package(source.data, source.name) as archive:
            archive.verify()
            title = title_property(archive)
    text = io.StringIO()
    marks: list[Mark] = []
    warnings: list[str] = []
    length = 0
    for name, rows in _sheets(source, warnings):
        lines = list(_lines(rows))
        if not lines:
            continue
        block = ("\n\n" if length else "") + f"## {name}\n\n" + "\n".join(lines)
        marks.append(Mark(length + (2 if length else 0), f"sheet {name}"))
        length += text.write(block)
        if length > source.limits.max_text_chars:
            break
    return Parsed(text.getvalue(), title, marks=tuple(marks), warnings=tuple(warnings))


def _sheets(source: Source, warnings: list[str]) -> Iterator[tuple[str, list[list[Any]]]]:
    calamine = import_module("python_calamine")
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
    except calamine.PasswordError:
        raise Unreadable(
            f"{source.name} is protected by a password", hint="Save a copy without the password."
        ) from None
    except (calamine.CalamineError, OSError, ValueError) as problem:
        raise Unreadable(f"{source.name} is not a readable spreadsheet: {problem}", hint=DAMAGED) from None
    for sheet in workbook.sheets_metadata:
        if sheet.typ != calamine.SheetTypeEnum.WorkSheet:
            continue
        try:
            rows = workbook.get_sheet_by_name(sheet.name).to_python(skip_empty_area=True)
        except (calamine.CalamineError, OSError, ValueError) as problem:
            warnings.append(f"sheet {sheet.name} was left out: {problem}")
            continue
        yield " ".join(sheet.name.split()), rows


def _lines(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Rows as lines, empty ones left out."""
    filled = [cells for row in rows if any(cells := [_shown(value) for value in row])]
    names = _header(filled)
    if names:
        yield "- " + " | ".join(names)
    for cells in filled[1:] if names else filled:
        if names:
            yield "- " + " | ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=False) if cell)
        else:
            yield "- " + " | ".join(cell for cell in cells if cell)


def _header(rows: list[list[str]]) -> list[str]:
    """The first row, if it names the columns: all filled, all different, none a number, rows below it."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return []
    names = rows[0]
    has_number = any(re.sub(r"[.:-]", "", name).isdigit() for name in names)
    is_header = all(names) and len(set(names)) == len(names) and not has_number
    return names if is_header and max(map(len, names)) <= 60 else []


def _shown(value: Any) -> str:
    """A cell as people read it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return " ".join(str(value).split()) if value is not None else ""
