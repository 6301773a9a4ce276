"""The ZIP archives that Office documents and EPUB books are: their XML parts, and what one part says of others."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from ricordo.ingest.formats.archive import Archive
from ricordo.ingest.formats.trees import Element, local_name, xml_tree


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
