"""What was asked, found and opened; verdicts and what profiles learned from them; overviews of all that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ricordo.store.sql.database import DAY, Connection, Row, StorePart, all_of, json_or, micros, moment, now_micros
from ricordo.store.sql.items import decay_now
from ricordo.store.tables import column_names
from ricordo.values.items import first_words
from ricordo.values.provenance import read
from ricordo.values.reports import AskedQuestion, GraphEdge, GraphNode, LinkGraph, ShownHit, TagCount
from ricordo.values.use import (
    Judged,
    Learned,
    Move,
    QueryStats,
    Retrieval,
    RetrievedItem,
    StatsReport,
    Use,
    WeightChange,
    feedback_prior,
    opened,
)

EXPIRE_AT_ONCE = 500
"""How many old log entries are dropped with one recording, at the most, to keep its transaction short."""
_LOGS = ("query_log", "retrieval_log")
_NAMES = (
    "SELECT drive || ':' || path FROM items WHERE n=? UNION SELECT drive || ':' || path FROM versions WHERE item=?"
    " UNION SELECT ref FROM retrieval_log WHERE item=?"
)
"""The names that an item has and had."""


class UsageLog(StorePart):
    """How often items were found and opened, and the log of queries."""

    def can_record(self) -> bool:
        return not self._database.read_only

    def record(self, uses: Sequence[Use], *, keep_days: float, wait: float | None = None) -> None:
        """Remember searches and openings, all in one transaction, and drop log entries older than ``keep_days``. On a
        server it waits for no other writer, because it changes no items.
        """
        if not uses or self._database.read_only:
            return
        with self._database.write_at_once(wait=wait) as connection:
            now = now_micros()
            _record(connection, uses, now)
            for table in _LOGS:
                connection.run(
                    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE at < ? ORDER BY at LIMIT ?)",
                    (now - int(keep_days * DAY), EXPIRE_AT_ONCE),
                )

    def stats(self, *, days: float, by: str, limit: int) -> StatsReport:
        """Sums over the last days of the log, by query, tool or local day."""
        with self._database.read() as connection:
            since = now_micros() - int(days * DAY)
            queries, results, ms, _, _ = connection.rows(f"SELECT {_STATS}", (since,))[0]
            empty = connection.rows("SELECT count(*) FROM query_log WHERE at >= ? AND results = 0", (since,))[0][0]
            often = "2 DESC, 6 DESC, 1"
            most_retrieved = connection.rows(
                "SELECT i.drive || ':' || i.path, i.title, count(*), max(r.at) FROM retrieval_log r"
                " JOIN items i ON i.n = r.item WHERE r.at >= ? AND i.state = 'live'"
                " GROUP BY r.item, i.drive, i.path, i.title ORDER BY 3 DESC, 4 DESC, 1 LIMIT ?",
                (since, limit),
            )
            never = connection.rows(
                f"SELECT i.drive || ':' || i.path {_UNSEEN} ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ?",
                (limit,),
            )
            return StatsReport(
                days=days,
                by=by,
                queries=queries,
                average_results=results or 0.0,
                average_ms=ms or 0.0,
                zero_results=empty,
                rows=(
                    _grouped(connection, by, since, "1")
                    if by == "day"
                    else _grouped(connection, by, since, often, limit=limit)
                ),
                zero_result=_grouped(connection, "query", since, often, limit=limit, only="results = 0"),
                slowest=_grouped(connection, "query", since, "5 DESC, 1", limit=limit),
                most_retrieved=tuple(
                    RetrievedItem(ref, title, count, moment(last)) for ref, title, count, last in most_retrieved
                ),
                never_retrieved=tuple(row[0] for row in never),
                never_retrieved_count=connection.rows(f"SELECT count(*) {_UNSEEN}")[0][0],
            )

    def retrievals(self, item: int, limit: int) -> list[Retrieval]:
        """What the log holds of one item, the latest first."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT r.at, r.ref, r.version, r.score, q.text, q.tool, q.profile FROM retrieval_log r"
                " LEFT JOIN query_log q ON q.id = r.query WHERE r.item = ? ORDER BY r.at DESC, r.id DESC LIMIT ?",
                (item, limit),
            )
        return [Retrieval(moment(at), *rest) for at, *rest in rows]

    def judged(self, *, within_seconds: float) -> list[Judged]:
        """Queries and items that belong together: by a verdict, or opened so soon after the query had shown them."""
        with self._database.read() as connection:
            opened_items = connection.rows(
                "SELECT DISTINCT q.text, i.drive || ':' || i.path FROM retrieval_log o"
                " JOIN retrieval_log r ON r.item = o.item AND r.query IS NOT NULL AND r.id < o.id AND r.at >= o.at - ?"
                " JOIN query_log q ON q.id = r.query JOIN items i ON i.n = o.item"
                " WHERE o.query IS NULL AND i.state = 'live' AND q.text <> '' ORDER BY 1, 2",
                (int(within_seconds * 1_000_000),),
            )
            verdicts = connection.rows(
                "SELECT f.query, i.drive || ':' || i.path, f.verdict FROM feedback f JOIN items i ON i.n = f.item"
                " WHERE i.state = 'live' ORDER BY f.id"
            )
        return [Judged(query, ref) for query, ref in opened_items] + [Judged(*row) for row in verdicts]

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
    queries = connection.rows(
        "SELECT id, refs FROM query_log WHERE id IN (SELECT query FROM retrieval_log WHERE item=?)", (n,)
    )
    connection.run_many(
        "UPDATE query_log SET refs=? WHERE id=?",
        [(json.dumps([ref for ref in json_or(refs, []) if ref not in names]), query) for query, refs in queries],
    )
    connection.run("UPDATE feedback SET ref='' WHERE item=?", (n,))


