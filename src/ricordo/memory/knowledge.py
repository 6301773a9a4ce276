"""The knowledge folder of a store: takes in what people changed in its files, and writes missing files.

When an item changes, ``knowledge_mirror`` writes its file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.errors import StoreError, Unavailable
from ricordo.memory.knowledge_folder import KnowledgeFolder
from ricordo.memory.knowledge_look import look
from ricordo.memory.knowledge_mirror import KnowledgeMirror
from ricordo.store.base import Store
from ricordo.store.values import Backlog
from ricordo.values.kinds import DRIVES_WITH_FILES, KNOWLEDGE_FOLDERS
from ricordo.values.reports import Check, Synced, SyncReport

if TYPE_CHECKING:
    from ricordo.ingest.pipeline import Pipeline
    from ricordo.memory.knowledge_seals import Seals
    from ricordo.memory.knowledge_sync import Sync
    from ricordo.memory.noticing import FileNoticing

LOOK_SECONDS = 1.0
"""A long-running process checks the folder at most this often, and less often if a check takes long."""
LOOK_SHARE = 20
LONGEST_WAIT = 1.0
NOTED_AT_ONCE = 16
"""If at least this many files have only a new time, the new times are written to the store."""
WRITTEN_UNASKED = 100
"""At most this many items that have no file yet get one without ``ricordo sync``."""
WRITTEN_AT_ONCE = 100
MOST_LISTED = 5


class Knowledge:
    """The files of one store's memories, notes and articles."""

    def __init__(
        self,
        store: Store,
        folder: KnowledgeFolder,
        pipeline: Callable[[], Pipeline],
        backlog: Callable[[], Backlog | None],
        *,
        place: str,
        most_bytes: int,
        noticing: Callable[[], FileNoticing],
        seals: Seals | None = None,
    ) -> None:
        """``seals`` tell what to believe of files that anybody may have written; without them, all is believed."""
        self.store = store
        self._seals = seals
        self._noticing = noticing
        self._place: str | None = place
        self.folder = folder
        self.mirror = KnowledgeMirror(store, folder, self._take_in, seals)
        self._pipeline = pipeline
        self._backlog = backlog
        self._most_bytes = most_bytes
        self._next_look = 0.0
        self.problem = ""
        """Why the last check of the files failed, if it did."""
        store.mirror_to(self.mirror)

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
        seen = look(self.store, self.folder)
        if self.folder.leftovers and self._recover():
            seen = look(self.store, self.folder)
        self._next_look = max(self._next_look, started + LOOK_SHARE * (time.monotonic() - started))
        if not seen.is_quiet:
            with self.store.transaction(wait=LONGEST_WAIT):
                pass  # while another process holds the store, searches use what is known so far
            return self._sync(asked=False).run(seen)
        if len(seen.touched) >= NOTED_AT_ONCE:
            self.store.knowledge.note(seen.touched)
        return None if seen.known else self._give_files()

    def _recover(self) -> bool:
        """Take in what killed processes left beside the files; returns whether there was anything."""
        from ricordo.memory.knowledge_leftovers import recover

        return bool(recover(self.store, self.folder, self._sync(asked=True)))

    def _note_folder(self) -> None:
        """Note which folder is set. After a change of folder, the files of the old one do not count as deleted."""
        if self._place is not None:
            self.store.knowledge.set_folder(self._place)
            self._place = None

    def _give_files(self) -> SyncReport | None:
        """Write files for the items of a store that never had any, unless they are very many."""
        if self.store.knowledge.files():
            return None
        missing = self.store.knowledge.without_current_file(tuple(KNOWLEDGE_FOLDERS), tuple(DRIVES_WITH_FILES))
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
        seen = look(self.store, self.folder)
        if self.folder.leftovers and self._recover():
            seen = look(self.store, self.folder)
        report = self._sync(asked=True).run(seen)
        missing = self.store.knowledge.without_current_file(tuple(KNOWLEDGE_FOLDERS), tuple(DRIVES_WITH_FILES))
        written = self._write_files(missing)
        self._next_look = 0.0
        self.problem = ""
        """Why the last check of the files failed, if it did."""
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
        if differences and repair and (self.folder.exists() or not self.store.knowledge.files()):
            self.sync()
            left = self._differences()
            return Check("knowledge files", not left, _some(left or differences), repaired=not left)
        count = len(self.store.knowledge.files())
        return Check(
            "knowledge files", not differences, _some(differences) if differences else f"{count:,} agree with the store"
        )

    def _differences(self) -> list[str]:
        """The differences between files and store, as texts; nothing is changed."""
        seen = look(self.store, self.folder)
        differences = [f"{name} is new or changed" for name in seen.fresh]
        differences += [f"{name} is gone" for name in seen.gone]
        differences += [f"{row.name}: {row.problem}" for row in self.store.knowledge.files().values() if row.problem]
        missing = self.store.knowledge.without_current_file(tuple(KNOWLEDGE_FOLDERS), tuple(DRIVES_WITH_FILES))
        items = self.store.items.get_many(missing)
        return differences + [f"{items[n].ref} is not up to date in its file" for n in missing]

    def _sync(self, *, asked: bool) -> Sync:
        from ricordo.memory.knowledge_sync import Sync

        return Sync(
            self.store,
            self.folder,
            self._pipeline(),
            self._backlog(),
            most_bytes=self._most_bytes,
            asked=asked,
            seals=self._seals,
            noticing=self._noticing(),
        )

    def _write_files(self, numbers: Sequence[int]) -> list[Synced]:
        """Write the files of items that have no file, or whose file holds an older version."""
        done: list[Synced] = []
        for at in range(0, len(numbers), WRITTEN_AT_ONCE):
            batch = numbers[at : at + WRITTEN_AT_ONCE]
            self.store.changes.touch(batch)
            rows = self.store.knowledge.files_of(batch)
            items = self.store.items.get_many(list(batch))
            done += [Synced(str(items[n].ref), "written", row.name, items[n].version) for n, row in rows.items()]
        return done

    def _take_in(self, name: str) -> None:
        """Take in one file that somebody edited just before Ricordo would have written it."""
        self._sync(asked=True).take_in(name)


def _some(listed: Sequence[str]) -> str:
    more = f" and {len(listed) - MOST_LISTED:,} more" if len(listed) > MOST_LISTED else ""
    return f"{'; '.join(listed[:MOST_LISTED])}{more}"
