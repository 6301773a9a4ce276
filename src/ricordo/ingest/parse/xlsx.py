"""Reads spreadsheets: every sheet becomes a section under a mark ``sheet NAME``, every row an item of a list.

When the first row of a sheet is a header, each value follows its column's name, so that a row can be understood alone.
The values last computed are read; formulas, formats, charts and comments are left out.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from ricordo.errors import Unreadable
from ricordo.ingest.parse.archive import Archive
from ricordo.ingest.parse.office import title_property
from ricordo.ingest.parse.source import Source
from ricordo.values.items import Mark, Parsed


def parse(source: Source) -> Parsed:
    """All sheets as one text."""
    title = ""
    if source.data.startswith(b"PK"):
        with Archive(source.data, source.name) as archive:
            archive.verify()
            title = title_property(archive)
    text = io.StringIO()
    marks: list[Mark] = []
    warnings: list[str] = []
    length = 0
    for name, rows in _sheets(source, warnings):
        lines = list(_lines(rows))
        if not lines:
            continue
        block = ("\n\n" if length else "") + f"## {name}\n\n" + "\n".join(lines)
        marks.append(Mark(length + (2 if length else 0), f"sheet {name}"))
        length += text.write(block)
        if length > source.limits.max_text_chars:
            break
    return Parsed(text.getvalue(), title, marks=tuple(marks), warnings=tuple(warnings))


def _sheets(source: Source, warnings: list[str]) -> Iterator[tuple[str, list[list[Any]]]]:
    calamine = import_module("python_calamine")
    damaged = "Open it in its own program and save it again."
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
    except calamine.PasswordError:
        raise Unreadable(
            f"{source.name} is protected by a password", hint="Save a copy without the password."
        ) from None
    except (calamine.CalamineError, OSError, ValueError) as problem:
        raise Unreadable(f"{source.name} is not a readable spreadsheet: {problem}", hint=damaged) from None
    for sheet in workbook.sheets_metadata:
        if sheet.typ != calamine.SheetTypeEnum.WorkSheet:
            continue
        try:
            rows = workbook.get_sheet_by_name(sheet.name).to_python(skip_empty_area=True)
        except (calamine.CalamineError, OSError, ValueError) as problem:
            warnings.append(f"sheet {sheet.name} was left out: {problem}")
            continue
        yield " ".join(sheet.name.split()), rows


def _lines(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Rows as lines, empty ones left out."""
    filled = [cells for row in rows if any(cells := [_shown(value) for value in row])]
    names = _header(filled)
    if names:
        yield "- " + " | ".join(names)
    for cells in filled[1:] if names else filled:
        if names:
            yield "- " + " | ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=False) if cell)
        else:
            yield "- " + " | ".join(cell for cell in cells if cell)


def _header(rows: list[list[str]]) -> list[str]:
    """The first row, if it names the columns: all filled, all different, none a number, rows below it."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return []
    names = rows[0]
    is_header = all(names) and len(set(names)) == len(names) and not any(_is_number(name) for name in names)
    return names if is_header and max(map(len, names)) <= 60 else []


def _is_number(text: str) -> bool:
    return text.replace(".", "").replace("-", "").replace(":", "").isdigit()


def _shown(value: Any) -> str:
    """A cell as people read it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return " ".join(str(value).split()) if value is not None else ""
