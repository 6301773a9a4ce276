"""A store whose memories, notes and articles live in files: every write of such an item writes its file first.

The file is put in its place inside the transaction that changes the item, just before that commits: the store's one
write lock keeps all processes in order. Killed in between, the file is ahead of the store, and the next look takes it
in. A file that somebody changed meanwhile is never written over: the transaction is given up, the change becomes a
version, and then the write is done on top of it, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from ricordo.errors import Conflict, Error, Unavailable
from ricordo.memory.knowledge_files import (
    FOLDERS,
    OWN_DRIVES,
    belongs,
    file_name,
    first_line,
    mark_of,
    numbered,
    render,
)
from ricordo.memory.knowledge_folder import Changes, FileChanged, KnowledgeFolder, hash_of
from ricordo.memory.knowledge_look import look
from ricordo.store.base import Backlog, PreparedItem, Store
from ricordo.values.items import Item, KnownFile, Ref, Saved
from ricordo.values.reports import Check, Synced, SyncReport

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord, Record
    from ricordo.ingest.pipeline import Pipeline
    from ricordo.memory.knowledge_sync import Sync

LOOK_SECONDS = 1.0
"""A process that stays looks at the folder at most this often, and less often when that takes long."""
LOOK_SHARE = 20
LONGEST_WAIT = 1.0
NOTED_AT_ONCE = 16
"""So many files that were only touched are worth a write of their own."""
WRITTEN_UNASKED = 100
"""So many items that have no file yet get one without being asked for it."""
WRITTEN_AT_ONCE = 100
MOST_TOLD = 5
_ATTEMPTS = 50


class KnowledgeStore:
    """Stands in a store's place; what does not change such an item goes to the store itself."""

    def __init__(
        self,
        inner: Store,
        folder: KnowledgeFolder,
        pipeline: Callable[[], Pipeline],
        backlog: Callable[[], Backlog | None],
        *,
        place: str,
        most_bytes: int,
    ) -> None:
        self.inner = inner
        self._place: str | None = place
        self.folder = folder
        self._pipeline = pipeline
        self._backlog = backlog
        self._most_bytes = most_bytes
        self._next_look = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    # Looking at the folder

    def catch_up(self, *, at_once: bool = False) -> SyncReport | None:
        """Take in what was done to the files since the last look; next to nothing when that is nothing."""
        started = time.monotonic()
        if started < self._next_look and not at_once:
            return None
        self._next_look = started + LOOK_SECONDS
        self._settle()
        if not self.folder.exists():
            return self._give_files()
        seen = look(self.inner, self.folder)
        self._next_look = max(self._next_look, started + LOOK_SHARE * (time.monotonic() - started))
        if not seen.is_quiet:
            with self.inner.transaction(wait=LONGEST_WAIT):
                pass  # while another process writes for long, searches go on with what is known
            return self._sync(asked=False).run(seen)
        if len(seen.touched) >= NOTED_AT_ONCE:
            self.inner.note_knowledge(seen.touched)
        return None if seen.known else self._give_files()

    def _settle(self) -> None:
        """Files in a folder that was set anew are not those that were known: they are none that vanished."""
        if self._place is not None:
            self.inner.settle_knowledge(self._place)
            self._place = None

    def _give_files(self) -> SyncReport | None:
        """Write files for the items of a store that never had any, unless they are very many."""
        if self.inner.knowledge_files():
            return None
        missing = self.inner.adrift(tuple(FOLDERS), tuple(OWN_DRIVES))
        if not missing or len(missing) > WRITTEN_UNASKED:
            return None
        return SyncReport(str(self.folder.path), tuple(self._write_files(missing)))

    def sync(self, *, write: bool = False) -> SyncReport:
        """Bring files and store together: take in what was done to the files, then write what has no file yet.

        With ``write`` a file that is missing is written again, instead of taking its item to the bin.
        """
        self._settle()
        if write:
            self.inner.note_knowledge((), look(self.inner, self.folder).gone)
        elif not self.folder.exists() and self.inner.knowledge_files():
            raise Unavailable(
                f"the knowledge folder {self.folder.path} is gone; nothing was changed",
                hint="Bring it back, or have its files written again from the store: ricordo sync --write",
            )
        self.folder.clear_leftovers()
        report = self._sync(asked=True).run(look(self.inner, self.folder))
        missing = self.inner.adrift(tuple(FOLDERS), tuple(OWN_DRIVES))
        written = self._write_files(missing)
        self._next_look = 0.0
        return replace(report, items=(*report.items, *written))

    def status(self) -> dict[str, Any]:
        """Where the files are, and how many."""
        rows = self.inner.knowledge_files().values()
        broken = [row.name for row in rows if row.problem]
        return {"folder": str(self.folder.path), "files": len(rows), "unreadable": broken}

    def check(self, *, repair: bool) -> Check:
        """Whether files and store agree; to ``repair`` is to sync."""
        self._settle()
        told = self._differences()
        if told and repair and (self.folder.exists() or not self.inner.knowledge_files()):
            self.sync()
            left = self._differences()
            return Check("knowledge files", not left, _some(left or told), repaired=not left)
        count = len(self.inner.knowledge_files())
        return Check("knowledge files", not told, _some(told) if told else f"{count:,} agree with the store")

    def _differences(self) -> list[str]:
        """How files and store disagree, in words; nothing is changed."""
        seen = look(self.inner, self.folder)
        told = [f"{name} is new or changed" for name in seen.fresh]
        told += [f"{name} is gone" for name in seen.gone]
        told += [f"{row.name}: {row.problem}" for row in self.inner.knowledge_files().values() if row.problem]
        missing = self.inner.adrift(tuple(FOLDERS), tuple(OWN_DRIVES))
        items = self.inner.items_by_number(missing)
        return told + [f"{items[n].ref} is not in its file" for n in missing]

    def _sync(self, *, asked: bool) -> Sync:
        from ricordo.memory.knowledge_sync import Sync

        return Sync(
            self.inner, self.folder, self._pipeline(), self._backlog(), most_bytes=self._most_bytes, asked=asked
        )

    def _write_files(self, numbers: Sequence[int]) -> list[Synced]:
        """Write the files of items that have none, or whose file is behind."""
        done: list[Synced] = []
        for at in range(0, len(numbers), WRITTEN_AT_ONCE):
            batch = numbers[at : at + WRITTEN_AT_ONCE]
            self._kept(list, batch, also=batch)
            rows = self.inner.knowledge_files_of(batch)
            items = self.inner.items_by_number(list(batch))
            done += [Synced(str(items[n].ref), "written", row.name, items[n].version) for n, row in rows.items()]
        return done

    # Writes

    def save(
        self,
        prepared: Sequence[PreparedItem],
        *,
        on_conflict: str = "overwrite",
        durable: bool = False,
        backlog: Backlog | None = None,
        still_wanted: Callable[[], None] | None = None,
    ) -> list[Saved]:
        """As the store does; items that live in files are written there first."""

        placed = [_in_file(item) for item in prepared]

        def write() -> list[Saved]:
            return self.inner.save(
                placed, on_conflict=on_conflict, durable=durable, backlog=backlog, still_wanted=still_wanted
            )

        refs = [item.draft.ref for item in prepared if belongs(item.draft) or item.draft.ref.drive in OWN_DRIVES]
        return self._kept(write, self._numbers(refs), durable=durable) if refs else write()

    def rewrite(
        self,
        n: int,
        item: PreparedItem,
        *,
        durable: bool = False,
        backlog: Backlog | None = None,
        base: int | None = None,
    ) -> Saved:
        """As the store does, in the file first."""

        def write() -> list[Saved]:
            return [self.inner.rewrite(n, _in_file(item), durable=durable, backlog=backlog, base=base)]

        return self._kept(write, [n], durable=durable)[0]

    def succeed(self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None) -> Saved:
        """As the store does: one file is made, the other marked as archived."""
        return self._kept(lambda: [self.inner.succeed(old, _in_file(item), link, backlog=backlog)], [old])[0]

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        """As the store does; the files stay, and say so."""
        return self._kept(lambda: self.inner.archive(numbers, successor=successor, link=link), numbers)

    def remove(self, n: int, *, purge: bool = False) -> None:
        """As the store does; the file goes too."""
        if not purge:
            self._kept(lambda: self._removed(n), [n])
            return
        row = self.inner.knowledge_files_of([n]).get(n)
        with self.folder.changes(durable=True) as changes:
            if row is not None:
                changes.take(row.name, None)
            self.inner.remove(n, purge=True)
        if row is not None:
            self.inner.note_knowledge((), [row.name])

    def _removed(self, n: int) -> list[Saved]:
        self.inner.remove(n)
        return []

    def remove_many(self, numbers: Sequence[int]) -> dict[int, Error]:
        """As the store does; the files go too."""
        refused: dict[int, Error] = {}

        def write() -> list[Saved]:
            refused.clear()
            refused.update(self.inner.remove_many(numbers))
            return []

        self._kept(write, numbers)
        return refused

    def importing(self, on_conflict: str, backlog: Backlog | None) -> KnowledgeImporter:
        """Takes records of an export into this store, and into files."""
        return KnowledgeImporter(self, self.inner.importing(on_conflict, backlog))

    def _numbers(self, refs: Sequence[Ref]) -> list[int]:
        return [n for ref in refs if (n := self.inner.number(ref)) is not None]

    def _kept(
        self, write: Callable[[], list[Saved]], numbers: Collection[int], *, durable: bool = True,
        also: Collection[int] = (),
    ) -> list[Saved]:  # fmt: skip
        """Do a write, and give the items it touches their files, in one transaction.

        ``numbers`` are the items it may change beside those it answers; ``also`` get their files whatever it does.
        """
        taken: set[str] = set()
        for _ in range(_ATTEMPTS):
            rows = self.inner.knowledge_files_of(numbers)
            try:
                with self.folder.changes(durable=durable) as changes, self.inner.transaction(durable=durable):
                    rows = self.inner.knowledge_files_of(numbers)
                    before = self.inner.items_by_number(list(rows))
                    answers = write()
                    ids = [saved.id for saved in answers if saved.id and saved.status in ("created", "updated")]
                    now = self.inner.standing({*rows, *also}, ids)
                    _Mirror(self.inner, changes, rows, before).write(now)
                    changes.settle()
            except FileChanged as change:
                taken.add(change.name)
                self._sync(asked=True).run(look(self.inner, self.folder, only=[change.name]), only=[change.name])
                continue
            self.inner.maintain()
            return [self._told(saved, rows, taken) for saved in answers] if taken else answers
        raise Unavailable(
            f"{', '.join(sorted(taken))} kept changing while it was to be written", hint="Try again in a moment."
        )

    def _told(self, saved: Saved, rows: Mapping[int, KnownFile], taken: Collection[str]) -> Saved:
        """Say it when a change made in the file was taken in just before."""
        if saved.status != "updated" or not any(row.name in taken for row in rows.values()):
            return saved
        meanwhile = f"its file was changed meanwhile: that is kept as version {saved.previous_version}"
        return replace(saved, reason=f"{saved.reason}; {meanwhile}" if saved.reason else meanwhile)


