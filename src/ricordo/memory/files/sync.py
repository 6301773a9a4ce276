"""Takes in what people changed in the knowledge folder: edits, new files, renames, deletions.

1. Look at the folder.
2. Read what is new or changed.
3. Find the item of each file: by the id in it, by its name, or by the bytes of a file that is gone.
4. The items of files that are gone go to the bin; changed files become versions; new files become items.

Files are never written here. A file that cannot be read is reported, and its item stays as it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ricordo.errors import Conflict, Error, Forbidden, PathConflict, Unreadable, from_dict
from ricordo.frozen import frozen
from ricordo.ingest.pipeline import Incoming, Pipeline, structure_of
from ricordo.memory.files import format as file_format
from ricordo.memory.files.folder import (
    FileChanged,
    KnowledgeFolder,
    Leftover,
    ReadFile,
    place,
    read_regular,
    temporary_beside,
)
from ricordo.memory.files.format import KnowledgeFile, Seals, id_of, mark_of, ref_of, without_claims
from ricordo.nofollow import LinkedFolder, Spot
from ricordo.plugin import ask, revise
from ricordo.speaking import speaking
from ricordo.store.base import Store
from ricordo.store.values import Backlog, PreparedItem
from ricordo.values.items import Item, KnownFile, Parsed, Ref
from ricordo.values.provenance import LOADER, PERSON, Provenance
from ricordo.values.reports import Synced, SyncReport


@dataclass(slots=True)
class FolderLook:
    """The differences between the folder and what is known about it."""

    file_count: int
    """How many files are known."""
    fresh: list[str] = field(default_factory=list)
    """Names of files that are new or changed."""
    touched: list[KnownFile] = field(default_factory=list)
    """Files with the known content, but another time, as they are now."""
    gone: dict[str, KnownFile] = field(default_factory=dict)

    @property
    def is_quiet(self) -> bool:
        return not self.fresh and not self.gone


def look(store: Store, folder: KnowledgeFolder, only: Collection[str] | None = None) -> FolderLook:
    """Compare the folder, or some names in it, with what is known."""
    present = folder.scan() if only is None else folder.look(only)
    stored = store.knowledge.times_and_sizes()
    differences = FolderLook(len(stored))
    other = [name for name, looks in present.items() if stored.get(name) != looks]
    known = [name for name, (_, size) in stored.items() if size >= 0 and (only is None or name in only)]
    missing = [name for name in known if name not in present]
    if not other and not missing:
        return differences
    rows = store.knowledge.files([*other, *missing])
    for name in other:
        row = rows.get(name)
        try:
            may_be_same = row is not None and row.size == present[name].size
            read = folder.read(name, stored_hash=row.hash) if row is not None and may_be_same else None
        except OSError:  # the code that takes it in reports what is wrong
            read = None
        if row is None or read is None or read.hash != row.hash:
            differences.fresh.append(name)
        elif read.looks.mtime != row.mtime:
            differences.touched.append(replace(row, mtime=read.looks.mtime, size=read.looks.size))
    differences.gone = {name: rows[name] for name in missing if name in rows}
    return differences


CREATED_AT_ONCE = 100
REMOVED_AT_ONCE = 200
VANISHED_PAUSE = 0.1
"""Seconds before a missing file counts as gone: editors may remove a file for a moment while they save it."""
MOST_VANISHED = 20
EMPTIED_SECONDS = 2.0
"""A file that became empty a moment ago is probably being saved: some programs empty a file before they write it."""
_ATTEMPTS = 5
_MARKERS = {b"<<<<<<<", b"=======", b">>>>>>>"}
"""What begins the lines that a version control puts around both sides of a merge."""
_BOTH_SIDES = "both sides of a merge (<<<<<<<, >>>>>>>): choose one, and save it"


@frozen
class ChangedFile:
    """A file that was read: its content, its time and size, and what was known about it."""

    name: str
    read: ReadFile
    content: KnowledgeFile
    row: KnownFile | None
    is_users: bool = True
    """Whether it is what the user said last: anybody may have written a file of a project that carries no seal, and
    anybody may have put back one that carries an older seal.
    """


@dataclass(eq=False)
class Sync:
    """One sync of files into the store, and the report it builds up."""

    store: Store
    folder: KnowledgeFolder
    pipeline: Pipeline
    backlog: Backlog | None
    _: KW_ONLY
    ref_of: Callable[[str], Ref]
    """Gives the ref that a ref or a URL in a text means."""
    most_bytes: int
    seals: Seals | None = None
    of_plugins: dict[str, Any] = field(default_factory=dict)
    """What plugins keep while it runs, by their names."""
    written: dict[int, PreparedItem] = field(default_factory=dict)
    """The items that got another text from their files."""
    done: list[Synced] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """What files say about themselves and is not believed."""

    def run(self, seen: FolderLook, only: Collection[str] | None = None, *, asked: bool = True) -> SyncReport:
        """Take in what a look found. Files that could not be taken in yet, or that another process took in, are looked
        at again. Where very many are gone, their items are removed only if somebody ``asked`` for a sync.
        """
        with speaking(Provenance(PERSON, via="file")):
            for attempt in range(_ATTEMPTS):
                again = self._once(seen, asked=asked, is_last=attempt == _ATTEMPTS - 1)
                if not again:
                    break
                seen = look(self.store, self.folder, only=again)
            self._add_notes()
            self.store.knowledge.note_first_sync()
            rows = self.store.knowledge.files()
            hint = "Correct its front matter; until then, the item stays as it was."
            for name, row in rows.items():  # every file that cannot be read is reported at each sync
                if row.problem and (only is None or name in only):
                    self._fail(name, Unreadable(row.problem, hint=hint))
        unchanged = len(rows.keys() - {synced.file for synced in self.done}) if only is None else 0
        return SyncReport(str(self.folder.path), tuple(self.done), unchanged, (*self.notes, *self.doubts))

    def _add_notes(self) -> None:
        """Add what plugins note about the texts that were taken in and are still there."""
        items = self.store.items.get_many(list(self.written))
        live = {n: text for n, text in self.written.items() if n in items and items[n].state == "live"}
        for notes in ask("texts_changed", self.store, live):
            self.notes += [f"{items[n].ref} {note}" for n, note in notes.items()]

    def take_in(self, name: str) -> None:
        """Take in one file."""
        self.run(look(self.store, self.folder, only=[name]), only=[name])

    def _once(self, seen: FolderLook, *, asked: bool, is_last: bool) -> set[str]:
        """One pass; returns the names of files that have to be looked at again."""
        gone = self._vanished_files(seen, asked=asked)
        files = self._read_all(seen)
        self.store.knowledge.note(seen.touched)
        existing, new, gone = self._assign(files, gone)
        self._remove(gone)
        again = set()
        for file, n in self._update_swapped(existing):
            try:
                updated = self._update(file, n)
            except Forbidden as error:  # somebody else put away what the user tells every agent
                self.doubts.append(f"{file.name}: {error.message}")
                updated = self._update(replace(file, content=replace(file.content, archived=False)), n)
                self.done += [updated] if updated is not None else []
            except FileChanged:
                again.add(file.name)
            except Conflict as error:  # its new ref is still taken, or another process was faster
                if is_last:
                    self._fail(file.name, error)
                else:
                    again.add(file.name)
            else:
                self.done += [updated] if updated is not None else []
        for at in range(0, len(new), CREATED_AT_ONCE):
            again |= self._create(new[at : at + CREATED_AT_ONCE])
        return again

    def _update_swapped(self, existing: Sequence[tuple[ChangedFile, int]]) -> Sequence[tuple[ChangedFile, int]]:
        """Update together the items whose files gave each other their names; returns those that are left."""
        items = self.store.items.get_many([n for _, n in existing])
        moving = [(file, n) for file, n in existing if items[n].state != "deleted" and items[n].ref != file.content.ref]
        wanted = {file.content.ref for file, _ in moving}
        aside = [items[n].id for _, n in moving if items[n].ref in wanted]
        if not aside:
            return existing
        try:
            with self.store.transaction(durable=True, mirrored=False):
                self.store.changes.set_aside(aside)
                updated = [self._update(file, n) for file, n in moving]
        except (FileChanged, Conflict, Forbidden):
            return existing  # one by one, which says what is wrong
        self.done += filter(None, updated)
        return [pair for pair in existing if pair not in moving]

    def _vanished_files(self, seen: FolderLook, *, asked: bool) -> dict[str, KnownFile]:
        """The files that are gone; if all or very many are gone at once, only a ``sync`` that is asked for removes."""
        if not seen.gone:
            return {}
        time.sleep(VANISHED_PAUSE)
        back = self.folder.look(seen.gone)
        seen.fresh += back
        gone = {name: row for name, row in seen.gone.items() if name not in back}
        is_mistake = 1 < len(gone) == seen.file_count or MOST_VANISHED < len(gone) > seen.file_count // 2
        if not self.folder.exists() or (not asked and is_mistake):
            self.notes.append(
                f"{len(gone):,} files are missing from {self.folder.path}; 'ricordo sync' removes their items"
            )
            return {}
        return gone

    def _read_all(self, seen: FolderLook) -> list[ChangedFile]:
        """What is new or changed, the files with an id first."""
        files: list[ChangedFile] = []
        rows = self.store.knowledge.files(seen.fresh)
        for name in sorted(seen.fresh, key=lambda name: (len(name), name)):
            row = rows.get(name)
            read = self.read(name, row)
            if read is None:
                continue
            try:
                files.append(self.file_of(name, read, row))
            except Unreadable as error:  # it is noted, so that it is not tried again before it changes
                row, looks = row or KnownFile(name, None, mtime=0, size=0, hash="", mark=""), read.looks
                why = f"{name} holds {_BOTH_SIDES}" if _has_both_sides(read.data) else error.message
                problem = replace(row, mtime=looks.mtime, size=looks.size, hash=read.hash, problem=why)
                self.store.knowledge.note([problem])
                continue
            self.notes += [f"{name}: {warning}" for warning in files[-1].content.warnings]
            if _has_both_sides(read.data):
                self.notes.append(f"{name} holds {_BOTH_SIDES}")
        return sorted(files, key=lambda file: not file.content.id)

    @property
    def _believes(self) -> bool:
        """Whether files count as the user's own, whatever they say; of those that hold a text that was not accepted,
        only what was changed by hand.
        """
        return self.seals is None or self.seals.trusts()

    def file_of(self, name: str, read: ReadFile, row: KnownFile | None) -> ChangedFile:
        """What a file says, as far as that is believed."""
        content = file_format.read(read.data, name)
        seals = None if self._believes else self.seals
        if seals is None:
            return ChangedFile(name, read, content, row, is_users=not content.is_unaccepted)
        sealed_at = seals.sealed_at(content, read.data, name)
        if sealed_at is None:
            content, doubt = without_claims(content)
        else:
            is_old = sealed_at <= self.store.knowledge.last_word(content.id)
            doubt = f"it is older than what you said last; to accept it: ricordo review {content.ref}" if is_old else ""
        self.doubts += [f"{name}: {doubt}"] if doubt else []
        return ChangedFile(name, read, content, row, is_users=sealed_at is not None and not doubt)

    def read(self, name: str, row: KnownFile | None) -> ReadFile | None:
        try:
            read = self.folder.read(name, stored_hash=row.hash if row else "")
        except FileNotFoundError:
            return None  # it was removed just now; the next look finds that
        except OSError as error:
            is_folder = isinstance(error, IsADirectoryError)
            hint = "Give the folder another name." if is_folder else "Check its permissions."
            self._fail(name, Unreadable(f"{name} cannot be read: {error.strerror}", hint=hint))
            return None
        if read.looks.size > self.most_bytes:
            self._fail(name, Unreadable(f"{name} is too large", hint="Raise ingest.max_file_mb to take it in."))
            return None
        is_recent = abs(time.time_ns() - read.changed) < EMPTIED_SECONDS * 1e9
        if not read.data.strip() and (row is None or row.size) and is_recent:
            self.notes.append(
                f"{name} is empty, perhaps because it is being saved just now; it will be looked at again"
            )
            return None
        return read

    def _assign(
        self, files: Sequence[ChangedFile], gone: dict[str, KnownFile]
    ) -> tuple[list[tuple[ChangedFile, int]], list[ChangedFile], dict[str, KnownFile]]:
        """Files with the numbers of their items, files that are new, and files whose items are removed."""
        left = dict(gone)
        rows = self.store.knowledge.files()
        names = {row.item: name for name, row in rows.items() if row.item is not None and not row.is_gone}
        ids = {file.name: file.content.id for file in files}
        changed = {file.row.hash: file.row for file in files if file.row is not None and file.row.item is not None}
        claimed: dict[int, str] = {}
        existing: list[tuple[ChangedFile, int]] = []
        new: dict[str, ChangedFile] = {}
        for file in files:
            n, file = self._by_id(file, names, ids, claimed)
            if file.content.id and file.content.id in new:
                file = self._as_copy(file, new[file.content.id].name)
            if n is None and not file.content.id:
                by_bytes = replace(file, row=changed.get(file.read.hash, file.row))  # files may swap their names
                n = self._without_id(by_bytes, left, names, claimed)
            if n is None:
                new[file.content.id or file.name] = file
                continue
            claimed[n] = file.name
            left.pop(names.get(n, ""), None)
            existing.append((file, n))
        # An item has lost its file if that file now belongs to another item and no other file belongs to it.
        taken = [file.row for file in (*(file for file, _ in existing), *new.values()) if file.row is not None]
        left |= {row.name: row for row in taken if row.item is not None and row.item not in claimed}
        return existing, list(new.values()), left

    def _without_id(
        self, file: ChangedFile, gone: Mapping[str, KnownFile], names: Mapping[int, str], claimed: Collection[int]
    ) -> int | None:
        """The item of a file without an id: the one that had this file name or these bytes, or that has this ref and no
        file.
        """
        if file.row is not None:
            by_file = file.row.item
        else:
            by_file = next((row.item for row in gone.values() if row.hash == file.read.hash and file.read.data), None)
        if by_file is not None and by_file not in claimed:
            return by_file
        n = self.store.items.number(file.content.ref)
        if n is None or n in names or n in claimed or self.store.items.get_many([n])[n].state == "deleted":
            return None
        return n

    def _by_id(
        self, file: ChangedFile, names: Mapping[int, str], ids: Mapping[str, str], claimed: Collection[int]
    ) -> tuple[int | None, ChangedFile]:
        """The item with the id in a file; a copy of a file that has the same id becomes an item of its own."""
        ref = self.store.items.ref_by_id(file.content.id) if file.content.id else None
        n = self._number_of(ref, file.content.id) if ref is not None else None
        original = names.get(n) if n is not None else None
        is_copy = original not in (None, file.name) and ids.get(original or "", file.content.id) == file.content.id
        if n in claimed or (is_copy and self.folder.look([original or ""])):
            return None, self._as_copy(file, original or str(ref))
        return n, file

    def _as_copy(self, file: ChangedFile, original: str) -> ChangedFile:
        self.notes.append(f"{file.name} has the same id as {original}: it becomes an item of its own")
        return replace(file, content=replace(file.content, id="", ref=ref_of(file.name)))

    def _number_of(self, ref: Ref, identity: str) -> int | None:
        """The number of the item with an id, in the bin or not."""
        n = self.store.items.number(ref)
        if n is not None and self.store.items.get_many([n])[n].id == identity:
            return n
        with self.store.transaction():
            return next(iter(self.store.knowledge.items_in_transaction((), [identity])), None)

    def _remove(self, gone: Mapping[str, KnownFile]) -> None:
        names = list(gone)
        for at in range(0, len(names), REMOVED_AT_ONCE):
            with self.store.transaction(durable=True, mirrored=False):
                now = self.store.knowledge.files(names[at : at + REMOVED_AT_ONCE])
                left = [name for name in now if now[name] == gone[name] and not self._is_back(gone[name])]
                batch = {gone[name].item: name for name in left}
                items = self.store.knowledge.items_in_transaction([n for n in batch if n is not None])
                asked = [n for n, item in items.items() if self._is_told(n, item)]
                there = [n for n, item in items.items() if item.state != "deleted" and n not in asked]
                refused = self.store.changes.remove_many(there)
                # The file of a protected item is forgotten as well, so that it is written again.
                self.store.knowledge.note([gone[batch[n]].as_gone() for n in asked], left)
            self.doubts += [
                f"{batch[n]} is gone, and is told until you decide: ricordo review {items[n].ref}" for n in asked
            ]
            for n in there:
                if n in refused:
                    self._fail(batch[n], refused[n])
                else:
                    self.done.append(Synced(str(items[n].ref), "removed", batch[n], items[n].version))

    def _is_told(self, n: int, item: Item) -> bool:
        """Whether an item is what the user tells every agent, and its file lay where anybody may have removed it."""
        if self._believes or item.state != "live" or item.vouched is None:
            return False
        return self.store.items.get(n, version=item.vouched).fields.loading == "always"

    def _is_back(self, row: KnownFile) -> bool:
        """Whether a file that was gone is there again as it was, because somebody put it back."""
        try:
            return self.folder.read(row.name, stored_hash=row.hash).hash == row.hash
        except OSError:
            return False

    def _update(self, file: ChangedFile, n: int) -> Synced | None:
        """Update an item from its file."""
        item = self.store.items.get(n)
        prepared = self.prepare(file, item)
        state = "archived" if file.content.archived else "live"
        is_same = prepared.hash == item.content_hash and item.state == state
        row = self.store.knowledge.files_of([n]).get(n)
        was_moved = row is not None and row.name != file.name
        is_text_same = file.content.text == item.content
        times = self._times(file, item, is_text_same=is_text_same)
        is_person = file.is_users or (self._believes and is_text_same)  # who changed the fields of another's text
        prepared = replace(prepared, origin="") if is_person else prepared
        writer = Provenance(PERSON if is_person else LOADER, via="file")
        with speaking(writer), self.store.transaction(durable=True, mirrored=False):
            if not self.folder.holds(file.name, file.read):
                raise FileChanged(file.name)  # a save of ours may have replaced it since, and must not be undone
            if not is_same and (prepared.hash != item.content_hash or item.state != "live"):
                self.store.changes.rewrite(n, prepared, durable=True, backlog=self.backlog, base=item.version)
            if not is_same and state == "archived":
                self.store.changes.archive([n])
            self.store.changes.set_times(n, *times)
            now = self.store.knowledge.items_in_transaction([n])[n]
            self.store.knowledge.note([_row(file, n, now)])
        if not is_text_same:
            self.written[n] = prepared
        if is_same and not was_moved:
            return None
        if row is not None and row.mark != mark_of(item) and not is_same:
            reason = f"its file and the store were both changed: version {item.version} is what the store had"
            return Synced(str(now.ref), "conflict", file.name, now.version, reason=reason)
        status = "moved" if was_moved or now.ref != item.ref else "created" if item.state == "deleted" else "updated"
        return Synced(str(now.ref), status, file.name, now.version)

    def _create(self, batch: Sequence[ChangedFile]) -> set[str]:
        """Make items of files, in one transaction; files that cannot become items are reported. Returns the names of
        those that have to be looked at again.
        """
        ready: list[tuple[ChangedFile, PreparedItem]] = []
        for file in batch:
            times = self._times(file, None, is_text_same=False)
            ready.append((file, replace(self.prepare(file), times=times, id=file.content.id or id_of(file.name))))
        with self.store.transaction(durable=True, mirrored=False):
            texts = [prepared for _, prepared in ready]
            answers = self.store.changes.save(texts, on_conflict="error", durable=True, backlog=self.backlog)
            made = {saved.id: pair for saved, pair in zip(answers, ready, strict=True) if saved.id}
            existing = self.store.knowledge.items_in_transaction((), [identity for identity in made if identity])
            self.store.changes.archive([n for n, item in existing.items() if made[item.id][0].content.archived])
            now = self.store.knowledge.items_in_transaction(existing)
            self.store.knowledge.note([_row(made[item.id][0], n, item) for n, item in now.items()])
        self.written |= {n: made[item.id][1] for n, item in now.items()}
        again = set()
        for saved, (file, _) in zip(answers, ready, strict=True):
            if saved.error is None:
                self.done.append(Synced(saved.ref, "created", file.name, saved.version))
                continue
            error = from_dict(saved.error)
            if isinstance(error, PathConflict):
                if file.name in self.store.knowledge.files():
                    again.add(file.name)  # another process was faster
                    continue
                error = Conflict(f"{saved.ref} is another item, with a file of its own", hint="Rename this file.")
            self._fail(file.name, error)
        return again

    def prepare(self, file: ChangedFile, item: Item | None = None) -> PreparedItem:
        content = file.content
        structure = structure_of(content.fields["mime_type"])
        parsed = Parsed(content.text, mime_type="", structure=structure, first_line=content.first_line)
        origin = "" if file.is_users else str(self.folder.place(file.name))
        fields = dict(content.fields)
        if content.is_by_hand:
            fields["metadata"] = revise("metadata_of_file", dict(fields.get("metadata", {})), self, content, item)
        made = self.pipeline.prepare(Incoming(content.ref, parsed, content.kind, fields, origin=origin))
        # In a project's folder only what has a seal, or what the user trusts, is the user's: then all of it is.
        return replace(made, vouched=self.seals is not None and file.is_users)

    def _times(self, file: ChangedFile, item: Item | None, *, is_text_same: bool) -> tuple[datetime, datetime]:
        """When an item was made and when its text changed: as the front matter says, else as the file's time says."""
        changed = datetime.fromtimestamp(file.read.changed / 1e9, UTC)
        created = file.content.created or (item.created_at if item is not None else changed)
        if file.content.updated is not None:
            return created, file.content.updated
        return created, item.updated_at if item is not None and is_text_same else max(changed, created)

    def _fail(self, name: str, error: Error) -> None:
        self.done.append(Synced(str(ref_of(name)), "failed", name, error=error.to_dict()))


