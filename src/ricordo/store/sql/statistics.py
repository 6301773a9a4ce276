"""Statistics of the logs of use: queries that were frequent, slow or without results; items found often or never."""

from __future__ import annotations

from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.times import DAY, moment, now_micros
from ricordo.values.use import QueryStats, RetrievedItem, StatsReport

_GROUPS = {"query": "text", "tool": "tool"}
_STATS = "count(*), avg(results), avg(ms), max(ms), max(at) FROM query_log WHERE at >= ?"


def stats_of(connection: Connection, days: float, by: str, limit: int) -> StatsReport:
    """Sums over the last days of the log, by query, tool or local day."""
    since = now_micros() - int(days * DAY)
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
        zero_result=_grouped(connection, "query", since, order="2 DESC, 6 DESC, 1", limit=limit, only="results = 0"),
        slowest=_grouped(connection, "query", since, order="5 DESC, 1", limit=limit),
        most_retrieved=_most_retrieved(connection, since, limit),
        never_retrieved=never,
        never_retrieved_count=unseen,
    )


def _grouped(
    connection: Connection, by: str, since: int, *, order: str, limit: int = 1_000_000, only: str = "TRUE"
) -> tuple[QueryStats, ...]:
    group = _GROUPS.get(by) or connection.dialect.day("at")
    rows = connection.rows(
        f"SELECT {group}, {_STATS} AND {only} GROUP BY 1 ORDER BY {order} LIMIT ?",
        (since, limit),
    )
    return tuple(
        QueryStats(name, count, results, ms, slowest, moment(last)) for name, count, results, ms, slowest, last in rows
    )


def _most_retrieved(connection: Connection, since: int, limit: int) -> tuple[RetrievedItem, ...]:
    rows = connection.rows(
        "SELECT i.drive || ':' || i.path, i.title, count(*), max(r.at) FROM retrieval_log r"
        " JOIN items i ON i.n = r.item WHERE r.at >= ? AND i.state = 'live'"
        " GROUP BY r.item, i.drive, i.path, i.title ORDER BY 3 DESC, 4 DESC, 1 LIMIT ?",
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
