"""The rows of entries that machines exchange through a folder: written once, found by item, emptied when erased."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator

from ricordo.plugins.sync.log import KINDS, LogEntry
from ricordo.store.sql.database import Connection, in_parts, marks

_COLUMNS = "uid, kind, item, clock, writer, parents, body"


def last_clock(connection: Connection) -> int:
    """The highest logical time that this store knows."""
    return int(connection.rows("SELECT coalesce(max(clock), 0) FROM sync_entries")[0][0])


def add(connection: Connection, entry: LogEntry, folder: int | None) -> bool:
    """Keep an entry; returns whether that changes anything.

    The same change may have been written down by several machines; the first of these in the common order counts, so
    that it does not matter which arrived first. What was erased stays so.
    """
    uid = entry.uid
    if connection.rows("SELECT 1 FROM sync_erased WHERE uid=?", (uid,)):
        return False
    body = json.dumps(dict(entry.body), ensure_ascii=False, sort_keys=True).encode()
    for clock, writer, held in connection.rows("SELECT clock, writer, body FROM sync_entries WHERE uid=?", (uid,)):
        if (clock, writer) < entry.order or ((clock, writer) == entry.order and zlib.decompress(held) <= body):
            return False
    connection.run("DELETE FROM sync_entries WHERE uid=?", (uid,))
    connection.run(
        f"INSERT INTO sync_entries({_COLUMNS}, folder) VALUES(?,?,?,?,?,?,?,?)",
        (
            uid,
            entry.kind,
            entry.item,
            entry.clock,
            entry.writer,
            json.dumps(entry.parents),
            zlib.compress(body),
            folder,
        ),
    )
    return True


def of_items(connection: Connection, items: Collection[str]) -> dict[str, list[tuple[str, LogEntry]]]:
    """The entries of some items, with their uids."""
    found: dict[str, list[tuple[str, LogEntry]]] = {item: [] for item in items}
    for some, part in in_parts(sorted(items)):
        for row in connection.rows(f"SELECT {_COLUMNS} FROM sync_entries WHERE item IN ({some})", part):
            entry = _entry(row)
            found[entry.item].append((row[0], entry))
    return found


def of_kind(connection: Connection, kind: str) -> Iterator[tuple[str, LogEntry]]:
    """All entries of one kind, with their uids."""
    for row in connection.rows(f"SELECT {_COLUMNS} FROM sync_entries WHERE kind=?", (kind,)):
        if row[6]:
            yield row[0], _entry(row)


def unwritten(
    connection: Connection, folder: int, upto: int, limit: int, *, is_whole: bool
) -> list[tuple[int, LogEntry]]:
    """What the log in a folder still lacks, in the order in which it came here."""
    rows = connection.rows(
        f"SELECT {_COLUMNS}, id FROM sync_entries WHERE {_lacking(folder, is_whole)} ORDER BY id LIMIT ?", (upto, limit)
    )
    return [(row[7], _entry(row)) for row in rows]


def count_unwritten(connection: Connection, folder: int, upto: int, *, is_whole: bool) -> int:
    """How many entries the log in a folder still lacks."""
    sql = f"SELECT count(*) FROM sync_entries WHERE {_lacking(folder, is_whole)}"
    return int(connection.rows(sql, (upto,))[0][0])


def _lacking(folder: int, is_whole: bool) -> str:
    """What came through a folder need not be written there again, unless the log has all that is known."""
    return "id > ? AND length(body) > 0" + ("" if is_whole else f" AND folder IS NOT {int(folder)}")


def erasures(connection: Connection, item: str) -> list[str]:
    """The uids of the entries that erased texts of an item."""
    return [uid for (uid,) in connection.rows("SELECT uid FROM sync_entries WHERE item=? AND kind='erase'", (item,))]


def erase(connection: Connection, uids: Iterable[str]) -> None:
    """Empty entries, and have logs that hold them written anew."""
    for uid in uids:
        connection.run("INSERT OR IGNORE INTO sync_erased VALUES(?)", (uid,))
        connection.run(
            "UPDATE sync_folders SET stale=1 WHERE EXISTS (SELECT 1 FROM sync_entries e WHERE e.uid=?"
            " AND length(e.body) > 0 AND e.id <= sync_folders.upto"
            " AND (sync_folders.is_whole OR e.folder IS NOT sync_folders.id))",
            (uid,),
        )
        connection.run("UPDATE sync_entries SET body=x'' WHERE uid=?", (uid,))


def erase_former_kinds(connection: Connection) -> None:
    """Let go of what earlier versions wrote down and nobody reads any more: logs are written anew without it."""
    kinds = tuple(KINDS)
    sql = f"SELECT uid FROM sync_entries WHERE kind NOT IN ({marks(kinds)}) AND length(body) > 0"
    erase(connection, [uid for (uid,) in connection.rows(sql, kinds)])


def _entry(row: tuple[object, ...]) -> LogEntry:
    _, kind, item, clock, writer, parents, body = row[:7]
    assert isinstance(body, bytes)
    assert isinstance(clock, int)
    plain = json.loads(zlib.decompress(body)) if body else {}
    return LogEntry(str(kind), str(item), clock, str(writer), tuple(json.loads(str(parents))), plain)
