"""Turns an ask into one SQL statement: filters, both sides, and what the ranking needs, with one JSON value as result.

The statement is a chain of named steps:

1. ``allowed`` are the items that pass the filters, ``visible`` the chunks of a moment; both apply before the best are
   picked.
2. ``idfs`` says how rare each word is, by the kept counts of its passages, or by ``hits``, the passages that hold it;
   ``scored`` has the BM25F score of each chunk. All of it is in float8: PostgreSQL's numeric logarithm costs thirty
   times as much.
3. ``near`` are the chunks nearest to the query's vector.
4. ``pool`` are the items that either side brought and their neighbours; each gets both values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ricordo.errors import ContractError
from ricordo.frozen import frozen
from ricordo.store.asking import Ask, QueryVector
from ricordo.store.found import CHUNKS_KEPT
from ricordo.store.postgres import dialect
from ricordo.store.sql.asked_words import MOST_TIES, RESPELLED
from ricordo.store.sql.batches import marks
from ricordo.store.sql.filters import where
from ricordo.store.sql.items import ITEM_COLUMNS, ITEM_TABLES
from ricordo.store.sql.times import micros
from ricordo.store.sql.windows import DATED_FIELDS, MARKED_BRANCH
from ricordo.text.words import fold

MOST_PREFIX_TERMS = 200
EXACT_BELOW = 20_000
"""With fewer vectors, all are compared; an index is faster only with more."""


@frozen
class VectorIndex:
    """The vectors that a query is compared with, and how many of them an index holds (None if there is no index)."""

    number: int
    dimensions: int
    workspace: int
    indexed: int | None

    def checked(self, dimensions: int) -> VectorIndex:
        """This, if a query's vector has as many numbers."""
        if self.dimensions != dimensions:
            raise ContractError(
                f"the query vector has {dimensions} numbers, the stored ones {self.dimensions}",
                hint="The embedder changed without changing its fingerprint; run ‹:embed again›.",
            )
        return self


Compared = tuple[VectorIndex, QueryVector]
"""A query's vector, and what is known about the vectors that it is compared with."""


