"""What every parser is handed: the bytes of one file, its name, and what we take it for."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.ingest.parse.limits import Limits


@frozen
class FileType:
    """What a file is: the ``format`` picks the parser, ``structure`` and ``language`` are for the chunker."""

    format: str
    mime: str
    structure: str = "text"
    language: str = ""


@frozen
class Source:
    """One file to be read. ``charset`` is the encoding a server or mail header spoke of, if any.

    Of a ``page`` it is also asked what it says about itself and where it leads (see ``html``).
    """

    data: bytes
    name: str
    type: FileType
    charset: str = ""
    limits: Limits = field(default_factory=Limits)
    page: bool = False
