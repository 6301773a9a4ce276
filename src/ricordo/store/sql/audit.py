"""The record of changes that make no version, and everything that was done or told, by whom.

Changes of texts and fields need no row of their own, because each version says who wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ricordo import speaking
from ricordo.store.sql import steps
from ricordo.store.sql.protocols import Connection, Database
from ricordo.store.sql.times import micros, moment, now_micros
from ricordo.values.log import AuditEntry
from ricordo.values.provenance import read, stored

AUDIT_COLUMNS = ("at", "what", "item", "ref", "version", "provenance")
_WAITING = (
    "SELECT n FROM items WHERE state='live' AND vouched <> version UNION"
    " SELECT n FROM items WHERE state='live' AND loading='always' AND vouched IS NULL ORDER BY n"
)
_CHANGES = (
    "SELECT v.created_at AS at, CASE WHEN v.number = 1 THEN 'created' ELSE 'changed' END AS what,"
    " v.drive || ':' || v.path AS ref, v.number AS version, v.provenance AS said, '' AS query, i.id AS id"
    " FROM versions v JOIN items i ON i.n = v.item"
    " UNION ALL SELECT at, what, ref, version, provenance, '', item FROM audit"
)
_TOLD = (
    "SELECT r.at AS at, CASE WHEN r.query IS NULL THEN 'opened' ELSE 'found' END AS what, r.ref AS ref,"
    " r.version AS version, coalesce(q.asker, r.asker) AS said, coalesce(q.text, '') AS query, i.id AS id"
    " FROM retrieval_log r JOIN items i ON i.n = r.item LEFT JOIN query_log q ON q.id = r.query"
)


def note(connection: Connection, what: str, n: int) -> None:
    """Write down who does something to an item now."""
    said = stored(speaking.speaker())
    connection.run(
        "INSERT INTO audit(at, what, item, ref, version, provenance)"
        " SELECT ?, ?, id, drive || ':' || path, version, ? FROM items WHERE n=?",
        (now_micros(), what, said, n),
    )


def note_of(connection: Connection, what: str, item: str, said: Mapping[str, Any]) -> None:
    """Write down what somebody did to an item on another machine."""
    connection.run(
        "INSERT INTO audit(at, what, item, ref, version, provenance)"
        " SELECT ?, ?, id, drive || ':' || path, version, ? FROM items WHERE id=?",
        (now_micros(), what, json.dumps(dict(said), ensure_ascii=False), item),
    )


def note_erased(connection: Connection, n: int) -> None:
    """Write down that an item is erased, and forget its name, which may say what it was about."""
    note(connection, "erased", n)
    connection.run("UPDATE audit SET ref='' WHERE item=(SELECT id FROM items WHERE n=?)", (n,))


class Audit:
    """Answers who did what, and which versions wait for the user."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(
        self, *, item: str | None, since: datetime | None, until: datetime | None, by: str, told: bool, limit: int
    ) -> list[AuditEntry]:
        """What was done, or with ``told`` what was found and opened; newest first."""
        conditions, values = ["1=1"], []
        for condition, value in (
            ("id=?", item),
            ("at>=?", micros(since) if since is not None else None),
            ("at<?", micros(until) if until is not None else None),
            ("instr(lower(said), ?) > 0", by.lower() or None),
        ):
            if value is not None:
                conditions.append(condition)
                values.append(value)
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT at, what, ref, version, said, query FROM ({_TOLD if told else _CHANGES}) one"
                f" WHERE {' AND '.join(conditions)} ORDER BY at DESC, version DESC, ref LIMIT ?",
                (*values, limit),
            )
        return [
            AuditEntry(moment(at), what, ref, version, read(said), query)
            for at, what, ref, version, said, query in rows
        ]

    def waiting(self) -> list[int]:
        """Live items whose current version is not the user's: there is an older one that is, or every agent would get
        it.
        """
        with self._database.read() as connection:
            return [n for (n,) in connection.rows(_WAITING)]

    def decide(self, n: int, what: str) -> None:
        """Write down that the user accepted or refused the current version; an accepted one has the user's word."""
        with self._database.write(durable=True) as connection:
            note(connection, what, n)
            if what == "accepted":
                steps.note_said(connection, n)
                connection.run("UPDATE items SET vouched=version WHERE n=?", (n,))
                connection.run("UPDATE knowledge_files SET mark='' WHERE item=?", (n,))
        with self._database.write(durable=True) as connection:
            connection.touched.add(n)  # its knowledge file is written again, now with a seal
