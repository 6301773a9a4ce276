"""Finds files on disk and reads them as items to save. The store's own files are left out.

Callers decide what happens to a file and compare it with what the store knows. A file that was renamed or moved is
recognised by its bytes (``Gone``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from ricordo.config.settings import Config
from ricordo.config.trust_lists import is_in_trusted_folder
from ricordo.digests import hash_of
from ricordo.errors import Error, Unreadable, UsageError
from ricordo.ingest.formats.markdown import in_vault, with_text_tags
from ricordo.ingest.formats.read import parse_bytes, read_file
from ricordo.ingest.formats.source import Limits
from ricordo.ingest.pipeline import Incoming, own_fields
from ricordo.nofollow import LinkedFolder, real_path
from ricordo.secrets.find import redact, redact_values
from ricordo.secrets.redaction import is_redacted
from ricordo.sources.disk import FoundFile, Skipped, disk_ref, is_mailbox, mail_bytes, mails, over_limit, walk
from ricordo.sources.git import GitTimes
from ricordo.store.base import Store
from ricordo.store.values import FileState
from ricordo.values.items import Fields, FileRefs, Item, Parsed, Ref
from ricordo.values.kinds import kind_of_drive
from ricordo.values.times import parse_time

VALIDATORS = "validators"
"""The name under which a page's state keeps the headers for the next conditional request."""
_EMPTY = Fields().to_dict()
_NOT_AUTHORED = ("source", "mime_type", "is_textual", "metadata")
_ORIGIN = ("source_url", "source_adapter")
_JOURNALS = ("", "-wal", "-shm", "-journal", "-wal.damaged")


class FileReader:
    """Reads files as the settings allow; ``own`` is the store's file.

    In an Obsidian vault, tags in texts count as tags; with ``is_vault`` every folder counts as a vault.
    """

    def __init__(self, config: Config, own: str, *, is_vault: bool = False, follow_links: bool | None = None) -> None:
        self.limits = Limits()
        self._max_bytes = int(config.ingest.max_file_mb * 1_000_000)
        self._follow = config.ingest.follow_symlinks if follow_links is None else follow_links
        self._own = real_path(own)
        self._is_vault = is_vault
        self._ignore = config.ingest.ignore
        self._keep_binaries = config.ingest.keep_binaries
        self._vaults: dict[Path, bool] = {}
        self._trusted: dict[Path, bool] = {}
        self._boxes: dict[tuple[Path, int, int], dict[Path, FoundFile]] = {}
        self._git = GitTimes()

    def at(
        self, path: Path, globs: Sequence[str] = (), only: Collection[Path] | None = None
    ) -> Iterator[FoundFile | Skipped]:
        """The files below a folder, or the one file that ``path`` is."""
        own = {identity for end in _JOURNALS if (identity := _identity(self._own + end)) is not None}
        for entry in walk(
            path,
            max_bytes=self._max_bytes,
            globs=globs,
            follow_symlinks=self._follow,
            only=only,
            ignore=self._ignore,
        ):
            if _identity(entry.path) in own:
                yield Skipped(entry.path, "the store itself")
            elif isinstance(entry, FoundFile) and is_mailbox(entry.path):
                try:
                    yield from mails(entry)
                except OSError as error:
                    yield Skipped(entry.path, f"cannot be read: {error.strerror or error}", failed=True)
                except LinkedFolder as error:
                    yield Skipped(entry.path, error.message, failed=True)
            else:
                yield entry

    def mail_at(self, path: Path) -> FoundFile | None:
        """The mail with a path below its mailbox, as the mailbox is now; None where there is none."""
        box = path.parent
        try:
            status = box.stat()
            mark = (box, status.st_mtime_ns, status.st_size)
            if mark not in self._boxes:
                entry = FoundFile(box, status.st_size, status.st_mtime_ns)
                self._boxes[mark] = {one.path: one for one in mails(entry)} if is_mailbox(box) else {}
        except OSError:
            return None
        return self._boxes[mark].get(path)

    def bytes_of(self, entry: FoundFile) -> bytes:
        """The bytes of a file; a file that has become too large is refused before it is read."""
        if entry.size > self._max_bytes:
            too_large = over_limit(entry.size, self._max_bytes)
            raise Unreadable(f"{entry.path.name}: {too_large}", hint="Raise ingest.max_file_mb to take it in.")
        if entry.span is None:
            return read_file(entry.path, entry.within)
        try:
            return mail_bytes(entry.span, entry.within)
        except LinkedFolder as problem:
            raise Unreadable(problem.message, hint=problem.hint) from None

    def below(self, entry: FoundFile, folders: Collection[Path]) -> FoundFile:
        """The same file, read without following links out of the folder that it was found in."""
        folder = next((one for one in folders if one in entry.path.parents), None)
        return entry if folder is None or self._follow else replace(entry, within=Path(real_path(folder)))

    def parsed(self, folder: Path, globs: Sequence[str]) -> Iterator[tuple[str, datetime, Parsed | Error]]:
        """All files below a folder: the relative path, the time of change, and the parsed text or the error."""
        for entry in self.at(folder, globs):
            place = os.path.relpath(entry.path, folder).replace(os.sep, "/")
            if isinstance(entry, FoundFile):
                changed = datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC)
                try:
                    yield place, changed, parse_bytes(self.bytes_of(entry), entry.path.name, limits=self.limits)
                except Error as error:
                    yield place, changed, error
            elif entry.failed:
                yield place, datetime.now(UTC), Unreadable(f"{place}: {entry.reason}")

    def incoming(self, ref: Ref, entry: FoundFile, data: bytes, kind: str, *, fields: Mapping[str, Any]) -> Incoming:
        """The file as an item to save; ``fields`` take precedence over those in the file."""
        parsed = parse_bytes(data, entry.path.name, limits=self.limits)
        if self._is_vault or in_vault(entry.path.parent, self._vaults):
            parsed = with_text_tags(parsed)
        blob = data if self._keep_binaries and not parsed.is_textual else None
        if not parsed.is_textual and not self._keep_binaries:
            about = {**parsed.fields.get("metadata", {}), "bytes": len(data), "sha256": hash_of(data)}
            parsed = replace(parsed, fields={**parsed.fields, "metadata": about})
        own = own_fields(ref, parsed)
        state = FileState(entry.mtime_ns, entry.size, hash_of(data), authored(own))
        times = times_of(parsed, self._git.changed(entry.path, data, datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC)))
        folder = entry.path.parent
        if folder not in self._trusted:
            self._trusted[folder] = is_in_trusted_folder(folder)
        is_users = entry.span is None and self._trusted[folder]
        fields = {"source": "user" if is_users else "file", **fields}
        return Incoming(
            ref, parsed, kind, fields, blob=blob, file=state, times=times, origin=str(entry.path), vouched=is_users,
            own=own,
        )  # fmt: skip


