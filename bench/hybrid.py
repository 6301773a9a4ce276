"""Warm search by word and meaning, against FTS5 and sqlite-vec in the same run.

``python bench/hybrid.py --corpus DIR --chunks 50000`` fills a store through the engine and asks questions through
``Ricordo.search``. Embedding the question costs the same for everybody and is reported apart; what is left
(both sides, fusion, ranking, snippets) is compared with the bare lookups of the peers: FTS5 with OR and ``bm25()``
plus sqlite-vec's nearest neighbours, without any fusion (target: at most a fifth). "Pool not refined" is the same
search without the steps that refine the pool: the difference is what the ranking of ``default`` adds. "Filtered" looks
only in a folder that has a hundredth of all chunks.

On a machine that others use too, look at the last column: of each question the least that it took in all turns, and
of these the median.

"Calls" counts what does not depend on the machine: functions written in Python that one search calls (and with those of
the interpreter and of numpy), and its SQL statements, as means over the questions.

``--busy 2`` measures again beside two processes that compute all the time, as on a machine on which agents work.

``--real`` chunks get their true vectors; the others get vectors made from pairs of true ones, because the time of
a search does not depend on what a vector means.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from types import FrameType
from typing import Any

import apsw
import numpy as np

from corpus import SourceDocument, add_corpus_options, questions_for, read_corpus
from embeddings import Matrix, give_vectors, query_vectors, real_vectors, shipped_embedder, spread
from peers import ask_fts5, ask_sqlite_vec, fill_fts5, fill_sqlite_vec, load_sqlite_vec, open_peer, query_words
from ricordo import registry
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo.models.base import Embedder
from ricordo.search import tiers
from ricordo.text.words import Analyzer
from ricordo.values.hits import Filters
from stores import GrowingStore, count_chunks
from timing import (
    CLOCKS,
    add_clock_option,
    aligned,
    busy_processes,
    print_json,
    resident_megabytes,
    summary,
    timed,
)

PER_SIDE = 30
PLAIN = {"plain": {"base": "default", "refine": []}}


class TimedEmbedder:
    """The shipped model, noting how long the queries took since ``spent`` was set to 0."""

    def __init__(self, inner: Embedder, clock: Callable[[], float]) -> None:
        self.inner = inner
        self.clock = clock
        self.spent = 0.0

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def is_remote(self) -> bool:
        return self.inner.is_remote

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Matrix:
        answer: list[Matrix] = []
        self.spent += timed(lambda: answer.append(self.inner.embed_query(text)), self.clock)
        return answer[0]


def fill(options: argparse.Namespace, documents: Sequence[SourceDocument], embedder: Embedder, folder: Path) -> None:
    """Make the store and the peers' file with the same chunks and vectors."""
    real = real_vectors(documents, options.real, embedder)
    store = GrowingStore(folder / "store.db", documents, most=options.chunks, seed=options.seed)
    growth = store.grow(options.chunks)
    vectors = spread(real, growth.chunks, seed=options.seed)
    with Ricordo.open(store.file, config=Config()) as engine:
        chunks = give_vectors(engine, embedder, vectors)
    connection = open_peer(folder / "peers.db")
    fill_fts5(connection, store.file)
    fill_sqlite_vec(connection, chunks, vectors[np.arange(len(chunks)) % len(vectors)])
    connection.close()


