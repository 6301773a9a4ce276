"""Turns files into text, and finds their type, their title and where their pages start.

``parse_file`` and ``parse_bytes`` (and ``read_file``, the first half of ``parse_file``) are the whole surface. They
return a ``Parsed``, or raise ``Unreadable`` (the file is at fault) or ``MissingExtra`` (a package is not installed),
and nothing else. They do not chunk, embed or store, and never write to a file. Formats whose parsers can hang or crash
are read in a worker process (``sandbox``).
"""

from __future__ import annotations

from ricordo.ingest.parse.read import parse_bytes, parse_file, read_file
from ricordo.ingest.parse.source import Limits

__all__ = ["Limits", "parse_bytes", "parse_file", "read_file"]
