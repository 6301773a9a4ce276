"""One sync through the folders of a store: what was changed here is written to them, what others wrote is taken in.

``exchange.machine_files`` reads and writes the files, the store says what they mean (``SyncLog``).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.files import data_home, locked
from ricordo.config.machine import this_machine
from ricordo.errors import Unavailable, Unreadable
from ricordo.plugins.sync.log import (
    MOST_BYTES,
    MOST_ENTRIES,
    LogFile,
    MachineFiles,
    has_key,
    note_in,
    parts_of,
    put_note,
)
from ricordo.plugins.sync.values import KnownFolder, SyncFolder, SyncMachine, SyncRun
from ricordo.store.values import Backlog
from ricordo.trust.gate import trusted_source

if TYPE_CHECKING:
    from ricordo.plugins.sync.state import SyncLog


_AT_ONCE = 2_000
MOST_FILES = 100
"""When a log has so many files, and twice those that it needs, it is written anew in few."""
_WAIT_SECONDS = 60.0


class FolderSync:
    """Syncs one store. Of several processes, one does so at a time."""

    def __init__(self, log: SyncLog, backlog: Backlog | None) -> None:
        self._log = log
        self._backlog = backlog
        self._counts: Counter[str] = Counter()
        self._apart: dict[str, None] = {}
        self._problems: list[str] = []
        self._skipped = 0

    def run(self) -> SyncRun:
        """Take in what is there, then write what is missing there."""
        with _alone():
            self._log.capture(self._backlog)
            reachable = []
            for folder in self._log.folders():
                files = MachineFiles(Path(folder.path), folder.key)
                if problem := files.problem():
                    self._problems.append(problem)
                else:
                    reachable.append((folder.id, files))
                    self._take_in(folder, files)
            for identity, files in reachable:
                try:
                    self._write(identity, files)
                except Unavailable as error:  # the other folders are written nevertheless
                    self._problems.append(f"{error.message}. {error.hint}")
        if self._skipped:
            self._problems.append(
                f"{self._skipped:,} entries of kinds that this Ricordo does not take in were skipped: another version"
                " wrote them"
            )
        counts = self._counts
        return SyncRun(
            counts["written"],
            counts["taken"],
            counts["created"],
            counts["updated"],
            counts["archived"],
            counts["removed"],
            counts["erased"],
            tuple(self._apart),
            tuple(self._problems),
        )

    def _take_in(self, folder: KnownFolder, files: MachineFiles) -> None:
        known = self._log.files(folder.id)
        me = this_machine().id
        is_restored = False
        present: set[str] = set()
        for machine in files.machines():
            found = files.files(machine)
            present.update(file.place for file in found)
            if machine != me and not self._is_let_in(folder, files, machine):
                continue
            for file in found:
                if file.place not in known and self._take(folder, files, file):
                    is_restored = is_restored or (machine == me and file.log == folder.log)
        if is_restored:  # its files went on without this store, which is an older copy
            self._log.start_log(folder)
        self._notice_losses(folder, files, known - present)

    def _is_let_in(self, folder: KnownFolder, files: MachineFiles, machine: str) -> bool:
        if machine in self._log.let_in():
            return True
        name = files.name_of(machine)
        if folder.trust_all:
            self._log.accept(machine, name)
            return True
        self._log.shut_out(machine, name)  # until the user decides
        self._problems.append(
            f"{name} ({machine}) writes to {folder.path} and is not let in; nothing of it is taken in until"
            f" 'ricordo sync-folder accept {machine}'"
        )
        return False

    def _take(self, folder: KnownFolder, files: MachineFiles, file: LogFile) -> bool:
        try:
            read = files.read(file)
        except Unreadable as error:
            self._problems.append(f"{error.message}. {error.hint}")
            return False
        if read is None:  # it is still on its way
            return False
        is_own = file.machine == this_machine().id
        if is_own and not read.is_own and file.machine not in self._log.let_in():
            self._problems.append(f"{folder.path}/{file.place} is in the name of this machine, which did not write it")
            return False
        with trusted_source():
            taken = self._log.take(folder.id, file.place, read.entries, self._backlog, is_own=is_own)
        self._skipped += read.skipped
        self._counts.update(taken.counts)
        self._counts["taken"] += taken.entries
        self._apart |= dict.fromkeys(taken.apart)
        return True

    def _notice_losses(self, folder: KnownFolder, files: MachineFiles, lost: set[str]) -> None:
        """If files of this machine are gone, or all those of another one, everything that is known is written again."""
        machines = {place.split("/")[1] for place in lost}
        own = f"machines/{this_machine().id}/{folder.log}/"
        left = files.machines()
        if any(place.startswith(own) for place in lost) or machines - set(left) - {this_machine().id}:
            self._log.start_log(folder, anew=True, is_whole=True)
        self._log.forget_files(folder.id, lost)

    def _write(self, identity: int, files: MachineFiles) -> None:
        folder = self._known(identity)
        if folder.stale == 1 or self._is_scattered(folder, files):
            self._log.start_log(folder, anew=True)
            folder = self._known(identity)
        if folder.key and (kept := self._log.kept_note(folder, note_in(files.folder))) and not has_key(files.folder):
            put_note(files.folder, kept)
        before = [file for file in files.files(this_machine().id) if file.log != folder.log]
        while entries := self._log.unwritten(folder, _AT_ONCE):
            for upto, part in parts_of(entries):
                file = files.write(this_machine(), folder.log, folder.number + 1, folder.digest, entries=part)
                self._log.wrote(folder, file.place, file.number, file.digest, upto=upto)
                self._counts["written"] += len(part)
                folder = self._known(identity)
        if folder.stale == 2 or (folder.is_complete and before):
            known = self._log.files(folder.id)
            for file in before:
                if file.place in known:  # what it says is in the new log
                    files.remove(file)
            self._log.forget_files(folder.id, [file.place for file in before])
        if folder.stale == 2:
            self._log.end_rewriting(folder)

    def _is_scattered(self, folder: KnownFolder, files: MachineFiles) -> bool:
        """Whether the log has many more files than what it says needs: each sync that has news writes one."""
        if folder.number < MOST_FILES:
            return False
        size = sum(files.size(file) for file in files.files(this_machine().id) if file.log == folder.log)
        entries = self._log.count_unwritten(replace(folder, upto=0))
        return folder.number >= MOST_FILES + 2 * (size // MOST_BYTES + entries // MOST_ENTRIES)

    def _known(self, identity: int) -> KnownFolder:
        return next(folder for folder in self._log.folders() if folder.id == identity)


def state_of(log: SyncLog, folder: KnownFolder) -> SyncFolder:
    """What is known about a folder now; nothing is changed."""
    files = MachineFiles(Path(folder.path), folder.key)
    unwritten = log.count_unwritten(folder)
    if problem := files.problem():
        return SyncFolder(folder.path, False, unwritten, problems=(problem,))
    known, let_in, me = log.files(folder.id), log.let_in(), this_machine()
    machines = []
    for machine in files.machines():
        found = files.files(machine)
        is_this = machine == me.id
        waiting = sum(file.place not in known for file in found)
        name = me.name if is_this else files.name_of(machine)
        machines.append(
            SyncMachine(machine, name, is_this or folder.trust_all or machine in let_in, is_this, len(found), waiting)
        )
    problems = tuple(f"{one.name} ({one.id}) is not let in" for one in machines if not one.let_in)
    return SyncFolder(folder.path, True, unwritten, tuple(machines), problems, bool(folder.key))


@contextmanager
def _alone() -> Iterator[None]:
    with locked(data_home(os.environ) / "sync-folders", _WAIT_SECONDS):
        yield
