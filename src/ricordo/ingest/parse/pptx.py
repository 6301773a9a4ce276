"""PowerPoint presentations: slides in order, each under a mark ``slide N``, with titles, tables and notes.

Pictures, charts and animations are left out; hidden slides are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ricordo.errors import Unreadable
from ricordo.ingest.parse.archive import Archive
from ricordo.ingest.parse.office import attribute, child, children, main_part, markdown_table, title_property
from ricordo.ingest.parse.source import Source
from ricordo.ingest.parse.trees import Element, local_name
from ricordo.values.items import Mark, Parsed

_TITLES = ("title", "ctrTitle")
# Dates, footers and slide numbers repeat on every slide.
_REPEATED = ("dt", "ftr", "sldNum", "hdr", "sldImg")


def parse(source: Source) -> Parsed:
    """All slides as one Markdown text, a heading for each slide's title."""
    text = ""
    marks: list[Mark] = []
    warnings: list[str] = []
    first_title = ""
    with Archive(source.data, source.name) as archive:
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


def _slides(archive: Archive) -> list[str]:
    """The slides' parts in the order they are shown."""
    part = main_part(archive, "ppt/presentation.xml")
    targets = {key: target for key, (kind, target) in archive.relations(part).items() if kind == "slide"}
    listed = child(archive.xml(part), "sldIdLst")
    ids = [_relation_id(slide) for slide in listed] if listed is not None else []
    return [targets[key] for key in ids if key in targets]


def _relation_id(element: Element) -> str:
    return next((str(value) for key, value in element.attrib.items() if key.endswith("}id")), "")


def _slide(archive: Archive, part: str) -> tuple[str, str]:
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
    if notes := _notes(archive, part):
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


def _shape_blocks(archive: Archive, part: str, shape: Element) -> list[str]:
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
        text = " ".join("".join(_words(paragraph)).split())
        if text:
            level = attribute(child(paragraph, "pPr"), "lvl")
            yield int(level) if level.isdigit() and int(level) < 9 else 0, text


def _paragraphs(element: Element) -> list[str]:
    return [text for _, text in _leveled(element)]


def _words(paragraph: Element) -> Iterator[str]:
    for part in paragraph.iter("{*}t", "{*}br", "{*}tab"):
        yield (part.text or "") if local_name(part) == "t" else " "


def _notes(archive: Archive, part: str) -> str:
    notes = archive.related(part, "notesSlide")
    tree = child(archive.xml(notes), "cSld", "spTree") if notes else None
    if tree is None:
        return ""
    texts = [text for shape in _shapes(tree) if _role(shape) not in _REPEATED for text in _paragraphs(shape)]
    return "\n".join(texts)
