"""Nearest neighbours: how fast, how true, against sqlite-vec and against comparing all.

``python bench/vectors.py --corpus DIR --vectors 100000 1000000`` puts vectors into a store and asks for the 50
nearest of each question:

- ours: the store's sketch scan with exact rescore;
- sqlite-vec: float32, cosine, in the same run (up to ``--peer-up-to`` vectors);
- exact: one float32 product over all vectors in memory, the truth for recall.

The vectors are real ones of the corpus (``--real``, kept in the cache folder), then ones made from pairs of them.
"first" is a question's first time in a process that has asked others; "load" is the very first question.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpus import add_corpus_options, questions_for, read_corpus
from embeddings import Matrix, exact_nearest, query_vectors, real_vectors, shipped_embedder, spread
from peers import ask_sqlite_vec, fill_sqlite_vec, open_peer
from ricordo.store.backlog import fingerprint_id
from ricordo.store.index.entries import Entries, Visible
from ricordo.store.index.sketches import sketch
from ricordo.store.search.vectors import VectorIndex, write_block
from ricordo.store.sqlite.store import SqliteStore
from timing import aligned, print_json, summary, timed

RESULTS = 50
BLOCK = 65_536


def fill_store(store: SqliteStore, vectors: Matrix) -> int:
    """Write vectors as embedding would, one item and chunk each; answers the fingerprint's number."""
    number = 0
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK]
        ids = np.arange(start + 1, start + len(part) + 1)
        with store.database.write() as connection:
            number = fingerprint_id(connection, "bench", vectors.shape[1])
            connection.run_many(
                "INSERT INTO vectors(id, fingerprint, hash, vector) VALUES(?,?,?,?)",
                [(int(n), number, int(n).to_bytes(32, "big"), row.tobytes()) for n, row in zip(ids, part, strict=True)],
            )
            write_block(connection, number, Entries(ids, ids, ids, sketch(part)))
    return number


def ask_store(store: SqliteStore, fingerprint: int, size: int) -> Callable[[Matrix], list[int]]:
    """The store's search for the nearest vectors: their ids."""
    index = VectorIndex()
    visible = Visible(np.ones(size + 1, bool))

    def ask(query: Matrix) -> list[int]:
        with store.database.read() as connection:
            chunks, _, _ = index.search(connection, fingerprint, query, RESULTS, visible=visible)
        return [int(chunk) for chunk in chunks[:RESULTS]]

    return ask


def measure(ask: Callable[[Matrix], list[int]], queries: Sequence[Matrix], repeat: int) -> dict[str, Any]:
    """Times of the very first, the first and the repeated asking, and what was found."""
    load = timed(lambda: ask(queries[0]))
    first = [timed(lambda query=query: ask(query)) for query in queries[1:]]  # type: ignore[misc]
    warm = [timed(lambda query=query: ask(query)) for _ in range(repeat) for query in queries]  # type: ignore[misc]
    return {
        "load_ms": round(load, 1),
        "first": summary(first),
        "warm": summary(warm),
        "found": [ask(query) for query in queries],
    }


def recall(found: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> float:
    shares = [len(set(a) & set(b)) / len(b) for a, b in zip(found, truth, strict=True)]
    return round(sum(shares) / len(shares), 4)


def bench_size(vectors: Matrix, queries: Matrix, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All engines at one size."""
    size = len(vectors)
    truth = [[int(place) + 1 for place in exact_nearest(vectors, query, RESULTS)] for query in queries]
    product = [timed(lambda query=query: exact_nearest(vectors, query, RESULTS)) for query in queries]  # type: ignore[misc]
    store = SqliteStore(folder / f"{size}.db")
    ours = measure(ask_store(store, fill_store(store, vectors), size), queries, options.repeat)
    store.close()
    answer: dict[str, Any] = {"vectors": size, "exact": {"warm": summary(product)}}
    answer["ours"] = {**ours, "recall@50": recall(ours.pop("found"), truth)}
    if size <= options.peer_up_to:
        peer = open_peer(folder / f"vec-{size}.db")
        fill_sqlite_vec(peer, range(1, size + 1), vectors)
        theirs = measure(ask_sqlite_vec(peer, RESULTS), queries, 1)
        peer.close()
        answer["sqlite-vec"] = {**theirs, "recall@50": recall(theirs.pop("found"), truth)}
        answer["ratio_p50"] = round(theirs["warm"]["p50_ms"] / ours["warm"]["p50_ms"], 1)
        answer["ratio_p50_first"] = round(theirs["first"]["p50_ms"] / ours["first"]["p50_ms"], 1)
    return answer


def print_table(sizes: Sequence[dict[str, Any]]) -> None:
    rows = []
    for size in sizes:
        for name in ("sqlite-vec", "exact", "ours"):
            if name in size:
                row = size[name]
                first = row.get("first", {"p50_ms": float("nan"), "p95_ms": float("nan")})
                figures = (row.get("load_ms", float("nan")), first["p50_ms"], *row["warm"].values())
                cells = ["" if value != value else f"{value:.2f}" for value in figures]
                rows.append([name, f"{size['vectors']:,}", *cells, f"{row.get('recall@50', 1.0):.4f}"])
        if "ratio_p50" in size:
            first_ratio, ratio = f"{size['ratio_p50_first']:.1f}x", f"{size['ratio_p50']:.1f}x"
            rows.append(["sqlite-vec / ours", "", "", first_ratio, ratio, "", ""])
    print(aligned(("engine", "vectors", "load ms", "first p50", "warm p50", "warm p95", "recall@50"), rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument("--vectors", type=int, nargs="+", default=[100_000, 1_000_000], metavar="N", help="sizes")
    parser.add_argument("--real", type=int, default=20_000, metavar="N", help="how many are real (20000)")
    parser.add_argument("--peer-up-to", type=int, default=100_000, metavar="N", help="sqlite-vec up to this size")
    parser.add_argument("--repeat", type=int, default=3, help="how often each question is asked when warm (3)")
    parser.add_argument("--folder", type=Path, help="where the stores are put (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    documents = read_corpus(options.corpus)
    embedder = shipped_embedder()
    real = real_vectors(documents, options.real, embedder)
    questions = questions_for(documents, options.queries, file=options.questions, seed=options.seed)
    queries = query_vectors(questions, embedder)
    sizes = []
    for count in (len(real), *sorted(options.vectors)):
        with tempfile.TemporaryDirectory(prefix="ricordo-bench-", dir=options.folder) as folder:
            sizes.append(bench_size(spread(real, count, seed=options.seed), queries, options, Path(folder)))
    if options.json:
        print_json({"real": len(real), "queries": len(queries), "sizes": sizes})
    else:
        print_table(sizes)


if __name__ == "__main__":
    main()