class _Mirror:
    """Writes the files of the items that one transaction touched."""

    def __init__(
        self, store: Store, changes: Changes, rows: Mapping[int, KnownFile], before: Mapping[int, Item]
    ) -> None:
        self.store = store
        self.changes = changes
        self.rows = rows
        self.before = before
        self.seen: list[KnownFile] = []
        self.gone: list[str] = []

    def write(self, now: Mapping[int, Item]) -> None:
        """Bring the files to what the items are now; those that go make room first."""
        for n, row in self.rows.items():
            item = now.get(n)
            if item is None or item.state == "deleted" or not belongs(item):
                self.changes.take(row.name, _sound(row))
                self.gone.append(row.name)
        for n, item in now.items():
            if item.state != "deleted" and belongs(item):
                self._put(n, item)
        self.store.note_knowledge(self.seen, self.gone)

    def _put(self, n: int, item: Item) -> None:
        row = self.rows.get(n)
        if row is not None and row.mark == mark_of(item):
            return
        name = row.name if row is not None and self._keeps_name(n, item) else self._new_name(item)
        if row is not None and name != row.name:
            self.changes.move(row.name, name)
            self.gone.append(row.name)
        data = render(item, name)
        looks = self.changes.put(name, data, None if row is None else _sound(row))
        self.seen.append(KnownFile(name, n, looks.mtime, looks.size, hash_of(data), mark_of(item)))

    def _keeps_name(self, n: int, item: Item) -> bool:
        before = self.before[n]
        return (before.ref, before.kind) == (item.ref, item.kind)

    def _new_name(self, item: Item) -> str:
        """A name that is free, whatever the system makes of capital letters."""
        best = file_name(item.ref, item.kind)
        given = {row.name.casefold() for row in self.seen}
        for number in count(1):
            name = best if number == 1 else numbered(best, number)
            is_known = self.store.has_knowledge_file(name) and name not in self.gone
            if not is_known and name.casefold() not in given:
                return name
        raise AssertionError("there is always another number")


