"""Threads and times: the turns of a session in order, and what happened to any item, the latest first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ricordo.store.sql import items
from ricordo.store.sql.batches import in_parts, marks
from ricordo.store.sql.protocols import Connection, Database, Dialect
from ricordo.store.sql.times import micros, moment, optional_moment
from ricordo.values import provenance
from ricordo.values.items import Item, first_words
from ricordo.values.kinds import CHECKPOINT, REMEMBERED_KINDS, SESSION

if TYPE_CHECKING:
    from ricordo.values.sessions import Happening, ThreadSpan

_LINE = 200
_COLUMNS = (
    "i.drive, i.path, i.kind, i.category, i.title, i.thread, i.seq, i.metadata,"
    f" (SELECT substr(c.text, 1, {_LINE}) FROM chunks c WHERE c.item = i.n ORDER BY c.live_from DESC, c.id LIMIT 1)"
)


_PUT_AWAY_BY = "(SELECT a.provenance FROM audit a WHERE a.item = i.id ORDER BY a.id DESC LIMIT 1)"


class Threads:
    """Items by their place in a conversation and by time. Writes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keys(self, thread: str) -> dict[str, int]:
        with self._database.read() as connection:
            return dict(
                connection.rows(
                    "SELECT json_extract(metadata, '$.key'), seq FROM items WHERE thread=? AND seq IS NOT NULL"
                    " AND kind='session' AND json_extract(metadata, '$.key') IS NOT NULL ORDER BY seq",
                    (thread,),
                )
            )

    def said_after(self, thread: str, place: int, count: int) -> list[Mapping[str, Any]]:
        with self._database.read() as connection:
            said_by_user, values = connection.dialect.json_is("metadata", "$.role", "user")
            rows = connection.rows(
                "SELECT metadata FROM items WHERE thread=? AND seq>? AND state='live' AND kind='session'"
                f" AND {said_by_user} AND json_extract(metadata, '$.aside') IS NULL ORDER BY seq LIMIT ?",
                (thread, place, *values, count),
            )
        return [json.loads(row[0]) for row in rows]

    def items(self, thread: str, first: int, last: int) -> list[Item]:
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT n FROM items WHERE thread=? AND seq BETWEEN ? AND ? AND state='live' ORDER BY seq, n",
                (thread, first, last),
            )
            found = (items.by_number(connection, row[0]) for row in rows)
            return [item for item in found if item is not None]

    def spans(self, threads: Sequence[str]) -> dict[str, ThreadSpan]:
        from ricordo.values.sessions import ThreadSpan

        spans: dict[str, ThreadSpan] = {}
        with self._database.read() as connection:
            for thread in threads:
                count, first, last = connection.rows(
                    "SELECT count(*), min(created_at), max(created_at) FROM items"
                    " WHERE thread=? AND seq IS NOT NULL AND state='live'",
                    (thread,),
                )[0]
                spans[thread] = ThreadSpan(count, optional_moment(first), optional_moment(last))
        return spans

    def happenings(
        self, *, since: datetime | None, thread: str | None, kinds: Sequence[str], limit: int
    ) -> list[Happening]:
        after = micros(since) if since is not None else 0
        with self._database.read() as connection:
            found = [
                *_versions(connection, after, thread, kinds, limit),
                *_put_away(connection, after, thread, kinds, limit),
            ]
        found.sort(key=lambda one: (one.at, one.seq or 0, one.ref, one.version or 0), reverse=True)
        return found[:limit]


def neighbours_in_threads(
    connection: Connection, numbers: Sequence[int], reach: int
) -> dict[int, list[tuple[int, int]]]:
    """For items of a thread, the live items up to ``reach`` places away: ``(number, places away)``."""
    found: dict[int, list[tuple[int, int]]] = {}
    for places, part in in_parts(numbers):
        for n, other, away in connection.rows(
            "SELECT a.n, b.n, b.seq - a.seq FROM items a JOIN items b ON b.thread = a.thread"
            f" AND b.seq BETWEEN a.seq - {int(reach)} AND a.seq + {int(reach)} AND b.n <> a.n"
            f" AND b.state = 'live' WHERE a.thread IS NOT NULL AND a.n IN ({places})",
            part,
        ):
            found.setdefault(n, []).append((other, away))
    return found


