"""Kills what feeds a search engine beside PostgreSQL, again and again, and looks at what is there afterwards.

    python faults/feeding.py postgresql://postgres@localhost/test --passages 20000 --kills 20

A workspace of its own is filled with made passages and vectors, or one is taken that is there (``--workspace``, whose
texts stay as they are), and an engine (Qdrant inside a process, in two shards) is fed by a process that is killed at
random moments. At the end: nothing may be missing or there twice, words must be counted as they occur, and the engine
must find the true nearest. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import closing
from typing import Any

import numpy as np

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.store.asking import Ask, AskedWord, QueryVector
from ricordo.store.postgres.nearness import decoded, write_vectors
from ricordo.store.postgres.passage_words import number_of
from ricordo.store.postgres.store import PostgresStore
from ricordo.store.qdrant.choosing import IndexChoice
from ricordo.store.qdrant.edge import EdgeEngine

MODEL, DIMENSIONS, QUESTIONS, NEAREST = "made/1", 384, 40, 50
_WORKER = """
import sys
from ricordo.store.postgres import feeding
from ricordo.store.postgres.store import PostgresStore
from ricordo.store.qdrant.choosing import IndexChoice
feeding.BATCH = int(sys.argv[3])
store = PostgresStore(sys.argv[1], index=IndexChoice(sys.argv[2]), feed_in_background=False)
print("ready", flush=True)
while store.feed.feeder.step():
    print("step", flush=True)
