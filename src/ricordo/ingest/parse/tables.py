"""CSV, TSV, JSON and JSON Lines: kept exactly as they stand, so that line numbers are those of the file.

The names of the columns, which a reader of one row needs, go to ``context``, which is put before every passage.
"""

from __future__ import annotations

import csv
import json
from typing import Any

from ricordo.ingest.parse.encoding import decode
from ricordo.ingest.parse.source import Source
from ricordo.values.items import Parsed

_REACH = 64 * 1024
_LONGEST_CONTEXT = 300
# A larger document is not parsed as a whole only to look for a title.
_LARGEST_JSON = 1024 * 1024


def parse_csv(source: Source) -> Parsed:
    """Rows as they stand; the header names, when there is a header, as context."""
    decoded = decode(source.data, source.charset)
    names = column_names(decoded.text, "\t" if source.type.format == "tsv" else "")
    fields = {"context": ("Columns: " + ", ".join(names))[:_LONGEST_CONTEXT]} if names else {}
    return Parsed(decoded.text, fields=fields, warnings=decoded.warnings)


def parse_json(source: Source) -> Parsed:
    """The document as it stands; a top-level "title" is its title."""
    decoded = decode(source.data, source.charset)
    title, warnings = "", decoded.warnings
    if 0 < len(decoded.text) <= _LARGEST_JSON:
        try:
            title = _title_of(json.loads(decoded.text))
        except RecursionError:
            warnings += ("the JSON is nested too deeply to look inside; it was kept as text",)
        except ValueError as problem:
            warnings += (f"not valid JSON, kept as text: {problem}",)
    return Parsed(decoded.text, title, warnings=warnings)


def column_names(text: str, delimiter: str = "") -> tuple[str, ...]:
    """The names in the first row, if it is a header: all filled, all different, none a number."""
    sample = text[:_REACH]
    first = sample.partition("\n")[0]
    if not delimiter:
        delimiter = max(",;\t|", key=first.count)
    if len(first) > _REACH // 2 or delimiter not in first:
        return ()
    try:
        names = tuple(name.strip() for name in next(csv.reader([first], delimiter=delimiter), []))
    except csv.Error:
        return ()
    is_header = len(names) > 1 and all(names) and len(set(names)) == len(names) and not any(map(_is_number, names))
    return names if is_header else ()


def _is_number(text: str) -> bool:
    return text.replace(".", "").replace(",", "").replace("-", "").isdigit()


def _title_of(document: Any) -> str:
    title = document.get("title") if isinstance(document, dict) else None
    return " ".join(title.split())[:300] if isinstance(title, str) else ""
