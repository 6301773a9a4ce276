"""How an answer looks in a notebook: a table of hits, as HTML. Every text in it is escaped, because anybody may have
written it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ricordo.values.hits import Answer

LONGEST = 240


def html_of(answer: Answer) -> str:
    """The hits as a table: score, title and ref, kind, passage; below it how the answer was found."""
    rows = [
        "<tr>"
        f'<td style="text-align:right">{hit.score:.3f}</td>'
        f'<td style="text-align:left"><b>{_text(hit.title or hit.ref)}</b><br><code>{_text(hit.ref)}</code></td>'
        f"<td>{_text(hit.kind)}</td>"
        f'<td style="text-align:left">{_text(hit.snippet)}</td>'
        "</tr>"
        for hit in answer.hits
    ]
    head = "<tr><th>score</th><th>item</th><th>kind</th><th>passage</th></tr>"
    meta = answer.meta
    summary = (
        f"{meta.returned} of {meta.candidates} candidates, {meta.milliseconds:.0f} ms, profile {_text(meta.profile)}"
    )
    warned = "".join(f"<br>{_text(one)}" for one in meta.degraded)
    body = f"<table>{head}{''.join(rows)}</table>" if rows else "<p>Nothing was found.</p>"
    return f"{body}<small>{summary}{warned}</small>"


def _text(text: str) -> str:
    line = " ".join(text.split())
    return escape(line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…")
