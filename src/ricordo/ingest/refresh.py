"""Reads items again from their files and pages: finds out which changed, are new, were renamed or are gone.

A file with the same time and size is not opened; if its bytes are the same, nothing is written. If a file is gone and
another with the same bytes appeared, it was renamed and keeps its history. Pages are fetched with conditional requests,
so that unchanged ones are not sent again. Items that have neither file nor page are left alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, TypeVar

from ricordo.digests import hash_of
from ricordo.errors import Error, MissingExtra, NotFound, StoreError, Unavailable, Unreadable, UsageError
from ricordo.ingest.files import SAME, VALIDATORS, FileReader, Gone, NewFiles, folder_line, with_stored_fields
from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.plugin import ask, brought_as, names_of
from ricordo.sources.disk import FoundFile, disk_ref, is_mailbox, printable, ref_path, under_glob
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState
from ricordo.trust.gate import trusted_source
from ricordo.values.items import Item, Ref, elsewhere
from ricordo.values.kinds import DRIVES_APART, DRIVES_WITHOUT_ORIGIN, REMEMBERED_KINDS
from ricordo.values.provenance import AGENT, PERSON
from ricordo.values.reports import Progress, Refreshed, RefreshReport

if TYPE_CHECKING:
    from ricordo.ingest.add import PageSource

T = TypeVar("T")
REMOVED_AT_ONCE = 200


@dataclass(slots=True)
class Work:
    """What to check: known items by number, files that may be new, and entries that could not be read."""

    items: dict[int, Ref] = field(default_factory=dict)
    files: dict[Path, FoundFile] = field(default_factory=dict)
    problems: dict[Path, str] = field(default_factory=dict)


class Refresher:
    """One refresh: its options, and the report it builds up."""

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        files: FileReader,
        backlog: Backlog | None,
        *,
        progress: Callable[[Progress], None] | None = None,
        page_reader: Callable[[], PageSource | None],
    ) -> None:
        self.store = store
        self.pipeline = pipeline
        self.files = files
        self.page_reader = page_reader
        self.backlog = backlog
        self.progress = progress
        self.done: list[Refreshed] = []
        self.notes: list[str] = []
        self.total = 0
        self.files_of_items: dict[int, Path] = {}
        """The files of items on other drives than ``disk``, by number."""
        self.refs = store.machines.refs()
        self.roots = [Path(root) for root, _ in store.files.roots()]
        self.lines = store.files.descriptions()
        self.new = NewFiles(store, self.refs)
        self.again: list[Path] = []
        """Files that were passed over because their bytes were those of an item that is gone or changed now."""
        self.folders: list[Path] = []
        """The folders that were named."""
        self.started = time.monotonic()

    def everything(self) -> Work:
        """Every item, and every file below the roots, but for files of other machines.

        An item whose ref names a file, but which was never read from it, is left alone, because an agent or an import
        may have named any file of this machine.
        """
        below = [*self.store.items.refs_below(None, "/"), *chain(*map(self._below_apart, DRIVES_APART))]
        refs = self._of_this_machine({n: ref for n, ref, _ in below})
        were_read = self.store.files.states([n for n, ref in refs.items() if ref.drive == "disk"])
        work = Work({n: ref for n, ref in refs.items() if ref.drive != "disk" or n in were_read})
        for root, globs in self.store.files.roots():
            self._add_files(work, Path(root), globs)
        return work

    def named(self, refs: Iterable[Ref]) -> Work:
        """The items at these refs, or below them; and new files below folders that were added before."""
        work = Work()
        for ref in refs:
            below = self._of_this_machine(found := self.items_below(ref))
            if not below and (others := self.store.machines.elsewhere(map(str, [*found.values(), ref]))):
                raise elsewhere(ref, next(iter(others.values())))
            work.items |= below
            folder = ref_path(ref, self.refs) if ref.drive == "disk" else None
            is_there = bool(below)
            if folder is not None:
                self.folders.append(folder)
                for more in ask("items_of_folder", self, ref, folder):
                    work.items |= more
                    is_there = is_there or bool(more)
                is_there = (self._add_new_files(work, [folder]) and folder.exists()) or is_there
            if not is_there:
                self.store.items.require(ref)  # says not found, with the nearest refs
                raise NotFound(f"{ref} is in the bin", hint=f"‹:restore {ref}› brings it back.")
        return work

    def _of_this_machine(self, refs: dict[int, Ref]) -> dict[int, Ref]:
        """The items without the files of other machines, which only these read again; a note names the machines."""
        others = Counter(self.store.machines.elsewhere(str(ref) for ref in refs.values()).values())
        for name, count in sorted(others.items()):
            self.notes.append(
                f"{count:,} file{'' if count == 1 else 's'} of the machine {name} left alone, which reads them itself;"
                f" if it is gone, 'ricordo roots move --from-machine {name}' takes them over"
            )
        return {n: ref for n, ref in refs.items() if self.refs.is_here(ref)}

    def _below_apart(self, drive: str, path: str = "/") -> list[tuple[int, Ref, str]]:
        """Items of a drive that is apart: they are archived from the start."""
        return self.store.items.refs_below(drive, path, ("archived",))

    def items_below(self, ref: Ref) -> dict[int, Ref]:
        """The items at a ref or below it; where there are none, those whose path matches it as a glob."""
        if ref.drive in DRIVES_APART:
            return {number: found for number, found, _ in self._below_apart(ref.drive, ref.path)}
        below = {number: found for number, found, _ in self.store.items.refs_below(ref.drive, ref.path)}
        found = under_glob(ref.path) if not below else None
        if found is None:
            return below
        folder, matches = found
        return {n: one for n, one, _ in self.store.items.refs_below(ref.drive, folder) if matches(one.path)}

    def below(self, paths: Iterable[Path], named: Iterable[Path] = ()) -> Work:
        """The items at or below these paths and the files there, however many; ``named`` files wherever they are."""
        work = Work()
        wanted = list(paths)
        for path in wanted:
            below = self.store.items.refs_below("disk", disk_ref(path, self.refs).path)
            work.items |= {n: ref for n, ref, _ in below if self.refs.is_here(ref)}
        self._add_new_files(work, wanted)
        for path in named:
            self._add_files(work, path, ())
        return work

    def _add_new_files(self, work: Work, paths: Sequence[Path]) -> bool:
        """Look for files at or below those of the paths that are below roots; return whether any path is."""
        found = False
        for name, globs in self.store.files.roots():
            root = Path(name)
            inside = [path for path in paths if path == root or root in path.parents]
            if any(path == root or path in root.parents for path in paths):
                self._add_files(work, root, globs)
            elif inside:
                self._add_files(work, root, globs, inside)
            found = found or bool(inside)
        return found

    def _add_files(self, work: Work, path: Path, globs: Sequence[str], only: Sequence[Path] | None = None) -> None:
        if not path.exists():
            return
        for entry in self.files.at(path, globs, only):
            if isinstance(entry, FoundFile):
                work.files[entry.path] = entry
            elif entry.failed:
                work.problems[entry.path] = entry.reason

    def run(self, work: Work, *, prune: bool = False) -> RefreshReport:
        """Check everything. A missing file is always reported, and its item is removed only with ``prune``."""
        fresh = self._fresh(work)
        self.total = len(work.items) + len(fresh)
        missing: dict[int, Ref] = {}
        touched: dict[int, FileState] = {}
        states = self.store.files.states(work.items)
        for files_of_items in ask("item_files", self, {n: ref for n, ref in work.items.items() if n in states}):
            self.files_of_items |= files_of_items
        files = {n: ref for n, ref in work.items.items() if ref.drive == "disk" or n in self.files_of_items}
        self.save(
            (self._look(n, ref, states.get(n), missing, touched=touched) for n, ref in files.items()), "overwrite"
        )
        self.store.files.note(touched)
        others = {n: ref for n, ref in work.items.items() if n not in files}
        drives = names_of("drives")
        pages = {n: ref for n, ref in others.items() if ref.drive not in drives}
        self._refetch(self._read_by_us(pages, states), states)
        for drive in drives:
            if there := {n: ref for n, ref in others.items() if ref.drive == drive}:
                brought_as("drives", drive)(self, there)
        fresh |= self._fresh(Work(files={path: found for path in self.again if (found := self._below_root(path))}))
        gone = Gone({n: (ref, states[n].hash) for n, ref in missing.items() if n in states and ref.drive == "disk"})
        last = sorted(fresh.items(), key=lambda file: file[1].is_link)
        self.save((self._take(ref, entry, gone) for ref, entry in last), "skip")
        self.new.note()
        left = {n: ref for n, ref in missing.items() if n not in gone.followed}
        kept = self._below_gone_roots(left) if prune else left
        if prune:
            self._remove({n: ref for n, ref in left.items() if n not in kept})
        for ref in kept.values():
            self.note(Refreshed(str(ref), "missing"))
        for path, reason in work.problems.items():
            name = str(disk_ref(printable(str(path)), self.refs))
            self.note(Refreshed(name, "failed", Unreadable(reason).to_dict()))
        return RefreshReport(tuple(self.done), notes=tuple(self.notes))

    def _read_by_us(self, items: Mapping[int, Ref], states: Mapping[int, FileState]) -> dict[int, Ref]:
        """The items that may be read again. A note or memory under an address was read nowhere: it is skipped."""
        unsure = [n for n, ref in items.items() if n not in states and ref.drive not in DRIVES_WITHOUT_ORIGIN]
        known = self.store.items.get_many(unsure)
        written = {n: item for n, item in known.items() if item.provenance.author in (PERSON, AGENT)}
        by_hand = {n for n, item in written.items() if item.kind in REMEMBERED_KINDS}
        for n in sorted(by_hand):
            self.note(Refreshed(str(items[n]), "skipped"))
        return {n: ref for n, ref in items.items() if n not in by_hand}

    def _fresh(self, work: Work) -> dict[Ref, FoundFile]:
        """The files that have no item yet."""
        refs = {disk_ref(path, self.refs): entry for path, entry in work.files.items()}
        known = self.store.files.states_by_path("disk", [ref.path for ref in refs])
        return {ref: entry for ref, entry in refs.items() if ref.path not in known}

    def save(self, incoming: Iterable[Incoming | None], policy: str) -> None:
        """Save everything that changed, one batch per transaction."""
        wanted = (one for one in incoming if one is not None)
        for saved in self.pipeline.save_all(wanted, on_conflict=policy, durable=False, backlog=self.backlog):
            status = "unchanged" if saved.status == "skipped" else saved.status
            self.note(Refreshed(saved.ref, status, saved.error, saved.chunks))
            if saved.reason and status in ("created", "updated"):
                self.notes.append(f"{saved.ref}: {saved.reason}")

    def _look(
        self, n: int, ref: Ref, state: FileState | None, missing: dict[int, Ref], *, touched: dict[int, FileState]
    ) -> Incoming | None:
        """The item's file as it is now, if it has to be saved again."""
        path = self.files_of_items.get(n) or ref_path(ref, self.refs)
        try:
            entry = self._found(path)
        except OSError as error:
            problem = Unreadable(f"cannot be read: {error.strerror or error}")
            self.note(Refreshed(str(ref), "failed", problem.to_dict()))
            return None
        if entry is not None and state is not None and state.looks_like(entry.mtime_ns, entry.size):
            self.note(Refreshed(str(ref), "unchanged"))
            return None
        if state is not None:
            self.again += map(Path, state.fields.get(SAME, ()))
        if entry is None:
            missing[n] = ref
            return None
        entry = self.files.below(entry, self.roots)
        data = self._try(ref, lambda: self.files.bytes_of(entry))
        if data is None:
            return None
        if state is not None and state.hash == hash_of(data):
            touched[n] = replace(state, mtime=entry.mtime_ns, size=entry.size)
            self.note(Refreshed(str(ref), "unchanged"))
            return None
        return self._try(ref, lambda: self._incoming(ref, entry, data, self.store.items.get(n), state=state))

    def _found(self, path: Path) -> FoundFile | None:
        """The file or mail at a path, if it is there. A mailbox as a whole is none: its mails are."""
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self.files.mail_at(path)
        if S_ISDIR(status.st_mode) or is_mailbox(path):
            return None
        return FoundFile(path, status.st_size, status.st_mtime_ns)

    def _below_root(self, path: Path) -> FoundFile | None:
        """The file at a path, if it is there and still below an added folder."""
        with suppress(OSError):
            entry = self._found(path) if self._root_of(path) else None
            return self.files.below(entry, self.roots) if entry is not None else None
        return None

    def _root_of(self, path: Path) -> Path | None:
        return next((root for root in self.roots if root in path.parents), None)

    def _refetch(self, items: Mapping[int, Ref], states: Mapping[int, FileState]) -> None:
        """Fetch pages again and save each at once, because the next may take long. Pages that are gone are kept, and
        all are left alone if no plugin reads pages.
        """
        reader: PageSource | None = None
        left_alone = 0
        try:
            for n, ref in items.items():
                state = states.get(n)
                if ref.drive in DRIVES_WITHOUT_ORIGIN and not (state is not None and VALIDATORS in state.fields):
                    self.note(Refreshed(str(ref), "skipped"))
                    continue
                reader = reader or self.page_reader()
                try:
                    item = self.store.items.get(n)
                    url = source_url(item)
                    if reader is None:
                        self.note(Refreshed(str(ref), "skipped"))
                        left_alone += 1
                        continue
                    now = reader.again(url, item, state)
                except StoreError:
                    raise
                except NotFound as error:
                    self.note(Refreshed(str(ref), "missing", error.to_dict()))
                except Error as error:
                    self.note(Refreshed(str(ref), "failed", error.to_dict()))
                else:
                    if isinstance(now, Incoming):
                        self.notes += [f"{ref}: {warning}" for warning in now.parsed.warnings]
                        self.save([now], "overwrite")
                        continue
                    if now is not None:
                        self.store.files.note({n: now})
                    self.note(Refreshed(str(ref), "unchanged"))
        finally:
            if reader is not None:
                reader.close()
        if left_alone:
            self.notes.append(
                f"{left_alone:,} page{'' if left_alone == 1 else 's'} left alone: the plugin 'web', which reads pages,"
                " is not installed"
            )

    def _incoming(
        self, ref: Ref, entry: FoundFile, data: bytes, item: Item | None, *, state: FileState | None
    ) -> Incoming:
        """The file as it is now; fields that people set on the item are kept."""
        line = "" if item else folder_line(entry.path, self.lines)
        fields = {"context": line} if line else {}
        incoming = self.files.incoming(ref, entry, data, item.kind if item else "document", fields=fields)
        self.notes += [f"{ref}: {warning}" for warning in incoming.parsed.warnings]
        if item is None or incoming.file is None:
            return incoming
        return with_stored_fields(incoming, item, state.fields if state is not None else {})

    def _take(self, ref: Ref, entry: FoundFile, gone: Gone) -> Incoming | None:
        """Handle a new file: if it has the content of a missing one, it was renamed, else it is created."""
        data = self._try(ref, lambda: self.files.bytes_of(entry))
        if data is None:
            return None
        n = gone.like(ref, data)
        if n is None and self.new.reason(self._root_of(entry.path), ref, entry.path, data):
            return None
        if n is None:
            return self._try(ref, lambda: self._incoming(ref, entry, data, None, state=None))
        if not self._try(ref, lambda: self._move(n, ref, entry, data)):
            gone.followed.discard(n)
        return None

    def _move(self, n: int, ref: Ref, entry: FoundFile, data: bytes) -> bool:
        state = FileState(entry.mtime_ns, entry.size, hash_of(data), self.store.files.states([n])[n].fields)
        draft = replace(self.store.items.draft(n, self.store.items.get(n).version), ref=ref)
        prepared = replace(self.pipeline.prepare_draft(draft, state), origin=str(entry.path))
        saved = self.store.changes.rewrite(n, prepared, backlog=self.backlog)
        self.note(Refreshed(str(ref), "moved", chunks=saved.chunks))
        return True

    def _remove(self, gone: Mapping[int, Ref]) -> None:
        numbers = list(gone)
        for at in range(0, len(numbers), REMOVED_AT_ONCE):
            batch = numbers[at : at + REMOVED_AT_ONCE]
            with trusted_source():
                refused = self.store.changes.remove_many(batch)
            for n in batch:
                error = refused[n].to_dict() if n in refused else None
                self.note(Refreshed(str(gone[n]), "failed" if error else "removed", error))

    def _below_gone_roots(self, missing: Mapping[int, Ref]) -> dict[int, Ref]:
        """Those missing items whose whole root folder is gone, because it was moved or its disk is not connected."""
        kept: dict[int, Ref] = {}
        for root in [root for root, _ in self.store.files.roots() if not Path(root).exists()]:
            start = f"{disk_ref(Path(root), self.refs).path}/"
            below = {n: ref for n, ref in missing.items() if ref.drive == "disk" and ref.path.startswith(start)}
            if below:
                self.notes.append(
                    f"{root} is gone, so its items are kept: 'ricordo roots move {root} NEW' says where it is"
                    f" now, 'ricordo rm {root}/' removes them"
                )
            kept |= below
        return kept

    def _try(self, ref: Ref, action: Callable[[], T]) -> T | None:
        """One bad file never stops the rest."""
        try:
            return action()
        except Error as error:
            if isinstance(error, Unavailable | StoreError) and not isinstance(error, MissingExtra):
                raise  # the store is at fault, not the file
            self.note(Refreshed(str(ref), "failed", error.to_dict()))
        return None

    def note(self, outcome: Refreshed) -> None:
        self.done.append(outcome)
        if self.progress is not None:
            count = len(self.done)
            total = max(self.total, count)
            rate = count / max(time.monotonic() - self.started, 1e-6)
            self.progress(Progress(count, total, outcome.ref, "refreshing", rate, (total - count) / rate))


def source_url(item: Item) -> str:
    """The URL that an item is fetched from; a page's ref is its URL."""
    if item.fields.source_url:
        return item.fields.source_url
    if item.ref.drive == "url":
        return item.ref.path[1:]
    raise UsageError(f"{item.ref} cannot be read again: its source URL is not known", hint="Add it again by its URL.")