def writable(text: str) -> str:
    """The text as SQLite takes it: a lone surrogate in a query, which matches nothing, is replaced."""
    return text.encode("utf-8", "replace").decode()


def _record(connection: Connection, uses: Sequence[Use], now: int) -> None:
    identities = {item.id for use in uses for item in use.items}
    rows = connection.rows_in(  # an item may have left the store since it was shown
        "SELECT i.n, i.id, i.drive || ':' || i.path, u.decay_score, coalesce(u.decay_at, i.created_at),"
        " json_extract(i.fields, '$.decay_protected') FROM items i LEFT JOIN usage u ON u.item = i.n"
        " WHERE i.id IN (*)",
        sorted(identities),
    )
    known = {row[1]: row for row in rows}
    shown = Counter(known[item.id][0] for use in uses for item in use.items if item.id in known)
    looked_at = Counter(known[item.id][0] for use in uses if use.opened for item in use.items if item.id in known)
    # All in one order, so that two that record the same items do not wait for each other.
    connection.run_many("INSERT INTO usage(item) VALUES(?) ON CONFLICT DO NOTHING", [(n,) for n in sorted(shown)])
    connection.run_many(
        "UPDATE usage SET retrieval_count = retrieval_count + ?, last_retrieved_at = ? WHERE item = ?",
        [(count, now, n) for n, count in sorted(shown.items())],
    )
    if looked_at:
        connection.run_many(
            "UPDATE usage SET access_count = access_count + ?, last_accessed_at = ?, decay_score = ?, decay_at = ?"
            " WHERE item = ?",
            [
                (looked_at[n], now, _decay_after(looked_at[n], decay_now(score, at, bool(protected))), now, n)
                for n, _, _, score, at, protected in sorted(rows)
                if looked_at[n]
            ],
        )
    for use in uses:
        if use.logged:
            _log(connection, use, known, now)


def _decay_after(times: int, score: float) -> float:
    """The decay score of an item that was opened so many times just now."""
    for _ in range(times):
        score = opened(score)
    return score