def bench(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    documents = read_corpus(options.corpus)
    questions = questions_for(documents, options.queries, file=options.questions, seed=options.seed)
    embedder = TimedEmbedder(shipped_embedder(), CLOCKS[options.clock])
    if not (folder / "peers.db").exists():
        fill(options, documents, embedder, folder)
    registry.embedder = lambda config: embedder
    tiers.MOST_QUERIES = 0  # each question is embedded anew, as one is that nobody asked before
    with Ricordo.open(folder / "store.db", config=Config(profiles=PLAIN)) as engine:
        degraded = engine.search(questions[0], track=False).meta.degraded
        if degraded:
            raise SystemExit(f"the search is degraded: {', '.join(degraded)}")
        ways = {
            "ours": {},
            "ours, pool not refined": {"profile": "plain"},
            "ours, filtered to 1 %": {"filters": Filters(paths=(folder_of_one_percent(folder / "store.db"),))},
        }
        for question in questions:
            engine.search(question, track=False)
        memory = resident_megabytes()  # before the peers map their files into it
        calls = {name: calls_of(partial(engine.search, track=False, **way), questions) for name, way in ways.items()}
        turns = Turns(engine, embedder, questions, folder, ways)
        rounds = {"alone": turns.measured(options.repeat)}
        if options.busy:
            with busy_processes(options.busy):
                rounds["busy"] = turns.measured(options.repeat)
    return {"chunks": count_chunks(folder / "store.db")[0], "memory_mb": memory, "calls": calls, **rounds}


def folder_of_one_percent(store: Path) -> str:
    """The folder whose items have about a hundredth of all chunks."""
    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    sizes: Counter[str] = Counter()
    for path, size in connection.execute(
        "SELECT items.path, count(*) FROM items JOIN chunks ON chunks.item = items.n WHERE chunks.state = 0 GROUP BY 1"
    ):
        for parent in PurePosixPath(path).parents:
            sizes[str(parent)] += size
    connection.close()
    return min(sizes, key=lambda name: (abs(sizes[name] - sizes["/"] / 100), name))


def calls_of(search: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """What one search calls in this thread, on average."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, called: Any) -> None:
        if event in ("call", "c_call"):
            counts["in_python"] += event == "call"
            counts["of_all"] += 1
            counts["statements"] += event == "c_call" and called.__name__ == "execute"

    for question in questions:
        sys.setprofile(count)
        search(question)
        sys.setprofile(None)
    return {name: round(number / len(questions), 1) for name, number in counts.items()}


class Turns:
    """Asks ours and the peers in turns, all questions each time: a slow minute of the machine hits all alike."""

    def __init__(
        self,
        engine: Ricordo,
        embedder: TimedEmbedder,
        questions: Sequence[str],
        folder: Path,
        ways: dict[str, dict[str, Any]],
    ) -> None:
        self.engine = engine
        self.embedder = embedder
        self.ways = ways
        self.peers = open_peer(folder / "peers.db")
        load_sqlite_vec(self.peers)
        analyzer = Analyzer()
        vectors = query_vectors(questions, embedder)
        self.asked = [
            (question, query_words(question, analyzer), vector)
            for question, vector in zip(questions, vectors, strict=True)
        ]

    def measured(self, repeat: int) -> dict[str, Any]:
        """Medians and 95th percentiles, after one round to warm up."""
        clock = self.embedder.clock
        by_word, by_meaning = ask_fts5(self.peers, PER_SIDE), ask_sqlite_vec(self.peers, PER_SIDE)
        times: defaultdict[str, list[float]] = defaultdict(list)
        for turn in range(repeat + 1):
            if turn == 1:
                times.clear()
            for name, options in self.ways.items():
                for question, _, _ in self.asked:
                    self.embedder.spent = 0.0
                    whole = timed(partial(self.engine.search, question, track=False, **options), clock)
                    times[name].append(whole - self.embedder.spent)
                    if not options:
                        times["ours with embedding"].append(whole)
                        times["embedding"].append(self.embedder.spent)
            for _, words, vector in self.asked:
                near = timed(partial(by_meaning, vector), clock)
                times["sqlite-vec"].append(near)
                times["fts5 + sqlite-vec"].append(timed(partial(by_word, words), clock) + near)
        found = {name: summary(values) | {"least_ms": self._least(values)} for name, values in times.items()}
        ratios: dict[str, Any] = {}
        for column in ("p50_ms", "least_ms"):
            value = {name: row[column] for name, row in found.items()}
            ratios[column] = {
                "fts5 + sqlite-vec / ours": round(value["fts5 + sqlite-vec"] / value["ours"], 2),
                "ours with embedding / embedding": round(value["ours with embedding"] / value["embedding"], 2),
                "filtered / unfiltered": round(value["ours, filtered to 1 %"] / value["ours"], 2),
            }
        return {"times": found, "ratios": ratios}

    def _least(self, values: Sequence[float]) -> float:
        """The least that each question took in all turns, and of these the median: what is left on a busy machine."""
        turns = np.array(values).reshape(-1, len(self.asked))
        return round(float(np.median(turns.min(axis=0))), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=50_000, metavar="N", help="size of the store (50000)")
    parser.add_argument("--real", type=int, default=5_000, metavar="N", help="how many vectors are true (5000)")
    parser.add_argument("--repeat", type=int, default=3, help="how often each question is asked when warm (3)")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="measure again beside N busy processes (0)")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the filled stores in this folder, and use those that it holds"
    )
    add_clock_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = bench(options, folder)
    if options.json:
        print_json(figures)
        return
    own, mapped = figures["memory_mb"]
    print(f"{figures['chunks']:,} chunks; {own:.0f} MB of memory with the model, and {mapped:.0f} MB of files mapped")
    for name, calls in figures["calls"].items():
        print(f"calls, {name}: {calls['in_python']:,} ({calls['of_all']:,}), {calls['statements']} statements")
    for name in ("alone", "busy"):
        if name in figures:
            print_round(name, figures[name])


def print_round(name: str, figures: dict[str, Any]) -> None:
    """One table: ours and the peers'."""
    columns = ("p50_ms", "p95_ms", "least_ms")
    rows = [[part, *(f"{row[column]:.2f}" for column in columns)] for part, row in figures["times"].items()]
    ratios = figures["ratios"]
    rows += [
        [part, f"{ratios['p50_ms'][part]:.2f}x", "", f"{ratios['least_ms'][part]:.2f}x"] for part in ratios["p50_ms"]
    ]
    print(aligned((name, "p50 ms", "p95 ms", "least ms"), rows))


if __name__ == "__main__":
    main()
