"""Turns Markdown into safe HTML: harmless HTML stays, scripts cannot get in, and nothing is loaded from elsewhere.

Two things ensure this: of the HTML in the text only known tags without attributes are passed on, and the output is
reduced to allowed tags. Every block says which lines of the text it comes from, so that a passage is found in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from ricordo.errors import UsageError
from ricordo.plugins.page.markup import (
    Heading,
    HeadingIds,
    HeadingLevels,
    Rendered,
    cleaned,
    code_html,
    harmless,
    heading_id,
    item_address,
)
from ricordo.values.items import Ref

LONGEST = 400_000
"""Characters of a text that are rendered; the rest is shown as it is written."""
DEEPEST_BRACKETS = 5
"""How deep brackets of one paragraph may be nested, or stay open, to be looked at as links."""
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_WIKI = re.compile(r"!?\[\[([^\[\]\n|]{1,300})(?:\|([^\[\]\n]{0,300}))?\]\]")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
_NUMBERED = frozenset({"heading_open", "paragraph_open", "tr_open", "list_item_open", "html_block", "hr"})


def render(text: str, ref: str = "") -> str:
    """The text as HTML; relative links lead to the items beside ``ref``."""
    return str(rendered(text, ref).html)


def rendered(
    text: str,
    ref: str = "",
    *,
    first_line: int = 1,
    title: str = "",
    links: Mapping[str, str] | None = None,
    is_notebook: bool = False,
) -> Rendered:
    """The text as HTML with its headings.

    ``title`` is what the page is headed by already, and is left out where the text begins with it. ``links`` says to
    which item each target in the text leads; without it, ``[[wiki links]]`` are shown as they are written.
    """
    env: dict[str, Any] = {
        "ref": ref, "first": first_line, "title": title, "links": links, "notebook": is_notebook, "outline": [],
    }  # fmt: skip
    clean = cleaned(_renderer().render(text[:LONGEST], env))
    if len(text) > LONGEST:
        clean += f'<p class="note">The first {LONGEST:,} characters. The rest is in the source.</p>'
    return Rendered(Markup(clean), tuple(env["outline"]))  # cleaned above


@cache
def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
    renderer.inline.ruler.before("link", "deep_brackets", _deep_brackets)
    renderer.inline.ruler.before("deep_brackets", "wiki", _wiki)
    renderer.core.ruler.push("headings", _headings)
    renderer.core.ruler.push("tasks", _tasks)
    renderer.core.ruler.push("lines", _lines)
    for name, rule in (
        ("image", _image), ("link_open", _link), ("fence", _fence), ("code_block", _fence),
        ("html_inline", _html), ("html_block", _html),
    ):  # fmt: skip
        renderer.add_render_rule(name, rule)
    return renderer


def _headings(state: Any) -> None:
    """Give headings ids and levels below the page's own, note the outline, and leave out what repeats the title."""
    tokens, env = state.tokens, state.env
    if _repeats(tokens, env["title"]):
        del tokens[:3]
    ids, levels = HeadingIds(), HeadingLevels()
    for at, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        text = _words(tokens[at + 1])
        level = levels.of(int(token.tag[1]))
        id_ = ids.of(text)
        token.tag = tokens[at + 2].tag = f"h{level + 1}"
        token.attrSet("id", id_)
        if text and token.level == 0:
            env["outline"].append(Heading(level, text, id_, env["first"] + (token.map or [0])[0]))


def _repeats(tokens: Sequence[Token], title: str) -> bool:
    is_headed = len(tokens) > 2 and tokens[0].type == "heading_open"
    return is_headed and bool(title) and _folded(_words(tokens[1])) == _folded(title)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _words(inline: Token) -> str:
    parts = (one.content for one in inline.children or () if one.type in ("text", "code_inline", "wiki"))
    return " ".join("".join(parts).split())


def _tasks(state: Any) -> None:
    """Show ``- [ ]`` and ``- [x]`` as what is to do and what is done."""
    for at, token in enumerate(state.tokens[:-2]):
        inline = state.tokens[at + 2]
        if token.type != "list_item_open" or inline.type != "inline" or not inline.children:
            continue
        found = _TASK.match(inline.children[0].content) if inline.children[0].type == "text" else None
        if found is None:
            continue
        is_done = found[1] != " "
        token.attrJoin("class", "todo")
        inline.children[0].content = inline.children[0].content[found.end() :]
        box = Token("html_inline", "", 0)
        box.meta = {"ours": f'<span class="box" role="img" aria-label="{"done" if is_done else "to do"}">'
                            f"{'☑' if is_done else '☐'}</span> "}  # fmt: skip
        inline.children.insert(0, box)