def _log(connection: Connection, use: Use, known: Mapping[str, Row], now: int) -> None:
    query = None
    if use.text is not None:
        question = (writable(use.text), use.tool, use.profile)
        query = connection.rows(
            "INSERT INTO query_log(text, tool, profile, results, refs, ms, at, asker, fit) VALUES(?,?,?,?,?,?,?,?,?)"
            " RETURNING id",
            (*question, len(use.items), json.dumps(use.refs), use.ms, now, use.asker, use.fit),
        )[0][0]
    connection.insert(
        "retrieval_log",
        column_names("retrieval_log"),
        [
            (known[item.id][0], known[item.id][2], item.version, query, item.score, now, "" if query else use.asker)
            for item in use.items
            if item.id in known
        ],
    )


_GROUPS = {"query": "text", "tool": "tool"}
_UNSEEN = "FROM items i LEFT JOIN usage u ON u.item = i.n WHERE i.state = 'live' AND u.retrieval_count IS NULL"
"""Items that were never found or opened."""
_STATS = "count(*), avg(results), avg(ms), max(ms), max(at) FROM query_log WHERE at >= ?"


def _grouped(
    connection: Connection, by: str, since: int, order: str, *, limit: int = 1_000_000, only: str = "TRUE"
) -> tuple[QueryStats, ...]:
    group = _GROUPS.get(by) or connection.dialect.day("at")
    rows = connection.rows(
        f"SELECT {group}, {_STATS} AND {only} GROUP BY 1 ORDER BY {order} LIMIT ?",
        (since, limit),
    )
    return tuple(
        QueryStats(
            name=name, count=count, average_results=results, average_ms=ms, slowest_ms=slowest, last_at=moment(last)
        )
        for name, count, results, ms, slowest, last in rows
    )


_CHANGE = "SELECT id, profile, at, reason, before, after, counted, shift_before, shift_after FROM weight_log "


class Lessons(StorePart):
    """Feedback, the weight shifts in force, and the log of every change."""

    def add_feedback(self, query: str, n: int, verdict: str, *, counted: bool) -> None:
        """Keep a verdict on an item; with ``counted`` the profiles learn from it."""
        with self._database.write(durable=True) as connection:
            connection.run(
                "INSERT INTO feedback(query, item, ref, verdict, counted, at)"
                " SELECT ?, n, drive || ':' || path, ?, ?, ? FROM items WHERE n = ?",
                (writable(query), verdict, counted, now_micros(), n),
            )

    def feedback_counts(self) -> dict[str, int]:
        """How often each verdict was given, whether it counted or not."""
        with self._database.read() as connection:
            return dict(connection.rows("SELECT verdict, count(*) FROM feedback GROUP BY verdict ORDER BY verdict"))

    def learned(self, profile: str) -> Learned:
        with self._database.read() as connection:
            return _learned(connection, profile)

    def move_weights(self, profile: str, decide: Callable[[Learned], Move | None]) -> WeightChange | None:
        """Let ``decide`` look at what was learned; if it wants another shift, apply and log it."""
        if decide(self.learned(profile)) is None:
            return None  # most verdicts change no weights, and need no second transaction
        with self._database.write(durable=True) as connection:
            state = _learned(connection, profile)
            move = decide(state)
            if move is None:
                return None
            since = connection.rows("SELECT coalesce(max(id), 0) FROM feedback")[0][0] if move.restart else 0
            connection.run(
                "INSERT INTO learned(profile, shift, since) VALUES(?, 0, 0) ON CONFLICT DO NOTHING", (profile,)
            )
            connection.run(
                "UPDATE learned SET shift=?, since=CASE WHEN since > ? THEN since ELSE ? END WHERE profile=?",
                (move.shift, since, since, profile),
            )
            before, after = json.dumps(dict(move.before)), json.dumps(dict(move.after))
            (number,) = connection.rows(
                "INSERT INTO weight_log(profile, at, reason, before, after, shift_before, shift_after, counted)"
                " VALUES(?,?,?,?,?,?,?,?) RETURNING id",
                (profile, now_micros(), move.reason, before, after, state.shift, move.shift, move.counted),
            )
            return _change(connection.rows(f"{_CHANGE} WHERE id = ?", number)[0])

    def weight_changes(self, *, limit: int = 50) -> list[WeightChange]:
        with self._database.read() as connection:
            return [_change(row) for row in connection.rows(f"{_CHANGE} ORDER BY id DESC LIMIT ?", (limit,))]

    def weight_change(self, identity: int) -> WeightChange | None:
        with self._database.read() as connection:
            rows = connection.rows(f"{_CHANGE} WHERE id = ?", (identity,))
        return _change(rows[0]) if rows else None

    def learning_frozen(self) -> bool:
        """Whether this store's weights stay as they are, whatever verdicts come."""
        with self._database.read() as connection:
            return bool(connection.meta("learning_frozen"))

    def freeze_learning(self, frozen: bool) -> None:
        """Freeze the weights, or let them change again, for every process that uses the store."""
        with self._database.write(durable=True) as connection:
            connection.set_meta("learning_frozen", int(frozen))