def _in_file(item: PreparedItem) -> PreparedItem:
    """The item with the lines of its chunks counted as in its file."""
    if not belongs(item.draft):
        return item
    first = first_line(item.draft)
    down = first - item.draft.first_line
    chunks = (replace(chunk, lines=(chunk.lines[0] + down, chunk.lines[1] + down)) for chunk in item.chunks)
    return replace(item, draft=replace(item.draft, first_line=first), chunks=tuple(chunks))


def _some(told: Sequence[str]) -> str:
    more = f" and {len(told) - MOST_TOLD:,} more" if len(told) > MOST_TOLD else ""
    return f"{'; '.join(told[:MOST_TOLD])}{more}"


def _sound(row: KnownFile) -> KnownFile:
    """A file that cannot be read holds something that is not in the store, and is not written over."""
    if row.problem:
        raise Conflict(
            f"{row.name} was changed by hand, and {row.problem}; nothing was written", hint="Mend it, then try again."
        )
    return row


class KnowledgeImporter:
    """Takes in records, and gives their items files."""

    def __init__(self, store: KnowledgeStore, inner: Any) -> None:
        self.store = store
        self.inner = inner

    def items(self, batch: Sequence[ItemRecord]) -> list[Saved]:
        refs = [item.ref for item in batch if item.ref.drive in OWN_DRIVES]
        return self.store._kept(lambda: self.inner.items(batch), self.store._numbers(refs))

    def others(self, batch: Sequence[Record]) -> Mapping[str, int]:
        return cast("Mapping[str, int]", self.inner.others(batch))
