"""CSV and TSV as a table. Of a long one, only the rows around the passage are shown."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from html import escape

from markupsafe import Markup

from ricordo.http_api.web.reading.rendered import Rendered

MOST_ROWS = 500
MOST_COLUMNS = 100
LONGEST_CELL = 2_000


def rendered_table(text: str, *, is_tab: bool = False, first_line: int = 1, at: int = 0) -> Rendered | None:
    """The rows as a table, the first as its head; None if the text cannot be read as one. ``at`` is a line to show."""
    delimiter = "\t" if is_tab else max(",;\t|", key=text.partition("\n")[0].count)
    try:
        rows = list(_rows(text, delimiter, first_line))
    except csv.Error:
        return None
    if len(rows) < 2 or max(len(cells) for _, cells in rows[:20]) < 2:
        return None
    (top, head), body = rows[0], rows[1:]
    before = sum(1 for line, _ in body if line < at)
    start = max(0, min(before - MOST_ROWS // 2, len(body) - MOST_ROWS))
    shown = body[start : start + MOST_ROWS]
    cells = "".join(f'<th scope="col">{_cell(one)}</th>' for one in head[:MOST_COLUMNS])
    parts = [
        f'<div class="scroll" tabindex="0"><table class="sheet"><thead><tr data-at="{top}">{cells}</tr></thead><tbody>'
    ]
    for line, row in shown:
        parts.append(
            f'<tr data-at="{line}">' + "".join(f"<td>{_cell(one)}</td>" for one in row[:MOST_COLUMNS]) + "</tr>"
        )
    parts.append("</tbody></table></div>")
    if len(shown) < len(body):
        rows_shown = f"Rows {start + 1:,} to {start + len(shown):,} of {len(body):,}"
        parts.append(f'<p class="note">{rows_shown}. All of them are in the source.</p>')
    return Rendered(Markup("".join(parts)), classes="sheet-box")  # every cell was escaped


def _rows(text: str, delimiter: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    line = first_line
    for row in reader:
        if row:
            yield line, row
        line = first_line + reader.line_num


def _cell(text: str) -> str:
    return escape(text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "…")