def feedback_priors(connection: Connection, numbers: Sequence[int]) -> dict[int, float]:
    """What the verdicts on items say, in [0, 1]; 0.5 is no opinion. See ``use.feedback_prior``."""
    counts: dict[int, dict[str, int]] = {n: {} for n in numbers}
    sql = "SELECT item, verdict, count(*) FROM feedback WHERE item IN (*) GROUP BY item, verdict"
    for n, verdict, count in connection.rows_in(sql, numbers):
        counts[n][verdict] = count
    return {n: feedback_prior(verdicts) for n, verdicts in counts.items()}


def learned_shift(connection: Connection, profile: str) -> float:
    """How far the text weight of a profile was moved; 0 if nothing was learned."""
    rows = connection.once("SELECT shift FROM learned WHERE profile = ?", profile)
    return float(rows[0][0]) if rows else 0.0


def _learned(connection: Connection, profile: str) -> Learned:
    rows = connection.rows("SELECT shift, since FROM learned WHERE profile = ?", (profile,))
    shift, since = rows[0] if rows else (0.0, 0)
    verdicts: dict[str, int] = dict(
        connection.rows("SELECT verdict, count(*) FROM feedback WHERE counted AND id > ? GROUP BY verdict", (since,))
    )
    return Learned(profile, shift, verdicts)


def _change(row: tuple[Any, ...]) -> WeightChange:
    identity, profile, at, reason, before, after, counted, shift_before, shift_after = row
    return WeightChange(
        id=identity,
        profile=profile,
        at=moment(at),
        reason=reason,
        before=json_or(before, {}),
        after=json_or(after, {}),
        counted=counted,
        shift_before=shift_before,
        shift_after=shift_after,
    )


_BEGINNING = (
    "CASE WHEN i.title = '' THEN (SELECT substr(c.text, 1, 200) FROM chunks c WHERE c.item = i.n ORDER BY c.id DESC"
    " LIMIT 1) END"
)
"""What an item without a title begins with."""
_EDGES = (
    "SELECT DISTINCT l.source, l.target, l.type FROM links l"
    " JOIN items s ON s.n = l.source AND s.state = 'live' JOIN items t ON t.n = l.target AND t.state = 'live'"
    " WHERE l.source <> l.target"
)