class Statement:
    """A statement that is built step by step, and its values in order."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.values: list[Any] = []

    def step(self, name: str, sql: str, values: Sequence[Any] = ()) -> None:
        """Add a named step; it is computed once."""
        self.steps.append(f"{name} AS MATERIALIZED ({sql})")
        self.values += values

    def text(self, answers: dict[str, str]) -> str:
        """The whole statement; ``answers`` are the parts of its one JSON value."""
        parts = ", ".join(f"'{name}', ({sql})" for name, sql in answers.items())
        return f"WITH {', '.join(self.steps)} SELECT json_build_object({parts})"


def add_conditions(statement: Statement, ask: Ask, barred: Sequence[int]) -> tuple[bool, str]:
    """Add the conditions on items and chunks; returns whether items are limited, and how chunks are limited.

    Chunks are limited by ``state = 0`` or, of a moment or of archived items, by the step ``visible``.
    """
    filters = replace(ask.filters, states=("live", "archived")) if ask.as_of is not None else ask.filters
    archived = ask.as_of is None and ask.filters.states == ("archived",)
    limited = ask.as_of is not None or not filters.is_empty() or bool(barred) or bool(ask.excluded)
    if ask.as_of is not None:
        statement.step(
            "visible",
            "SELECT id, item, lengths FROM chunks WHERE state < 2 AND live_from <= ?"
            " AND (live_until IS NULL OR live_until > ?)",
            (micros(ask.as_of), micros(ask.as_of)),
        )
    if limited:
        condition, values = where(filters, dialect)
        statement.step("passing", f"SELECT i.n FROM items i WHERE {condition}", values)
    if archived:
        statement.step(
            "visible",
            "SELECT c.id, c.item, c.lengths FROM chunks c WHERE c.id IN (SELECT layout_chunks(v.layout) FROM passing p"
            " JOIN items i ON i.n = p.n JOIN versions v ON v.item = i.n AND v.number = i.version)",
        )
    seen = "visible" if ask.as_of is not None or archived else "live"
    if limited:
        out = ["SELECT unnest(?::bigint[])"]
        values = [list(barred)]
        for group in ask.excluded:
            if group:
                out.append(
                    f"SELECT p.item FROM postings p WHERE p.term IN ({marks(group)}) AND {visible('p', seen)}"
                    " GROUP BY p.item, p.chunk HAVING count(*) = ?"
                )
                values += [*group, len(set(group))]
        statement.step("barred", " UNION ".join(out), values)
        statement.step("allowed", "SELECT n FROM passing WHERE n NOT IN (SELECT * FROM barred)")
    return limited, seen


def visible(alias: str, seen: str, chunk: str = "chunk") -> str:
    """The condition that a chunk counts."""
    if seen == "live":
        return f"{alias}.state = 0"
    return f"{alias}.{chunk} IN (SELECT id FROM visible)"


Respelled = Mapping[str, tuple[str, ...]]
"""Words that occur nowhere, with the terms that are looked for in their place."""


def counts_terms(ask: Ask, seen: str, respelled: Respelled) -> bool:
    """Whether the kept count of passages of each term says how rare each word is.

    It does if every word is one term, and the live passages are searched. Otherwise passages are counted.
    """
    several = any(word.also or word.written in respelled for word in ask.words)
    return seen == "live" and not ask.prefixes and not several


def add_words(statement: Statement, ask: Ask, seen: str, respelled: Respelled) -> None:
    """The steps ``stats`` and ``idfs``: every word of the ask with its rarity, by its place.

    Where passages must be counted, the steps ``terms`` and ``hits`` come before.
    """
    _add_statistics(statement, ask, seen)
    if counts_terms(ask, seen, respelled):
        statement.step(
            "dfs",
            "SELECT w.*, coalesce(t.passages, 0) AS df FROM unnest(?::int[], ?::text[], ?::float8[], ?::float8[])"
            " w(place, label, weight, certainty) LEFT JOIN term_counts t ON t.term = w.label",
            (
                list(range(1, len(ask.words) + 1)),
                [word.term for word in ask.words],
                [word.weight for word in ask.words],
                [word.certainty for word in ask.words],
            ),
        )
    else:
        _add_counted(statement, ask, seen, respelled)
    kept = ""
    if ask.rarest:
        kept = (
            f" WHERE place > {len(ask.words)} OR df > 0 AND place IN (SELECT place FROM dfs"
            f" WHERE place <= {len(ask.words)} AND df > 0 ORDER BY df, label LIMIT {int(ask.rarest)})"
        )
    statement.step(
        "idfs",
        "SELECT *, idf * weight * certainty AS gain FROM (SELECT d.*,"
        " ln(1::float8 + (s.n - d.df + 0.5::float8) / (d.df + 0.5::float8)) AS idf FROM dfs d, stats s) w" + kept,
    )


def _add_counted(statement: Statement, ask: Ask, seen: str, respelled: Respelled) -> None:
    """Words that mean several terms, or passages of another time: their passages are found first, then counted."""
    places = list(range(1, len(ask.words) + 1))
    likely = [respelled.get(word.written, ()) if word.written else () for word in ask.words]
    pairs = list(zip(ask.words, likely, strict=True))
    asked = [(at, term) for at, (word, other) in zip(places, pairs, strict=True) for term in other or word.terms]
    terms = ["SELECT * FROM unnest(?::int[], ?::text[]) t(place, term)"]
    values: list[Any] = [[at for at, _ in asked], [term for _, term in asked]]
    for at, prefix in enumerate(ask.prefixes, start=len(places) + 1):
        start = fold(prefix)
        terms.append(
            f"(SELECT DISTINCT {at}, term FROM (SELECT term FROM vocabulary WHERE word >= ? AND word < ?"
            f" ORDER BY word LIMIT {MOST_PREFIX_TERMS}) begun)"
        )
        values += [start, start + "\U0010ffff"]
    statement.step("terms", " UNION ".join(terms), values)
    statement.step(
        "hits",
        f"SELECT t.place, p.chunk, p.item, sum({frequency(ask)}) AS x FROM terms t"
        f" JOIN postings p ON p.term = t.term WHERE {visible('p', seen)} GROUP BY t.place, p.chunk, p.item",
    )
    statement.step(
        "dfs",
        "SELECT w.*, coalesce(d.df, 0) AS df FROM unnest(?::int[], ?::text[], ?::float8[], ?::float8[])"
        " w(place, label, weight, certainty)"
        " LEFT JOIN (SELECT place, count(*) AS df FROM hits GROUP BY place) d USING (place)",
        (
            [*places, *range(len(places) + 1, len(places) + len(ask.prefixes) + 1)],
            [
                *(word.written if other else word.term for word, other in pairs),
                *(f"{prefix}*" for prefix in ask.prefixes),
            ],
            [*(word.weight * (RESPELLED if other else 1.0) for word, other in pairs), *(1.0 for _ in ask.prefixes)],
            [*(1.0 if other else word.certainty for word, other in pairs), *(1.0 for _ in ask.prefixes)],
        ),
    )


def _add_statistics(statement: Statement, ask: Ask, seen: str) -> None:
    """The step ``stats``: how many chunks count (``n``), and what a term of each field's length costs (``b0``...)."""
    if seen == "live":
        sums = "max(total) FILTER (WHERE field = -1)" + "".join(
            f", max(total) FILTER (WHERE field = {at}), max(passages) FILTER (WHERE field = {at})" for at in range(6)
        )
        source = f"SELECT {sums} FROM lexical_stats"
    else:
        sums = "count(*)" + "".join(
            f", coalesce(sum(length_at(lengths, {at})), 0), count(*) FILTER (WHERE length_at(lengths, {at}) > 0)"
            for at in range(6)
        )
        source = f"SELECT {sums} FROM visible"
    names = "n, " + ", ".join(f"t{at}, h{at}" for at in range(6))
    norms = ", ".join(
        f"CASE WHEN s.t{at} > 0 THEN {ask.scoring.b!r}::float8 * s.h{at} / s.t{at} ELSE 0 END AS b{at}"
        for at in range(6)
    )
    statement.step("stats", f"SELECT s.n::float8 AS n, {norms} FROM ({source}) s({names})")


