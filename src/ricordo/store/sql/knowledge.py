"""What the store knows about the knowledge folder: which file belongs to which item, and how it was last seen.

Files are read and written elsewhere. The rows change in the transaction that changes the item, so that they always
agree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ricordo.config.machine import this_machine
from ricordo.store.sql import items
from ricordo.store.sql.batches import in_parts, marks
from ricordo.store.sql.protocols import Connection, Database
from ricordo.values.items import Item, KnownFile

_COLUMNS = ("name", "item", "mtime", "size", "hash", "mark", "problem")
_FILE = f"SELECT {', '.join(_COLUMNS)} FROM knowledge_files"


class KnowledgeRows:
    """What is known about the files in the knowledge folder."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
            connection.set_meta("knowledge_folder", place)
            connection.set_meta("knowledge_machine", here)

    def times_and_sizes(self) -> dict[str, tuple[int, int]]:
        """The times and sizes that files were last seen with, by name."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT name, mtime, size FROM knowledge_files")
        return {name: (mtime, size) for name, mtime, size in rows}

    def files(self, names: Collection[str] | None = None) -> dict[str, KnownFile]:
        """The files as they were last seen, by name: all of them, or some."""
        with self._database.read() as connection:
            if names is None:
                return {row[0]: KnownFile(*row) for row in connection.rows(_FILE)}
            found: dict[str, KnownFile] = {}
            for places, part in in_parts(sorted(names)):
                rows = connection.rows(f"{_FILE} WHERE name IN ({places})", part)
                found |= {row[0]: KnownFile(*row) for row in rows}
            return found

    def files_of(self, numbers: Collection[int]) -> dict[int, KnownFile]:
        """The files of some items, by their numbers."""
        found: dict[int, KnownFile] = {}
        with self._database.read() as connection:
            for places, part in in_parts(sorted(numbers)):
                rows = connection.rows(f"{_FILE} WHERE item IN ({places})", part)
                found |= {row[1]: KnownFile(*row) for row in rows}
        return found

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
            latest = {file.name: file for file in seen}
            connection.run_many("DELETE FROM knowledge_files WHERE name=?", [(name,) for name in (*gone, *latest)])
            connection.run_many("DELETE FROM knowledge_files WHERE item=?", [(file.item,) for file in seen])
            connection.insert(
                "knowledge_files",
                _COLUMNS,
                [(f.name, f.item, f.mtime, f.size, f.hash, f.mark, f.problem) for f in latest.values()],
            )

    def items_in_transaction(self, numbers: Collection[int], ids: Collection[str] = ()) -> dict[int, Item]:
        """Items with their content, in the bin or not, as they are in the open transaction."""
        with self._database.write() as connection:  # this thread's own, which sees what it wrote
            wanted = {*numbers, *(n for identity in ids if (n := _number(connection, identity)) is not None)}
            found = {n: items.by_number(connection, n) for n in sorted(wanted)}
        return {n: item for n, item in found.items() if item is not None}

    def belonging(self, numbers: Collection[int], kinds: Collection[str], drives: Collection[str]) -> list[int]:
        """Which of these items have one of the kinds on one of the drives, in the transaction that is open."""
        found: list[int] = []
        with self._database.write() as connection:  # this thread's own, which sees what it wrote
            for places, part in in_parts(sorted(numbers)):
                rows = connection.rows(
                    f"SELECT n FROM items WHERE n IN ({places})"
                    f" AND kind IN ({marks(kinds)}) AND drive IN ({marks(drives)})",
                    (*part, *kinds, *drives),
                )
                found += [n for (n,) in rows]
        return found

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


def _number(connection: Connection, identity: str) -> int | None:
    rows = connection.rows("SELECT n FROM items WHERE id=?", (identity,))
    return rows[0][0] if rows else None
