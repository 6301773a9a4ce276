"""Files that items came from or are copied to, the machines that have them, and secrets in texts."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from ricordo.config.machine import Machine, this_machine
from ricordo.errors import Unavailable
from ricordo.store.sql import changes, items
from ricordo.store.sql.changes import write_secrets
from ricordo.store.sql.database import Connection, StorePart, json_or, marks, now_micros
from ricordo.store.tables import column_names
from ricordo.store.values import FileState
from ricordo.values import provenance
from ricordo.values.items import UNKNOWN_MACHINE, FileRefs, Item, KnownFile, Ref

HOME_MACHINE = "machine"
"""In a store in a file: the machine whose files have plain refs. A shared store has none."""
NAME = "machine:"
"""What is put before the id of a machine, to note its name."""
LOOK_AGAIN_SECONDS = 60.0
"""For so long a process believes the names of machines that it read."""


def refs_of(connection: Connection) -> FileRefs:
    """How the refs of this store's files are to be read on this machine."""
    return FileRefs(str(connection.meta(HOME_MACHINE) or ""), this_machine().id)


class Machines(StorePart):
    """Reads and writes which machines a store knows."""

    _is_shared = False
    _noted: Machine | None = None
    _names: Mapping[str, str] | None = None
    _believed_until = 0.0

    def refs(self) -> FileRefs:
        """How the refs of this store's files are to be read now. Whose a shared store is cannot change."""
        if self._is_shared:
            return FileRefs("", this_machine().id)
        with self._database.read() as connection:
            refs = refs_of(connection)
        self._is_shared = not refs.home
        return refs

    def note_this(self) -> None:
        machine = this_machine()
        if self._noted == machine:
            return
        with suppress(Unavailable):  # a busy store hears it next time
            with self._database.read() as connection:
                stored = connection.meta(NAME + machine.id)
            if stored != machine.name:
                with self._database.write() as connection:
                    connection.set_meta(NAME + machine.id, machine.name)
            self._noted = machine

    def names(self) -> dict[str, str]:
        with self._database.read() as connection:
            rows = connection.rows("SELECT name, value FROM meta WHERE substr(name, 1, 8) = ?", (NAME,))
        return {name.removeprefix(NAME): str(value) for name, value in rows}

    def elsewhere(self, refs: Iterable[str]) -> dict[str, str]:
        """Those of the refs that name files of other machines, each with the name of its machine."""
        files = [Ref.parse(ref) for ref in refs if ref.startswith("disk:/")]
        file_refs = self.refs() if files else FileRefs("")
        owners = {str(ref): file_refs.owner(ref) for ref in files if not file_refs.is_here(ref)}
        if not owners:
            return {}
        names = self._names
        if names is None or time.monotonic() > self._believed_until or not names.keys() >= {*owners.values()} - {""}:
            names = self._names = self.names()
            self._believed_until = time.monotonic() + LOOK_AGAIN_SECONDS
        return {ref: names.get(owner, owner) or UNKNOWN_MACHINE for ref, owner in owners.items()}


def name_of(connection: Connection, machine: str) -> str:
    """The name and the id of a machine, as an export says them; empty for an unknown one."""
    return str(Machine(machine, str(connection.meta(NAME + machine) or ""))) if machine else ""


_FILE = "file_mtime, file_size, file_hash, file_fields"