def frequency(ask: Ask, posting: str = "p") -> str:
    """The weighted sum of how often a passage's fields hold a term, each normed by the field's length.

    Most terms stand in the text alone, so the other fields are looked at only if they hold the term.
    """
    scoring = ask.scoring

    def normed(at: int, count: str, length: str) -> str:
        norm = f"{1 - scoring.b!r}::float8 + (SELECT b{at} FROM stats) * {length}"
        if scoring.b >= 1:
            norm = f"greatest({norm}, 1e-9)"  # the length of an empty field is 0
        return f"{scoring.weights[at]!r}::float8 * {count} / ({norm})"

    body = normed(5, f"{posting}.body", f"{posting}.length")
    others = " + ".join(normed(at, f"{posting}.others[{at + 1}]", f"{posting}.others[{at + 6}]") for at in range(5))
    return f"CASE WHEN {posting}.others IS NULL THEN {body} ELSE {body} + {others} END"


def shares(ask: Ask, seen: str, respelled: Respelled) -> tuple[str, str]:
    """Each word ``i`` in each passage ``h`` that holds it, as a join, and what it gives to the passage's score."""
    k1 = f"{ask.scoring.k1!r}::float8"
    if counts_terms(ask, seen, respelled):
        joined, x = "idfs i JOIN postings h ON h.term = i.label AND h.state = 0", frequency(ask, "h")
    else:
        joined, x = "hits h JOIN idfs i USING (place)", "h.x"
    # It is gain * x / (k1 + x), in a form in which x, which is long, stands once.
    return joined, f"i.gain - i.gain * {k1} / ({k1} + {x})"


