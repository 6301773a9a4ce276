"""Keyword search against SQLite's FTS5, over the same chunks, with the same words, in one run.

``python bench/lexical.py --corpus DIR --chunks 50000 400000`` fills a store through the engine, copies its
chunks into an FTS5 table with the same six columns, and asks both the same questions:

- FTS5: ``tokenize='porter unicode61'``, OR of the words, ``bm25()`` with the same weights, ``ORDER BY rank``,
  optimised after filling, a page cache that holds the whole file, statements prepared;
- ours: the store's keyword index as adding left it.

Stop words are left out on both sides, and words are plain letters and digits, so that neither side has
phrases to verify. Every question is asked once to warm up (its time is the column "first"), then
``--repeat`` times; 50 results. Also reported: chunks added per second from parsed text to commit, the longest
write lock while adding, and how long a second process had to wait for the lock.
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
from peers import ask_fts5, fill_fts5, open_peer
from recollect.store.base import Scoring, Wanted
from recollect.store.sqlite.store import SqliteStore
from recollect.words import Analyzer
from stores import GrowingStore, Growth
from timing import aligned, print_json, summary, timed
from words import query_words

RESULTS = 50


def ask_ours(store: SqliteStore) -> Callable[[Sequence[str]], list[int]]:
    """The same search with the store's own index, the analysis of the words included."""
    scoring = Scoring()

    def ask(words: Sequence[str]) -> list[int]:
        terms = dict.fromkeys(store.analyzer.query_terms(" ".join(words)))
        found = store.keyword_search([Wanted(term, (term,)) for term in terms], scoring=scoring, limit=RESULTS)
        return [int(chunk) for chunk in found.chunks[:RESULTS]]

    return ask


def measure(ask: Callable[[Sequence[str]], list[int]], queries: Sequence[Sequence[str]], repeat: int) -> dict[str, Any]:
    """Times of the first and of the repeated asking, and what was found."""
    first = [timed(lambda words=words: ask(words)) for words in queries]  # type: ignore[misc]
    warm = [timed(lambda words=words: ask(words)) for _ in range(repeat) for words in queries]  # type: ignore[misc]
    return {"first": summary(first), "warm": summary(warm), "found": [ask(words) for words in queries]}


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


def bench_size(store: GrowingStore, chunks: int, queries: Sequence[Sequence[str]], repeat: int) -> dict[str, Any]:
    """Grow the store to a size, then measure both sides there."""
    other = SecondWriter(store.file)
    growth: Growth = store.grow(chunks)
    wait = other.stop()
    with tempfile.TemporaryDirectory(dir=store.file.parent) as folder:
        peer = open_peer(Path(folder) / "fts5.db")
        seconds = fill_fts5(peer, store.file)
        theirs = measure(ask_fts5(peer, RESULTS), queries, repeat)
        peer.close()
    own = SqliteStore(store.file, create=False)
    ours = measure(ask_ours(own), queries, repeat)
    own.close()
    shared = [len(set(a[:10]) & set(b[:10])) / 10 for a, b in zip(theirs.pop("found"), ours.pop("found"), strict=True)]
    return {
        **growth.to_dict(),
        "second_writer_longest_wait_ms": round(wait, 1),
        "fts5": {**theirs, "chunks_per_second": round(growth.chunks / seconds)},
        "ours": ours,
        "ratio_p50": round(theirs["warm"]["p50_ms"] / ours["warm"]["p50_ms"], 1),
        "ratio_p50_first": round(theirs["first"]["p50_ms"] / ours["first"]["p50_ms"], 1),
        "top10_in_common": round(sum(shared) / len(shared), 3),
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
            f"{size['fts5']['chunks_per_second']:,}",
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
    parser.add_argument("--folder", type=Path, help="where the stores are put (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    documents = read_corpus(options.corpus)
    analyzer = Analyzer()
    questions = questions_for(documents, options.queries, file=options.questions, seed=options.seed)
    queries = [query_words(question, analyzer) for question in questions]
    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=options.folder) as folder:
        store = GrowingStore(Path(folder) / "store.db", documents, most=max(options.chunks), seed=options.seed)
        sizes = [bench_size(store, size, queries, options.repeat) for size in sorted(options.chunks)]
    if options.json:
        print_json({"queries": len(queries), "repeat": options.repeat, "sizes": sizes})
    else:
        print_tables(sizes)


if __name__ == "__main__":
    main()