class Overview(StorePart):
    """Answers what was asked, which tags there are, and what is linked with what."""

    def questions(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        by: str = "",
        opened_within: float = 1800.0,
        limit: int = 50,
    ) -> list[AskedQuestion]:
        """Questions of the log, the latest first; of an asker, by a part of its record."""
        condition, values = all_of(
            ("q.at >= ?", micros(since) if since is not None else None),
            ("q.at < ?", micros(until) if until is not None else None),
            ("instr(lower(q.asker), ?) > 0", by.lower() or None),
        )
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT q.id, q.at, q.text, q.tool, q.asker, q.results, q.ms, q.refs, q.fit FROM query_log q"
                f" WHERE q.text <> '' AND q.tool <> 'similar' AND {condition} ORDER BY q.at DESC, q.id DESC LIMIT ?",
                (*values, limit),
            )
            hits = _hits_of_queries(connection, {row[0]: row[2] for row in rows}, int(opened_within * 1_000_000))
        return [
            AskedQuestion(
                at=moment(at),
                text=text,
                tool=tool,
                asker=read(asker),
                results=results,
                milliseconds=ms,
                shown=_in_order(hits.get(number, ()), refs),
                fit=fit,
            )
            for number, at, text, tool, asker, results, ms, refs, fit in rows
        ]

    def tags(self) -> list[TagCount]:
        """Every tag of live items, the most frequent first; spelled as it is most often."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT g.tag, g.item FROM item_tags g JOIN items i ON i.n = g.item AND i.state = 'live'"
            )
        spellings = Counter(tag for tag, _ in rows)
        holding: dict[str, set[int]] = {}
        for tag, item in rows:
            holding.setdefault(tag.lower(), set()).add(item)
        least_first = sorted(spellings, key=lambda tag: (-spellings[tag], tag), reverse=True)
        spelled = {tag.lower(): tag for tag in least_first}
        counts = [TagCount(spelled[folded], len(items)) for folded, items in holding.items()]
        return sorted(counts, key=lambda tag_count: (-tag_count.count, tag_count.tag))

    def graph(self, limit: int, among: Collection[int] | None = None) -> LinkGraph:
        """The live items that are linked, or some of them, with all links between them; those with most links first."""
        with self._database.read() as connection:
            edges: Iterable[tuple[int, int, str]] = connection.rows(_EDGES)
            if among is not None:
                edges = [edge for edge in edges if edge[0] in among and edge[1] in among]
            degrees: Counter[int] = Counter()
            for source, target, _ in edges:
                degrees[source] += 1
                degrees[target] += 1
            for lone in among or ():
                degrees.setdefault(lone, 0)
            largest = sorted(degrees, key=lambda n: (-degrees[n], n))[:limit]
            rows = connection.rows_in(
                f"SELECT i.n, i.drive || ':' || i.path, i.title, {_BEGINNING}, i.kind, i.created_at FROM items i"
                " WHERE i.state = 'live' AND i.n IN (*)",
                largest,
            )
            by_number = {
                n: GraphNode(ref, title or first_words(begins or "") or ref, kind, moment(created))
                for n, ref, title, begins, kind, created in rows
            }
            nodes = {n: by_number[n] for n in largest if n in by_number}
        place = {n: at for at, n in enumerate(nodes)}
        drawn = [GraphEdge(place[a], place[b], kind) for a, b, kind in edges if a in place and b in place]
        return LinkGraph(tuple(nodes.values()), tuple(drawn), len(degrees) - len(nodes))


def _hits_of_queries(connection: Connection, asked: dict[int, str], soon: int) -> dict[int, list[ShownHit]]:
    """What each question showed of what is still kept: whether it was opened soon after, and what was said of it."""
    sql = "SELECT query, ref, verdict FROM feedback WHERE query IN (*) ORDER BY id"
    verdicts = {(text, ref): answer for text, ref, answer in connection.rows_in(sql, sorted(set(asked.values())))}
    hits: dict[int, list[ShownHit]] = {}
    for number, ref, title, begins, was_opened in connection.rows_in(
        f"SELECT r.query, r.ref, i.title, {_BEGINNING}, CASE WHEN EXISTS"
        " (SELECT 1 FROM retrieval_log o WHERE o.item = r.item AND o.query IS NULL AND o.id > r.id"
        " AND o.at <= r.at + ?) THEN 1 ELSE 0 END FROM retrieval_log r"
        " JOIN items i ON i.n = r.item AND i.state <> 'deleted' WHERE r.query IN (*) ORDER BY r.id",
        list(asked),
        soon,
    ):
        verdict = verdicts.get((asked[number], ref), "")
        named = title or first_words(begins or "") or ref
        hits.setdefault(number, []).append(ShownHit(ref, named, bool(was_opened), verdict))
    return hits


def _in_order(hits: Sequence[ShownHit], refs: str) -> tuple[ShownHit, ...]:
    """The best first, as the answer had them."""
    rank = {ref: at for at, ref in enumerate(json_or(refs, []))}
    return tuple(sorted(hits, key=lambda hit: rank.get(hit.ref, len(rank))))