def add_scores(statement: Statement, ask: Ask, *, limited: bool, seen: str, respelled: Respelled) -> None:
    """The step ``scored``: the score of every chunk that may be answered, and the rarity of the words it holds."""
    required = [term for phrase in ask.phrases for term in phrase.terms]
    conditions, values = [], []
    if limited:
        conditions.append("h.item IN (SELECT n FROM allowed)")
    if required:
        conditions.append(
            f"h.chunk IN (SELECT p.chunk FROM postings p WHERE p.term IN ({marks(required)})"
            f" AND {visible('p', seen)} GROUP BY p.chunk HAVING count(*) = ?)"
        )
        values += [*required, len(set(required))]
    joined, share = shares(ask, seen, respelled)
    condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    statement.step(
        "scored",
        # Rows are grouped by one column, because a second one would cost a third more; a chunk has one item anyway.
        f"SELECT h.chunk, min(h.item) AS item, sum({share}) AS score, sum(i.idf) AS held FROM {joined}{condition}"
        " GROUP BY h.chunk",
        values,
    )
    statement.step("known", "SELECT nullif(sum(idf), 0) AS idf FROM idfs WHERE df > 0")


def add_best(statement: Statement, per_side: int) -> None:
    """The step ``matched``: the best chunks until enough different items are among them, ties included."""
    statement.step(
        "top",
        "SELECT chunk, item, score, held FROM scored ORDER BY score DESC, chunk LIMIT ?",
        (max(4 * per_side, MOST_TIES),),
    )
    statement.step(
        "ranked", "SELECT max(score) AS best FROM top GROUP BY item ORDER BY best DESC LIMIT ?", (per_side + 1,)
    )
    statement.step(
        "matched",
        "SELECT chunk, item, score, held FROM top WHERE score >= CASE WHEN (SELECT count(*) FROM ranked) > ?"
        " THEN (SELECT min(best) FROM (SELECT best FROM ranked ORDER BY best DESC LIMIT ?) r) ELSE 0 END",
        (per_side, per_side),
    )


def add_pool(statement: Statement, ask: Ask, sides: Sequence[str], *, limited: bool) -> None:
    """The steps ``pool`` (items of the sides), ``neighbours`` and ``joined`` (items near those in their threads)."""
    brought = " UNION ".join(f"SELECT item FROM {side}" for side in sides) or "SELECT NULL::bigint LIMIT 0"
    statement.step("pool", brought)
    reach = int(ask.needs.thread_reach)
    if not reach:
        statement.step("neighbours", "SELECT NULL::bigint AS n, NULL::bigint AS other, NULL::bigint AS away LIMIT 0")
    else:
        statement.step(
            "neighbours",
            "SELECT a.n, b.n AS other, b.seq - a.seq AS away FROM pool JOIN items a ON a.n = pool.item JOIN items b"
            f" ON b.thread = a.thread AND b.seq BETWEEN a.seq - {reach} AND a.seq + {reach} AND b.n <> a.n"
            " AND b.state = 'live' WHERE a.thread IS NOT NULL",
        )
    inside = " AND other IN (SELECT n FROM allowed)" if limited else ""
    statement.step(
        "joined",
        f"SELECT DISTINCT other AS item FROM neighbours WHERE other NOT IN (SELECT item FROM pool){inside}",
    )


COVERAGE = "held / (SELECT idf FROM known)"


