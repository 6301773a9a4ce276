"""What was done, by whom and when: steps that can be undone, the audit, and conversations in their order.

Changes of texts and fields need no row in the audit, because each version says who wrote it. As long as a step is being
taken, every write notes what an item was before. Steps end after some weeks, and the oldest go when there are many. An
item that is erased takes its rows with it, so that nothing here tells what it was called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ricordo import speaking
from ricordo.steps import CurrentStep, current_step
from ricordo.store.sql import items
from ricordo.store.sql.database import (
    DAY,
    Connection,
    Dialect,
    StorePart,
    all_of,
    json_or,
    marks,
    micros,
    moment,
    now_micros,
    optional_moment,
)
from ricordo.values.items import Item, first_words
from ricordo.values.kinds import CHECKPOINT, REMEMBERED_KINDS, SESSION
from ricordo.values.log import AuditEntry, Happening, ThreadSpan
from ricordo.values.provenance import read, stored

MOST_STEPS = 1000
KEPT_DAYS = 30
NEW = (0, "")
_STEP_COLUMNS = ("step", "item", "version", "state", "new_version", "new_state")


def note_step(connection: Connection, n: int, before: tuple[int, str], after: tuple[int, str]) -> None:
    """Note the version and the state of an item before and after a change; before, a new one was ``NEW``."""
    step = _begun(connection)
    if step is None:
        return
    if before == NEW:
        connection.insert("step_items", _STEP_COLUMNS, [(step.id, n, *before, *after)])
        return
    connection.run(
        f"INSERT INTO step_items({', '.join(_STEP_COLUMNS)}) VALUES({marks(_STEP_COLUMNS)}) ON CONFLICT DO NOTHING",
        (step.id, n, *before, *after),
    )
    connection.run("UPDATE step_items SET new_version=?, new_state=? WHERE step=? AND item=?", (*after, step.id, n))


def note_provenance(connection: Connection, n: int) -> None:
    """Note whose words an item is before that changes without a new version."""
    step = _begun(connection)
    if step is not None:
        connection.run(
            "INSERT INTO step_items(step, item, version, state, new_version, new_state, vouched, provenance)"
            " SELECT ?, n, version, state, version, state, vouched, provenance FROM items WHERE n=?"
            " ON CONFLICT DO NOTHING",
            (step.id, n),
        )


def note_link(connection: Connection, source: int, target: int, type_: str, *, added: bool) -> None:
    """Note a link by hand that was made or removed."""
    step = _begun(connection)
    if step is not None:
        connection.run(
            "INSERT INTO step_links(step, source, target, type, added) VALUES(?,?,?,?,?) ON CONFLICT DO NOTHING",
            (step.id, source, target, type_, int(added)),
        )


def _begun(connection: Connection) -> CurrentStep | None:
    """The step that is being taken; a transaction writes it down once, so that many new items go in one batch."""
    step = current_step()
    if step is None or connection.step == step.id:
        return step
    connection.step = step.id
    now = now_micros()
    connection.run(
        "DELETE FROM steps WHERE at < ? OR at < (SELECT at FROM steps ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (now - KEPT_DAYS * DAY, MOST_STEPS - 2),  # one more comes now
    )
    connection.run(
        "INSERT INTO steps(id, at, verb, provenance, undone, erased) VALUES(?,?,?,?,'',0) ON CONFLICT DO NOTHING",
        (step.id, now, step.verb, stored(speaking.speaker())),
    )
    return step


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


def note_audit(connection: Connection, what: str, n: int, provenance: str | None = None) -> None:
    """Write down who does something to an item now, or, with ``said``, who did it on another machine."""
    connection.run(
        "INSERT INTO audit(at, what, item, ref, version, provenance)"
        " SELECT ?, ?, id, drive || ':' || path, version, ? FROM items WHERE n=?",
        (now_micros(), what, stored(speaking.speaker()) if provenance is None else provenance, n),
    )


def note_erased(connection: Connection, n: int) -> None:
    """Write down that an item is erased, and forget its name, which may say what it was about."""
    step = _begun(connection)
    if step is not None:
        connection.run("UPDATE steps SET erased=erased+1 WHERE id=?", (step.id,))
    note_audit(connection, "erased", n)
    connection.run("UPDATE audit SET ref='' WHERE item=(SELECT id FROM items WHERE n=?)", (n,))


class Audit(StorePart):
    """Answers who did what, and which versions wait for the user."""

    def entries(
        self, *, item: str | None, since: datetime | None, until: datetime | None, by: str, told: bool, limit: int
    ) -> list[AuditEntry]:
        """What was done, or with ``told`` what was found and opened; newest first."""
        condition, values = all_of(
            ("id=?", item),
            ("at>=?", micros(since) if since is not None else None),
            ("at<?", micros(until) if until is not None else None),
            ("instr(lower(said), ?) > 0", by.lower() or None),
        )
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT at, what, ref, version, said, query FROM ({_TOLD if told else _CHANGES}) one"
                f" WHERE {condition} ORDER BY at DESC, version DESC, ref LIMIT ?",
                (*values, limit),
            )
        return [
            AuditEntry(at=moment(at), what=what, ref=ref, version=version, provenance=read(provenance), query=query)
            for at, what, ref, version, provenance, query in rows
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
            note_audit(connection, what, n)
            if what == "accepted":
                note_provenance(connection, n)
                connection.run("UPDATE items SET vouched=version WHERE n=?", (n,))
                connection.run("UPDATE knowledge_files SET mark='' WHERE item=?", (n,))
        with self._database.write(durable=True) as connection:
            connection.touched.add(n)  # its knowledge file is written again, now with a seal


_COLUMNS = (
    "i.drive, i.path, i.kind, i.category, i.title, i.thread, i.seq, i.metadata, i.n,"
    " (SELECT substr(c.text, 1, 200) FROM chunks c WHERE c.item = i.n ORDER BY c.live_from DESC, c.id LIMIT 1)"
)
_IS_SESSION = f"i.kind = 'session' AND i.category IS NOT DISTINCT FROM '{SESSION}'"
_VERSIONS = (
    f"SELECT CASE WHEN {_IS_SESSION} THEN i.created_at ELSE v.created_at END, v.number, {_COLUMNS}, v.provenance"
    " FROM versions v JOIN items i ON i.n = v.item WHERE v.created_at >= ? AND i.state <> 'deleted' {condition}"
    f" AND NOT ({_IS_SESSION} AND v.number > 1) ORDER BY v.created_at DESC, v.item DESC, v.number DESC LIMIT ?"
)
"""What was said, made and changed; of a session that grew, its new turns are shown."""
_PUT_AWAY = (
    f"SELECT i.deleted_at, i.state, {_COLUMNS},"
    " (SELECT a.provenance FROM audit a WHERE a.item = i.id ORDER BY a.id DESC LIMIT 1) FROM items i"
    " WHERE i.deleted_at IS NOT NULL AND i.deleted_at >= ? {condition} ORDER BY i.deleted_at DESC LIMIT ?"
)


class Threads(StorePart):
    """Items by their place in a conversation and by time. Writes nothing."""

    def keys(self, thread: str) -> dict[str, int]:
        with self._database.read() as connection:
            return dict(
                connection.rows(
                    "SELECT json_extract(metadata, '$.key'), seq FROM items WHERE thread=? AND seq IS NOT NULL"
                    " AND kind='session' AND json_extract(metadata, '$.key') IS NOT NULL ORDER BY seq",
                    (thread,),
                )
            )

    def user_turns_after(self, thread: str, place: int, count: int) -> list[Mapping[str, Any]]:
        with self._database.read() as connection:
            said_by_user, values = connection.dialect.json_is("metadata", "$.role", "user")
            rows = connection.rows(
                "SELECT metadata FROM items WHERE thread=? AND seq>? AND state='live' AND kind='session'"
                f" AND {said_by_user} AND json_extract(metadata, '$.aside') IS NULL ORDER BY seq LIMIT ?",
                (thread, place, *values, count),
            )
        return [json_or(row[0], {}) for row in rows]

    def turns_with(self, name: str, thread: str | None = None) -> list[tuple[int, str, int, datetime, str]]:
        """The turns whose metadata may hold a name: number, thread, place, time, and the metadata as JSON."""
        condition, values = all_of(("instr(metadata, ?) > 0", f'"{name}"'), ("thread=?", thread))
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT n, thread, seq, created_at, metadata FROM items WHERE kind='session' AND state='live'"
                f" AND seq IS NOT NULL AND {condition} ORDER BY created_at, thread, seq",
                values,
            )
        return [(n, turn_of, seq, moment(at), metadata) for n, turn_of, seq, at, metadata in rows]

    def items(self, thread: str, first: int, last: int) -> list[Item]:
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT n FROM items WHERE thread=? AND seq BETWEEN ? AND ? AND state='live' ORDER BY seq, n",
                (thread, first, last),
            )
            items_of_thread = (items.by_number(connection, row[0]) for row in rows)
            return [item for item in items_of_thread if item is not None]

    def spans(self, threads: Sequence[str]) -> dict[str, ThreadSpan]:
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
            condition, values = _where(connection.dialect, thread, kinds)
            bound = (after, *values, limit)
            made, put_away = connection.gather(
                lambda: connection.rows(_VERSIONS.format(condition=condition), bound),
                lambda: connection.rows(_PUT_AWAY.format(condition=condition), bound),
            )
        happenings = [
            _happening(at, _what(version, row[2], row[3], row[6]), version, row)
            for at, version, *row in made
            if at >= after
        ]
        happenings += [
            _happening(at, "removed" if state == "deleted" else "forgotten", None, row) for at, state, *row in put_away
        ]
        happenings.sort(
            key=lambda event: (event.at, event.seq or 0, event.ref, event.version or 0),
            reverse=True,
        )
        return happenings[:limit]


def neighbours_in_threads(
    connection: Connection, numbers: Sequence[int], reach: int
) -> dict[int, list[tuple[int, int]]]:
    """For items of a thread, the live items up to ``reach`` places away: ``(number, places away)``."""
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for n, other, away in connection.rows_in(
        "SELECT a.n, b.n, b.seq - a.seq FROM items a JOIN items b ON b.thread = a.thread"
        f" AND b.seq BETWEEN a.seq - {int(reach)} AND a.seq + {int(reach)} AND b.n <> a.n"
        " AND b.state = 'live' WHERE a.thread IS NOT NULL AND a.n IN (*)",
        numbers,
    ):
        neighbours.setdefault(n, []).append((other, away))
    return neighbours


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


def _what(version: int, kind: str, category: str | None, seq: int | None) -> str:
    if version > 1:
        return "updated"
    if kind == "session":
        return "event" if seq is not None else "session" if category == SESSION else "created"
    return "remembered" if kind in REMEMBERED_KINDS else "created"


def _happening(at: int, what: str, version: int | None, row: Sequence[Any]) -> Happening:
    drive, path, kind, _, title, thread, seq, metadata, n, text, provenance = row
    details = json_or(metadata, {}) if kind == "session" else {}
    opening = first_words(text or "") if kind in REMEMBERED_KINDS else ""
    if kind == "session":
        opening = " ".join((text or "").split())
    return Happening(
        at=moment(at),
        what=what,
        ref=str(items.shown_ref(drive, path, n)),
        title=title or opening or path.rpartition("/")[2],
        kind=kind,
        thread=thread,
        seq=seq,
        direction=str(details.get("direction", "")),
        role=str(details.get("role", "")),
        version=version,
        by=read(provenance or "").short,
    )