def _has_both_sides(data: bytes) -> bool:
    return {line[:7] for line in data.splitlines()} >= _MARKERS


def _row(file: ChangedFile, n: int, item: Item) -> KnownFile:
    looks = file.read.looks
    return KnownFile(file.name, n, mtime=looks.mtime, size=looks.size, hash=file.read.hash, mark=mark_of(item))


ABANDONED_SECONDS = 3600
"""An older leftover is taken for abandoned, even if a process with the number in its name is running."""


def recover(sync: Sync) -> list[str]:
    """Recover what killed processes left. Returns the names of the files concerned."""
    concerned = []
    for leftover in sorted(sync.folder.leftovers, key=lambda file: file.spot.base):
        if is_abandoned(leftover):
            with suppress(OSError, LinkedFolder):  # another process may recover the same file; one of them succeeds
                mine = temporary_beside(leftover.spot)
                leftover.spot.rename(mine)
                _recover_one(sync, mine, leftover.name)
                concerned.append(leftover.name)
    return concerned


def is_abandoned(leftover: Leftover) -> bool:
    """Whether the process that made it is gone."""
    try:
        age = time.time() - leftover.spot.lstat().st_ctime
    except (OSError, LinkedFolder):
        return False
    if age > ABANDONED_SECONDS:
        return True
    if os.name != "posix" or leftover.pid == os.getpid():
        return False
    try:
        os.kill(leftover.pid, 0)  # signal 0 sends nothing; it only checks that the process exists
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _recover_one(sync: Sync, mine: Spot, name: str) -> None:
    target = sync.folder.spot(name)
    row = sync.store.knowledge.files([name]).get(name)
    is_kept = _is_in_history(sync.store, mine, name, None if row is None else row.item)
    if target.is_taken():
        if is_kept or _keep(sync, name, read_regular(mine)):
            mine.unlink()
    elif is_kept and row is None:
        mine.unlink()  # its item was removed, so the file is not needed
    else:
        place(mine, target)
        sync.take_in(name)


