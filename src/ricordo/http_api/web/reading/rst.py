"""reStructuredText as HTML, by docutils: it can neither read files nor pass on raw HTML, and its output is cleaned.

Line numbers are those that docutils knows: of paragraphs, sections and blocks of code.
"""

from __future__ import annotations

import io
from html import escape
from typing import Any

from markupsafe import Markup

from ricordo.http_api.web.reading.cleaning import cleaned
from ricordo.http_api.web.reading.colours import code_html
from ricordo.http_api.web.reading.rendered import Heading, HeadingIds, HeadingLevels, Rendered, heading_id

LONGEST = 200_000
SETTINGS: dict[str, Any] = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 6,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
    "doctitle_xform": False,
    "docinfo_xform": False,
    "sectsubtitle_xform": False,
    "smart_quotes": False,
    "syntax_highlight": "none",
    "line_length_limit": 20_000,
}
_PLAIN_TAGS = {
    "paragraph": "p", "bullet_list": "ul", "enumerated_list": "ol", "list_item": "li", "emphasis": "em",
    "strong": "strong", "literal": "code", "block_quote": "blockquote", "definition_list": "dl", "term": "dt",
    "definition": "dd", "subscript": "sub", "superscript": "sup", "table": "table", "thead": "thead", "tbody": "tbody",
    "row": "tr", "title_reference": "cite", "field_list": "dl", "field_name": "dt", "field_body": "dd",
    "option_list": "dl", "option_group": "dt", "description": "dd", "line_block": "div", "line": "div",
    "caption": "p", "attribution": "p", "footnote": "div", "citation": "div", "transition": "hr",
    "abbreviation": "abbr",
}  # fmt: skip
_LEFT_OUT = frozenset({"comment", "system_message", "substitution_definition", "target", "pending", "meta", "raw"})


def rendered_rst(text: str, *, first_line: int = 1, title: str = "") -> Rendered | None:
    """The text as HTML with its headings; None if docutils cannot read it, or it is too long."""
    from docutils.core import publish_doctree
    from docutils.utils import SystemMessage

    if len(text) > LONGEST:
        return None
    settings = SETTINGS | {"warning_stream": io.StringIO()}
    try:
        tree = publish_doctree(text, settings_overrides=settings)
        writer = _Writer(first_line, title)
        html = writer.of(tree)
    except (SystemMessage, RecursionError, ValueError, TypeError, AttributeError, LookupError, AssertionError):
        return None  # its parser fails in many ways on what is not quite its language
    return Rendered(Markup(cleaned(html)), tuple(writer.outline))  # cleaned here


class _Writer:
    """Writes the nodes of a document as HTML."""

    def __init__(self, first_line: int, title: str) -> None:
        self.first = first_line
        self.title = " ".join(title.casefold().split())
        self.outline: list[Heading] = []
        self._ids = HeadingIds()
        self._levels = HeadingLevels()
        self._depth = 0

    def of(self, node: Any) -> str:
        """A node with all that is in it."""
        name = type(node).__name__
        if name == "Text":
            return escape(str(node))
        if name in _LEFT_OUT:
            return ""
        special = getattr(self, f"_{name}", None)
        if special is not None:
            return str(special(node))
        inside = self._inside(node)
        tag = _PLAIN_TAGS.get(name)
        return f"<{tag}{self._at(node)}>{inside}</{tag}>" if tag else inside

    def _inside(self, node: Any) -> str:
        return "".join(self.of(one) for one in node.children)

    def _at(self, node: Any) -> str:
        """Where a block stands; one that holds others says it by those."""
        is_block = type(node).__name__ in ("paragraph", "term", "line", "field_name", "option_group")
        return f' data-at="{self.first + node.line - 1}"' if node.line and is_block else ""

    def _section(self, node: Any) -> str:
        self._depth += 1
        inside = self._inside(node)
        self._depth -= 1
        return inside

    def _title(self, node: Any) -> str:
        words = " ".join(str(node.astext()).split())
        if not self.outline and words.casefold() == self.title and self._depth == 1:
            return ""
        level = self._levels.of(max(1, self._depth))
        line = self.first + (node.line or 1) - 1
        id_ = self._ids.of(words)
        self.outline.append(Heading(level, words, id_, line))
        return f'<h{level + 1} id="{escape(id_)}" data-at="{line}">{self._inside(node)}</h{level + 1}>\n'

    def _subtitle(self, node: Any) -> str:
        return f"<p>{self._inside(node)}</p>\n"

    def _literal_block(self, node: Any) -> str:
        words = [one for one in node.get("classes", ()) if one != "code"]
        text = str(node.astext())
        # docutils names the last line of a block of code.
        start = max(1, (node.line or 1) - text.count("\n") - bool(words))
        return code_html(text, words[0] if words else "", self.first + start - 1)

    def _doctest_block(self, node: Any) -> str:
        return code_html(str(node.astext()), "pycon", self.first + (node.line or 1) - 1)

    def _reference(self, node: Any) -> str:
        target = str(node.get("refuri", ""))
        if not target and node.get("refid"):
            target = "#" + heading_id(str(node.get("name", node["refid"])))
        return f'<a href="{escape(target)}">{self._inside(node)}</a>' if target else self._inside(node)

    def _entry(self, node: Any) -> str:
        tag = "th" if type(node.parent.parent).__name__ == "thead" else "td"
        return f"<{tag}>{self._inside(node)}</{tag}>"

    def _image(self, node: Any) -> str:
        return f'<span class="picture">{escape(str(node.get("alt") or "picture"))}</span>'

    def _problematic(self, node: Any) -> str:
        return escape(str(node.astext()))

    def _told(self, node: Any) -> str:
        """A note or a warning; what it is called stands before it, unless it has a title of its own."""
        name = type(node).__name__
        words = "" if name == "admonition" else f"<p><strong>{name.capitalize()}</strong></p>"
        return f'<blockquote class="admonition">{words}{self._inside(node)}</blockquote>\n'

    _attention = _caution = _danger = _error = _hint = _important = _note = _tip = _warning = _admonition = _told
