"""Parses a file: reads it, detects its type, picks the parser, and limits the length of the text.

Whatever goes wrong with a file becomes ``Unreadable`` here (see ``failures``).
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ricordo.errors import Error, MissingExtra, Unreadable
from ricordo.ingest.formats.detect import detect, formats
from ricordo.ingest.formats.plain import without_surrogates
from ricordo.ingest.formats.source import Limits, ParseFailure, Source, attempt, load_parser, unreadable
from ricordo.nofollow import LinkedFolder, open_below
from ricordo.values.items import Parsed

_MOST_WARNINGS = 10


def parse_file(path: Path, *, limits: Limits | None = None) -> Parsed:
    """The text of a file, or ``Unreadable`` with the reason.

    >>> parse_file(Path("notes/plan.md")).title  # doctest: +SKIP
    'Plan'
    """
    return parse_bytes(read_file(path), path.name, limits=limits)


def read_file(path: Path, within: Path | None = None) -> bytes:
    """The bytes of a regular file, or ``Unreadable`` with the reason; never waits for a pipe.

    Links that lead out of the folder ``within`` are refused, also one that is put there at this very moment.
    """
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags) if within is None else open_below(within, path)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise Unreadable(
                    f"{path.name} is not a regular file", hint="Only files can be read; add a folder by its path."
                )
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)
    except LinkedFolder as problem:
        raise Unreadable(f"{path.name} cannot be read: {problem.message}", hint=problem.hint) from None
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise Unreadable(
            f"{path.name} cannot be opened: {reason}", hint="Check that it exists and may be read."
        ) from None
    except (ValueError, MemoryError) as problem:
        raise Unreadable(f"{path.name!r} cannot be read: {problem}", hint="Check its name and size.") from None


def parse_bytes(
    data: bytes, name: str, mime: str | None = None, *, limits: Limits | None = None, page: bool = False
) -> Parsed:
    """The text of bytes that came from elsewhere; ``mime`` is what a server called them.

    For an HTML ``page``, the fields also hold ``html.ABOUT``, which is not a field of an item.
    """
    limits = limits or Limits()
    try:
        source = Source(data, name, detect(name, data, mime), _charset_of(mime), limits, page)
        parsed = attempt(_read, source)
    except (Unreadable, MissingExtra):
        raise
    except Error as problem:
        raise Unreadable(f"{name} cannot be read: {problem.message}", hint=problem.hint) from problem
    except MemoryError as problem:
        raise Unreadable(f"there is not enough memory to read {name}", hint="Split it, or free memory.") from problem
    if isinstance(parsed, ParseFailure):
        raise unreadable(name, parsed)
    return _bounded(parsed, limits)


def _charset_of(mime: str | None) -> str:
    for part in (mime or "").split(";")[1:]:
        key, _, value = part.partition("=")
        if key.strip().lower() == "charset":
            return value.strip().strip("\"'")
    return ""


def _read(source: Source) -> Parsed:
    kind, file_format = source.type, formats()[source.type.format]
    if not source.data.strip(b"\x00"):
        parsed = Parsed("")
    elif file_format.needs and find_spec(file_format.needs) is None:
        raise MissingExtra("documents", file_format.called)
    elif file_format.sandboxed:
        from ricordo.ingest.formats.sandbox import run_bounded

        parsed = run_bounded(file_format.reader, source)
    elif file_format.reader:
        parsed = load_parser(file_format.reader)(source)
    elif file_format.called:  # the plugin that reads it is not installed
        raise MissingExtra("documents", file_format.called)
    elif kind.format == "ole":
        raise Unreadable(f"{source.name} is protected by a password", hint="Save a copy without the password.")
    else:
        warning = f"{source.name} is a binary file ({kind.mime}); it is kept without text"
        parsed = Parsed("", is_textual=False, warnings=(warning,))
    return replace(parsed, mime_type=kind.mime, structure=kind.structure, language=kind.language)


def _bounded(parsed: Parsed, limits: Limits) -> Parsed:
    """The text cut to ``max_text_chars``, without characters that a store cannot hold."""
    text = without_surrogates(parsed.text)
    warnings = parsed.warnings
    if len(text) > limits.max_text_chars:
        warnings += (f"only the first {limits.max_text_chars:,} of {len(text):,} characters were kept",)
        text = text[: limits.max_text_chars]
    if len(warnings) > _MOST_WARNINGS:
        warnings = (*warnings[:_MOST_WARNINGS], f"and {len(warnings) - _MOST_WARNINGS} more")
    marks = tuple(mark for mark in parsed.marks if mark.offset < len(text) or mark.offset == 0)
    return replace(parsed, text=text, warnings=warnings, marks=marks)