def _where(dialect: Dialect, thread: str | None, kinds: Sequence[str]) -> tuple[str, list[object]]:
    """The condition for rows of a timeline: no checkpoints; tools and sub-agents only if a thread is asked for."""
    sql = f" AND NOT (i.kind='session' AND i.category IS NOT DISTINCT FROM '{CHECKPOINT}')"
    values: list[object] = []
    if thread is not None:
        sql += " AND i.thread=?"
        values.append(thread)
    else:
        of_a_tool, values = dialect.json_is("i.metadata", "$.role", "tool")
        sql += (
            f" AND NOT (i.kind='session' AND (coalesce({of_a_tool}, FALSE)"
            " OR json_extract(i.metadata, '$.aside') IS NOT NULL))"
        )
    if kinds:
        sql += f" AND i.kind IN ({marks(kinds)})"
        values += kinds
    return sql, values


def _versions(
    connection: Connection, after: int, thread: str | None, kinds: Sequence[str], limit: int
) -> list[Happening]:
    """What was said, made and changed; of a session that grew, its new turns are shown."""
    condition, values = _where(connection.dialect, thread, kinds)
    at = f"CASE WHEN i.category='{SESSION}' AND i.kind='session' THEN i.created_at ELSE v.created_at END"
    rows = connection.rows(
        f"SELECT {at}, v.number, {_COLUMNS}, v.provenance FROM versions v JOIN items i ON i.n = v.item"
        f" WHERE v.created_at >= ? AND i.state <> 'deleted' {condition}"
        f" AND NOT (i.category IS NOT DISTINCT FROM '{SESSION}' AND i.kind = 'session' AND v.number > 1)"
        " ORDER BY v.created_at DESC, v.item DESC, v.number DESC LIMIT ?",
        (after, *values, limit),
    )
    return [
        _happening(row[0], _what(row[1], row[4], row[5], row[8]), row[1], row[2:]) for row in rows if row[0] >= after
    ]


def _put_away(
    connection: Connection, after: int, thread: str | None, kinds: Sequence[str], limit: int
) -> list[Happening]:
    condition, values = _where(connection.dialect, thread, kinds)
    rows = connection.rows(
        f"SELECT i.deleted_at, i.state, {_COLUMNS}, {_PUT_AWAY_BY} FROM items i"
        f" WHERE i.deleted_at IS NOT NULL AND i.deleted_at >= ? {condition} ORDER BY i.deleted_at DESC LIMIT ?",
        (after, *values, limit),
    )
    return [_happening(row[0], "removed" if row[1] == "deleted" else "forgotten", None, row[2:]) for row in rows]


def _what(version: int, kind: str, category: str | None, seq: int | None) -> str:
    if version > 1:
        return "updated"
    if kind == "session":
        return "event" if seq is not None else "session" if category == SESSION else "created"
    return "remembered" if kind in REMEMBERED_KINDS else "created"


def _happening(at: int, what: str, version: int | None, row: tuple[Any, ...]) -> Happening:
    from ricordo.values.sessions import Happening

    drive, path, kind, _, title, thread, seq, metadata, text, said = row
    metadata_fields = json.loads(metadata)
    opening = first_words(text or "") if kind in REMEMBERED_KINDS else ""
    if kind == "session":
        opening = " ".join((text or "").split())
    shown = title or opening or path.rpartition("/")[2]
    return Happening(
        moment(at),
        what,
        f"{drive}:{path}",
        shown,
        kind,
        thread,
        seq,
        str(metadata_fields.get("direction", "")) if kind == "session" else "",
        str(metadata_fields.get("role", "")) if kind == "session" else "",
        version,
        by=provenance.read(said or "").short,
    )