"""


def words_of(chance: random.Random) -> str:
    """Some words, few of which are common."""
    return " ".join(f"word{int(chance.paretovariate(0.6)) % 5000}" for _ in range(30))


def fill(place: str, passages: int) -> None:
    """Save passages, and give each a vector; those of a passage's neighbours are near to its own."""
    chance, numbers = random.Random(1), np.random.default_rng(1)
    with Ricordo.open(place, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        for start in range(0, passages, 1000):
            some = range(start, min(start + 1000, passages))
            engine.save_many([Entry(f"note:/{n}", f"{words_of(chance)} only{n}", "note") for n in some])
        store = engine._context.unsynced_store
        assert isinstance(store, PostgresStore)
        centres = numbers.normal(size=(max(1, passages // 100), DIMENSIONS))
        with store.database.write() as connection:
            connection.run("INSERT INTO fingerprints(name, dimensions, active) VALUES(?, ?, true)", (MODEL, DIMENSIONS))
            [(number,)] = connection.rows("SELECT id FROM fingerprints WHERE name = ?", (MODEL,))
            hashes = [row[0] for row in connection.rows("SELECT DISTINCT embed_hash FROM chunks WHERE state = 0")]
            for start in range(0, len(hashes), 50_000):
                some_hashes = hashes[start : start + 50_000]
                made = centres[numbers.integers(len(centres), size=len(some_hashes))]
                made = made + 0.7 * numbers.normal(size=made.shape)
                made /= np.linalg.norm(made, axis=1, keepdims=True)
                write_vectors(connection, number, dict(zip(some_hashes, made.astype(np.float32), strict=True)))


def feed_with_kills(place: str, folder: str, store: PostgresStore, kills: int, batch: int) -> int:
    """Let processes feed, and kill each after some steps; returns how many were killed before they were done."""
    chance, killed = random.Random(2), 0
    for _ in range(kills):
        worker = subprocess.Popen([sys.executable, "-c", _WORKER, place, folder, str(batch)], stdout=subprocess.PIPE)
        assert worker.stdout is not None
        lines = [worker.stdout.readline() for _ in range(1 + chance.randrange(3))]
        time.sleep(chance.random() * 0.3)
        killed += all(lines) and worker.poll() is None
        worker.kill()
        worker.wait()
        worker.stdout.close()
        with store.database.write_at_once() as connection:  # as if its time had passed
            connection.run("UPDATE index_feeds SET lease_until = 0")
    return killed


def read_vectors(store: PostgresStore) -> tuple[str, list[int], Any]:
    """The name of the model, the numbers of all passages, and their vectors."""
    with store.database.read() as connection:
        [(number, model)] = connection.rows("SELECT id, name FROM fingerprints WHERE active")
        rows = connection.stream(
            "SELECT c.id, vector_send(v.vector) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
            " WHERE c.state = 0 AND v.fingerprint = ? ORDER BY c.id",
            (number,),
        )
        numbers, vectors = [], []
        for chunk, data in rows:
            numbers.append(chunk)
            vectors.append(decoded(data))
    return model, numbers, np.array(vectors)


def recall(store: PostgresStore, plain: PostgresStore) -> tuple[float, list[float], list[float]]:
    """How many of the true nearest the engine finds, and how long searches by words and meaning take, in ms, with the
    engine and with PostgreSQL's own index.
    """
    model, numbers, vectors = read_vectors(store)
    chance, found, took, alone = random.Random(3), [], [], []
    for _ in range(QUESTIONS):
        query = vectors[chance.randrange(len(vectors))] + np.random.default_rng(chance.randrange(99)).normal(
            scale=0.02, size=vectors.shape[1]
        ).astype(np.float32)
        query /= np.linalg.norm(query)
        true = {numbers[at] for at in np.argsort(-(vectors @ query))[:NEAREST].tolist()}
        words = tuple(AskedWord(term) for term in chosen_words(store, numbers[chance.randrange(len(numbers))], chance))
        ask = Ask(words=words, vector=QueryVector(model, query), per_side=NEAREST)
        began = time.perf_counter()
        answer = store.index.candidates(ask)
        between = time.perf_counter()
        plain.index.candidates(ask)
        took.append(1000 * (between - began))
        alone.append(1000 * (time.perf_counter() - between))
        assert answer.problems == ()
        near = sorted(answer.found, key=lambda one: -one.cosine)[:NEAREST]
        found.append(len(true & {one.vector_chunk for one in near}) / len(true))
    return statistics.fmean(found), took, alone


def chosen_words(store: PostgresStore, chunk: int, chance: random.Random) -> list[str]:
    """Five terms of a passage."""
    with store.database.read() as connection:
        [(text,)] = connection.rows("SELECT text FROM chunks WHERE id = ?", (chunk,))
    terms = sorted(store.analyzer.counts(text))
    return chance.sample(terms, min(5, len(terms)))


def whole(store: PostgresStore) -> dict[str, Any]:
    """Compare the engine and the counts of words with the texts."""
    assert store.feed is not None
    report, check = store.feed.report(), store.feed.check(False)
    with store.database.read() as connection:
        counted = dict(connection.rows("SELECT term, chunks FROM index_terms WHERE chunks <> 0"))
        true: dict[int, int] = {}
        rows = connection.stream(
            "SELECT c.text, c.heading, c.language, i.path FROM chunks c JOIN items i ON i.n = c.item WHERE c.state = 0"
        )
        for text, heading, language, path in rows:
            analyzer = store.analyzer.in_language(language)
            for number in {number_of(term) for part in (text, heading, path) for term in analyzer.counts(part)}:
                true[number] = true.get(number, 0) + 1
    wrong = sum(counted.get(number) != count for number, count in true.items())
    engine = store.feed.engine
    assert isinstance(engine, EdgeEngine)
    return {
        "indexed_vectors": sum(
            shard.info().indexed_vectors_count
            for name, shards in engine._open.items()
            if not name.endswith("-words")
            for shard in shards
        ),
        "passages": report.passages, "held": report.held, "vectors": sum(report.vectors.values()),
        "waiting": report.waiting, "check": check.detail, "words": len(true), "words_counted_wrong": wrong,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dsn")
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--workspace", help="take the passages of this workspace, which has vectors")
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    joined = "&" if "?" in given.dsn else "?"
    place = f"{given.dsn}{joined}workspace={given.workspace or f'feeding-{uuid.uuid4().hex[:8]}'}"
    if given.workspace is None:
        fill(place, given.passages)
    with tempfile.TemporaryDirectory() as folder:
        store = PostgresStore(place, index=IndexChoice(folder, shards=2), feed_in_background=False)
        assert store.feed is not None
        feeder = store.feed.feeder
        store.feed.feeder = _Idle()  # type: ignore[assignment]
        store.feed.rebuild()
        store.feed.engine.close()  # one process at a time can have it
        batch = max(20, store.feed.report().waiting // (3 * given.kills))
        killed = feed_with_kills(place, folder, store, given.kills, batch)
        waited = store.feed.report().waiting if killed else 0
        began = time.perf_counter()
        feeder.feed()
        seconds = time.perf_counter() - began
        with closing(PostgresStore(place)) as plain:
            found, took, alone = recall(store, plain)
        answer = {
            "killed": killed, "left_after_kills": waited, "seconds_for_the_rest": round(seconds, 1), **whole(store),
            f"recall_at_{NEAREST}": round(found, 4), "p50_ms": round(statistics.median(took), 1),
            "p95_ms": round(sorted(took)[int(0.95 * len(took))], 1),
            "p50_ms_of_the_own_index": round(statistics.median(alone), 1),
        }  # fmt: skip
        print(json.dumps(answer))
        store.feed.drop()
        store.close()


class _Idle:
    """Feeds nothing."""

    def feed(self) -> int:
        return 0


if __name__ == "__main__":
    main()