def _keep(sync: Sync, name: str, data: bytes) -> bool:
    """Make what a file held before a version of its item, below the current one; returns whether that was done."""
    for _ in range(_ATTEMPTS):
        sync.take_in(name)
        row = sync.store.knowledge.files([name]).get(name)
        read = sync.read(name, row) if row is not None and row.item is not None else None
        if row is None or row.item is None or read is None:
            return False
        try:
            now = sync.file_of(name, read, row)
            before = sync.file_of(name, replace(read, data=data), row)
            item = sync.store.items.get(row.item)
            with sync.store.transaction(durable=True, mirrored=False):
                if not sync.folder.holds(name, read):
                    raise FileChanged(name)
                put = partial(sync.store.changes.rewrite, row.item, durable=True, backlog=sync.backlog)
                before = replace(before, content=replace(before.content, ref=now.content.ref))
                put(sync.prepare(before), base=item.version)
                put(sync.prepare(now), base=item.version + 1)
                if now.content.archived:
                    sync.store.changes.archive([row.item])
        except (FileChanged, Conflict):
            continue
        return True
    return False


def _is_in_history(store: Store, file: Spot, name: str, n: int | None) -> bool:
    """Whether a version of the item has the text of the file."""
    try:
        content = file_format.read(read_regular(file), name)
        if n is None and content.id:
            ref = store.items.ref_by_id(content.id)
            n = store.items.number(ref) if ref is not None else None
        if n is None:
            return False
        return any(
            store.items.get(n, version=version.number).content == content.text for version in store.items.history(n)
        )
    except (Error, OSError):
        return False  # a file that cannot be read is kept
