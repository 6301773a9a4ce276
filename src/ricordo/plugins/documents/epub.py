"""EPUB books: their chapters in reading order, as Markdown.

A chapter without a heading of its own gets the one the table of contents gives it. Pictures and styles
are left out, and so are books protected by DRM.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from ricordo.errors import Unreadable
from ricordo.ingest.formats.html import declared_charset, to_markdown
from ricordo.ingest.formats.plain import decode
from ricordo.ingest.formats.source import Source, meaningful
from ricordo.ingest.formats.trees import Element, html_tree, local_name
from ricordo.plugins.documents.office import Package, resolve
from ricordo.values.items import Parsed

_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")


def parse(source: Source) -> Parsed:
    """The book as one Markdown text."""
    warnings: list[str] = []
    chapters: list[str] = []
    with Package(source.data, source.name) as archive:
        package = _package(archive)
        root = archive.xml(package)
        if archive.has("META-INF/encryption.xml"):
            locked = archive.xml("META-INF/encryption.xml").iter("{*}CipherReference")
            # Encrypted fonts alone do not mean that a book is protected.
            if any(
                (cipher.get("URI") or "").lower().endswith((".xhtml", ".html", ".htm", ".opf")) for cipher in locked
            ):
                raise Unreadable(f"{source.name} is protected by DRM", hint="Use a copy without copy protection.")
        folder = posixpath.dirname(package)
        manifest = {
            item.get("id") or "": (
                resolve(folder, item.get("href") or ""),
                item.get("media-type") or "",
                item.get("properties") or "",
            )
            for item in root.iter("{*}item")
        }
        named = _contents(archive, manifest)
        spine = (manifest.get(reference.get("idref") or "", ("", "", "")) for reference in root.iter("{*}itemref"))
        pages = (part for part, kind, properties in spine if kind in _PAGES and "nav" not in properties.split())
        for part in dict.fromkeys(pages):
            try:
                text = _chapter(archive.read(part), named.get(part.lower(), ""))
            except Unreadable as problem:
                warnings.append(f"a chapter was left out: {problem.message}")
                continue
            if text:
                chapters.append(text)
        title = next((element.text for element in root.iter("{*}title") if element.text), "")
    return Parsed("\n\n".join(chapters), meaningful(title), warnings=tuple(warnings))


def _package(archive: Package) -> str:
    if archive.has("META-INF/container.xml"):
        for element in archive.xml("META-INF/container.xml").iter("{*}rootfile"):
            path = element.get("full-path") or ""
            if archive.has(path):
                return str(path)
    listed = next((name for name in archive.names if name.endswith(".opf")), "")
    if listed:
        return listed
    raise Unreadable(f"{archive.name} is damaged: it does not list its chapters", hint="Download or export it again.")


def _contents(archive: Package, manifest: Mapping[str, tuple[str, str, str]]) -> dict[str, str]:
    """The title that the table of contents gives each page, the first one when there are several."""
    named: dict[str, str] = {}
    for part, kind, properties in manifest.values():
        is_nav = "nav" in properties.split()
        if not archive.has(part) or not (is_nav or kind == "application/x-dtbncx+xml"):
            continue
        folder = posixpath.dirname(part)
        try:
            listing = archive.xml(part)
        except Unreadable:
            # The chapters can be read without the table of contents.
            continue
        links = ((link.get("href") or "", "".join(link.itertext())) for link in listing.iter("{*}a"))
        for target, label in links if is_nav else _ncx_entries(listing):
            text = " ".join(label.split())
            if text:
                named.setdefault(resolve(folder, target).lower(), text)
    return named


def _ncx_entries(root: Element) -> list[tuple[str, str]]:
    entries: list[tuple[str, str]] = []
    for point in root.iter("{*}navPoint"):
        label = next((part for part in point if local_name(part) == "navLabel"), None)
        content = next((part for part in point if local_name(part) == "content"), None)
        if label is not None and content is not None:
            entries.append((content.get("src") or "", "".join(label.itertext())))
    return entries


def _chapter(data: bytes, title: str) -> str:
    tree = html_tree(decode(data, declared_charset(data)).text)
    text = to_markdown(tree) if tree is not None else ""
    if text and title and not re.search(r"^#{1,6} ", text[:2000], re.MULTILINE):
        return f"# {title}\n\n{text}"
    return text
