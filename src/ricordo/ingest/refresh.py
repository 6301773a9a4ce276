"""Reads items again from their files and pages: finds out which changed, are new, were renamed or are gone.

A file with the same time and size is not opened; if its bytes are the same, nothing is written. If a file is gone and
another with the same bytes appeared, it was renamed and keeps its history. Pages are fetched with conditional requests,
so that unchanged ones are not sent again. Items that have neither file nor page are left alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, TypeVar

from ricordo.errors import Error, MissingExtra, NotFound, StoreError, Unavailable, Unreadable
from ricordo.ingest.files import FileReader, Gone, hash_of, keeping
from ricordo.ingest.history import DRIVE, History, repository_of, tree_around, trees_of
from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.sources.base import VALIDATORS
from ricordo.sources.disk import FoundFile, disk_ref, is_mailbox, printable, ref_path, under_glob
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState
from ricordo.values.file_refs import FileRefs, elsewhere
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import DRIVES_WITHOUT_ORIGIN, REMEMBERED_KINDS
from ricordo.values.provenance import AGENT, PERSON
from ricordo.values.reports import Progress, Refreshed, RefreshReport

if TYPE_CHECKING:
    from ricordo.ingest.pages import PageReader

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
        progress: Callable[[Progress], None] | None = None,
        *,
        pages: Callable[[], PageReader],
    ) -> None:
        self.store = store
        self.pipeline = pipeline
        self.files = files
        self.pages = pages
        self.backlog = backlog
        self.progress = progress
        self.done: list[Refreshed] = []
        self.notes: list[str] = []
        self.total = 0
        self.skill_files: Mapping[int, Path] = {}
        self.refs = store.machines.refs()
        self.roots = [Path(root) for root, _ in store.files.roots()]
        self.folders: list[Path] = []
        """The folders that were named."""
        self.started = time.monotonic()

    def everything(self) -> Work:
        """Every item, and every file below the roots, but for files of other machines.

        An item whose ref names a file, but which was never read from it, is left alone, because an agent or an import
        may have named any file of this machine.
        """
        refs = self._of_this_machine({n: ref for n, ref, _ in self.store.items.refs_below(None, "/")})
        were_read = self.store.files.states([n for n, ref in refs.items() if ref.drive == "disk"])
        work = Work({n: ref for n, ref in refs.items() if ref.drive != "disk" or n in were_read})
        for root, globs in self.store.files.roots():
            self._add_files(work, Path(root), globs)
        return work

    def named(self, refs: Iterable[Ref]) -> Work:
        """The items at these refs, or below them; and new files below folders that were added before."""
        work = Work()
        for ref in refs:
            below = self._of_this_machine(found := self._below(ref))
            if not below and (others := self.store.machines.elsewhere(map(str, [*found.values(), ref]))):
                raise elsewhere(ref, next(iter(others.values())))
            work.items |= below
            folder = ref_path(ref, self.refs) if ref.drive == "disk" else None
            commits = self._commits(ref, folder) if folder is not None else {}
            work.items |= commits
            is_there = folder is not None and self._add_new_files(work, [folder]) and folder.exists()
            if not below and not commits and not is_there:
                self.store.items.require(ref)  # says not found, with the nearest refs
                raise NotFound(f"{ref} is in the bin", hint=f"‹:restore {ref}› brings it back.")
        return work

    def _commits(self, ref: Ref, folder: Path) -> dict[int, Ref]:
        """The commits of repositories at or below a folder, or of the one of which it is a work tree."""
        self.folders.append(folder)
        tree = tree_around(folder)
        of_main = self._below(Ref(DRIVE, disk_ref(tree[1], self.refs).path)) if tree is not None else {}
        return self._below(Ref(DRIVE, ref.path)) | of_main

    def _of_this_machine(self, refs: dict[int, Ref]) -> dict[int, Ref]:
        """The items without the files of other machines, which only these read again; a note names the machines."""
        others = Counter(self.store.machines.elsewhere(str(ref) for ref in refs.values()).values())
        for name, count in sorted(others.items()):
            self.notes.append(
                f"{count:,} file{'' if count == 1 else 's'} of the machine {name} left alone, which reads them itself;"
                f" if it is gone, 'ricordo roots move --from-machine {name}' takes them over"
            )
        return {n: ref for n, ref in refs.items() if self.refs.is_here(ref)}

    def _below(self, ref: Ref) -> dict[int, Ref]:
        """The items at a ref or below it; where there are none, those whose path matches it as a glob."""
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
        skills = [n for n, ref in work.items.items() if ref.drive == "skill" and n in states]
        self.skill_files = _skill_files(self.store.items.get_many(skills), self.refs) if skills else {}
        files = {n: ref for n, ref in work.items.items() if ref.drive == "disk" or n in self.skill_files}
        self._save((self._look(n, ref, states.get(n), missing, touched) for n, ref in files.items()), "overwrite")
        self.store.files.note(touched)
        others = self._read_by_us({n: ref for n, ref in work.items.items() if n not in files}, states)
        self._refetch({n: ref for n, ref in others.items() if ref.drive != DRIVE}, states)
        self._follow_histories({ref for ref in others.values() if ref.drive == DRIVE})
        gone = Gone({n: (ref, states[n].hash) for n, ref in missing.items() if n in states and ref.drive == "disk"})
        self._save((self._take(ref, entry, gone) for ref, entry in fresh.items()), "skip")
        left = {n: ref for n, ref in missing.items() if n not in gone.followed}
        kept = self._below_gone_roots(left) if prune else left
        if prune:
            self._remove({n: ref for n, ref in left.items() if n not in kept})
        for ref in kept.values():
            self._note(Refreshed(str(ref), "missing"))
        for path, reason in work.problems.items():
            name = str(disk_ref(printable(str(path)), self.refs))
            self._note(Refreshed(name, "failed", Unreadable(reason).to_dict()))
        return RefreshReport(tuple(self.done), notes=tuple(self.notes))

    def _read_by_us(self, items: Mapping[int, Ref], states: Mapping[int, FileState]) -> dict[int, Ref]:
        """The items that may be read again. A note or memory under an address, and what somebody saved as if it were a
        commit, was read nowhere: it is skipped.
        """
        without = DRIVES_WITHOUT_ORIGIN - {DRIVE}
        unsure = [n for n, ref in items.items() if n not in states and ref.drive not in without]
        known = self.store.items.get_many(unsure)
        written = {n: one for n, one in known.items() if one.provenance.author in (PERSON, AGENT)}
        by_hand = {n for n, one in written.items() if one.ref.drive == DRIVE or one.kind in REMEMBERED_KINDS}
        for n in sorted(by_hand):
            self._note(Refreshed(str(items[n]), "skipped"))
        return {n: ref for n, ref in items.items() if n not in by_hand}

    def _follow_histories(self, commits: Collection[Ref]) -> None:
        """Take in the new commits of the repositories that some commits belong to: those of the main checkout, and of
        the work trees that were added, are named, or in which the refresh runs.
        """
        places = {Ref(DRIVE, f"{ref.path.rpartition('/')[0]}/") for ref in commits}
        for place in sorted(places, key=str):
            top = repository_of(place, self.refs)
            for tree in (top, *trees_of(top, (*self.roots, *self.folders))) if top is not None else ():
                self._save(History(self.store, tree, self.refs).items(), "skip")

    def _fresh(self, work: Work) -> dict[Ref, FoundFile]:
        """The files that have no item yet."""
        refs = {disk_ref(path, self.refs): entry for path, entry in work.files.items()}
        known = self.store.files.known("disk", [ref.path for ref in refs])
        return {ref: entry for ref, entry in refs.items() if ref.path not in known}

    def _save(self, incoming: Iterable[Incoming | None], policy: str) -> None:
        """Save everything that changed, one batch per transaction."""
        wanted = (one for one in incoming if one is not None)
        for saved in self.pipeline.save_all(wanted, on_conflict=policy, durable=False, backlog=self.backlog):
            status = "unchanged" if saved.status == "skipped" else saved.status
            self._note(Refreshed(saved.ref, status, saved.error, saved.chunks))
            if saved.reason and status in ("created", "updated"):
                self.notes.append(f"{saved.ref}: {saved.reason}")

    def _look(
        self, n: int, ref: Ref, state: FileState | None, missing: dict[int, Ref], touched: dict[int, FileState]
    ) -> Incoming | None:
        """The item's file as it is now, if it has to be saved again."""
        path = self.skill_files.get(n) or ref_path(ref, self.refs)
        try:
            entry = self._found(path)
        except OSError as error:
            problem = Unreadable(f"cannot be read: {error.strerror or error}")
            self._note(Refreshed(str(ref), "failed", problem.to_dict()))
            return None
        if entry is None:
            missing[n] = ref
            return None
        if state is not None and state.looks_like(entry.mtime_ns, entry.size):
            self._note(Refreshed(str(ref), "unchanged"))
            return None
        entry = self.files.below(entry, self.roots)
        data = self._try(ref, lambda: self.files.bytes_of(entry))
        if data is None:
            return None
        if state is not None and state.hash == hash_of(data):
            touched[n] = replace(state, mtime=entry.mtime_ns, size=entry.size)
            self._note(Refreshed(str(ref), "unchanged"))
            return None
        return self._try(ref, lambda: self._incoming(ref, entry, data, self.store.items.get(n), state))

    def _found(self, path: Path) -> FoundFile | None:
        """The file or mail at a path, if it is there. A mailbox as a whole is none: its mails are."""
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self.files.mail_at(path)
        if S_ISDIR(status.st_mode) or is_mailbox(path):
            return None
        return FoundFile(path, status.st_size, status.st_mtime_ns)

    def _refetch(self, items: Mapping[int, Ref], states: Mapping[int, FileState]) -> None:
        """Fetch pages again and save each at once, because the next may take long. Pages that are gone are kept."""
        pages: PageReader | None = None
        try:
            for n, ref in items.items():
                state = states.get(n)
                if ref.drive in DRIVES_WITHOUT_ORIGIN and not (state is not None and VALIDATORS in state.fields):
                    self._note(Refreshed(str(ref), "skipped"))
                    continue
                pages = pages or self.pages()
                try:
                    now = pages.again(self.store.items.get(n), state)
                except StoreError:
                    raise
                except NotFound as error:
                    self._note(Refreshed(str(ref), "missing", error.to_dict()))
                except Error as error:
                    self._note(Refreshed(str(ref), "failed", error.to_dict()))
                else:
                    if isinstance(now, Incoming):
                        self.notes += [f"{ref}: {warning}" for warning in now.parsed.warnings]
                        self._save([now], "overwrite")
                        continue
                    if now is not None:
                        self.store.files.note({n: now})
                    self._note(Refreshed(str(ref), "unchanged"))
        finally:
            if pages is not None:
                pages.close()

    def _incoming(
        self, ref: Ref, entry: FoundFile, data: bytes, item: Item | None, state: FileState | None
    ) -> Incoming:
        """The file as it is now; fields that people set on the item are kept."""
        incoming = self.files.incoming(ref, entry, data, item.kind if item else "document", {})
        self.notes += [f"{ref}: {warning}" for warning in incoming.parsed.warnings]
        if item is None or incoming.file is None:
            return incoming
        return keeping(incoming, item, state.fields if state is not None else {})

    def _take(self, ref: Ref, entry: FoundFile, gone: Gone) -> Incoming | None:
        """Handle a new file: if it has the content of a missing one, it was renamed, else it is created."""
        data = self._try(ref, lambda: self.files.bytes_of(entry))
        if data is None:
            return None
        n = gone.like(ref, data)
        if n is None:
            return self._try(ref, lambda: self._incoming(ref, entry, data, None, None))
        if not self._try(ref, lambda: self._move(n, ref, entry, data)):
            gone.followed.discard(n)
        return None

    def _move(self, n: int, ref: Ref, entry: FoundFile, data: bytes) -> bool:
        state = FileState(entry.mtime_ns, entry.size, hash_of(data), self.store.files.states([n])[n].fields)
        draft = replace(self.store.items.draft(n, self.store.items.get(n).version), ref=ref)
        prepared = replace(self.pipeline.prepare_draft(draft, state), origin=str(entry.path))
        saved = self.store.changes.rewrite(n, prepared, backlog=self.backlog)
        self._note(Refreshed(str(ref), "moved", chunks=saved.chunks))
        return True

    def _remove(self, gone: Mapping[int, Ref]) -> None:
        numbers = list(gone)
        for at in range(0, len(numbers), REMOVED_AT_ONCE):
            batch = numbers[at : at + REMOVED_AT_ONCE]
            refused = self.store.changes.remove_many(batch)
            for n in batch:
                error = refused[n].to_dict() if n in refused else None
                self._note(Refreshed(str(gone[n]), "failed" if error else "removed", error))

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
            self._note(Refreshed(str(ref), "failed", error.to_dict()))
        return None

    def _note(self, one: Refreshed) -> None:
        self.done.append(one)
        if self.progress is not None:
            count = len(self.done)
            total = max(self.total, count)
            rate = count / max(time.monotonic() - self.started, 1e-6)
            self.progress(Progress(count, total, one.ref, "refreshing", rate, (total - count) / rate))


def _skill_files(items: Mapping[int, Item], refs: FileRefs) -> dict[int, Path]:
    """The files of skills on this machine; a skill's ref is its name and does not say where its file is."""
    here = {n: item for n, item in items.items() if refs.is_said_here(item.fields.metadata)}
    places = {n: Path(str(item.fields.metadata.get("location") or "")) for n, item in here.items()}
    return {n: place for n, place in places.items() if place.name == "SKILL.md" and items[n].fields.source == "file"}
