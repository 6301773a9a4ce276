"""XML and HTML bytes into trees, without ever expanding an entity or fetching anything.

The one place that touches lxml; its elements pass through as ``Element``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from recollect.errors import Unreadable

# lxml publishes no types of its own.
Element = Any


def xml_tree(data: bytes, part: str) -> Element:
    """The root of an XML part of a document; damage and entity tricks are ``Unreadable``."""
    etree = import_module("lxml.etree")
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as problem:
        reason = str(problem).partition("\n")[0]
        raise Unreadable(f"{part} is not valid XML: {reason}", hint="The file is damaged; save it again.") from None
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise Unreadable(f"{part} defines XML entities, which no office program writes", hint="Do not trust this file.")
    return root


def html_tree(text: str) -> Element | None:
    """The root of a page, or None when there is nothing in it."""
    etree = import_module("lxml.etree")
    html = import_module("lxml.html")
    if not text.strip():
        return None
    parser = html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def walk(root: Element, events: tuple[str, ...] = ("start", "end")) -> Any:
    """Start and end of every element in document order, as a loop; ``skip_subtree`` leaves one out."""
    return import_module("lxml.etree").iterwalk(root, events=events)


def local_name(element: Element) -> str:
    """The tag without its namespace; empty for a comment or an entity."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