class Files(StorePart):
    """Files on disk, as they were last read."""

    def states_by_path(self, drive: str, paths: Collection[str]) -> dict[str, FileState | None]:
        """Which of these paths hold an item, and what its file looked like when it was read (None if it has none)."""
        sql = f"SELECT path, {_FILE} FROM items WHERE drive=? AND state<>'deleted' AND path IN (*)"
        with self._database.read() as connection:
            return {path: _state(*file) for path, *file in connection.rows_in(sql, sorted(paths), drive)}

    def states(self, numbers: Collection[int]) -> dict[int, FileState]:
        """What the files of items looked like when they were read; items that came otherwise are left out."""
        with self._database.read() as connection:
            rows = connection.rows_in(f"SELECT n, {_FILE} FROM items WHERE n IN (*)", sorted(numbers))
        return {n: state for n, *file in rows if (state := _state(*file)) is not None}

    def hashes_below(self, drive: str, folder: str) -> list[tuple[str, str]]:
        """The paths of the live items below a folder, in order, and the hashes of the bytes of their files."""
        sql = (
            "SELECT path, file_hash FROM items WHERE drive=? AND path>=? AND path<? AND state='live'"
            " AND file_hash IS NOT NULL ORDER BY path"
        )
        with self._database.read() as connection:
            return [(path, digest) for path, digest in connection.rows(sql, (drive, f"{folder}/", f"{folder}0"))]

    def note(self, states: Mapping[int, FileState]) -> None:
        """Remember what files look like whose content did not change."""
        if states:
            with self._database.write() as connection:
                for n, state in states.items():
                    changes.note_file(connection, n, state)

    def remember_root(self, path: str, globs: Sequence[str], about: str | None = None) -> None:
        """Note a folder that was added on this machine, so that ``refresh`` finds its new files; once is enough. And
        what it holds; None leaves that as it was.
        """
        here = this_machine().id
        known = {root: row for machine, root, *row in self.all_roots() if machine == here}
        before = known.get(path)
        known_about = before[1] if before is not None else ""
        if before == [tuple(globs), known_about if about is None else about]:
            return
        with self._database.write() as connection:
            connection.run(
                "INSERT INTO roots(machine, path, globs, added_at) VALUES(?, ?, '[]', ?) ON CONFLICT DO NOTHING",
                (here, path, now_micros()),
            )
            connection.run(
                "UPDATE roots SET globs=?, about=? WHERE machine=? AND path=?",
                (json.dumps(list(globs)), about if about is not None else known_about, here, path),
            )

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        here = this_machine().id
        return [(path, globs) for machine, path, globs, _ in self.all_roots() if machine == here]

    def descriptions(self) -> dict[str, str]:
        """What folders of this machine hold, of those of which the user said it, the innermost first."""
        here = this_machine().id
        said = {path: about for machine, path, _, about in self.all_roots() if machine == here and about}
        return dict(sorted(said.items(), key=lambda pair: -len(pair[0])))

    def all_roots(self) -> list[tuple[str, str, tuple[str, ...], str]]:
        """The folders that were added on any machine: the machine's id, the path, the globs, and what it holds."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT machine, path, globs, about FROM roots ORDER BY machine, path")
        return [(machine, path, tuple(json_or(globs, [])), about) for machine, path, globs, about in rows]

    def forget_root(self, path: str) -> bool:
        """Look for no more new files in a folder of this machine; returns whether it was one of those looked in."""
        with self._database.write() as connection:
            connection.run("DELETE FROM roots WHERE machine=? AND path=?", (this_machine().id, path))
            return connection.changes() > 0

    def take_over_roots(self, machine: str) -> None:
        """Give the folders of another machine to this one, and with them the plain refs, if they were that one's."""
        here = this_machine().id
        with self._database.write() as connection:
            connection.run(
                "UPDATE roots SET machine=? WHERE machine=? AND path NOT IN (SELECT path FROM roots WHERE machine=?)",
                (here, machine, here),
            )
            connection.run("DELETE FROM roots WHERE machine=?", (machine,))
            if machine and connection.meta(HOME_MACHINE) == machine:
                connection.set_meta(HOME_MACHINE, here)


def _state(mtime: int | None, size: int, digest: str | None, fields: str | None) -> FileState | None:
    return FileState(mtime, size, digest or "", json_or(fields or "{}", {})) if mtime is not None else None


_COLUMNS = column_names("knowledge_files")
_KNOWLEDGE_FILE = f"SELECT {', '.join(_COLUMNS)} FROM knowledge_files"


_BEGAN = "knowledge_began"
"""When a store began to have files; negative until it took in those that were there already."""


