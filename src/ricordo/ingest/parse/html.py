"""HTML pages: the main text as Markdown, and the page's title.

If a page marks its main part (``main``, or a single ``article``), that part is converted whole, without the navigation
in it. In other pages trafilatura finds the main text, and when it finds little or nothing (short pages, indexes) the
body is converted instead.
"""

from __future__ import annotations

import re

from ricordo.ingest.parse.encoding import decode
from ricordo.ingest.parse.html_about import ABOUT, about_page
from ricordo.ingest.parse.html_text import to_markdown
from ricordo.ingest.parse.source import Source
from ricordo.ingest.parse.trees import Element, html_tree, walk
from ricordo.values.items import Parsed

_META_CHARSET = re.compile(rb"<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
_SHORTEST_MAIN = 80
# A shorter page is converted whole, because leaving something out is more likely to lose text than to help.
_SHORTEST_WITH_BALLAST = 500
_MOST_FOR_EXTRACTION = 5000
_DEEPEST_FOR_EXTRACTION = 200


def parse(source: Source) -> Parsed:
    """The main text of a page, headings kept."""
    decoded = decode(source.data, source.charset or declared_charset(source.data))
    tree = html_tree(decoded.text)
    if tree is None:
        return Parsed("", warnings=decoded.warnings)
    about = {ABOUT: about_page(tree)} if source.page else {}
    return Parsed(main_text(decoded.text, tree), page_title(tree), about, warnings=decoded.warnings)


def declared_charset(data: bytes) -> str:
    """The encoding a page says it is in, near its top."""
    found = _META_CHARSET.search(data[:4096])
    return found[1].decode("ascii", "ignore") if found else ""


def page_title(tree: Element) -> str:
    """The page's ``title``, else its first top heading."""
    for path in (".//head/title", ".//title", ".//h1"):
        for found in tree.iterfind(path):
            if next(found.iterancestors("svg"), None) is not None:
                continue
            text = " ".join("".join(str(part) for part in found.itertext()).split())
            if text:
                return text[:300]
    return ""


def main_text(page: str, tree: Element) -> str:
    """The main text of the page, without navigation and other things around it."""
    marked = _landmark(tree)
    if marked is not None and not _is_mostly_links(marked):
        text = to_markdown(marked, whole=False)
        if len(text) >= _SHORTEST_MAIN:
            return text
    plain = to_markdown(tree, whole=False)
    if 0 < len(plain) < _SHORTEST_WITH_BALLAST:
        return plain
    extracted = _extracted(page) if _is_tame(tree) else ""
    # If far less than the page's text was found, the extraction failed, as it does with indexes and tables.
    if len(extracted) >= 0.25 * len(plain) and not _lost_headings(extracted, plain):
        return extracted
    return plain or extracted or to_markdown(tree)


def _lost_headings(extracted: str, plain: str) -> bool:
    """Whether the extraction lost the headings, as it does on short pages; the plain conversion is better then."""
    heading = re.compile(r"^#{1,6} ", re.MULTILINE)
    return len(plain) < 2 * len(extracted) and bool(heading.search(plain)) and not heading.search(extracted)


def _landmark(tree: Element) -> Element | None:
    """The element the author marked as the page's main part, if there is one and only one."""
    for path in (".//main//article", ".//main", ".//*[@role='main']", ".//article"):
        marked = list(tree.iterfind(path))
        if len(marked) == 1:
            return marked[0]
    return None


def _is_tame(tree: Element) -> bool:
    """Whether finding the main text will not take too long: the time grows with the square of a page's size and
    depth.
    """
    depth = 0
    for count, (event, _) in enumerate(walk(tree)):
        depth += 1 if event == "start" else -1
        if depth > _DEEPEST_FOR_EXTRACTION or count > 2 * _MOST_FOR_EXTRACTION:
            return False
    return True


def _is_mostly_links(element: Element) -> bool:
    """Whether an element holds mostly links and buttons; then it is not where the text is."""
    words = sum(len(str(text).strip()) for text in element.itertext())
    linked = sum(len(str(text).strip()) for link in element.iterfind(".//a") for text in link.itertext())
    return linked > 0.5 * words


def _extracted(page: str) -> str:
    import trafilatura

    try:
        text = trafilatura.extract(
            page, output_format="markdown", include_comments=False, include_links=False, favor_recall=True
        )
    except (ValueError, TypeError, AttributeError, RecursionError, AssertionError):
        # The extraction only improves on the plain conversion, which can read every page.
        return ""
    return (text or "").strip()
