"""Reads the memories that agents' programs keep themselves, so that what one agent learned the next one knows.

In a project, the files that ``programs`` names (CLAUDE.md, AGENTS.md, rules, memory folders) are items on the drive
``program``: ``program:/claude-code/CLAUDE.md``. Those of a work tree in which somebody works are items too, where they
differ from the main checkout's: ``program:/claude-code/tree/NAME/CLAUDE.md``. They are read when they changed, followed
when they go, labelled as the notes of their program, and never written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.files import beside_project
from ricordo.errors import Error
from ricordo.programs.table import PROGRAMS, TREE, MemoryFile, memory_files
from ricordo.sources.disk import disk_ref
from ricordo.speaking import speaker
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref
from ricordo.values.provenance import AGENT

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.ingest.pipeline import Incoming
    from ricordo.store.base import Store

DRIVE = "program"
IGNORE_FILE = ".ricordoignore"
LOOK_SECONDS = 2.0
MOST_FILES = 100
LARGEST_FILE = 256_000
"""A file of notes that is larger is not read: programs themselves read only small ones."""
_EVERYTHING = 1 << 30


class ProgramNotes:
    """Keeps the items of one store like the files that programs keep for its project."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._next_look = 0.0

    def take_in(self, *, now: bool = False) -> None:
        """Read what is new or changed, and remove what is gone; looked at every two seconds at most, or ``now``."""
        location = self._context.located.location
        clock = time.monotonic()
        if (clock < self._next_look and not now) or location.origin != "project" or location.address:
            return
        self._next_look = clock + LOOK_SECONDS
        if not self._context.is_open or not self._context.unsynced_store.usage.can_record():
            return
        with suppress(Error, OSError):  # an answer does not wait for this; the next look tries again
            self._compare(self._context.unsynced_store, location.path.absolute().parent.parent)

    def _compare(self, store: Store, project: Path) -> None:
        beside = beside_project(project)
        is_on = self._context.config.knowledge.of_programs
        files = memory_files(project, MOST_FILES, beside) if is_on else []
        refs = {disk_ref(file.path): file for file in files}
        items = store.items.get_many(list(store.items.numbers(list(refs)).values())).values()
        added = {item.ref for item in items if item.state == "live"}  # by the user: these are documents already
        wanted = {
            Ref(DRIVE, f"/{file.program}/{file.name}"): file
            for ref, file in refs.items()
            if ref not in added and not any(_is_ignored(file.path, top) for top in (project, beside) if top)
        }
        machines = store.machines.refs()
        listed = store.items.listing(Filters(drives=(DRIVE,), states=("live", "archived", "deleted")), _EVERYTHING, 0)
        existing = {item.ref: (n, item) for n, item in sorted(listed, key=lambda row: row[1].state != "deleted")}
        gone = [
            n
            for ref, (n, item) in existing.items()
            if item.state == "live"
            and ref not in wanted
            and machines.is_said_here(item.fields.metadata)
            and not (is_on and _is_of_other_tree(item, beside))
        ]
        if gone:
            store.changes.remove_many(gone)
        if wanted:
            about = {} if machines.here == machines.home else {"machine": machines.here}
            changed = self._changed(store, wanted, existing, tops=[project, *([beside] if beside else [])], about=about)
            saved = self._context.pipeline.save_all(
                changed, on_conflict="overwrite", durable=False, backlog=self._context.models.backlog()
            )
            for _ in saved:
                self._context.took_in_edits = True

    def _changed(
        self,
        store: Store,
        wanted: Mapping[Ref, MemoryFile],
        existing: Mapping[Ref, tuple[int, Item]],
        *,
        tops: Sequence[Path],
        about: Mapping[str, str],
    ) -> Iterator[Incoming]:
        """The files that are not known as they are now."""
        from ricordo.sources.disk import FoundFile

        states = store.files.states([n for n, _ in existing.values()])
        reader = self._context.files()
        for ref, file in wanted.items():
            status = file.path.stat()
            entry = reader.below(FoundFile(file.path, status.st_size, status.st_mtime_ns), tops)
            n, item = existing.get(ref, (-1, None))
            state = states.get(n)
            # What was forgotten stays so; what was removed comes back when its file changes.
            is_same = state is not None and state.looks_like(entry.mtime_ns, entry.size)
            if entry.size > LARGEST_FILE or (item is not None and (item.state == "archived" or is_same)):
                continue
            with suppress(Error, OSError):
                title = PROGRAMS[file.program].title
                fields = {
                    "description": f"Notes of {title}",
                    "tags": (file.program,),
                    "source_adapter": file.program,
                    "source_url": file.path.as_uri(),
                    "metadata": {"location": str(file.path), **about},
                }
                yield reader.incoming(ref, entry, reader.bytes_of(entry), "document", fields=fields)


def asking_program() -> str:
    """The program whose agent asks now; empty if a person asks, or a program that is not in the table."""
    caller = speaker()
    return next((name for name in PROGRAMS if caller.author == AGENT and caller.name.startswith(name)), "")


def _is_of_other_tree(item: Item, beside: Path | None) -> bool:
    """Whether an item is of a work tree where nobody looks from now, and its file is still there."""
    _, _, kind, *_ = (*item.ref.path.split("/"), "", "")
    path = Path(item.fields.metadata.get("location", ""))
    return kind == TREE and (beside is None or beside not in path.parents) and path.is_file()


def _is_ignored(path: Path, project: Path) -> bool:
    """Whether a ``.ricordoignore`` in the project leaves a file out.

    What only Git ignores is read: notes for one person are usually kept out of the repository.
    """
    if project not in path.parents:
        return False
    inside = [path, *(folder for folder in path.parents if project in folder.parents)]
    folders = [folder for folder in (project, *reversed(inside[1:])) if (folder / IGNORE_FILE).is_file()]
    if not folders:
        return False
    from ricordo.sources.disk import opinion, rules_in

    rules = [rule for folder in folders for rule in rules_in(str(folder), [IGNORE_FILE])]
    return any(opinion(str(part), rules, is_folder=part != path) for part in inside)