class KnowledgeRows(StorePart):
    """What is known about the files in the knowledge folder."""

    def set_folder(self, place: str) -> None:
        """Set the folder of the files. What was known about files in another folder, or on another machine, is
        forgotten, so that files that are not here do not count as deleted.
        """
        here = this_machine().id
        with self._database.read() as connection:
            before, machine = connection.meta("knowledge_folder"), connection.meta("knowledge_machine")
        if before == place and machine == here:
            return
        with self._database.write() as connection:
            if before is not None and (before != place or machine not in (None, here)):
                connection.run("DELETE FROM knowledge_files")
            if before is None:
                connection.set_meta(_BEGAN, -now_micros(), replace=False)
            connection.set_meta("knowledge_folder", place)
            connection.set_meta("knowledge_machine", here)

    def note_first_sync(self) -> None:
        """Note that files were taken in: those that come later and were sealed before the store had files are older
        than what it holds.
        """
        with self._database.read() as connection:
            began = int(connection.meta(_BEGAN) or 0)
        if began < 0:
            with self._database.write() as connection:
                connection.set_meta(_BEGAN, -began)

    def last_word(self, identity: str) -> int:
        """When the user last decided about the item with an id, or the store began to have files; in microseconds.
        That a file is gone is no decision, because a branch of a repository may lack it.
        """
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT v.created_at FROM items i JOIN versions v ON v.item = i.n AND v.number = i.vouched"
                " WHERE i.id=?",
                (identity,),
            )
            audit = connection.rows("SELECT at, provenance FROM audit WHERE item=?", (identity,))
            decisions = [int(at) for at, written in audit if provenance.read(written).via != "file"]
            return max(0, int(connection.meta(_BEGAN) or 0), *(int(at) for (at,) in rows), *decisions)

    def times_and_sizes(self) -> dict[str, tuple[int, int]]:
        with self._database.read() as connection:
            rows = connection.rows("SELECT name, mtime, size FROM knowledge_files")
        return {name: (mtime, size) for name, mtime, size in rows}

    def files(self, names: Collection[str] | None = None) -> dict[str, KnownFile]:
        """The files as they were last seen, by name: all of them, or some."""
        with self._database.read() as connection:
            if names is None:
                rows = connection.rows(_KNOWLEDGE_FILE)
            else:
                rows = connection.rows_in(f"{_KNOWLEDGE_FILE} WHERE name IN (*)", sorted(names))
        return {row[0]: KnownFile(*row) for row in rows}

    def files_of(self, numbers: Collection[int]) -> dict[int, KnownFile]:
        with self._database.read() as connection:
            rows = connection.rows_in(f"{_KNOWLEDGE_FILE} WHERE item IN (*)", sorted(numbers))
        return {row[1]: KnownFile(*row) for row in rows}

    def has_file(self, name: str) -> bool:
        """Whether a file of this name is known, in capital letters or small."""
        with self._database.read() as connection:
            same = connection.dialect.ignoring_case("name")
            return bool(connection.rows(f"SELECT 1 FROM knowledge_files WHERE {same}", (name,)))

    def note(self, seen: Sequence[KnownFile], gone: Collection[str] = ()) -> None:
        """Remember what files look like now, and forget others; an item has one file."""
        if not seen and not gone:
            return
        with self._database.write() as connection:
            latest = {file.name: tuple(getattr(file, column) for column in _COLUMNS) for file in seen}
            connection.run_many("DELETE FROM knowledge_files WHERE name=?", [(name,) for name in (*gone, *latest)])
            connection.run_many("DELETE FROM knowledge_files WHERE item=?", [(file.item,) for file in seen])
            connection.insert("knowledge_files", _COLUMNS, latest.values())

    def items_in_transaction(self, numbers: Collection[int], ids: Collection[str] = ()) -> dict[int, Item]:
        """Items with their content, in the bin or not, as they are in the open transaction."""
        with self._database.write() as connection:  # this thread's own, which sees what it wrote
            named = connection.rows_in("SELECT n FROM items WHERE id IN (*)", sorted(ids))
            by_number = {n: items.by_number(connection, n) for n in sorted({*numbers, *(n for (n,) in named)})}
        return {n: item for n, item in by_number.items() if item is not None}

    def belonging(self, numbers: Collection[int], kinds: Collection[str], drives: Collection[str]) -> list[int]:
        """Which of these items have one of the kinds on one of the drives, in the transaction that is open."""
        sql = f"SELECT n FROM items WHERE kind IN ({marks(kinds)}) AND drive IN ({marks(drives)}) AND n IN (*)"
        with self._database.write() as connection:  # this thread's own, which sees what it wrote
            return [n for (n,) in connection.rows_in(sql, sorted(numbers), *kinds, *drives)]

    def without_current_file(self, kinds: Collection[str], drives: Collection[str]) -> list[int]:
        """Items of these kinds and drives that have no file, and items whose file has another version."""
        with self._database.read() as connection:
            is_no_text, values = connection.dialect.json_is("fields", "$.is_textual", False)
            rows = connection.rows(
                f"SELECT n FROM items WHERE kind IN ({marks(kinds)}) AND drive IN ({marks(drives)})"
                " AND state IN ('live', 'archived')"
                f" AND NOT ({is_no_text}) AND n NOT IN"
                " (SELECT item FROM knowledge_files WHERE item IS NOT NULL)"
                " UNION SELECT n FROM items JOIN knowledge_files k ON k.item = n"
                " WHERE k.mark <> items.hash || ' ' || items.state ORDER BY n",
                (*kinds, *drives, *values),
            )
        return [n for (n,) in rows]


class Secrets(StorePart):
    """Counts of the secrets in the current texts of items that are not in the bin."""

    def counts(self) -> dict[str, int]:
        with self._database.read() as connection:
            return dict(
                connection.rows(
                    "SELECT s.kind, sum(s.count) FROM secrets s JOIN items i ON i.n = s.item AND i.state <> 'deleted'"
                    " GROUP BY s.kind ORDER BY s.kind"
                )
            )

    def refs(self) -> list[tuple[Ref, dict[str, int]]]:
        """The items that hold some, with how many of each kind."""
        counts: dict[Ref, dict[str, int]] = {}
        with self._database.read() as connection:
            for drive, path, n, kind, count in connection.rows(
                "SELECT i.drive, i.path, i.n, s.kind, s.count FROM secrets s JOIN items i ON i.n = s.item"
                " WHERE i.state <> 'deleted' ORDER BY i.drive, i.path, s.kind"
            ):
                counts.setdefault(items.shown_ref(drive, path, n), {})[kind] = count
        return list(counts.items())

    def note(self, counts_of_items: Mapping[int, Mapping[str, int]]) -> None:
        with self._database.write() as connection:
            for n, counts in counts_of_items.items():
                write_secrets(connection, n, counts)
