"""Tags that stand in the text of an Obsidian note (``#idea``, ``#area/garden``), and where a vault is.

Wiki links, aliases and front matter need nothing of their own: they are read in every Markdown file. Notes stay files
on disk, so that ``refresh`` and ``watch`` keep following them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ricordo.text.links import without_code
from ricordo.values.field_checks import checked_tags
from ricordo.values.items import Parsed

MARKER = ".obsidian"
MOST_TAGS = 500

# A tag follows white space or an opening parenthesis (but not that of a link's target), and is not a number.
_TAG = re.compile(r"(?:(?<!\S)|(?<=[^\]]\()|(?<=^\())#((?:[^\W_]|[_/-])+)", re.MULTILINE)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)


def in_vault(folder: Path, known: dict[Path, bool]) -> bool:
    """Whether a folder, or one above it, holds Obsidian's settings folder; ``known`` caches the answers."""
    if folder not in known:
        above = folder != folder.parent and in_vault(folder.parent, known)
        known[folder] = above or (folder / MARKER).is_dir()
    return known[folder]


def tags_in(text: str) -> tuple[str, ...]:
    """The tags in a text, each once, in order; not those in code or comments.

    >>> tags_in("#idea about #area/garden, not #12, a#b or `#code`; # heading")
    ('idea', 'area/garden')
    """
    if "#" not in text:
        return ()
    found: dict[str, None] = {}
    for match in _TAG.finditer(_COMMENT.sub(" ", without_code(text))):
        tag = match.group(1).strip("/")
        if tag and not tag.isdigit() and len(found) < MOST_TAGS:
            found.setdefault(tag)
    return tuple(found)


def with_text_tags(parsed: Parsed) -> Parsed:
    """A parsed note whose tags are those of its front matter, without their sign, and those of its text."""
    if parsed.structure != "markdown":
        return parsed
    given = (tag.removeprefix("#") for tag in checked_tags(parsed.fields.get("tags", ())))
    tags = checked_tags([*given, *tags_in(parsed.text)])
    return replace(parsed, fields={**parsed.fields, "tags": tags}) if tags else parsed
