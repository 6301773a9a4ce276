"""Verbs for the folders that were added: roots, forget_root, relocate; and following what moved."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.machine import name_machine, this_machine
from ricordo.engine.context import EngineContext
from ricordo.engine.opening import OpenEngine
from ricordo.errors import Error, NotFound, UsageError
from ricordo.sources.disk import disk_ref, ref_path
from ricordo.values.file_refs import DISK, UNKNOWN_MACHINE
from ricordo.values.items import Ref
from ricordo.values.reports import KnownMachine, Refreshed, RefreshReport, Root
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.store.values import FileState
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, REF_TEXT


def moved(context: EngineContext, n: int, ref: Ref, target: Ref, state: FileState | None) -> Refreshed:
    """Give one item its new ref; its text, its vectors and its history stay."""
    store = context.store
    try:
        draft = replace(store.items.draft(n, store.items.get_many([n])[n].version), ref=target)
        prepared = context.pipeline.prepare_draft(draft, state)
        saved = store.changes.rewrite(n, prepared, backlog=context.models.backlog())
    except Error as error:
        return Refreshed(str(ref), "failed", error.to_dict())
    return Refreshed(str(target), "moved", chunks=saved.chunks)


def known_machines(context: EngineContext) -> list[KnownMachine]:
    """This machine, then the others that have files in the store."""
    store, refs, this = context.store, context.file_refs, this_machine()
    files = Counter(refs.owner(ref) for _, ref, _ in store.items.refs_below(DISK, "/"))
    owners = {machine for machine, _, _ in store.files.all_roots()} | files.keys()
    names = store.machines.names() if owners - {this.id} else {}
    others = [
        KnownMachine(machine, (names.get(machine) or machine) if machine else UNKNOWN_MACHINE, files[machine])
        for machine in sorted(owners - {this.id})
    ]
    return [KnownMachine(this.id, this.name, files[this.id], is_here=True), *others]


class Takeover:
    """What happens to the files of another machine when this one takes them over.

    A file that this machine has at the same path stays what it is, and the other one stays with its machine.
    """

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def take(self, name: str) -> RefreshReport:
        store, refs = self._context.store, self._context.file_refs
        machine = self._id_of(name)
        theirs, mine = self._files_of(machine), self._files_of(refs.here)
        store.machines.note_this()
        if machine and machine == refs.home:  # the plain refs become this machine's
            store.files.take_over_roots(machine)
            done = [Refreshed(str(ref), "moved") for ref in theirs.values()]
            return RefreshReport((*done, *self._renamed(mine)))
        report = RefreshReport(self._renamed(theirs))
        store.files.take_over_roots(machine)
        return report

    def _id_of(self, name: str) -> str:
        """The id of the machine that a name or an id means; empty for files of which nobody knows whose they are."""
        others = [one for one in known_machines(self._context) if not one.is_here]
        found = [one for one in others if name and name in (one.id, one.name)]
        if len(found) == 1:
            return found[0].id
        listed = ", ".join(f"{one.name} ({one.id})" if one.id else one.name for one in others)
        if found:
            raise UsageError(f"several machines are called {name}", hint=f"Say the id: {listed}.")
        raise NotFound(
            f"no other machine {name} has files in this store", hint=f"Others with files: {listed or 'none'}."
        )

    def _files_of(self, machine: str) -> dict[int, Ref]:
        refs = self._context.file_refs
        found = self._context.store.items.refs_below(DISK, "/")
        return {n: ref for n, ref, _ in found if refs.owner(ref) == machine}

    def _renamed(self, files: dict[int, Ref]) -> tuple[Refreshed, ...]:
        """Give files the refs that files of this machine have in the store."""
        refs = self._context.file_refs
        states = self._context.store.files.states(list(files))
        targets = {n: refs.ref(ref.place) for n, ref in files.items()}
        return tuple(
            moved(self._context, n, ref, targets[n], states.get(n)) for n, ref in files.items() if ref != targets[n]
        )


SAMPLE = 50
"""How many items are looked at to find out whether, and from where, a project was moved."""


class RootVerbs(OpenEngine):
    """Lists and leaves the folders that were added, and follows those that moved."""

    @verb(
        "read",
        "add",
        "List the folders that were added.",
        path="roots list",
        answers="roots",
        examples=("ricordo roots list",),
    )
    def roots(
        self,
        *,
        machine_name: Annotated[
            str,
            Say(
                "Give this machine another name, which others show beside its files.",
                longest=NAME_TEXT,
                shown="NAME",
                not_on={"http": "the user names a machine", "mcp": "the user names a machine"},
            ),
        ]
        | None = None,
    ) -> tuple[Root, ...]:
        """The folders that were added, and how many items each has. Files and folders belong to the machine on which
        they were added: others show them, and never change them; ‹:status› lists the machines.
        """
        if machine_name is not None:
            name_machine(machine_name)
            self._context.store.machines.note_this()
        store, refs = self._context.store, self._context.file_refs
        found = store.files.all_roots()
        names = store.machines.names() if any(machine != refs.here for machine, _, _ in found) else {}

        def shown(machine: str, path: str, globs: tuple[str, ...]) -> Root:
            place = disk_ref(Path(path)).path if machine == refs.here else f"/{path.lstrip('/')}".replace("\\", "/")
            count = len(store.items.refs_below("disk", refs.path(place, machine)))
            if machine == refs.here:
                return Root(path, globs, count, Path(path).is_dir())
            return Root(path, globs, count, machine=names.get(machine, machine) or UNKNOWN_MACHINE)

        return tuple(shown(*one) for one in found)

    @verb(
        "files", "add", "Leave a folder, and keep its items.", path="roots rm", examples=("ricordo roots rm ~/notes",)
    )
    def forget_root(self, path: Annotated[str | Path, Say("The folder.", longest=REF_TEXT, shown="FOLDER")]) -> Root:
        """``refresh`` finds no more new files in it. Its items stay until they are removed."""
        wanted = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - resolve() would follow links
        known = {root.path: root for root in self.roots() if not root.machine}
        if wanted not in known:
            listed = ", ".join(known) or "none"
            raise NotFound(f"{wanted} is not a folder that was added", hint=f"Folders that were added: {listed}.")
        self._context.store.files.forget_root(wanted)
        return known[wanted]

    @verb(
        "files",
        "add",
        "Say that files were moved, or take over another machine's files.",
        path="roots move",
        examples=("ricordo roots move ~/old/notes ~/new/notes", "ricordo roots move --from-machine laptop"),
    )
    def relocate(
        self,
        old: Annotated[str | Path, Say("Where they were.", longest=REF_TEXT)] | None = None,
        new: Annotated[str | Path, Say("Where they are now.", longest=REF_TEXT)] | None = None,
        *,
        from_machine: Annotated[
            str,
            Say("Take over all files of this machine (name or id), which is gone.", longest=NAME_TEXT, shown="NAME"),
        ]
        | None = None,
    ) -> RefreshReport:
        """What was added from ``old`` gets the refs of the same files in ``new``.

        History, fields and vectors stay. A project that is moved with its store is followed by ``refresh`` by itself.
        With ``from_machine``, the files that were added on that machine belong to this one from now on, at the same
        paths, or with ``old`` and ``new`` at other ones.
        """
        taken = Takeover(self._context).take(from_machine) if from_machine is not None else None
        if taken is not None and old is None and new is None:
            return taken
        if old is None or new is None:
            raise UsageError("to move files needs two places", hint="Name the old place, then the new one.")
        moved = self._relocate(old, new)
        return moved if taken is None else replace(moved, items=(*taken.items, *moved.items))

    def _relocate(self, old: str | Path, new: str | Path) -> RefreshReport:
        refs = self._context.file_refs
        before, after = (disk_ref(Path(os.path.expanduser(path)), refs).path for path in (old, new))  # noqa: PTH111
        place = ref_path(Ref("disk", after), refs)
        if not place.exists():
            raise UsageError(
                f"there is no file or folder {place}", hint="Name the place where the files are now, after the old one."
            )
        if before == after:
            raise UsageError("both names are the same", hint="Name the old place, then the new one.")
        below = self._context.store.items.refs_below("disk", before)
        items = [(n, ref) for n, ref, _ in below if refs.is_here(ref)]
        added = [disk_ref(Path(root), refs).path for root, _ in self._context.store.files.roots()]
        roots = [root for root in added if _is_within(root, before)]
        if not items and not roots:
            raise NotFound(f"nothing was added from {before}", hint="‹:roots› and ‹:tree› show what was.")
        states = self._context.store.files.states([n for n, _ in items])
        done = [
            moved(self._context, n, ref, Ref("disk", f"{after}{ref.path[len(before) :]}"), states.get(n))
            for n, ref in items
        ]
        self._move_roots(before, after)
        return RefreshReport(tuple(done))

    def _move_roots(self, before: str, after: str) -> None:
        files, refs = self._context.store.files, self._context.file_refs
        for root, globs in files.roots():
            place = disk_ref(Path(root), refs).path
            if _is_within(place, before):
                files.forget_root(root)
                files.remember_root(str(ref_path(Ref("disk", f"{after}{place[len(before) :]}"), refs)), globs)

    def _follow_project(self) -> RefreshReport | None:
        """If the project that holds this store was moved, let the refs of its files follow; None if it was not."""
        store_folder = Path(self._context.location).absolute().parent
        if store_folder.name != ".ricordo":
            return None
        project = store_folder.parent
        before = self._left_place(project)
        if before is None:
            return None
        report = self._relocate(before, project)
        count = report.count("moved")
        note = f"the project moved from {before} to {project}: {count:,} item{'' if count == 1 else 's'} followed"
        return replace(report, notes=(note,))

    def _left_place(self, project: Path) -> str | None:
        """The old folder of the project: most missing files were below it, at the path that they have in the project
        now.
        """
        refs = self._context.file_refs
        items = [one for one in self._context.store.items.refs_below("disk", "/") if refs.is_here(one[1])]
        sample = items[:: max(1, len(items) // SAMPLE)][:SAMPLE]
        states = self._context.store.files.states([n for n, _, _ in sample])
        places = {n: ref_path(ref, refs) for n, ref, _ in sample if n in states}
        missing = [n for n, path in places.items() if not path.exists()]
        found: Counter[str] = Counter()
        for n in missing:
            parts = places[n].parts
            for at in range(1, len(parts)):
                now = project.joinpath(*parts[at:])
                if now.is_file() and now.stat().st_size == states[n].size:
                    found[str(Path(*parts[:at]))] += 1
                    break
        if not found:
            return None
        place, count = found.most_common(1)[0]
        is_apart = place != str(project) and not Path(place, ".ricordo").exists()
        return place if is_apart and 2 * count > len(missing) else None


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
