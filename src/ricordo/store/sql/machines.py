"""The machines whose files a store holds: which one its plain refs belong to, and what people call each."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

from ricordo.config.machine import Machine, this_machine
from ricordo.errors import Unavailable
from ricordo.store.sql.protocols import Connection, Database
from ricordo.values.file_refs import UNKNOWN_MACHINE, FileRefs
from ricordo.values.items import Ref

HOME_MACHINE = "machine"
"""In a store in a file: the machine whose files have plain refs. A shared store has none."""
_NAME = "machine:"
LOOK_AGAIN_SECONDS = 60.0
"""For so long a process believes the names of machines that it read."""


def refs_of(connection: Connection) -> FileRefs:
    """How the refs of this store's files are to be read on this machine."""
    return FileRefs(str(connection.meta(HOME_MACHINE) or ""), this_machine().id)


class Machines:
    """Reads and writes which machines a store knows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_shared = False
        self._noted: Machine | None = None
        self._names: dict[str, str] = {}
        self._believed_until = 0.0

    def refs(self) -> FileRefs:
        """How the refs of this store's files are to be read now. Whose a shared store is cannot change."""
        if self._is_shared:
            return FileRefs("", this_machine().id)
        with self._database.read() as connection:
            found = refs_of(connection)
        self._is_shared = not found.home
        return found

    def note_this(self) -> None:
        """Let others know the name of this machine, which has files in the store."""
        machine = this_machine()
        if self._noted == machine:
            return
        with self._database.read() as connection:
            known = connection.meta(_NAME + machine.id)
        if known != machine.name:
            with suppress(Unavailable), self._database.write() as connection:  # a busy store hears it next time
                connection.set_meta(_NAME + machine.id, machine.name)
                self._noted = machine
        else:
            self._noted = machine

    def names(self) -> dict[str, str]:
        """The names of the machines that have files here, by their ids."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT name, value FROM meta WHERE substr(name, 1, 8) = ?", (_NAME,))
        self._names = {name.removeprefix(_NAME): str(value) for name, value in rows}
        self._believed_until = time.monotonic() + LOOK_AGAIN_SECONDS
        return self._names

    def elsewhere(self, refs: Iterable[str]) -> dict[str, str]:
        """Those of the refs that name files of other machines, each with the name of its machine."""
        files = [Ref.parse(ref) for ref in refs if ref.startswith("disk:/")]
        if not files:
            return {}
        known = self.refs()
        owners = {str(ref): known.owner(ref) for ref in files if not known.is_here(ref)}
        if not owners:
            return {}
        if time.monotonic() > self._believed_until or not self._names.keys() >= set(owners.values()) - {""}:
            self.names()
        return {ref: self._names.get(owner, owner) or UNKNOWN_MACHINE for ref, owner in owners.items()}


def note_name(connection: Connection, machine: Machine) -> None:
    """Keep the name of a machine that an import knows, unless the store knows one."""
    connection.set_meta(_NAME + machine.id, machine.name, replace=False)


def name_of(connection: Connection, machine: str) -> str:
    """The name and the id of a machine, as an export says them; empty for an unknown one."""
    return str(Machine(machine, str(connection.meta(_NAME + machine) or ""))) if machine else ""
