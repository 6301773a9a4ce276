"""Gives the files of a machine that is gone to this one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.config.machine import this_machine
from ricordo.engine.context import EngineContext
from ricordo.errors import Error, NotFound, UsageError
from ricordo.values.file_refs import DISK, UNKNOWN_MACHINE
from ricordo.values.items import Ref
from ricordo.values.reports import KnownMachine, Refreshed, RefreshReport

if TYPE_CHECKING:
    from ricordo.store.values import FileState


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
