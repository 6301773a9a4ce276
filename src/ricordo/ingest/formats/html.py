"""HTML pages: the main text as Markdown, the title, and what a page says about itself and links to.

If a page marks its main part (``main``, or a single ``article``), that part is converted whole, without the navigation
in it. In other pages trafilatura finds the main text, and when it finds little or nothing (short pages, indexes) the
body is converted instead. The conversion walks the tree in a loop, so it can read pages nested to any depth.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

from ricordo.ingest.formats.plain import decode
from ricordo.ingest.formats.source import Source
from ricordo.ingest.formats.trees import Element, html_tree, local_name, walk
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
    match = _META_CHARSET.search(data[:4096])
    return match[1].decode("ascii", "ignore") if match else ""


def page_title(tree: Element) -> str:
    """The page's ``title``, else its first top heading."""
    for path in (".//head/title", ".//title", ".//h1"):
        for element in tree.iterfind(path):
            if next(element.iterancestors("svg"), None) is not None:
                continue
            text = " ".join("".join(str(part) for part in element.itertext()).split())
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


ABOUT = "page"
"""The name of the field that holds these facts in what was parsed."""

MOST_LINKS = 5_000
_LONGEST = 1_000
_DESCRIPTIONS = ("description", "og:description", "twitter:description")


def about_page(tree: Element) -> dict[str, Any]:
    """``description``, ``canonical``, ``robots`` (words such as noindex) and ``links``, each only if the page has
    it.
    """
    named: dict[str, str] = {}
    for meta in tree.iterfind(".//meta"):
        name = str(meta.get("name") or meta.get("property") or "").strip().lower()
        content = " ".join(str(meta.get("content") or "").split())
        if name and content:
            named.setdefault(name, content[:_LONGEST])
    robots = f"{named.get('robots', '')},{named.get('ricordo', '')}".lower()
    facts: dict[str, Any] = {
        "description": next((named[name] for name in _DESCRIPTIONS if name in named), ""),
        "canonical": _canonical(tree),
        "robots": sorted({word.strip() for word in robots.split(",")} & {"noindex", "nofollow", "none"}),
        "links": _links(tree),
    }
    return {name: value for name, value in facts.items() if value}


def _canonical(tree: Element) -> str:
    for link in tree.iterfind(".//link"):
        if "canonical" in str(link.get("rel") or "").lower().split():
            return str(link.get("href") or "").strip()[: 4 * _LONGEST]
    return ""


def _links(tree: Element) -> list[str]:
    """The targets of links, each once, in order, without links that are marked ``nofollow``."""
    base = next(
        (str(element.get("href") or "").strip() for element in tree.iterfind(".//base") if element.get("href")), ""
    )
    targets: dict[str, None] = {}
    for link in tree.iter("a", "area"):
        target = str(link.get("href") or "").strip().partition("#")[0]
        if not target or len(target) > 4 * _LONGEST or "nofollow" in str(link.get("rel") or "").lower().split():
            continue
        try:
            targets[urljoin(base, target) if base else target] = None
        except ValueError:
            continue
        if len(targets) >= MOST_LINKS:
            break
    return list(targets)


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
            if tag == "tr":
                self._row = []
                self._inline = []
            elif tag in _BLOCKS:
                self._inline.append(" ")
        elif tag in _HEADINGS:
            self._flush()
            self._prefix = "#" * _HEADINGS[tag] + " "
        elif tag in ("td", "th") or tag in _BLOCKS:
            self._flush()
            self._start_block(tag)

    def _start_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._lists.append([tag, 0])
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "li":
            indent = "  " * min(max(0, len(self._lists) - 1), _DEEPEST)
            self._prefix = f"{indent}- "
            if self._lists and self._lists[-1][0] == "ol":
                self._lists[-1][1] += 1
                self._prefix = f"{indent}{self._lists[-1][1]}. "

    def end(self, tag: str, element: Element) -> None:
        if tag == "pre" and self._pre:
            self._end_pre(element)
        elif self._pre:
            return
        elif tag == "code":
            self._inline.append("`")
        elif tag == "table":
            self._flush()
            self._row = None
            if self._tables:
                self._tables.pop()
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

    def _end_in_table(self, tag: str) -> None:
        if tag in ("td", "th") and self._row is not None:
            self._row.append(" ".join("".join(self._inline).split()).replace("|", "\\|"))
            self._inline = []
        elif tag == "tr" and self._row is not None:
            cells, self._row, self._inline = self._row, None, []
            line = "| " + " | ".join(cells) + " |"
            if not any(cells):
                return
            if self._rows:
                self._pieces.append("\n" + line)
            else:
                self._put(line + "\n|" + "---|" * len(cells))
            self._rows += 1
        elif tag == "caption":
            self._flush()

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
