"""Files into text: what a file is, what it says, what it is called and where its pages start.

``parse_file`` and ``parse_bytes`` (and ``read_file``, the first half of ``parse_file``) are the whole surface. They
answer a ``Parsed`` or raise ``Unreadable`` (the file is at fault) or ``MissingExtra`` (the installation is), never
anything else. They do not chunk, embed or store, and never write to a file. Formats whose parsers can hang or crash are
read in a worker process (``sandbox``).
"""

from __future__ import annotations

from ricordo.ingest.parse.limits import Limits
from ricordo.ingest.parse.read import parse_bytes, parse_file, read_file

__all__ = ["Limits", "parse_bytes", "parse_file", "read_file"]
