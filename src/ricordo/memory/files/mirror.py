"""The knowledge folder of a store: writes the files of items that change, and takes in what people changed in files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from typing import Any

from ricordo.bounded import within_callers
from ricordo.digests import hash_of
from ricordo.errors import Conflict, Error, StoreError, Unavailable
from ricordo.memory.files.folder import FileChanged, FileChanges, KnowledgeFolder
from ricordo.memory.files.format import (
    Seals,
    belongs,
    file_name,
    first_line,
    makes_claims,
    mark_of,
    numbered,
    render,
    unsealed,
)
from ricordo.memory.files.sync import FolderLook, Sync, look, recover
from ricordo.store.base import Store
from ricordo.store.values import PreparedItem
from ricordo.trust.level import is_vouched
from ricordo.values.items import Item, KnownFile, Saved
from ricordo.values.kinds import DRIVES_WITH_FILES, KNOWLEDGE_FOLDERS
from ricordo.values.reports import Check, Synced, SyncReport

_ATTEMPTS = 50
_PLACES = tuple(KNOWLEDGE_FOLDERS), tuple(DRIVES_WITH_FILES)
"""The kinds and drives of items that have files."""


def _with_edit(saved: Saved) -> Saved:
    """The result, with the note that an edit of the file was taken in just before."""
    meanwhile = f"its file was changed meanwhile; that change is kept as version {saved.previous_version}"
    return replace(saved, reason=f"{saved.reason}; {meanwhile}" if saved.reason else meanwhile)


@dataclass(eq=False)
class _Files:
    """Writes the files of the items that one transaction touched."""

    store: Store
    changes: FileChanges
    rows: Mapping[int, KnownFile]
    before: Mapping[int, Item]
    seals: Seals | None
    seen: list[KnownFile] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def write(self, now: Mapping[int, Item]) -> None:
        """Write the items as they are now into their files; files that go are removed first, so that their names are
        free.
        """
        self.gone += [row.name for row in self.rows.values() if row.is_gone]
        self.rows = {n: row for n, row in self.rows.items() if not row.is_gone}
        for n, row in self.rows.items():
            item = now.get(n)
            if item is None or item.state == "deleted" or not belongs(item):
                self.changes.take(row.name, None if item is None else _sound(row))
                self.gone.append(row.name)
        for n, item in now.items():
            if item.state != "deleted" and belongs(item):
                self._put(n, item)
        self.store.knowledge.note(self.seen, self.gone)

    def _put(self, n: int, item: Item) -> None:
        row = self.rows.get(n)
        if row is not None and row.mark == mark_of(item):
            return
        before = self.before.get(n) if row is not None else None
        keeps_name = before is not None and (before.ref, before.kind) == (item.ref, item.kind)
        name = row.name if row is not None and keeps_name else self._new_name(item)
        if row is not None and name != row.name:
            self.changes.move(row.name, name)
            self.gone.append(row.name)
        data = render(item, name)
        if self.seals is not None and makes_claims(item):
            data = self.seals.sealed(data, item.ref, name) if is_vouched(item) else unsealed(data)
        looks = self.changes.put(name, data, None if row is None else _sound(row))
        row = KnownFile(name, n, mtime=looks.mtime, size=looks.size, hash=hash_of(data), mark=mark_of(item))
        self.seen.append(row)

    def _new_name(self, item: Item) -> str:
        """A free name; names that differ only in case count as the same, because some systems take them so."""
        best = file_name(item.ref, item.kind)
        given = {row.name.casefold() for row in self.seen}
        for number in count(1):
            name = best if number == 1 else numbered(best, number)
            is_known = self.store.knowledge.has_file(name) and name not in self.gone
            if not is_known and name.casefold() not in given:
                return name
        raise AssertionError("there is always another number")


def _sound(row: KnownFile) -> KnownFile:
    """Refuse to overwrite a file that could not be read, because its content is not in the store."""
    if row.problem:
        raise Conflict(
            f"{row.name} was changed by hand, and {row.problem}; nothing was written",
            hint="Correct it, then try again.",
        )
    return row


LOOK_SECONDS = 1.0
"""A long-running process checks the folder at most this often, and less often if a check takes long."""
LOOK_SHARE = 20
LONGEST_WAIT = 1.0
NOTED_AT_ONCE = 16
"""If at least this many files have only a new time, the new times are written to the store."""
SECONDS_A_FILE = 0.005
"""How long it takes about to take in a file. If there are too many for a caller with little time, none is."""
WRITTEN_UNASKED = 100
"""At most this many items that have no file yet get one without ``ricordo sync``."""
WRITTEN_AT_ONCE = 100
MOST_LISTED = 5


class Knowledge:
    """The files of one store's memories, notes and articles.

    The store calls it when a transaction changes items: their files are written before the commit.
    """

    def __init__(
        self,
        store: Store,
        folder: KnowledgeFolder,
        sync: Callable[[], Sync],
        *,
        place: str,
        seals: Seals | None = None,
    ) -> None:
        """``sync`` makes what takes in files. ``seals`` tell what to believe of files that anybody may have written;
        without them, all is believed.
        """
        self.store = store
        self._seals = seals
        self._place: str | None = place
        self.folder = folder
        self._sync = sync
        self._next_look = 0.0
        self.problem = ""
        """Why the last check of the files failed, if it did."""
        store.mirror_to(self)

    def placed(self, item: PreparedItem) -> PreparedItem:
        """The item with the line numbers of its chunks as they are in its file."""
        if not belongs(item.draft):
            return item
        first = first_line(item.draft, is_sealed=self._seals is not None and makes_claims(item.draft))
        down = first - item.draft.first_line
        chunks = (replace(chunk, lines=(chunk.lines[0] + down, chunk.lines[1] + down)) for chunk in item.chunks)
        return replace(item, draft=replace(item.draft, first_line=first), chunks=tuple(chunks))

    @contextmanager
    def committing(self, touched: frozenset[int], *, durable: bool) -> Iterator[None]:
        """Write the files of the touched items; they are put back if the commit inside the block fails."""
        rows = self.store.knowledge.files_of(touched)
        now = self.store.knowledge.items_in_transaction({*rows, *self.store.knowledge.belonging(touched, *_PLACES)})
        if not rows and not now:
            yield
            return
        with self.folder.changes(durable=durable) as changes:
            before = self.store.items.get_many(list(rows))
            _Files(self.store, changes, rows, before, seals=self._seals).write(now)
            changes.flush_names()
            yield

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        """Do a write. If a file was edited at the same moment, take in the edit and do the write again."""
        edited: set[str] = set()
        for _ in range(_ATTEMPTS):
            try:
                answers = write()
            except FileChanged as change:
                edited.add(change.name)
                self._sync().take_in(change.name)
                continue
            numbers = {row.item for row in self.store.knowledge.files(edited).values() if row.item} if edited else ()
            ids = {item.id for item in self.store.items.get_many(sorted(numbers)).values()} if numbers else ()
            return [_with_edit(saved) if saved.status == "updated" and saved.id in ids else saved for saved in answers]
        raise Unavailable(
            f"{', '.join(sorted(edited))} kept changing while it was to be written", hint="Try again in a moment."
        )

    def look_at_once(self) -> None:
        """Have the next ``catch_up`` look at the files, however short ago the last look was."""
        self._next_look = 0.0

    def catch_up(self, *, at_once: bool = False) -> SyncReport | None:
        """Take in the changes to the files since the last look; this is fast when there are none."""
        started = time.monotonic()
        if started < self._next_look and not at_once:
            return None
        self._next_look = started + LOOK_SECONDS
        try:
            report = self._look_and_take_in(started)
        except (StoreError, Unavailable) as error:
            self.problem = error.message
            raise
        self.problem = ""
        return report

    def _look_and_take_in(self, started: float) -> SyncReport | None:
        self._note_folder()
        if not self.folder.exists():
            return self._give_files()
        seen = self._look()
        self._next_look = max(self._next_look, started + LOOK_SHARE * (time.monotonic() - started))
        if not seen.is_quiet:
            if len(seen.fresh) * SECONDS_A_FILE > within_callers(inf):
                raise Unavailable(f"{len(seen.fresh):,} files changed", hint="Take them in: ‹:sync›")
            with self.store.transaction(wait=LONGEST_WAIT):
                pass  # while another process holds the store, searches use what is known so far
            return self._sync().run(seen, asked=False)
        if len(seen.touched) >= NOTED_AT_ONCE:
            self.store.knowledge.note(seen.touched)
        return None if seen.file_count else self._give_files()

    def _look(self) -> FolderLook:
        """What changed in the folder, after what killed processes left beside the files was taken in."""
        seen = look(self.store, self.folder)
        if self.folder.leftovers and recover(self._sync()):
            seen = look(self.store, self.folder)
        return seen

    def _note_folder(self) -> None:
        """Note which folder is set. After a change of folder, the files of the old one do not count as deleted."""
        if self._place is not None:
            self.store.knowledge.set_folder(self._place)
            self._place = None

    def _give_files(self) -> SyncReport | None:
        """Write files for the items of a store that never had any, unless they are very many."""
        if self.store.knowledge.files():
            return None
        missing = self.store.knowledge.without_current_file(*_PLACES)
        if not missing or len(missing) > WRITTEN_UNASKED:
            return None
        return SyncReport(str(self.folder.path), tuple(self._write_files(missing)))

    def sync(self, *, write: bool = False) -> SyncReport:
        """Bring files and store together: take in changes to the files, then write files for items that have none.

        With ``write``, a missing file is written again; without it, the item of a missing file goes to the bin.
        """
        self._note_folder()
        if write:
            self.store.knowledge.note((), look(self.store, self.folder).gone)
        elif not self.folder.exists() and self.store.knowledge.files():
            raise Unavailable(
                f"the knowledge folder {self.folder.path} is gone; nothing was changed",
                hint="Bring it back, or write its files again from the store: ‹:sync --write›",
            )
        seen = self._look()
        report = self._sync().run(seen)
        missing = self.store.knowledge.without_current_file(*_PLACES)
        written = self._write_files(missing)
        self._next_look = 0.0
        self.problem = ""
        return replace(report, items=(*report.items, *written))

    def status(self) -> dict[str, Any]:
        """Where the files are, and how many."""
        rows = self.store.knowledge.files().values()
        broken = [row.name for row in rows if row.problem]
        return {"folder": str(self.folder.path), "files": len(rows), "unreadable": broken}

    def check(self, *, repair: bool) -> Check:
        """Check whether files and store agree; ``repair`` syncs them."""
        self._note_folder()
        differences = self._differences()
        name, rows = "knowledge files", self.store.knowledge.files()
        if differences and repair and (self.folder.exists() or not rows):
            self.sync()
            left = self._differences()
            return Check(name, not left, _some(left or differences), repaired=not left)
        return Check(
            name, not differences, _some(differences) if differences else f"{len(rows):,} agree with the store"
        )

    def _differences(self) -> list[str]:
        """The differences between files and store, as texts; nothing is changed."""
        seen = look(self.store, self.folder)
        differences = [f"{name} is new or changed" for name in seen.fresh]
        differences += [f"{name} is gone" for name in seen.gone]
        differences += [f"{row.name}: {row.problem}" for row in self.store.knowledge.files().values() if row.problem]
        differences += [
            f"{row.name} is gone, and review asks" for row in self.store.knowledge.files().values() if row.is_gone
        ]
        missing = self.store.knowledge.without_current_file(*_PLACES)
        items = self.store.items.get_many(missing)
        return differences + [f"{items[n].ref} is not up to date in its file" for n in missing]

    def _write_files(self, numbers: Sequence[int]) -> list[Synced]:
        """Write the files of items that have no file, or whose file holds an older version."""
        done: list[Synced] = []
        for at in range(0, len(numbers), WRITTEN_AT_ONCE):
            batch = numbers[at : at + WRITTEN_AT_ONCE]
            try:
                self.store.changes.touch(batch)
            except (StoreError, Conflict, Unavailable) as error:
                done += self._each(batch, error)
                continue
            rows = self.store.knowledge.files_of(batch)
            items = self.store.items.get_many(list(batch))
            done += [Synced(str(items[n].ref), "written", row.name, items[n].version) for n, row in rows.items()]
        return done

    def _each(self, numbers: Sequence[int], error: Error) -> list[Synced]:
        """Write files one by one, because one of them stopped the others."""
        if len(numbers) > 1:
            return [synced for n in numbers for synced in self._write_files([n])]
        items = self.store.items.get_many(list(numbers))
        return [
            Synced(str(item.ref), "failed", file_name(item.ref, item.kind), item.version, error=error.to_dict())
            for item in items.values()
        ]


def _some(listed: Sequence[str]) -> str:
    more = f" and {len(listed) - MOST_LISTED:,} more" if len(listed) > MOST_LISTED else ""
    return f"{'; '.join(listed[:MOST_LISTED])}{more}"
