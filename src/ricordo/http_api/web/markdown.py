"""Turns Markdown into safe HTML: raw HTML is shown as text, scripts cannot get in, and nothing is loaded from
elsewhere.

Two things ensure this: the renderer passes on no HTML from the text, and its output is reduced to allowed tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

import nh3
from markdown_it import MarkdownIt

from ricordo.errors import UsageError
from ricordo.values.items import Ref

LONGEST = 400_000
"""Characters of a text that are rendered; the rest is shown as it is written."""
ALLOWED: Mapping[str, set[str]] = {
    "a": {"href", "title"},
    "th": {"class"},
    "td": {"class"},
    "ol": {"start"},
    "code": {"class"},
    "span": {"class"},
}
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "span", "strong", "s", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
DEEPEST_BRACKETS = 5
"""How deep brackets of one paragraph may be nested, or stay open, to be looked at as links."""
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
SCHEMES = {"http", "https", "mailto"}


def render(text: str, ref: str = "") -> str:
    """The text as HTML; relative links lead to the items beside ``ref``."""
    html = _renderer().render(text[:LONGEST], {"ref": ref})
    clean = nh3.clean(html, tags=TAGS, attributes=dict(ALLOWED), url_schemes=SCHEMES, link_rel="noopener noreferrer")
    if len(text) > LONGEST:
        clean += f'<p class="note">The first {LONGEST:,} characters. The rest is in the source.</p>'
    return clean


@cache
def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    renderer.inline.ruler.before("link", "deep_brackets", _deep_brackets)
    renderer.add_render_rule("image", _image)
    renderer.add_render_rule("link_open", _link)
    renderer.add_render_rule("heading_open", _heading)
    renderer.add_render_rule("heading_close", _heading)
    return renderer


def _deep_brackets(state: Any, silent: bool) -> bool:
    """Take a bracket that is nested too deep as text. The library would look for the end of a link at each of them, and
    again in each part of what it found.
    """
    start, text = state.pos, state.src
    bracket = start + 1 if text.startswith("![", start) else start
    if not text.startswith("[", bracket):
        return False
    if state.env.get("brackets of") is not text:
        state.env.update({"brackets of": text, "deep brackets": deep_brackets(text)})
    if bracket not in state.env["deep brackets"]:
        return False
    if not silent:
        state.pending += text[start : bracket + 1]
    state.pos = bracket + 1
    return True


def deep_brackets(text: str) -> frozenset[int]:
    """Where a bracket opens inside of too many others that are open, or too many in a row are never closed."""
    deep: list[int] = []
    is_open: list[int] = []
    for found in _BRACKET.finditer(text):
        if found[0] == "[":
            is_open.append(found.start())
            if len(is_open) > DEEPEST_BRACKETS:
                deep.append(found.start())
        elif found[0] == "]" and is_open:
            is_open.pop()
    return frozenset(deep + (is_open if len(is_open) > DEEPEST_BRACKETS else []))


def _image(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Show the name of a picture in its place, because the page loads nothing from other servers."""
    from html import escape

    token = tokens[at]
    words = escape(token.content or "picture")
    return f'<span class="picture">{words}</span>'


def _link(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    token.attrSet("href", leads_to(str(token.attrGet("href") or ""), env.get("ref", "")))
    rendered: str = self.renderToken(tokens, at, options, env)
    return rendered


def _heading(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Move a heading one level down, because the page's own heading is the item's title."""
    token = tokens[at]
    token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    rendered: str = self.renderToken(tokens, at, options, env)
    return rendered


def leads_to(target: str, ref: str) -> str:
    """The target of a link in an item: an address on another site as it is, else the page of the item that it names."""
    if target.startswith("#") or (":" in target.partition("/")[0] and not Ref.looks_like(target)):
        return target
    if Ref.looks_like(target):
        return item_address(target)
    try:
        base = Ref.parse(ref)
    except UsageError:
        return target
    from posixpath import dirname, join, normpath
    from urllib.parse import unquote

    path = unquote(target.partition("#")[0].partition("?")[0])
    return item_address(f"{base.drive}:{normpath(join(dirname(base.path), path))}") if path else target


def item_address(ref: str, **more: str) -> str:
    """The address of an item's page."""
    query = "".join(f"&{name}={quote(value, safe='')}" for name, value in more.items() if value)
    return f"/item?ref={quote(ref, safe='')}{query}"
