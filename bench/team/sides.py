"""The engines that are compared: each loads the passages and answers a question."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import shutil
import statistics
import time
import warnings
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psycopg

from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.store.query import Ask, AskedWord, QueryVector
from ricordo.store.sqlite.store import SqliteStore
from ricordo.store.values import Backlog
from team.passages import NEAREST, Passages
from timing import summary

BATCH = 1_000
PER_SIDE = 50


class Side(Protocol):
    """One engine."""

    name: str

    def load(self) -> dict[str, float]: ...
    def ask(self, question: int) -> None: ...
    def nearest(self, question: int) -> list[int]: ...


class Ricordo:
    """The candidates of a hybrid search: one statement, both sides, both values of every item."""

    name = "ricordo"

    def __init__(self, dsn: str, passages: Passages) -> None:
        self.passages = passages
        joined = "&" if "?" in dsn else "?"
        self.address = f"{dsn}{joined}schema=bench_{passages.count}"
        self.store = PostgresStore(parse(self.address))

    def load(self) -> dict[str, float]:
        """Save all texts, then their vectors, then make the index; what an earlier run saved is passed over."""
        passages, store = self.passages, self.store
        _ = passages.vectors
        known = store.counts()["items"]
        started = time.perf_counter()
        backlog = Backlog(passages.fingerprint, passages.vectors.shape[1])
        for start in range(known // BATCH * BATCH, passages.count, BATCH):
            store.changes.save(list(passages.prepared(start, start + BATCH, store.analyzer)), backlog=backlog)
        saved = time.perf_counter()
        embed(store, passages)
        store.vectors.activate(passages.fingerprint)
        embedded = time.perf_counter()
        store.maintain()
        store.database.apart("VACUUM FULL")  # the space that merges left is given back
        store.database.apart("ANALYZE")
        indexed = time.perf_counter()
        with store.database.read() as connection:
            size = connection.rows(
                "SELECT sum(pg_total_relation_size(oid)) / 1e9 FROM pg_class WHERE relkind = 'r'"
                " AND relnamespace = current_schema::regnamespace"
            )[0][0]
        return {
            "texts_s": saved - started, "vectors_s": embedded - saved, "index_s": indexed - embedded,
            "passages found from an earlier run": known, "kb per passage": round(float(size) * 1e6 / passages.count, 2),
        }  # fmt: skip

    def ask(self, question: int) -> Any:
        passages = self.passages
        words = tuple(map(AskedWord, self.store.analyzer.query_terms(passages.questions[question])))
        vector = QueryVector(passages.fingerprint, passages.query_vectors[question])
        return self.store.index.candidates(Ask(words=words, vector=vector, per_side=PER_SIDE))

    def nearest(self, question: int) -> list[int]:
        found = self.ask(question).found
        return [int(found.refs[at].removeprefix("note:/")) for at in (-found.cosines).argsort(kind="stable")[:NEAREST]]


def embed(store: PostgresStore | SqliteStore, passages: Passages) -> None:
    """Give every passage its vector: by its number, as its path says."""
    while jobs := store.jobs.claim(passages.fingerprint, passages.vectors.shape[1], "bench", 2 * BATCH):
        known = store.items.get_many(sorted({job.item for job in jobs}))
        numbers = {n: int(item.ref.path[1:]) for n, item in known.items()}
        vectors = {job.hash: passages.vectors[numbers[job.item]] for job in jobs}
        store.jobs.finish(passages.fingerprint, jobs, vectors)


class Plain:
    """The usual way, in two statements: GIN over a ``tsvector`` and ``ts_rank_cd``, HNSW over a vector."""

    name = "plain"

    def __init__(self, dsn: str, passages: Passages) -> None:
        self.passages = passages
        self.table = f"bench_plain_{passages.count}"
        self.raw = psycopg.connect(dsn, autocommit=True)
        self.raw.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.raw.execute("SET hnsw.ef_search = 200")  # as in ours, so that both find as much

    def load(self) -> dict[str, float]:
        passages, raw, table = self.passages, self.raw, self.table
        _ = passages.vectors
        raw.execute(f"DROP TABLE IF EXISTS {table}")
        started = time.perf_counter()
        width = passages.vectors.shape[1]
        raw.execute(
            f"CREATE TABLE {table}(id bigint PRIMARY KEY, body text, vector vector({width}),"
            " words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)"
        )
        with raw.cursor().copy(f"COPY {table}(id, body, vector) FROM STDIN") as copy:
            for number, text in enumerate(passages.texts[: passages.count]):
                values = ",".join(map(str, passages.vectors[number].tolist()))
                copy.write_row((number, text.replace("\0", ""), f"[{values}]"))
        loaded = time.perf_counter()
        raw.execute("SET maintenance_work_mem = '4GB'")
        raw.execute(f"CREATE INDEX ON {table} USING gin(words)")
        raw.execute(f"CREATE INDEX ON {table} USING hnsw(vector vector_ip_ops)")
        raw.execute(f"VACUUM ANALYZE {table}")
        return {"rows_s": loaded - started, "index_s": time.perf_counter() - loaded}

    def ask(self, question: int) -> None:
        self.raw.execute(
            # Any of the words, not all: a question's words hardly ever all stand in one passage.
            f"SELECT id FROM {self.table}, (SELECT replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery q)"
            " asked WHERE words @@ q ORDER BY ts_rank_cd(words, q) DESC LIMIT %s",
            (self.passages.questions[question], PER_SIDE),
        ).fetchall()
        self.nearest(question)

    def nearest(self, question: int) -> list[int]:
        values = ",".join(map(str, self.passages.query_vectors[question].tolist()))
        rows = self.raw.execute(
            f"SELECT id FROM {self.table} ORDER BY vector <#> %s::vector LIMIT %s", (f"[{values}]", PER_SIDE)
        ).fetchall()
        return [row[0] for row in rows]


class Lance:
    """LanceDB, embedded in this process: its hybrid search over a full-text index and an IVF-PQ index, refined."""

    name = "lancedb"
    _REFINE = 10

    @staticmethod
    def is_installed() -> bool:
        return importlib.util.find_spec("lancedb") is not None

    def __init__(self, folder: Path, dsn: str, passages: Passages) -> None:
        self.folder, self.dsn, self.passages = folder, dsn, passages
        self._table: Any = None

    def load(self) -> dict[str, float]:
        import lancedb
        import pyarrow as pa

        passages = self.passages
        texts, vectors = passages.texts[: passages.count], passages.vectors
        shutil.rmtree(self.folder, ignore_errors=True)
        started = time.perf_counter()
        width = vectors.shape[1]
        schema = pa.schema([("number", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), width))])
        batches = (
            pa.RecordBatch.from_arrays(
                [
                    pa.array(np.arange(start, min(start + 10_000, len(texts)))),
                    pa.array(texts[start : start + 10_000]),
                    pa.FixedSizeListArray.from_arrays(pa.array(vectors[start : start + 10_000].ravel()), width),
                ],
                schema=schema,
            )
            for start in range(0, len(texts), 10_000)
        )
        table = lancedb.connect(self.folder).create_table("passages", batches, schema=schema)
        loaded = time.perf_counter()
        with _quiet():
            table.create_fts_index("text")
            table.create_index(
                metric="cosine", vector_column_name="vector", index_type="IVF_PQ", num_sub_vectors=width // 8
            )
        return {"rows_s": loaded - started, "index_s": time.perf_counter() - loaded}

    @property
    def table(self) -> Any:
        if self._table is None:
            import lancedb

            self._table = lancedb.connect(self.folder).open_table("passages")
        return self._table

    def ask(self, question: int) -> None:
        with _quiet():
            query = self.table.search(query_type="hybrid").vector(self.passages.query_vectors[question])
            query = query.text(self.passages.questions[question]).distance_type("cosine").refine_factor(self._REFINE)
            query.limit(PER_SIDE).select(["number"]).to_arrow()

    def nearest(self, question: int) -> list[int]:
        query = self.table.search(self.passages.query_vectors[question]).distance_type("cosine")
        rows = query.refine_factor(self._REFINE).limit(NEAREST).select(["number"]).to_arrow()
        numbers: list[int] = rows["number"].to_pylist()
        return numbers


@contextlib.contextmanager
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        yield
        logging.disable(logging.NOTSET)


def measured(sides: list[Side], passages: Passages) -> dict[str, Any]:
    """Every question to every side, in turns, so that other work on the machine slows all of them alike."""
    times: dict[str, list[float]] = {side.name: [] for side in sides}
    for side in sides:
        for question in range(min(10, len(passages.questions))):
            side.ask(question)
    for question in range(len(passages.questions)):
        turn = question % len(sides)  # none always follows the same, whose threads may still run
        for side in (*sides[turn:], *sides[:turn]):
            started = time.perf_counter()
            side.ask(question)
            times[side.name].append(1000 * (time.perf_counter() - started))
    report: dict[str, Any] = {}
    for side in sides:
        shares = [
            len(true & set(side.nearest(question))) / NEAREST for question, true in enumerate(passages.true_nearest)
        ]
        report[side.name] = {**summary(times[side.name]), "recall@50": round(statistics.mean(shares), 4)}
    for side in sides[1:]:
        report[f"{side.name} / ricordo at p50"] = round(report[side.name]["p50_ms"] / report["ricordo"]["p50_ms"], 2)
    return report
