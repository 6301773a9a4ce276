"""HTML that stands in a text: harmless tags stay without their attributes, comments go, all else is shown as text.

No id, class or style of a text reaches the page, so that a text can neither look like a part of the page nor take the
name of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape

HARMLESS = frozenset({
    "a", "abbr", "b", "blockquote", "br", "caption", "center", "cite", "code", "dd", "del", "details", "div", "dl",
    "dt", "em", "font", "hr", "i", "ins", "kbd", "li", "mark", "nobr", "ol", "p", "pre", "q", "s", "samp", "small",
    "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt",
    "u", "ul", "var", "wbr",
})  # fmt: skip
_UNSTYLED = {"center": "div", "strike": "s", "tt": "code", "font": "span"}
_SILENT = frozenset({"wbr", "nobr", "picture", "source"})
_PIECE = re.compile(
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

    return _PIECE.sub(piece, raw)


def _value(attributes: str, name: str) -> str:
    found = (one for one in _ATTRIBUTE.finditer(attributes) if one[1].lower() == name)
    return next((unescape(one[2].strip("\"'")) for one in found), "")