def _lines(state: Any) -> None:
    """Note on each block from which lines of the original it comes."""
    first = state.env["first"]
    for token in state.tokens:
        if token.map and token.type in _NUMBERED and not token.hidden:
            start, end = token.map
            token.attrSet("data-at", f"{first + start}-{first + max(start, end - 1)}")


def _fence(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:  # noqa: PLR0917 - markdown-it calls it so
    token = tokens[at]
    start = env["first"] + (token.map or [0])[0] + (token.type == "fence")
    words = token.info.split()
    language = words[0].strip("{}.").lower() if words else ""
    is_output = env["notebook"] and language == "text" and at > 2 and tokens[at - 2].content == "Output:"
    return code_html(token.content.removesuffix("\n"), language, start, "output" if is_output else "")


def _html(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:  # noqa: PLR0917 - markdown-it calls it so
    token = tokens[at]
    if "ours" in token.meta:
        return str(token.meta["ours"])
    html = harmless(token.content, lambda target: leads_to(target, env["ref"], env["links"]))
    where = token.attrGet("data-at")
    # The HTML may open or close what other blocks hold, so that its place is noted before it, not around it.
    return f'<span data-at="{where}"></span>{html}' if where and html.strip() else html


def _wiki(state: Any, silent: bool) -> bool:
    """``[[target#heading|label]]`` leads to the item that it names, or to writing one where there is none yet."""
    links = state.env.get("links")
    found = _WIKI.match(state.src, state.pos) if links is not None and state.src[state.pos] in "![" else None
    if found is None:
        return False
    if not silent:
        target, _, heading = found[1].rstrip("\\").strip().partition("#")
        label = (found[2] or found[1]).strip().lstrip("#")
        token = state.push("wiki_open", "a", 1)
        token.attrs = _wiki_attributes(links, target.strip(), heading.strip())
        inside = state.push("text", "", 0)
        inside.content = label
        state.push("wiki_close", "a", -1)
    state.pos = found.end()
    return True


def _wiki_attributes(links: Mapping[str, str], target: str, heading: str) -> dict[str, str | int | float]:
    part = f"#{heading_id(heading)}" if heading else ""
    if not target:
        return {"class": "wiki", "href": part}
    if ref := links.get(target):
        return {"class": "wiki", "href": item_address(ref) + part, "data-peek": ref}
    return {"class": "wiki missing", "href": f"/add?title={quote(target)}", "title": "There is no such item yet"}


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


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:  # noqa: PLR0917 - markdown-it calls it so
    """Show the name of a picture in its place, because the page loads nothing from other servers."""
    return f'<span class="picture">{escape(tokens[at].content or "picture")}</span>'


def _link(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:  # noqa: PLR0917 - markdown-it calls it so
    token = tokens[at]
    target = str(token.attrGet("href") or "")
    token.attrSet("href", leads_to(target, env["ref"], env["links"]))
    if env["links"] and (ref := env["links"].get(target)):
        token.attrSet("data-peek", ref)
    result: str = self.renderToken(tokens, at, options, env)
    return result


def leads_to(target: str, ref: str, links: Mapping[str, str] | None = None) -> str:
    """The target of a link in an item: an address on another site as it is, else the page of the item that it names."""
    path, _, heading = target.partition("#")
    part = f"#{heading_id(_unquoted(heading))}" if heading else ""
    if not path:
        return part or target
    if links and target in links:
        return item_address(links[target]) + part
    if ":" in target.partition("/")[0] and not Ref.looks_like(target):
        return target
    if Ref.looks_like(target):
        return item_address(_unquoted(path)) + part
    try:
        base = Ref.parse(ref)
    except UsageError:
        return target
    from posixpath import dirname, join, normpath

    place = _unquoted(path.partition("?")[0])
    return item_address(f"{base.drive}:{normpath(join(dirname(base.path), place))}") + part if place else target


def _unquoted(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)
