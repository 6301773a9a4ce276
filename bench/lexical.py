"""Keyword search against SQLite's FTS5, over the same chunks, with the same words, in one run.

``python bench/lexical.py --corpus DIR --chunks 50000 400000`` fills a store through the engine, copies its
chunks into an FTS5 table with the same six columns, and asks both the same questions:

- FTS5: ``tokenize='porter unicode61'``, OR of the words, ``bm25()`` with the same weights, ``ORDER BY rank``,
  optimised after filling, a page cache that holds the whole file, statements prepared;
- ours: the store's keyword index as adding left it.

Stop words are left out on both sides, and words are plain letters and digits, so that neither side has
phrases to verify. Every question is asked once to warm up (its time is the column "first"), then
``--repeat`` times; 50 results. Also reported: chunks added per second from parsed text to commit (and, because
chunks differ in length, the same for every 700 characters), the longest write lock while adding, and how long a
second process had to wait for the lock.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpus import add_corpus_options, questions_for, read_corpus
from peers import ask_fts5, fill_fts5, open_peer, query_words
from ricordo.store import query
from ricordo.store.sqlite.store import SqliteStore
from ricordo.text.words import Analyzer
from stores import GrowingStore, Growth
from timing import CLOCKS, add_clock_option, aligned, print_json, summary, timed

RESULTS = 50
Ask = Callable[[Sequence[str]], list[int]]


def ask_ours(store: SqliteStore) -> Ask:
    """The same search with the store's own index, the analysis of the words included."""

    def ask(words: Sequence[str]) -> list[int]:
        terms = dict.fromkeys(store.analyzer.query_terms(" ".join(words)))
        asked = query.Ask(words=tuple(map(query.AskedWord, terms)), per_side=RESULTS)
        passages = store.index.candidates(asked).found.passages
        return passages.chunks[(-passages.scores).argsort(kind="stable")][:RESULTS].tolist()

    return ask


def measure(
    engines: dict[str, Ask], queries: Sequence[Sequence[str]], repeat: int, clock: Callable[[], float]
) -> dict[str, dict[str, Any]]:
    """Times of the first and of the repeated asking; engines take turns, so that both meet the same machine."""
    first: dict[str, list[float]] = {name: [] for name in engines}
    warm: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(repeat + 1):
        for words in queries:
            for name, ask in engines.items():
                taken = timed(lambda ask=ask, words=words: ask(words), clock)  # type: ignore[misc]
                (warm if turn else first)[name].append(taken)
    return {name: {"first": summary(first[name]), "warm": summary(warm[name])} for name in engines}


def shared_results(engines: dict[str, Ask], queries: Sequence[Sequence[str]]) -> float:
    """How much of the first ten the engines have in common: the same words and weights, other formulas."""
    shares = []
    for words in queries:
        one, other = (set(ask(words)[:10]) for ask in engines.values())
        shares.append(len(one & other) / max(len(one), 1))
    return round(sum(shares) / len(shares), 3)


SECOND_WRITER = """
import apsw, sys, time, threading
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(60_000)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
waits = []
while not stop.wait(0.05):
    started = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    waits.append(time.perf_counter() - started)
    connection.execute("ROLLBACK")
print(max(waits, default=0.0))
"""


class SecondWriter:
    """Another process that asks for the write lock twenty times a second and remembers its longest wait."""

    def __init__(self, file: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SECOND_WRITER, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> float:
        """The longest wait in milliseconds."""
        printed, _ = self._process.communicate("", timeout=120)
        return float(printed) * 1000


def bench_size(
    store: GrowingStore, chunks: int, queries: Sequence[Sequence[str]], repeat: int, clock: Callable[[], float]
) -> dict[str, Any]:
    """Grow the store to a size, then measure both sides there."""
    other = SecondWriter(store.file)
    growth: Growth = store.grow(chunks)
    wait = other.stop()
    with tempfile.TemporaryDirectory(dir=store.file.parent) as folder:
        peer = open_peer(Path(folder) / "fts5.db")
        seconds = fill_fts5(peer, store.file)
        own = SqliteStore(store.file, create=False)
        engines = {"fts5": ask_fts5(peer, RESULTS), "ours": ask_ours(own)}
        times = measure(engines, queries, repeat, clock)
        shared = shared_results(engines, queries)
        own.close()
        peer.close()
    return {
        **growth.to_dict(),
        "second_writer_longest_wait_ms": round(wait, 1),
        **times,
        "fts5_chunks_per_second": round(growth.chunks / seconds),
        "ratio_p50": round(times["fts5"]["warm"]["p50_ms"] / times["ours"]["warm"]["p50_ms"], 1),
        "ratio_p50_first": round(times["fts5"]["first"]["p50_ms"] / times["ours"]["first"]["p50_ms"], 1),
        "top10_in_common": shared,
    }


def print_tables(sizes: Sequence[dict[str, Any]]) -> None:
    rows = []
    for size in sizes:
        for name in ("fts5", "ours"):
            first, warm = size[name]["first"], size[name]["warm"]
            figures = (first["p50_ms"], first["p95_ms"], warm["p50_ms"], warm["p95_ms"])
            rows.append([name, f"{size['chunks']:,}", *(f"{value:.2f}" for value in figures)])
        rows.append(["fts5 / ours", "", f"{size['ratio_p50_first']:.1f}x", "", f"{size['ratio_p50']:.1f}x", ""])
    print(aligned(("engine", "chunks", "first p50", "first p95", "warm p50", "warm p95 ms"), rows))
    print()
    rows = [
        [
            f"{size['chunks']:,}",
            f"{size['characters_per_chunk']}",
            f"{size['chunks_per_second']:,}",
            f"{size['per_700_characters']:,}",
            f"{size['fts5_chunks_per_second']:,}",
            f"{size['longest_write_lock_ms']:.0f}",
            f"{size['second_writer_longest_wait_ms']:.0f}",
            f"{size['top10_in_common']:.2f}",
        ]
        for size in sizes
    ]
    header = (
        "chunks",
        "characters",
        "added/s",
        "700 chars/s",
        "fts5 added/s",
        "longest lock ms",
        "other waited ms",
        "top 10 shared",
    )
    print(aligned(header, rows, left=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument(
        "--chunks", type=int, nargs="+", default=[50_000, 400_000], metavar="N", help="sizes to measure at"
    )
    parser.add_argument("--repeat", type=int, default=3, help="how often each question is asked when warm (3)")
    add_clock_option(parser)
    parser.add_argument("--folder", type=Path, help="where the stores are put (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    documents = read_corpus(options.corpus)
    analyzer = Analyzer()
    questions = questions_for(documents, options.queries, file=options.questions, seed=options.seed)
    queries = [query_words(question, analyzer) for question in questions]
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-", dir=options.folder) as folder:
        store = GrowingStore(Path(folder) / "store.db", documents, most=max(options.chunks), seed=options.seed)
        clock = CLOCKS[options.clock]
        sizes = [bench_size(store, size, queries, options.repeat, clock) for size in sorted(options.chunks)]
    if options.json:
        print_json({"queries": len(queries), "repeat": options.repeat, "clock": options.clock, "sizes": sizes})
    else:
        print_tables(sizes)


if __name__ == "__main__":
    main()