SCORES = (
    f"SELECT json_agg(json_build_array(chunk, item, score, {COVERAGE})) FROM (SELECT *, row_number() OVER"
    f" (PARTITION BY item ORDER BY score DESC, chunk) AS place FROM scored WHERE item IN ({{items}})) s"
    f" WHERE place <= {CHUNKS_KEPT}"
)
_COSINES = (
    "SELECT json_agg(json_build_array(chunk, item, cosine)) FROM (SELECT *, row_number() OVER"
    " (PARTITION BY item ORDER BY cosine DESC, chunk) AS place FROM ({compared}"
    f") c) c WHERE place <= {CHUNKS_KEPT}"
)


def compared(vectors: Sequence[Compared], counted: str, joined: str) -> tuple[str, list[str]]:
    """The cosines of passages with a query, by its first model and, where a passage has no vector of it, the second.

    A number in a subquery is unknown to the planner: of a model that is new to it, it would expect a single vector.
    """
    parts, values, lacking = [], [], ""
    for index, vector in vectors:
        parts.append(
            f"SELECT c.id AS chunk, c.item, {cosine(vector)} AS cosine FROM chunks c JOIN vectors v"
            f" ON v.hash = c.embed_hash WHERE v.fingerprint = (SELECT {index.number}) AND {counted}{joined}{lacking}"
        )
        values.append(as_text(vector.values))
        lacking = lacks(index)
    return " UNION ALL ".join(parts), values


def cosine(vector: QueryVector, column: str = "v.vector") -> str:
    """The cosine of a vector with a query, on the scale that all models share."""
    plain = f"-({column} <#> ?::vector)"
    scaled = f"least({vector.shift!r} + {vector.stretch!r} * {plain}, 1.0)"
    return plain if (vector.shift, vector.stretch) == (0, 1) else scaled


def lacks(index: VectorIndex) -> str:
    """The condition that a passage has no vector of a model."""
    return (
        f" AND NOT EXISTS (SELECT 1 FROM vectors o WHERE o.fingerprint = (SELECT {index.number})"
        " AND o.hash = c.embed_hash)"
    )


def cosines(vectors: Sequence[Compared], counted: str) -> tuple[str, list[str]]:
    """The part of an answer with the cosines of the pool's passages, and its values."""
    joined = " AND c.item IN (SELECT item FROM pool UNION SELECT item FROM joined)"
    found, values = compared(vectors, counted, joined)
    return _COSINES.format(compared=found), values


VECTORS = (
    "SELECT json_object_agg(c.id, encode(vector_send(v.vector), 'base64')) FROM chunks c"
    " JOIN vectors v ON v.hash = c.embed_hash WHERE v.fingerprint = (SELECT {number}) AND c.state < 2"
    " AND c.item IN (SELECT item FROM pool UNION SELECT item FROM joined)"
)
ITEMS = (
    f"SELECT json_agg(json_build_array({ITEM_COLUMNS})) {ITEM_TABLES}"
    " WHERE i.n IN (SELECT item FROM pool UNION SELECT item FROM joined)"
)
REFS = (
    "SELECT json_agg(json_build_array(i.n, i.drive || ':' || i.path, (SELECT max(v.number) FROM versions v"
    f" WHERE v.item = i.n AND v.created_at <= {{when}}), {DATED_FIELDS}, {MARKED_BRANCH})) FROM items i"
    " WHERE i.n IN (SELECT item FROM pool UNION SELECT item FROM joined)"
)
FEEDBACK = (
    "SELECT json_agg(json_build_array(item, verdict, count)) FROM (SELECT item, verdict, count(*) AS count"
    " FROM feedback WHERE item IN (SELECT item FROM pool UNION SELECT item FROM joined) GROUP BY item, verdict) f"
)
WORDS = "SELECT json_agg(json_build_array(place, label, weight, certainty, df, idf) ORDER BY place) FROM idfs"
PREFIXES = "SELECT json_agg(term ORDER BY place, term) FROM terms WHERE place > {plain}"


def as_text(vector: Any) -> str:
    """A vector as PostgreSQL reads it."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"
