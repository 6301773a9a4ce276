"""Folders of Markdown notes that other programs keep: Obsidian's vaults and basic-memory's home.

A vault's notes stay files on disk, so that ``refresh`` and ``watch`` keep following them; only the tags that stand in
their text (``#idea``, ``#area/garden``) need something of their own.

A note of basic-memory becomes ``note:/<permalink>`` with its whole body. ``- depends_on [[Target]]`` becomes a link of
that type, and the tags of observations become tags; both stay in the text, too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, UsageError
from ricordo.frozen import frozen
from ricordo.ingest.importers import Foreign, Relation
from ricordo.text.links import plain_name, without_code
from ricordo.values.field_checks import checked_tags
from ricordo.values.items import Entry, Parsed, Ref, Saved
from ricordo.values.times import parse_time

if TYPE_CHECKING:
    from ricordo.ingest.files import FileReader

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


_RELATION = re.compile(
    r"^[ \t]*[-*+][ \t]+(?P<type>[^\[\]\n]*?)[ \t]*\[\[(?P<target>[^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]", re.MULTILINE
)
_OBSERVATION = re.compile(r"^[ \t]*[-*+][ \t]+\[[^\[\]\n]{2,}\](?!\()[ \t]+(?P<text>.+)$", re.MULTILINE)
_LINK_TYPE = re.compile(r"[a-z][a-z0-9_-]{1,40}")
_UNNAMED = "relates_to"


@frozen
class Note:
    """One file: its place below the folder, and what it says."""

    path: str
    parsed: Parsed
    changed: datetime


def read_folder(folder: Path, files: FileReader) -> Foreign:
    """All notes below a folder; a file that cannot be read is reported as failed."""
    notes: list[Note] = []
    failed: list[Saved] = []
    for path, changed, parsed in files.parsed(folder, ["*.md"]):
        if isinstance(parsed, Error):
            failed.append(Saved(path, "failed", error=parsed.to_dict()))
        else:
            notes.append(Note(path, parsed, changed))
    return replace(read_notes(notes), failed=tuple(failed))


def read_notes(notes: Sequence[Note]) -> Foreign:
    """The notes as texts, with the relations between them; relations to notes that are not there are counted."""
    refs = _refs(notes)
    named: dict[str, str] = {}
    for note in notes:
        for name in (str(note.parsed.fields.get("metadata", {}).get("permalink") or ""), _title(note), note.path):
            named.setdefault(_key(name), refs[note.path])
    entries = [_entry(note, refs[note.path]) for note in notes]
    relations: dict[Relation, None] = {}
    lost = 0
    for note in notes:
        for type_, target in _relations(note.parsed.text):
            found = named.get(_key(target)) or named.get(plain_name(target))
            if found is None:
                lost += 1
            elif found != refs[note.path]:
                relations.setdefault(Relation(refs[note.path], type_, found))
    what = "relation to a note that does not exist stays" if lost == 1 else "relations to notes that do not exist stay"
    missing = f"{lost} {what} in the text only"
    return Foreign(tuple(entries), tuple(relations), notes=(missing,) if lost else ())


def _refs(notes: Sequence[Note]) -> dict[str, str]:
    """The ref of each note, by the note's path: its permalink, or its path if the permalink is missing or taken."""
    refs: dict[str, str] = {}
    taken: set[str] = set()
    for note in notes:
        own = str(PurePosixPath(note.path).with_suffix(""))
        given = str(note.parsed.fields.get("metadata", {}).get("permalink") or "").strip()
        permalink = posixpath.normpath(f"/{given}").strip("/")  # ".." cannot lead out of the folder
        name = permalink if permalink and permalink not in taken else own
        taken.add(name)
        refs[note.path] = str(Ref("note", f"/{name}"))
    return refs


def _entry(note: Note, ref: str) -> Entry:
    parsed = note.parsed
    fields: dict[str, Any] = dict(parsed.fields)
    metadata = dict(fields.get("metadata", {}))
    type_ = str(metadata.get("type") or "note")
    observed = [tag for match in _OBSERVATION.finditer(parsed.text) for tag in tags_in(match["text"])]
    fields |= {
        "title": _title(note),
        "tags": checked_tags([*(tag.removeprefix("#") for tag in fields.get("tags", ())), *observed]),
        "metadata": metadata,
        "mime_type": "text/markdown",
        "source_adapter": "basic-memory",
    }
    if type_ != "note":
        fields.setdefault("category", type_)
    changed = _time(metadata, ("modified", "updated", "updated_at")) or note.changed
    created = _time(metadata, ("created", "created_at", "date")) or changed
    return Entry(ref, parsed.text, "note", fields, "markdown", (created, changed))


def _title(note: Note) -> str:
    return str(note.parsed.fields.get("title") or note.parsed.title or PurePosixPath(note.path).stem)


def _relations(text: str) -> Iterator[tuple[str, str]]:
    """Type and target of each relation: a list item that begins with words and a wiki link."""
    for match in _RELATION.finditer(without_code(text)):
        said = match["type"].strip().strip("\"'").casefold()
        type_ = re.sub(r"[^a-z0-9_-]+", "_", said).strip("_-")
        yield type_ if _LINK_TYPE.fullmatch(type_) else _UNNAMED, match["target"].partition("#")[0].strip()


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.removesuffix(".md").strip().strip("/").casefold())


def _time(metadata: Mapping[str, Any], names: Sequence[str]) -> datetime | None:
    for name in names:
        value = metadata.get(name)
        if isinstance(value, str):
            try:
                return parse_time(value).astimezone(UTC)
            except UsageError:
                continue
    return None
