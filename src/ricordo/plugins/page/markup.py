"""HTML that may be shown: what may stand in it, colours of code, headings, a passage and the words of a query marked.

Blocks say in ``data-at`` which lines of the original they come from (``12`` or ``12-15``), so that a passage is
found in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import nh3
from markupsafe import Markup
from markupsafe import escape as escaped

from ricordo.frozen import frozen
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.values.hits import Evidence


ALLOWED: Mapping[str, set[str]] = {
    "*": {"data-at"},
    "a": {"href", "title", "class", "data-peek"},
    "blockquote": {"class"},
    "code": {"class"},
    "dd": {"class"},
    "div": {"class"},
    "dl": {"class"},
    "li": {"class"},
    "ol": {"start"},
    "p": {"class"},
    "pre": {"class", "tabindex"},
    "span": {"class", "role", "aria-label"},
    "table": {"class"},
    "td": {"class", "colspan", "rowspan"},
    "th": {"class", "colspan", "rowspan", "scope"},
    **{f"h{level}": {"id", "class"} for level in range(2, 7)},
}
TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "cite", "code", "dd", "del", "details", "div", "dl", "dt", "em",
    "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small",
    "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul", "var",
}  # fmt: skip
SCHEMES = {"http", "https", "mailto"}


def cleaned(html: str) -> str:
    """HTML of ours, with everything taken out that is not allowed on the page."""
    attributes = {tag: set(names) for tag, names in ALLOWED.items()}
    clean = nh3.clean(html, tags=TAGS, attributes=attributes, url_schemes=SCHEMES, link_rel="noopener noreferrer")
    # A table that is wider than the page scrolls in a box, which must be reached by keys.
    return clean.replace("<table", '<div class="scroll" tabindex="0"><table').replace("</table>", "</table></div>")


HARMLESS = frozenset({
    "a", "abbr", "b", "blockquote", "br", "caption", "center", "cite", "code", "dd", "del", "details", "div", "dl",
    "dt", "em", "font", "hr", "i", "ins", "kbd", "li", "mark", "nobr", "ol", "p", "pre", "q", "s", "samp", "small",
    "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt",
    "u", "ul", "var", "wbr",
})  # fmt: skip
_UNSTYLED = {"center": "div", "strike": "s", "tt": "code", "font": "span"}
_SILENT = frozenset({"wbr", "nobr", "picture", "source"})
_TAG_PIECE = re.compile(
    r"(?P<comment><!--.*?(?:-->|\Z))"
    r"|<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]{0,14})(?P<more>(?:\s[^<>]*)?)/?>"
    r"|(?P<sign><)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""\b(href|alt)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>=`]+)""", re.IGNORECASE)


def harmless(raw: str, lead: Callable[[str], str] = lambda target: target) -> str:
    """The HTML of a text as it may be shown; ``lead`` says where a link goes.

    >>> harmless('<b onclick="x()">bold</b><!-- note --> <script>')
    '<b>bold</b> &lt;script&gt;'
    """

    def piece(found: re.Match[str]) -> str:
        if found["comment"] is not None:
            return ""
        tag = (found["tag"] or "").lower()
        if not tag:
            return "&lt;"
        if tag in _SILENT:
            return ""
        if re.fullmatch(r"h[1-6]", tag):
            return f"<{found['end']}h{min(6, int(tag[1]) + 1)}>"
        if tag == "img" and not found["end"]:
            return f'<span class="picture">{escape(_value(found["more"], "alt") or "picture")}</span>'
        if tag not in HARMLESS:
            return escape(found[0])
        if tag == "a" and not found["end"]:
            return f'<a href="{escape(lead(_value(found["more"], "href")))}">'
        if tag == "pre" and not found["end"]:
            return '<pre tabindex="0">'
        return f"<{found['end']}{_UNSTYLED.get(tag, tag)}>"

    return _TAG_PIECE.sub(piece, raw)


def _value(attributes: str, name: str) -> str:
    found = (one for one in _ATTRIBUTE.finditer(attributes) if one[1].lower() == name)
    return next((unescape(one[2].strip("\"'")) for one in found), "")


MOST_COLOURED = 60_000
"""Characters of code that are coloured; a longer block is shown plain, because colouring takes time."""
MOST_BLOCKS = 256
LANGUAGES = (
    "awk", "bash", "batch", "c", "clojure", "cmake", "cpp", "csharp", "css", "dart", "diff", "docker", "elixir", "elm",
    "erlang", "fish", "fortran", "fsharp", "go", "graphql", "groovy", "haskell", "html", "http", "ini", "java",
    "javascript", "json", "julia", "kotlin", "latex", "lua", "make", "nginx", "nix", "objective-c", "ocaml", "perl",
    "php", "powershell", "console", "protobuf", "pycon", "python", "r", "ruby", "rust", "scala", "scss", "sql", "swift",
    "terraform", "toml", "typescript", "tsx", "vim", "xml", "yaml", "zig",
)  # fmt: skip
"""What is coloured. Others, and those of plug-ins, are not: a lexer runs on texts of strangers."""


