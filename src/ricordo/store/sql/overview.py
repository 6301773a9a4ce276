"""What gives an overview of a store: the questions in the log with what became of them, tags, and items and links as
a graph. Writes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.protocols import Connection, Database
from ricordo.store.sql.times import micros, moment
from ricordo.values.items import first_words
from ricordo.values.provenance import read
from ricordo.values.reports import AskedQuestion, GraphEdge, GraphNode, LinkGraph, ShownHit, TagCount

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


class Overview:
    """Answers what was asked, which tags there are, and what is linked with what."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        conditions, values = ["q.text <> ''", "q.tool <> 'similar'"], []
        for condition, value in (
            ("q.at >= ?", micros(since) if since is not None else None),
            ("q.at < ?", micros(until) if until is not None else None),
            ("instr(lower(q.asker), ?) > 0", by.lower() or None),
        ):
            if value is not None:
                conditions.append(condition)
                values.append(value)
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT q.id, q.at, q.text, q.tool, q.asker, q.results, q.ms, q.refs, q.fit FROM query_log q"
                f" WHERE {' AND '.join(conditions)} ORDER BY q.at DESC, q.id DESC LIMIT ?",
                (*values, limit),
            )
            shown = _shown(connection, {row[0]: row[2] for row in rows}, int(opened_within * 1_000_000))
        return [
            AskedQuestion(moment(at), text, tool, read(asker), results, ms, _in_order(shown.get(number, ()), refs), fit)
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
        return sorted(counts, key=lambda one: (-one.count, one.tag))

    def graph(self, limit: int, among: Collection[int] | None = None) -> LinkGraph:
        """The live items that are linked, or some of them, with all links between them; those with most links first."""
        with self._database.read() as connection:
            edges: Iterable[tuple[int, int, str]] = connection.rows(_EDGES)
            if among is not None:
                edges = [one for one in edges if one[0] in among and one[1] in among]
            degrees: Counter[int] = Counter()
            for source, target, _ in edges:
                degrees[source] += 1
                degrees[target] += 1
            for lone in among or ():
                degrees.setdefault(lone, 0)
            kept = sorted(degrees, key=lambda n: (-degrees[n], n))[:limit]
            nodes = _nodes(connection, kept)
        place = {n: at for at, n in enumerate(nodes)}
        drawn = [GraphEdge(place[a], place[b], kind) for a, b, kind in edges if a in place and b in place]
        return LinkGraph(tuple(nodes.values()), tuple(drawn), len(degrees) - len(nodes))


def _nodes(connection: Connection, numbers: Sequence[int]) -> dict[int, GraphNode]:
    """The items by their numbers, in the order that is given; those that are not live are left out."""
    found: dict[int, GraphNode] = {}
    for marks, part in in_parts(numbers):
        for n, ref, title, begins, kind, created in connection.rows(
            f"SELECT i.n, i.drive || ':' || i.path, i.title, {_BEGINNING}, i.kind, i.created_at FROM items i"
            f" WHERE i.n IN ({marks}) AND i.state = 'live'",
            part,
        ):
            found[n] = GraphNode(ref, title or first_words(begins or "") or ref, kind, moment(created))
    return {n: found[n] for n in numbers if n in found}


def _shown(connection: Connection, asked: dict[int, str], soon: int) -> dict[int, list[ShownHit]]:
    """What each question showed of what is still kept: whether it was opened soon after, and what was said of it."""
    verdicts: dict[tuple[str, str], str] = {}
    for marks, texts in in_parts(sorted(set(asked.values()))):
        for text, ref, verdict in connection.rows(
            f"SELECT query, ref, verdict FROM feedback WHERE query IN ({marks}) ORDER BY id", texts
        ):
            verdicts[text, ref] = verdict
    shown: dict[int, list[ShownHit]] = {}
    for marks, part in in_parts(asked):
        for number, ref, title, begins, opened in connection.rows(
            f"SELECT r.query, r.ref, i.title, {_BEGINNING}, CASE WHEN EXISTS"
            " (SELECT 1 FROM retrieval_log o WHERE o.item = r.item AND o.query IS NULL AND o.id > r.id"
            " AND o.at <= r.at + ?) THEN 1 ELSE 0 END"
            f" FROM retrieval_log r JOIN items i ON i.n = r.item AND i.state <> 'deleted'"
            f" WHERE r.query IN ({marks}) ORDER BY r.id",
            (soon, *part),
        ):
            verdict = verdicts.get((asked[number], ref), "")
            named = title or first_words(begins or "") or ref
            shown.setdefault(number, []).append(ShownHit(ref, named, bool(opened), verdict))
    return shown


def _in_order(shown: Sequence[ShownHit], refs: str) -> tuple[ShownHit, ...]:
    """The best first, as the answer had them."""
    rank = {ref: at for at, ref in enumerate(json.loads(refs))}
    return tuple(sorted(shown, key=lambda one: rank.get(one.ref, len(rank))))
