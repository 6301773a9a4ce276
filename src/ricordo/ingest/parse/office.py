"""What the Office formats share: their main part, their title property, tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ricordo.errors import Unreadable
from ricordo.ingest.parse.archive import Archive
from ricordo.ingest.parse.titles import meaningful
from ricordo.ingest.parse.trees import Element, local_name


def main_part(archive: Archive, usual: str) -> str:
    """The part an Office document starts from; ``usual`` is where programs put it."""
    named = archive.related("", "officeDocument")
    if named or archive.has(usual):
        return named or usual
    raise Unreadable(
        f"{archive.name} is damaged: its main part is missing",
        hint="Open it in its own program and save it again.",
    )


def title_property(archive: Archive) -> str:
    """The title in the document's properties, if a person chose it."""
    part = archive.related("", "core-properties") or "docProps/core.xml"
    try:
        root = archive.xml(part) if archive.has(part) else None
    except Unreadable:
        # A document with broken properties can still be read.
        return ""
    return (
        meaningful(next((child.text for child in root if local_name(child) == "title"), "")) if root is not None else ""
    )


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
