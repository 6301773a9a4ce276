"""What was asked, found and opened: counts per item, the query log and the retrieval log (``statistics`` sums them up).

Counts are the store's memory of use and stay; the logs are for looking back, age out, and can be cleared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.items import decay_now
from ricordo.store.sql.protocols import Connection, Database
from ricordo.store.sql.times import DAY, moment, now_micros
from ricordo.values.use import opened

if TYPE_CHECKING:
    from ricordo.values.use import Judged, Retrieval, StatsReport, Use

EXPIRE_AT_ONCE = 500
"""How many old log entries are dropped with one recording, at the most, to keep its transaction short."""
_LOGS = ("query_log", "retrieval_log")
_NAMES = (
    "SELECT drive || ':' || path FROM items WHERE n=? UNION SELECT drive || ':' || path FROM versions WHERE item=?"
    " UNION SELECT ref FROM retrieval_log WHERE item=?"
)
"""The names that an item has and had."""


class UsageLog:
    """How often items were found and opened, and the log of queries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def can_record(self) -> bool:
        """Whether use can be remembered here at all."""
        return not self._database.read_only

    def record(self, uses: Sequence[Use], *, keep_days: float, wait: float | None = None) -> None:
        """Remember searches and openings, all in one transaction, and drop log entries older than ``keep_days``."""
        if not uses or self._database.read_only:
            return
        with self._database.write(wait=wait) as connection:
            now = now_micros()
            for use in uses:
                _record(connection, use, now)
            for table in _LOGS:
                connection.run(
                    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE at < ? ORDER BY at LIMIT ?)",
                    (now - int(keep_days * DAY), EXPIRE_AT_ONCE),
                )

    def stats(self, *, days: float, by: str, limit: int) -> StatsReport:
        """Sums over the last days of the log, by query, tool or local day."""
        from ricordo.store.sql.statistics import stats_of

        with self._database.read() as connection:
            return stats_of(connection, days, by, limit)

    def retrievals(self, *, item: int | None = None, query: str | None = None, limit: int = 50) -> list[Retrieval]:
        """What the log holds of one item, or of one query (its exact text), the latest first."""
        from ricordo.values.use import Retrieval

        condition, key = ("r.item = ?", item) if item is not None else ("q.text = ?", query)
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT r.at, r.ref, r.version, r.score, q.text, q.tool, q.profile FROM retrieval_log r"
                f" LEFT JOIN query_log q ON q.id = r.query WHERE {condition} ORDER BY r.at DESC, r.id DESC LIMIT ?",
                (key, limit),
            )
        return [Retrieval(moment(at), *rest) for at, *rest in rows]

    def judged(self, *, within_seconds: float) -> list[Judged]:
        """Queries and items that belong together: by a verdict, or opened so soon after the query had shown them."""
        from ricordo.values.use import Judged

        with self._database.read() as connection:
            opened = connection.rows(
                "SELECT DISTINCT q.text, i.drive || ':' || i.path FROM retrieval_log o"
                " JOIN retrieval_log r ON r.item = o.item AND r.query IS NOT NULL AND r.id < o.id AND r.at >= o.at - ?"
                " JOIN query_log q ON q.id = r.query JOIN items i ON i.n = o.item"
                " WHERE o.query IS NULL AND i.state = 'live' AND q.text <> '' ORDER BY 1, 2",
                (int(within_seconds * 1_000_000),),
            )
            given = connection.rows(
                "SELECT f.query, i.drive || ':' || i.path, f.verdict FROM feedback f JOIN items i ON i.n = f.item"
                " WHERE i.state = 'live' ORDER BY f.id"
            )
        return [Judged(query, ref) for query, ref in opened] + [Judged(*row) for row in given]

    def clear(self) -> int:
        """Erase both logs from the file; returns how many queries they held. Counts per item stay."""
        with self._database.write(durable=True) as connection:
            count: int = connection.rows("SELECT count(*) FROM query_log")[0][0]
            for table in _LOGS:
                connection.run(f"DELETE FROM {table}")
        self._database.checkpoint()
        return count


def forget_names(connection: Connection, n: int) -> None:
    """Before an item is erased: take its names, which may say what it was about, from the queries that found it and
    from the verdicts on it. The queries are those that the retrieval log has for the item, so no log is read through.
    """
    names = {row[0] for row in connection.rows(_NAMES, (n, n, n))}
    found = connection.rows(
        "SELECT id, refs FROM query_log WHERE id IN (SELECT query FROM retrieval_log WHERE item=?)", (n,)
    )
    connection.run_many(
        "UPDATE query_log SET refs=? WHERE id=?",
        [(json.dumps([ref for ref in json.loads(refs) if ref not in names]), query) for query, refs in found],
    )
    connection.run("UPDATE feedback SET ref='' WHERE item=?", (n,))


def writable(text: str) -> str:
    """The text as SQLite takes it: a lone surrogate in a query, which matches nothing, is replaced."""
    return text.encode("utf-8", "replace").decode()


def _record(connection: Connection, use: Use, now: int) -> None:
    query = None
    if use.logged and use.text is not None:
        said = (writable(use.text), use.tool, use.profile)
        query = connection.rows(
            "INSERT INTO query_log(text, tool, profile, results, refs, ms, at, asker, fit) VALUES(?,?,?,?,?,?,?,?,?)"
            " RETURNING id",
            (*said, len(use.items), json.dumps(use.refs), use.ms, now, use.asker, use.fit),
        )[0][0]
    by_id = {item.id: item for item in use.items}
    # An item may have left the store since it was shown; it is then simply not found here.
    rows = list(_usage_rows(connection, "i.id", list(by_id)))
    connection.run_many("INSERT INTO usage(item) VALUES(?) ON CONFLICT DO NOTHING", [(row[0],) for row in rows])
    connection.run_many(
        "UPDATE usage SET retrieval_count = retrieval_count + 1, last_retrieved_at = ? WHERE item = ?",
        [(now, row[0]) for row in rows],
    )
    if use.opened:
        connection.run_many(
            "UPDATE usage SET access_count = access_count + 1, last_accessed_at = ?, decay_score = ?, decay_at = ?"
            " WHERE item = ?",
            [(now, opened(decay_now(row[7], row[8], bool(row[9]))), now, row[0]) for row in rows],
        )
    if use.logged:
        connection.insert(
            "retrieval_log",
            ("item", "ref", "version", "query", "score", "at", "asker"),
            [
                (n, ref, by_id[identity].version, query, by_id[identity].score, now, "" if query else use.asker)
                for n, identity, ref, *_ in rows
            ],
        )


def _usage_rows(connection: Connection, column: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """n, id, ref, the four counts and times, decay score, since when it decays, and whether it is protected."""
    for marks, part in in_parts(keys):
        yield from connection.rows(
            "SELECT i.n, i.id, i.drive || ':' || i.path, u.retrieval_count, u.last_retrieved_at, u.access_count,"
            " u.last_accessed_at, u.decay_score, coalesce(u.decay_at, i.created_at),"
            " json_extract(i.fields, '$.decay_protected') FROM items i LEFT JOIN usage u ON u.item = i.n"
            f" WHERE {column} IN ({marks})",
            part,
        )
