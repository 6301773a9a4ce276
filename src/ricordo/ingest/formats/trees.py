"""Turns XML and HTML bytes into trees, and never expands an entity or fetches anything.

Only this module uses lxml; other modules know its elements as ``Element``.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from ricordo.errors import Unreadable

# lxml publishes no types of its own.
Element = Any
_TAG = re.compile(r"<[^<>]*>")


def xml_tree(data: bytes, part: str) -> Element:
    """The root of an XML part of a document; damage and entity definitions raise ``Unreadable``."""
    if b"<!ENTITY" in data:
        raise Unreadable(f"{part} defines XML entities, which no office program writes", hint="Do not trust this file.")
    etree = import_module("lxml.etree")
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as problem:
        _raise_if_out_of_memory(parser)
        reason = str(problem).partition("\n")[0]
        raise Unreadable(f"{part} is not valid XML: {reason}", hint="The file is damaged; save it again.") from None


def html_tree(text: str) -> Element | None:
    """The root of a page, or None when there is nothing in it."""
    if not text.strip():
        return None
    etree = import_module("lxml.etree")
    # Pages with unclosed tags nest deeper than the parser allows by default; it would drop their text.
    parser = import_module("lxml.html").HTMLParser(
        no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8", huge_tree=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as problem:
        _raise_if_out_of_memory(parser)
        raise Unreadable(f"the page cannot be parsed: {problem}", hint="Save the page again.") from None
    if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
        # The page is nested more deeply than any person writes, and was cut off there: keep at least the words.
        return html_tree(_TAG.sub(" ", text).replace("<", " "))
    return root


def _raise_if_out_of_memory(parser: Any) -> None:
    """The parser reports a lack of memory as if the document were at fault."""
    if any(error.type_name == "ERR_NO_MEMORY" for error in parser.error_log):
        raise MemoryError


def walk(root: Element, events: tuple[str, ...] = ("start", "end")) -> Any:
    """The start and end events of all elements in document order; ``skip_subtree`` leaves out an element's content."""
    return import_module("lxml.etree").iterwalk(root, events=events)


def local_name(element: Element) -> str:
    """The tag without its namespace; empty for a comment or an entity."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    return tag.rpartition("}")[2] if tag[0] == "{" else tag
