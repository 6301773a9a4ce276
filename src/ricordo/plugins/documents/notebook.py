"""Jupyter notebooks: their cells in order, as Markdown, each under a mark ``cell N``.

Code keeps its fence and language; of the outputs only text is kept, cut to a readable length. Images,
widgets and interactive output are left out.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ricordo.errors import Unreadable
from ricordo.ingest.formats.markdown import first_heading
from ricordo.ingest.formats.plain import decode, normalise
from ricordo.ingest.formats.source import Source
from ricordo.values.items import Mark, Parsed

_LONGEST_OUTPUT = 2000
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def parse(source: Source) -> Parsed:
    """The notebook's cells as one Markdown text."""
    decoded = decode(source.data)
    notebook = _load(decoded.text, source.name)
    language = _language(notebook)
    text = ""
    marks: list[Mark] = []
    title = ""
    sheets = notebook.get("worksheets")
    parts = (
        [notebook.get("cells")] if "cells" in notebook else [_mapping(sheet).get("cells") for sheet in _list(sheets)]
    )
    for number, cell in enumerate([cell for part in parts for cell in _list(part) if isinstance(cell, dict)], start=1):
        block = _block(cell, language)
        if not block.strip():
            continue
        text += "\n\n" if text else ""
        marks.append(Mark(len(text), f"cell {number}"))
        text += block
        if not title and cell.get("cell_type") in ("markdown", "heading"):
            title = first_heading(block)
    declared = _mapping(notebook.get("metadata")).get("title")
    return Parsed(
        text=text,
        title=declared.strip() if isinstance(declared, str) and declared.strip() else title,
        marks=tuple(marks),
        warnings=decoded.warnings,
    )


def _load(text: str, name: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as problem:
        reason = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise Unreadable(f"{name} is not a notebook: {reason}", hint="Open it in Jupyter and save it again.") from None
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise Unreadable(f"{name} is not a notebook: it has no cells", hint="Rename it to .json to read it as such.")
    return notebook


def _language(notebook: dict[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    named = _mapping(metadata.get("language_info")).get("name") or _mapping(metadata.get("kernelspec")).get("language")
    return named if isinstance(named, str) and re.fullmatch(r"[\w+#-]{1,20}", named) else "python"


def _block(cell: dict[str, Any], language: str) -> str:
    source = _joined(cell.get("source", cell.get("input"))).strip("\n")
    if cell.get("cell_type") == "heading":
        level = cell.get("level")
        return "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1) + " " + source
    if cell.get("cell_type") != "code":
        return source
    code = _fenced(source, language) if source.strip() else ""
    output = "\n".join(filter(None, (_output(part) for part in _list(cell.get("outputs")) if isinstance(part, dict))))
    if len(output) > _LONGEST_OUTPUT:
        output = output[:_LONGEST_OUTPUT].rstrip() + "\n[…]"
    return "\n\n".join(filter(None, (code, "Output:\n\n" + _fenced(output, "text") if output else "")))


def _fenced(text: str, language: str) -> str:
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text}\n{fence}"


def _output(output: dict[str, Any]) -> str:
    """The text of an output."""
    bundle = _mapping(output.get("data", output))
    text = _joined(output.get("text")) or _joined(bundle.get("text/plain")) or _joined(bundle.get("text/markdown"))
    if not text and output.get("output_type") in ("error", "pyerr"):
        text = _joined(output.get("traceback"), "\n") or f"{output.get('ename')}: {output.get('evalue')}"
    if re.fullmatch(r"\s*<[\w.]+( at 0x[0-9a-f]+| size [^>]*)[^>]*>\s*", text):
        return ""
    return _TERMINAL_CODES.sub("", text).strip("\n")


def _joined(value: object, between: str = "") -> str:
    """Notebooks write a text as one string or as a list of lines."""
    if isinstance(value, list):
        value = between.join(part for part in value if isinstance(part, str))
    return normalise(value) if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