def _identity(path: str | Path) -> tuple[int, int] | None:
    """What identifies a file whatever its name, so that a link to the store is recognised as the store."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


_MADE = ("created", "date")
_CHANGED = ("updated", "modified", "lastmod", "date")


def times_of(parsed: Parsed, changed: datetime | None = None) -> tuple[datetime, datetime] | None:
    """When a text was made and last changed: as its front matter or its mail header says, else as its file says."""
    said = parsed.fields.get("metadata") or {}
    last = _first_time(said, _CHANGED) or changed
    return (_first_time(said, _MADE) or last, last) if last is not None else None


def _first_time(said: Mapping[str, Any], names: Sequence[str]) -> datetime | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, str) and value[:4].isdigit():
            with suppress(UsageError):
                return parse_time(value)
    return None


def authored(fields: Fields) -> dict[str, Any]:
    """The fields that a file sets itself, without the empty ones."""
    plain = fields.to_dict()
    return {name: value for name, value in plain.items() if value != _EMPTY[name] and name not in _NOT_AUTHORED[:3]}


def set_by_people(fields: Fields, said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that people changed since the file was last read; they are kept when it is read again."""
    now = fields.to_dict()
    changed = {name: value for name, value in now.items() if name not in _NOT_AUTHORED}
    return {name: value for name, value in changed.items() if value != said.get(name, _EMPTY[name])}


def with_stored_fields(incoming: Incoming, item: Item, said: Mapping[str, Any]) -> Incoming:
    """The text that was read now, with the fields that people set on the item; ``said`` is what was read before.

    The field that says where an item comes from is always taken from what was read.
    """
    says = incoming.file.fields if incoming.file is not None else authored(own_fields(incoming.ref, incoming.parsed))
    kept = set_by_people(item.fields, said)
    kept = {name: value for name, value in kept.items() if name not in _ORIGIN or name not in incoming.fields}
    kept["metadata"] = merged_metadata(item.fields, said, says)
    return replace(incoming, fields={**incoming.fields, **kept})


