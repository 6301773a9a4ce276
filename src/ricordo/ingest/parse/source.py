"""What every parser is given: the bytes of one file, its name, and its detected type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from importlib import import_module

from ricordo.frozen import frozen
from ricordo.ingest.parse.limits import Limits
from ricordo.values.items import Parsed


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


def load_parser(place: str) -> Parser:
    """The function that ``module:name`` stands for, imported now."""
    module, _, name = place.partition(":")
    parser: Parser = getattr(import_module(module), name)
    return parser
