"""Hybrid search in PostgreSQL beside the plain way to do it (``ts_rank_cd`` and pgvector), in one run.

    python bench/postgres.py postgresql://postgres@localhost/postgres --chunks 100000

Texts are made of words with Zipf's frequencies, vectors stand around centres; both sides get the same. Measured: load
and index time, p50 and p95 of the first 50 of a hybrid query, the share of the true nearest 50 that are found, writers
beside searchers, and the same search behind a network that takes 20 ms.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import threading
import time
import uuid
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psycopg

from ricordo.store.asking import Ask, AskedWord, QueryVector
from ricordo.store.base import Backlog
from ricordo.store.postgres.store import PostgresStore
from ricordo.testing.making import prepared

DIMENSIONS = 384
CENTRES = 500
WORDS = 60
NAME = "bench"


class Corpus:
    """Texts and vectors that the same seed makes again."""

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(7)
        self.random = random
        vocabulary = np.array([f"w{number:x}q" for number in range(50_000)])
        weights = 1.0 / np.arange(10, len(vocabulary) + 10)
        picked = random.choice(len(vocabulary), (count, WORDS), p=weights / weights.sum())
        self.vocabulary = vocabulary
        self.texts = [" ".join(vocabulary[row]) for row in picked]
        self.centres = random.normal(size=(CENTRES, DIMENSIONS))
        self.vectors = self._around(random.integers(CENTRES, size=count), 0.7)

    def _around(self, which: Any, spread: float) -> Any:
        made = self.centres[which] + spread * self.random.normal(size=(len(which), DIMENSIONS))
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    def queries(self, count: int) -> list[tuple[list[str], Any]]:
        # As in questions of people: some words are frequent, some rare.
        ranks = np.exp(self.random.uniform(np.log(10), np.log(10_000), (count, 6))).astype(int)
        vectors = self._around(self.random.integers(CENTRES, size=count), 0.7)
        return [([str(word) for word in self.vocabulary[row]], vectors[at]) for at, row in enumerate(ranks)]


def load(store: PostgresStore, corpus: Corpus) -> dict[str, float]:
    """Save all texts with their vectors, then make the index."""
    backlog = Backlog(NAME, DIMENSIONS)
    started = time.perf_counter()
    by_text = {}
    for at in range(0, len(corpus.texts), 500):
        batch = [prepared(f"note:/{at + n}", text) for n, text in enumerate(corpus.texts[at : at + 500])]
        by_text |= {item.chunks[0].embed_hash: at + n for n, item in enumerate(batch)}
        store.changes.save(batch, backlog=backlog)
    saved = time.perf_counter()
    while jobs := store.jobs.claim(NAME, DIMENSIONS, "bench", 2_000):
        store.jobs.finish(NAME, jobs, {job.hash: corpus.vectors[by_text[job.hash]] for job in jobs})
    store.vectors.activate(NAME)
    embedded = time.perf_counter()
    store.maintain()
    store.database.as_owner("VACUUM ANALYZE")
    return {
        "texts_s": saved - started, "vectors_s": embedded - saved, "index_s": time.perf_counter() - embedded,
    }  # fmt: skip


def plain(dsn: str, corpus: Corpus) -> psycopg.Connection[Any]:
    """The usual way: a tsvector with a GIN index, a vector with an HNSW index."""
    raw = psycopg.connect(dsn, autocommit=True)
    raw.execute("CREATE EXTENSION IF NOT EXISTS vector")
    raw.execute("DROP TABLE IF EXISTS bench_plain")
    raw.execute(f"CREATE TABLE bench_plain(id bigint PRIMARY KEY, words tsvector, vector vector({DIMENSIONS}))")
    with raw.cursor().copy("COPY bench_plain FROM STDIN") as copy:
        for number, text in enumerate(corpus.texts):
            lexemes = " ".join(f"{word}:{at + 1}" for at, word in enumerate(text.split()))
            copy.write_row((number, lexemes, "[" + ",".join(map(str, corpus.vectors[number].tolist())) + "]"))
    raw.execute("CREATE INDEX ON bench_plain USING gin(words)")
    raw.execute("SET maintenance_work_mem = '512MB'")
    raw.execute("CREATE INDEX ON bench_plain USING hnsw(vector vector_ip_ops)")
    raw.execute("VACUUM ANALYZE bench_plain")
    raw.execute("SET hnsw.ef_search = 200")  # as in ours, so that both find as much
    return raw


def ask_plain(raw: psycopg.Connection[Any], words: list[str], vector: Any) -> list[int]:
    literal = "[" + ",".join(map(str, vector.tolist())) + "]"
    raw.execute(
        "SELECT id FROM bench_plain, to_tsquery('simple', %s) q WHERE words @@ q"
        " ORDER BY ts_rank_cd(words, q) DESC LIMIT 50", (" | ".join(words),),
    ).fetchall()  # fmt: skip
    rows = raw.execute("SELECT id FROM bench_plain ORDER BY vector <#> %s::vector LIMIT 50", (literal,)).fetchall()
    return [row[0] for row in rows]


def ask(store: PostgresStore, words: list[str], vector: Any) -> list[int]:
    asked = Ask(words=tuple(map(AskedWord, words)), vector=QueryVector(NAME, vector), per_side=50)
    found = sorted(store.index.candidates(asked).found, key=lambda one: -one.cosine)
    return [int(one.ref.removeprefix("note:/")) for one in found[:50]]


def timed(search: Callable[[list[str], Any], list[int]], queries: list[Any]) -> tuple[list[float], list[list[int]]]:
    search(*queries[0])
    times, answers = [], []
    for words, vector in queries:
        started = time.perf_counter()
        answers.append(search(words, vector))
        times.append(1000 * (time.perf_counter() - started))
    return times, answers


def recall(corpus: Corpus, queries: list[Any], answers: list[list[int]]) -> float:
    shares = []
    for (_, vector), found in zip(queries, answers, strict=True):
        true = set(np.argsort(-(corpus.vectors @ vector))[:50].tolist())
        shares.append(len(true & set(found)) / 50)
    return statistics.mean(shares)


def together(address: str, corpus: Corpus, seconds: float) -> dict[str, int]:
    """Eight clients write while eight search; every acknowledged write must be there afterwards."""
    until = time.monotonic() + seconds
    errors: list[str] = []
    written: list[str] = []
    searched: list[int] = []
    queries = corpus.queries(50)

    def work(number: int, *, writes: bool) -> None:
        store = PostgresStore(address, connections=2)
        try:
            turn = 0
            while time.monotonic() < until:
                turn += 1
                if writes:
                    ref = f"memory:/{number}-{turn}-{uuid.uuid4().hex[:6]}"
                    store.changes.save([prepared(ref, f"Text {turn} of writer {number}.")])
                    written.append(ref)
                else:
                    searched.append(len(ask(store, *queries[turn % len(queries)])))
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is measured
            errors.append(repr(error))
        finally:
            store.close()

    threads = [threading.Thread(target=work, args=(n,), kwargs={"writes": n % 2 == 0}) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = PostgresStore(address)
    known = {str(ref) for _, ref, _ in store.items.refs_below("memory", "")}
    store.close()
    lost = len(set(written) - known)
    return {"writes": len(written), "searches": len(searched), "errors": len(errors), "lost": lost}


class SlowNetwork:
    """A proxy that lets every answer wait."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.target, self.seconds = (host, port), seconds
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self.listening.accept()
            server = socket.create_connection(self.target)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the kernel waits for more to send
            threading.Thread(target=self._pass, args=(client, server, 0.0), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, self.seconds), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, wait: float) -> None:
        """Pass bytes on, each ``wait`` seconds after it came: late, but as fast as it came."""
        waiting: SimpleQueue[tuple[float, bytes]] = SimpleQueue()

        def send() -> None:
            while (held := waiting.get())[1]:
                time.sleep(max(0.0, held[0] - time.monotonic()))
                sink.sendall(held[1])
            sink.close()

        threading.Thread(target=send, daemon=True).start()
        while data := source.recv(1 << 20):
            waiting.put((time.monotonic() + wait, data))
        waiting.put((0.0, b""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dsn")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long clients work beside each other")
    given = parser.parse_args()
    corpus = Corpus(given.chunks)
    joined = "&" if "?" in given.dsn else "?"
    address = f"{given.dsn}{joined}workspace=bench-{uuid.uuid4().hex[:8]}"
    store = PostgresStore(address)
    report: dict[str, Any] = {"chunks": given.chunks, "load": load(store, corpus)}
    queries = corpus.queries(given.queries)
    ours, answers = timed(lambda words, vector: ask(store, words, vector), queries)
    raw = plain(given.dsn, corpus)
    theirs, plain_answers = timed(lambda words, vector: ask_plain(raw, words, vector), queries)
    for name, times, found in (("ricordo", ours, answers), ("plain", theirs, plain_answers)):
        report[name] = {
            "p50_ms": statistics.median(times), "p95_ms": sorted(times)[int(0.95 * len(times))],
            "recall@50": recall(corpus, queries, found),
        }  # fmt: skip
    parts = urlsplit(given.dsn)
    slow = SlowNetwork(parts.hostname or "127.0.0.1", parts.port or 5432, 0.02)
    far = PostgresStore(address.replace(f"{parts.hostname}:{parts.port or 5432}", f"127.0.0.1:{slow.port}"))
    times, _ = timed(lambda words, vector: ask(far, words, vector), queries[:30])
    report["candidates behind 20 ms"] = {"p50_ms": statistics.median(times)}
    far.close()
    store.close()
    report["8 writers and 8 searchers"] = together(address, corpus, given.seconds)
    raw.execute("DROP TABLE bench_plain")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
