"""Items ready to be written, made from a ref and a text, for tests of stores."""

from __future__ import annotations

from typing import Any

from ricordo.store.prepare import prepare
from ricordo.store.values import FileState, PreparedItem
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Fields, Passage, Ref
from ricordo.values.kinds import kind_of_drive


def prepared(
    ref: str,
    text: str,
    *,
    kind: str | None = None,
    file: FileState | None = None,
    language: str = "english",
    **fields: Any,
) -> PreparedItem:
    """An item with one passage for each paragraph: ``prepared("note:/a", "One.\\n\\nTwo.", tags=["x"])``."""
    named = Ref.parse(ref)
    passages, lines = [], []
    start = 0
    parts = text.split("\n\n") if text else []
    for at, part in enumerate(parts):
        end = start + len(part) + (2 if at < len(parts) - 1 else 0)
        first = text[:start].count("\n") + 1
        passages.append(Passage(start, end))
        lines.append((first, first + text[start:end].rstrip("\n").count("\n")))
        start = end
    draft = Draft(
        named, kind or kind_of_drive(named.drive), text, Fields().with_changes(fields), passages=tuple(passages)
    )
    return prepare(draft, Analyzer(language), prefixes=[""] * len(passages), lines=lines, file=file)