def code_html(text: str, language: str = "", first_line: int = 1, classes: str = "") -> str:
    """A block of code, its lines numbered by ``data-at``; without a language that we know, without colours."""
    lines = _coloured(text, language) if language in _aliases() and len(text) <= MOST_COLOURED else _plain(text)
    numbered = "".join(
        f'<span class="line" data-at="{number}">{line}\n</span>' for number, line in enumerate(lines, first_line)
    )
    return f'<pre class="{escape(f"code-block {classes}".strip())}" tabindex="0"><code>{numbered}</code></pre>\n'


def language_of(file_name: str) -> str:
    """The language of a file by its name; empty if we do not know it."""
    name = file_name.rpartition("/")[2].lower()
    return next((language for pattern, language in _patterns() if fnmatchcase(name, pattern)), "")


@cache
def _lexers() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """The name, the aliases and the file names of each language."""
    from pygments.lexers import get_all_lexers

    known = set(LANGUAGES)
    return tuple(
        (next(alias for alias in aliases if alias in known), tuple(aliases), tuple(names))
        for _, aliases, names, _ in get_all_lexers(plugins=False)
        if known.intersection(aliases)
    )


@cache
def _aliases() -> dict[str, str]:
    return {alias: language for language, aliases, _ in _lexers() for alias in aliases}


@cache
def _patterns() -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), language) for language, _, names in _lexers() for name in names)


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True, classprefix="c-")


@lru_cache(maxsize=MOST_BLOCKS)
def _coloured(text: str, language: str) -> tuple[str, ...]:
    from pygments import highlight
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(_aliases()[language], stripnl=False, ensurenl=False)
    return tuple(highlight(text, lexer, _formatter()).removesuffix("\n").split("\n"))


def _plain(text: str) -> list[str]:
    return escape(text).split("\n")


ANCHOR = "passage"
"""The name of the place in a page where the passage begins."""
MARKED = "in-passage"
_AT = re.compile(
    r'<(?P<tag>[a-z0-9]+)(?P<before>[^<>]*?) data-at="(?P<first>\d+)(?:-(?P<last>\d+))?"(?P<after>[^<>]*)>'
)
_CLASS = re.compile(r'class="')
_SIGNS = re.compile(r"[^\w\s-]")
_GAPS = re.compile(r"[\s_-]+")


@frozen
class Heading:
    """A heading of a text: how deep it is (1 for the first level), its words, the id of its element, and its line."""

    level: int
    text: str
    id: str
    line: int


@frozen
class Rendered:
    """What became of a text. HTML that was made here and cleaned, so that it is put into a page as it is."""

    html: Markup
    outline: tuple[Heading, ...] = ()
    classes: str = "prose"


def heading_id(text: str) -> str:
    """The id of a heading; the beginning keeps it apart from the names of the page's own parts.

    >>> heading_id("What it costs, & why?")
    'h-what-it-costs-why'
    """
    return "h-" + _GAPS.sub("-", _SIGNS.sub("", text.casefold()).strip())[:80]


class HeadingIds:
    """Gives each heading of one text an id of its own."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def of(self, text: str) -> str:
        id_ = heading_id(text)
        count = self._given.get(id_, 0)
        self._given[id_] = count + 1
        return f"{id_}-{count}" if count else id_


class HeadingLevels:
    """The levels of headings without gaps: what follows a heading is at most one level below it."""

    def __init__(self) -> None:
        self._above: list[int] = []

    def of(self, written: int) -> int:
        while self._above and self._above[-1] >= written:
            self._above.pop()
        self._above.append(written)
        return min(5, len(self._above))


def with_passage(html: str, lines: tuple[int, int] | None) -> Markup:
    """The HTML with the blocks of some lines marked; the first of them is where the page opens.

    A block that holds others is not marked if it begins before the passage: a list of which one point is meant.
    """
    if lines is None:
        return Markup(html)  # made and cleaned by us
    first, last = lines
    begin = _first_within(html, first, last)
    is_anchored = False

    def mark(found: re.Match[str]) -> str:
        nonlocal is_anchored
        if not begin <= int(found["first"]) <= last:
            return found[0]
        attributes = found["before"] + found["after"]
        attributes, count = _CLASS.subn(f'class="{MARKED} ', attributes, count=1)
        attributes += "" if count else f' class="{MARKED}"'
        if not is_anchored:
            is_anchored = True
            # A heading has a name of its own already, to which links lead.
            anchor = f'<span id="{ANCHOR}" class="anchor"></span>'
            if found["tag"] in ("tr", "table", "tbody", "ul", "ol"):
                attributes += f' id="{ANCHOR}"'
                anchor = ""
            return f'<{found["tag"]}{attributes} data-at="{found["first"]}">{anchor}'
        return f"<{found['tag']}{attributes}>"

    return Markup(_AT.sub(mark, html))  # made and cleaned by us; what is added here holds no text


def _first_within(html: str, first: int, last: int) -> int:
    """The line at which marking begins: the passage's own, or that of the block in which it begins."""
    starts = [(int(found["first"]), int(found["last"] or found["first"])) for found in _AT.finditer(html)]
    if any(first <= start <= last for start, _ in starts):
        return first
    return max((start for start, end in starts if start <= first), default=first)


