"""Chooses how the text of an item is shown, by what it is; what was shown lately is kept."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from html import escape

from markupsafe import Markup

from ricordo.http_api.web.markdown import rendered
from ricordo.http_api.web.reading.colours import code_html, language_of
from ricordo.http_api.web.reading.mail import rendered_mail
from ricordo.http_api.web.reading.rendered import Rendered
from ricordo.http_api.web.reading.rst import rendered_rst
from ricordo.http_api.web.reading.tables import rendered_table
from ricordo.values.items import Item
from ricordo.values.kinds import KNOWLEDGE_FOLDERS, REMEMBERED_KINDS

MOST_SHOWN = 200_000
"""Characters of a text that are shown at once; of a longer one, the part around the passage."""
KEPT = 16
"""How many texts are kept as they were shown, because one goes to and fro between passages of the same text."""
NOTEBOOK = "application/x-ipynb+json"
_OFFICE = "application/vnd.openxmlformats-officedocument."
AS_MARKDOWN = frozenset({
    "text/markdown", "text/x-markdown", "text/html", "application/xhtml+xml", "application/epub+zip", NOTEBOOK,
    f"{_OFFICE}wordprocessingml.document", f"{_OFFICE}presentationml.presentation", f"{_OFFICE}spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
})  # fmt: skip
"""Of these, reading makes Markdown."""


def shown(item: Item, links: Mapping[str, str], lines: tuple[int, int] | None) -> Rendered:
    """The text of an item as what it is; of a very long one, the part in which the lines stand."""
    text, first_line = window(item.content, item.first_line, lines)
    at = lines[0] if lines else 0
    form = form_of(item)
    part = _shown(text, form, item.ref.path, str(item.ref), first_line, item.title, tuple(links.items()),
                  at if form in ("csv", "tsv") else 0)  # fmt: skip
    if len(text) == len(item.content):
        return part
    last = first_line + text.count("\n")
    note = f'<p class="note">Lines {first_line:,} to {last:,} of a long text. All of it is in the source.</p>'
    return Rendered(Markup(note) + part.html, part.outline, part.classes)


def form_of(item: Item) -> str:
    """What a text is: markdown, notebook, rst, mail, csv, tsv, code or text."""
    mime = item.fields.mime_type or ""
    name = item.ref.path.lower()
    if mime == NOTEBOOK:
        return "notebook"
    if mime in AS_MARKDOWN or name.endswith((".md", ".markdown")):
        return "markdown"
    if item.kind in REMEMBERED_KINDS or item.kind in KNOWLEDGE_FOLDERS or (not mime and item.ref.drive != "disk"):
        return "markdown"
    known = {"text/x-rst": "rst", "message/rfc822": "mail", "text/csv": "csv", "text/tab-separated-values": "tsv"}
    if mime in known or (not mime and name.endswith(".rst")):
        return known.get(mime, "rst")
    return "code" if mime.startswith("text/x-") or language_of(name) else "text"


def window(text: str, first_line: int, lines: tuple[int, int] | None) -> tuple[str, int]:
    """The part of a text that is shown, and its first line: all of it, or whole lines around the passage.

    >>> window("short", 3, None)
    ('short', 3)
    """
    if len(text) <= MOST_SHOWN:
        return text, first_line
    rows = text.split("\n")
    at = min(len(rows) - 1, max(0, (lines[0] if lines else first_line) - first_line))
    room = MOST_SHOWN // 2
    start = at
    while start > 0 and room > len(rows[start - 1]):
        start -= 1
        room -= len(rows[start]) + 1
    room += MOST_SHOWN // 2
    end = at
    while end < len(rows) and (room > len(rows[end]) or end == at):
        room -= len(rows[end]) + 1
        end += 1
    return "\n".join(rows[start:end])[: 2 * MOST_SHOWN], first_line + start


@lru_cache(maxsize=KEPT)
def _shown(
    text: str, form: str, path: str, ref: str, first_line: int, title: str, links: tuple[tuple[str, str], ...], at: int
) -> Rendered:
    made: Rendered | None = None
    if form in ("markdown", "notebook"):
        is_notebook = form == "notebook"
        made = rendered(text, ref, first_line=first_line, title=title, links=dict(links), is_notebook=is_notebook)
    elif form == "rst":
        made = rendered_rst(text, first_line=first_line, title=title)
    elif form == "mail":
        made = rendered_mail(text, first_line=first_line, title=title)
    elif form in ("csv", "tsv"):
        made = rendered_table(text, is_tab=form == "tsv", first_line=first_line, at=at)
    elif form == "code":
        code = code_html(text.removesuffix("\n"), language_of(path), first_line)
        made = Rendered(Markup(code), classes="whole-file")  # escaped there
    return made if made is not None else plain(text, first_line)


def plain(text: str, first_line: int) -> Rendered:
    """A text as it is written, each line in its place."""
    lines = "".join(
        f'<span class="line" data-at="{number}">{escape(line)}\n</span>'
        for number, line in enumerate(text.removesuffix("\n").split("\n"), first_line)
    )
    return Rendered(Markup(f'<pre class="text" tabindex="0">{lines}</pre>'), classes="whole-file")  # escaped above
