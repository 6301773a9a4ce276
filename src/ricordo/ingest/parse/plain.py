"""Texts kept exactly as they stand: plain text, reStructuredText and source code."""

from __future__ import annotations

import re
from itertools import pairwise

from ricordo.ingest.parse.encoding import decode
from ricordo.ingest.parse.source import Source
from ricordo.values.items import Parsed

_REACH = 64 * 1024
_RST_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
# Fields at the very top, as in PEPs (``Title: ...``) and Docutils documents (``:Title: ...``).
_RST_HEADER = re.compile(r"(?::?[A-Za-z][\w -]{0,40}:[^\n]*\n(?:[ \t]+[^\n]+\n)*){2,}")
_RST_TITLE_FIELD = re.compile(r"^:?title:[ \t]*([^\n]+(?:\n[ \t]+[^\n]+)*)", re.IGNORECASE | re.MULTILINE)
# Roles and links in a title, `:ref:`text <target>`` and ```code```: only their words are the title.
_RST_MARKUP = re.compile(
    r":[\w:-]+:`([^`<]*?)\s*(?:<[^`>]*>)?`|``([^`]+)``|`([^`<]+?)\s*(?:<[^`>]*>)?`_{0,2}|\*{1,2}([^*]+)\*{1,2}"
)


def parse(source: Source) -> Parsed:
    """The decoded file, and for reStructuredText the title of its first section."""
    decoded = decode(source.data, source.charset)
    title = rst_title(decoded.text) if source.type.format == "rst" else ""
    return Parsed(decoded.text, title, warnings=decoded.warnings)


def rst_title(text: str) -> str:
    """The title in the header fields, else the first section's: a line with a rule of punctuation under it."""
    header = _RST_HEADER.match(text[:_REACH])
    if header and (named := _RST_TITLE_FIELD.search(header[0])):
        return " ".join(named[1].split())[:300]
    lines = text[:_REACH].split("\n")
    for line, rule in pairwise(lines):
        title = line.strip()
        if not title or len(title) > 300 or _RST_RULE.match(line) or line.startswith(("..", "    ", "\t")):
            continue
        if _RST_RULE.match(rule) and len(rule.rstrip()) >= min(len(title), 4):
            words = _RST_MARKUP.sub(lambda found: next(filter(None, found.groups()), ""), title)
            return " ".join(words.split())
    return ""