def current_heading(outline: Sequence[Heading], line: int) -> str:
    """The id of the heading under which a line stands; empty before the first."""
    above = [one.id for one in outline if one.line <= line]
    return above[-1] if above else ""


_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@frozen
class PassagePlace:
    """A passage among those of its text; ``number`` counts from 1."""

    lines: tuple[int, int]
    heading: str
    number: int
    count: int
    before: tuple[int, int] | None
    after: tuple[int, int] | None


def lines_of(text: str) -> tuple[int, int] | None:
    """The lines that an address names, ``12-15`` or ``12``; None if it names none."""
    found = _LINES.fullmatch(text)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return (first, last) if 0 < first <= last else None


def lines_text(lines: tuple[int, int]) -> str:
    """Lines as people say them.

    >>> lines_text((11, 11)), lines_text((3, 5))
    ('line 11', 'lines 3–5')
    """
    return f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}–{lines[1]}"


def passage_address(ref: str, lines: tuple[int, int] | None, q: str = "") -> str:
    """The address of an item's page, opened at a passage."""
    if not lines or not lines[0]:
        return item_address(ref, q=q)
    return item_address(ref, q=q, lines=f"{lines[0]}-{lines[1]}") + f"#{ANCHOR}"


def place_of(lines: tuple[int, int] | None, passages: Sequence[Evidence]) -> PassagePlace | None:
    """The passage that shares most lines with those asked for, and its neighbours; None if it is all there is."""
    if lines is None or len(passages) < 2:
        return None
    shared = [min(lines[1], one.lines[1]) - max(lines[0], one.lines[0]) for one in passages]
    at = max(range(len(passages)), key=lambda n: (shared[n], -abs(passages[n].lines[0] - lines[0])))
    here = passages[at].lines
    # Passages of one long line have the same lines, and are shown as one.
    before = next((one.lines for one in reversed(passages[:at]) if one.lines != here), None)
    after = next((one.lines for one in passages[at + 1 :] if one.lines != here), None)
    return PassagePlace(here, passages[at].heading, at + 1, len(passages), before, after)


def item_address(ref: str, **more: str) -> str:
    """The address of an item's page."""
    query = "".join(f"&{name}={quote(value, safe='')}" for name, value in more.items() if value)
    return f"/item?ref={quote(ref, safe='')}{query}"


_PIECES = re.compile(r"<[^>]*>|&#?\w+;|[^<&]+")
_WORD = re.compile(r"\w+(?:['’\-]\w+)*")


@lru_cache(maxsize=8)
def _analyzer(language: str) -> Analyzer:
    return Analyzer(language)


def terms_of(query: str, language: str = "english") -> frozenset[str]:
    """The terms that a query looks for."""
    return frozenset(_analyzer(language).query_terms(query))


def mark_words(text: str, terms: Iterable[str], language: str = "english") -> Markup:
    """The text with ``<mark>`` around each word that has one of the terms; everything else is escaped.

    >>> str(mark_words("<b>Keys</b> are kept", {"key"}))
    '&lt;b&gt;<mark>Keys</mark>&lt;/b&gt; are kept'
    """
    wanted = frozenset(terms)
    if not wanted:
        return escaped(text)
    analyzer = _analyzer(language)
    parts: list[str] = []
    at = 0
    for found in _WORD.finditer(text):
        if wanted.isdisjoint(analyzer.terms_of(found.group())):
            continue
        parts += (str(escaped(text[at : found.start()])), f"<mark>{escaped(found.group())}</mark>")
        at = found.end()
    parts.append(str(escaped(text[at:])))
    return Markup("".join(parts))  # every part was escaped above


def mark_html(html: str, terms: Iterable[str], language: str = "english") -> Markup:
    """HTML of ours with ``<mark>`` around each word of its texts that has one of the terms."""
    wanted = frozenset(terms)
    if not wanted:
        return Markup(html)  # it was made by us
    analyzer = _analyzer(language)
    known: dict[str, bool] = {}

    def marked(found: re.Match[str]) -> str:
        word = found[0]
        if word not in known:
            known[word] = not wanted.isdisjoint(analyzer.terms_of(word))
        return f"<mark>{word}</mark>" if known[word] else word

    def piece(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "<&" else _WORD.sub(marked, found[0])

    return Markup(_PIECES.sub(piece, html))  # only marks are added to what was made by us
