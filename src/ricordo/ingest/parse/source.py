"""What every parser is given: the bytes of one file, its name and detected type, and how much reading it may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from importlib import import_module

from ricordo.frozen import frozen
from ricordo.values.items import Parsed


@frozen
class Limits:
    """Bounds for reading one file; ``sandbox`` and ``read`` enforce them.

    ``seconds`` and ``memory_mb`` bound the worker that reads risky formats (memory only where the system can
    enforce it). Text beyond ``max_text_chars`` is cut, with a warning; the default lets any file of 50 MB
    through whole.
    """

    seconds: float = 30.0
    memory_mb: int = 1024
    max_text_chars: int = 50 * 1024 * 1024


@frozen
class FileType:
    """What a file is: the ``format`` picks the parser, ``structure`` and ``language`` are for the chunker."""

    format: str
    mime: str
    structure: str = "text"
    language: str = ""


@frozen
class Source:
    """One file to be read. ``charset`` is the encoding that a server or mail header declared, if any.

    With ``page``, the parser also returns what a page says about itself and links to (see ``html``).
    """

    data: bytes
    name: str
    type: FileType
    charset: str = ""
    limits: Limits = field(default_factory=Limits)
    page: bool = False


Parser = Callable[[Source], Parsed]
"""Reads a file; ``read`` adds the type, structure and language of the file to what it returns."""


def load_parser(place: str) -> Parser:
    """The function that ``module:name`` stands for, imported now."""
    module, _, name = place.partition(":")
    parser: Parser = getattr(import_module(module), name)
    return parser
