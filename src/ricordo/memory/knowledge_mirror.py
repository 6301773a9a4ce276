"""Mirrors memories, notes and articles in Markdown files: each change of such an item writes its file first.

The store tells the mirror which items a transaction touched, just before it commits; the mirror puts their files in
place, and the transaction commits. The store has one write lock, so processes do this one after the other. If the
process is killed in between, the file is newer than the store, and the next sync takes it in. A file that somebody
edited meanwhile is never overwritten: the transaction is rolled back, the edit becomes a version, and then the write is
done again on top of it and reports that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from ricordo.errors import Conflict, Unavailable
from ricordo.memory.knowledge_files import belongs, file_name, first_line, mark_of, numbered, render
from ricordo.memory.knowledge_folder import FileChanged, FileChanges, KnowledgeFolder, hash_of
from ricordo.memory.knowledge_seals import Seals, makes_claims, unsealed
from ricordo.store.base import Store
from ricordo.store.values import PreparedItem
from ricordo.trust.level import is_vouched
from ricordo.values.items import Item, KnownFile, Saved
from ricordo.values.kinds import DRIVES_WITH_FILES, KNOWLEDGE_FOLDERS

_ATTEMPTS = 50


class KnowledgeMirror:
    """Writes the files of whatever a transaction changes. ``take_in`` syncs one file that was edited meanwhile."""

    def __init__(
        self, store: Store, folder: KnowledgeFolder, take_in: Callable[[str], None], seals: Seals | None = None
    ) -> None:
        self.store = store
        self.folder = folder
        self._take_in = take_in
        self._seals = seals

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
        now = self.store.knowledge.items_in_transaction(
            {*rows, *self.store.knowledge.belonging(touched, tuple(KNOWLEDGE_FOLDERS), tuple(DRIVES_WITH_FILES))}
        )
        if not rows and not now:
            yield
            return
        with self.folder.changes(durable=durable) as changes:
            before = self.store.items.get_many(list(rows))
            _Files(self.store, changes, rows, before, self._seals).write(now)
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
                self._take_in(change.name)
                continue
            return self._with_reasons(answers, edited) if edited else answers
        raise Unavailable(
            f"{', '.join(sorted(edited))} kept changing while it was to be written", hint="Try again in a moment."
        )

    def _with_reasons(self, answers: Sequence[Saved], edited: Collection[str]) -> list[Saved]:
        """Add to the result that an edit of the file was taken in just before."""
        numbers = {row.item for row in self.store.knowledge.files(edited).values() if row.item is not None}
        ids = {item.id for item in self.store.items.get_many(sorted(numbers)).values()}
        return [_with_reason(saved) if saved.status == "updated" and saved.id in ids else saved for saved in answers]


def _with_reason(saved: Saved) -> Saved:
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
        name = row.name if row is not None and self._keeps_name(n, item) else self._new_name(item)
        if row is not None and name != row.name:
            self.changes.move(row.name, name)
            self.gone.append(row.name)
        data = render(item, name)
        if self.seals is not None and makes_claims(item):
            data = self.seals.sealed(data, item.ref, name) if is_vouched(item) else unsealed(data)
        looks = self.changes.put(name, data, None if row is None else _sound(row))
        self.seen.append(KnownFile(name, n, looks.mtime, looks.size, hash_of(data), mark_of(item)))

    def _keeps_name(self, n: int, item: Item) -> bool:
        before = self.before[n]
        return (before.ref, before.kind) == (item.ref, item.kind)

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