def merged_metadata(fields: Fields, said: Mapping[str, Any], says: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata, key by key: what people set or removed is kept, the rest comes from the file."""
    before: Mapping[str, Any] = said.get("metadata", {})
    now = fields.metadata
    kept = {key: value for key, value in now.items() if key not in before or before[key] != value}
    dropped = {key for key in before if key not in now}
    return {key: value for key, value in says.get("metadata", {}).items() if key not in dropped} | kept


_WITH_ORIGIN = frozenset({"disk", "url", "github", "google-docs"})


def without_secrets(incoming: Incoming, *, allow: bool) -> tuple[Incoming, tuple[str, ...]]:
    """The item without its secrets, and the kinds of secrets; files and pages that were read where they are stay
    as they are, whatever their kind.
    """
    if incoming.origin and incoming.ref.drive in _WITH_ORIGIN:
        return incoming, ()
    given = {**incoming.parsed.fields, **incoming.fields}
    if incoming.parsed.title:
        given = {"title": incoming.parsed.title, **given}
    kind = kind_of_drive(incoming.ref.drive) if incoming.kind == "document" else incoming.kind
    if not is_redacted(kind, given):
        return incoming, ()
    text, in_text = redact(incoming.parsed.text, allow_secrets=allow)
    fields, in_fields = redact_values(given, allow_secrets=allow)
    if not in_text and not in_fields:
        return (incoming if allow else replace(incoming, is_clean=True)), ()
    parsed = replace(incoming.parsed, text=text, title="", fields={}, marks=())
    state = incoming.file
    if state is not None:
        texts = {name: value for name, value in state.fields.items() if name != VALIDATORS}
        validators = {name: value for name, value in state.fields.items() if name == VALIDATORS}
        state = replace(state, fields={**redact_values(texts, allow_secrets=allow)[0], **validators})
    return replace(incoming, parsed=parsed, fields=fields, file=state, own=None), (*in_text, *in_fields)


class Gone:
    """Files that are gone, recognised by their bytes if they appear under another name."""

    def __init__(self, files: Mapping[int, tuple[Ref, str]]) -> None:
        self.followed: set[int] = set()
        self._by_hash: dict[str, dict[int, Ref]] = {}
        for n, (ref, digest) in files.items():
            self._by_hash.setdefault(digest, {})[n] = ref

    def like(self, ref: Ref, data: bytes) -> int | None:
        """The item whose file had these bytes; of several, the one whose path ends most alike."""
        candidates = self._by_hash.get(hash_of(data), {}) if data else {}
        if not candidates:
            return None
        n = max(candidates, key=lambda one: (_shared_end(candidates[one].path, ref.path), -one))
        del candidates[n]
        self.followed.add(n)
        return n


SAME = "same"
"""The name under which a file's state keeps the paths of other files with the same bytes."""
MADE_BY_TOOLS = "made by a tool for programs to read: its lines are too long for people"
_SCRIPTS = frozenset({".js", ".mjs", ".cjs", ".css"})
_LONG_LINE = 500
"""If the lines of a script are longer than this on average, nobody wrote it."""


def folder_line(path: Path, lines: Mapping[str, str]) -> str:
    """What the innermost folder around a file holds; ``lines`` are those of folders, the innermost first."""
    return next((line for folder, line in lines.items() if Path(folder) in path.parents), "")


class NewFiles:
    """Says which new files of added folders are passed over, once their bytes are known.

    Files of one folder with the same bytes and the same ending are one item: the first of them, a link last. Its state
    keeps the paths of the others, so that they are looked at again when it changes or is gone.
    """

    def __init__(self, store: Store, refs: FileRefs) -> None:
        self._store = store
        self._refs = refs
        self._by_folder: dict[Path, dict[tuple[str, str], str]] = {}
        self._known: set[str] = set()
        self._same: dict[str, list[str]] = {}

    def reason(self, folder: Path | None, ref: Ref, path: Path, data: bytes) -> str:
        """Why this file is passed over; empty for one to take in, and for one that was named itself."""
        if folder is None or not data:
            return ""
        if path.suffix.lower() in _SCRIPTS and len(data) > _LONG_LINE * (data.strip().count(b"\n") + 1):
            return MADE_BY_TOOLS
        if folder not in self._by_folder:
            rows = self._store.files.hashes_below("disk", disk_ref(folder, self._refs).path)
            self._known.update(path for path, _ in rows)
            self._by_folder[folder] = {(digest, PurePosixPath(path).suffix): path for path, digest in reversed(rows)}
        if ref.path in self._known:
            return ""
        first = self._by_folder[folder].setdefault((hash_of(data), path.suffix), ref.path)
        if first == ref.path:
            return ""
        self._same.setdefault(first, []).append(str(path))
        return f"the same bytes as disk:{first}"

    def note(self) -> None:
        """Note with the files that were taken in which others are the same."""
        states = self._store.files.states_by_path("disk", self._same)
        numbers = self._store.items.numbers([Ref("disk", path) for path in states])
        changed = {}
        for path, state in states.items():
            if state is not None and (same := sorted({*state.fields.get(SAME, ()), *self._same[path]})):
                changed[numbers[Ref("disk", path)]] = replace(state, fields={**state.fields, SAME: same})
        self._store.files.note(changed)
        self._same = {}


def _shared_end(one: str, other: str) -> int:
    """How many parts, counted from the end, two paths have in common."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
