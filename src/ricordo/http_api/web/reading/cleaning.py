"""The last step of every rendering: only known tags and attributes leave the server, whatever the text held.

``data-at`` is our own: the lines of the original that a block comes from (``12`` or ``12-15``).
"""

from __future__ import annotations

from collections.abc import Mapping

import nh3

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
