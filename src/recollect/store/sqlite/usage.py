"""What was asked, found and opened: counts per item, the query log and the retrieval log, and sums over them.

Counts are the store's memory of use and stay; the logs are for looking back, age out, and can be cleared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from recollect.insight import QueryStats, RetrievedItem, StatsReport, Usage, Use, UsedItem
from recollect.store.sqlite.connection import Connection, Database
from recollect.store.sqlite.items import decay_now
from recollect.store.sqlite.times import DAY, moment, now_micros, optional_moment
from recollect.use import opened

EXPIRE_AT_ONCE = 500
"""So many old log entries at most are dropped with one recording, to keep its transaction short."""

_PART = 500
_LOGS = ("query_log", "retrieval_log")
_GROUPS = {"query": "text", "tool": "tool", "day": "date(at / 1000000, 'unixepoch', 'localtime')"}
_STATS = "count(*), avg(results), avg(ms), max(ms), max(at) FROM query_log WHERE at >= ?"


class UsageCounts:
    """Use of items, and its log."""

    database: Database

    def can_record(self) -> bool:
        """Whether use can be remembered here at all."""
        return not self.database.read_only

    def record_uses(self, uses: Sequence[Use], *, keep_days: float, wait: float | None = None) -> None:
        """Remember searches and openings, all in one transaction, and drop log entries older than ``keep_days``."""
        if not uses or self.database.read_only:
            return
        with self.database.write(wait=wait) as connection:
            now = now_micros()
            for use in uses:
                _record(connection, use, now)
            for table in _LOGS:
                connection.rows(
                    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE at < ? ORDER BY at LIMIT ?)",
                    (now - int(keep_days * DAY), EXPIRE_AT_ONCE),
                )

    def usage_of(self, numbers: Sequence[int]) -> dict[int, Usage]:
        """How items were used so far; those never used are there too, with nothing but their decay."""
        found = {}
        with self.database.read() as connection:
            for row in _usage_rows(connection, "i.n", numbers):
                n, retrieved, last_retrieved, accessed, last_accessed, decay = row[0], *row[3:8]
                found[n] = Usage(
                    retrieved or 0,
                    optional_moment(last_retrieved),
                    accessed or 0,
                    optional_moment(last_accessed),
                    decay_now(decay, row[8], bool(row[9])),
                )
        return found

    def stats(self, *, days: float, by: str, limit: int) -> StatsReport:
        """Sums over the last days of the log, by query, tool or local day."""
        since = now_micros() - int(days * DAY)
        with self.database.read() as connection:
            queries, results, ms, _, _ = connection.rows(f"SELECT {_STATS}", (since,))[0]
            empty = connection.rows("SELECT count(*) FROM query_log WHERE at >= ? AND results = 0", (since,))[0][0]
            if by == "day":
                rows = _grouped(connection, by, since, order="1")
            else:
                rows = _grouped(connection, by, since, order="2 DESC, 6 DESC, 1", limit=limit)
            unseen, never = _never_retrieved(connection, limit)
            return StatsReport(
                days=days,
                by=by,
                queries=queries,
                average_results=results or 0.0,
                average_ms=ms or 0.0,
                zero_results=empty,
                rows=rows,
                zero_result=_grouped(
                    connection, "query", since, order="2 DESC, 6 DESC, 1", limit=limit, only="results = 0"
                ),
                slowest=_grouped(connection, "query", since, order="5 DESC, 1", limit=limit),
                most_retrieved=_most_retrieved(connection, since, limit),
                never_retrieved=never,
                never_retrieved_count=unseen,
            )

    def clear_log(self) -> int:
        """Erase both logs from the file; answers how many queries they held. Counts per item stay."""
        with self.database.write(durable=True) as connection:
            count: int = connection.rows("SELECT count(*) FROM query_log")[0][0]
            for table in _LOGS:
                connection.rows(f"DELETE FROM {table}")
        self.database.checkpoint()
        return count


def writable(text: str) -> str:
    """The text as SQLite takes it: a lone surrogate in a query, which matches nothing, is replaced."""
    return text.encode("utf-8", "replace").decode()


def _record(connection: Connection, use: Use, now: int) -> None:
    query = None
    if use.logged and use.text is not None:
        query = connection.rows(
            "INSERT INTO query_log(text, tool, profile, results, refs, ms, at) VALUES(?,?,?,?,?,?,?) RETURNING id",
            (writable(use.text), use.tool, use.profile, len(use.items), json.dumps(use.refs), use.ms, now),
        )[0][0]
    by_id = {item.id: item for item in use.items}
    # An item may have left the store since it was shown; it is then simply not found here.
    rows = list(_usage_rows(connection, "i.id", list(by_id)))
    connection.run_many(
        "INSERT INTO usage(item, retrieval_count, last_retrieved_at) VALUES(?, 1, ?) ON CONFLICT(item) DO UPDATE"
        " SET retrieval_count = retrieval_count + 1, last_retrieved_at = excluded.last_retrieved_at",
        [(row[0], now) for row in rows],
    )
    if use.opened:
        connection.run_many(
            "UPDATE usage SET access_count = access_count + 1, last_accessed_at = ?, decay_score = ?, decay_at = ?"
            " WHERE item = ?",
            [(now, opened(decay_now(row[7], row[8], bool(row[9]))), now, row[0]) for row in rows],
        )
    if use.logged:
        connection.run_many(
            "INSERT INTO retrieval_log(item, ref, version, query, score, at) VALUES(?,?,?,?,?,?)",
            [_log_row(row, by_id[row[1]], query, now) for row in rows],
        )


def _log_row(row: Sequence[Any], item: UsedItem, query: int | None, now: int) -> tuple[Any, ...]:
    return row[0], row[2], item.version, query, item.score, now


def _usage_rows(connection: Connection, column: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """n, id, ref, the four counts and times, decay score, since when it decays, and whether it is protected."""
    for at in range(0, len(keys), _PART):
        part = list(keys[at : at + _PART])
        yield from connection.rows(
            "SELECT i.n, i.id, i.drive || ':' || i.path, u.retrieval_count, u.last_retrieved_at, u.access_count,"
            " u.last_accessed_at, u.decay_score, coalesce(u.decay_at, i.created_at),"
            " json_extract(i.fields, '$.decay_protected') FROM items i LEFT JOIN usage u ON u.item = i.n"
            f" WHERE {column} IN ({','.join('?' * len(part))})",
            part,
        )


def _grouped(
    connection: Connection, by: str, since: int, *, order: str, limit: int = -1, only: str = "1"
) -> tuple[QueryStats, ...]:
    rows = connection.rows(
        f"SELECT {_GROUPS[by]}, {_STATS} AND {only} GROUP BY 1 ORDER BY {order} LIMIT ?", (since, limit)
    )
    return tuple(
        QueryStats(name, count, results, ms, slowest, moment(last)) for name, count, results, ms, slowest, last in rows
    )


def _most_retrieved(connection: Connection, since: int, limit: int) -> tuple[RetrievedItem, ...]:
    rows = connection.rows(
        "SELECT i.drive || ':' || i.path, i.title, count(*), max(r.at) FROM retrieval_log r"
        " JOIN items i ON i.n = r.item WHERE r.at >= ? AND i.state = 'live'"
        " GROUP BY r.item ORDER BY 3 DESC, 4 DESC, 1 LIMIT ?",
        (since, limit),
    )
    return tuple(RetrievedItem(ref, title, count, moment(last)) for ref, title, count, last in rows)


def _never_retrieved(connection: Connection, limit: int) -> tuple[int, tuple[str, ...]]:
    """How many live items were never found or opened, and the newest of them."""
    unseen = "FROM items i LEFT JOIN usage u ON u.item = i.n WHERE i.state = 'live' AND u.retrieval_count IS NULL"
    count: int = connection.rows(f"SELECT count(*) {unseen}")[0][0]
    rows = connection.rows(
        f"SELECT i.drive || ':' || i.path {unseen} ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ?", (limit,)
    )
    return count, tuple(row[0] for row in rows)
