"""Warm search by word and meaning, against FTS5 and sqlite-vec in the same run.

``python bench/hybrid.py --corpus DIR --chunks 50000`` fills a store through the engine and asks questions through
``Ricordo.search``. Embedding the question costs the same for everybody and is reported apart; what is left
(both sides, fusion, ranking, snippets) is compared with the bare lookups of the peers: FTS5 with OR and ``bm25()``
plus sqlite-vec's nearest neighbours, without any fusion (target: at most a fifth). "plain" is the same search without
the steps that refine the pool: the difference is what the ranking of ``default`` adds (target: at most 3 ms).

``--busy 2`` measures again beside two processes that compute all the time, as on a machine on which agents work.

``--real`` chunks get their true vectors; the others get vectors made from pairs of true ones, because the time of
a search does not depend on what a vector means.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpus import SourceDocument, add_corpus_options, questions_for, read_corpus
from embeddings import Matrix, give_vectors, query_vectors, real_vectors, shipped_embedder, spread
from peers import ask_fts5, ask_sqlite_vec, fill_fts5, fill_sqlite_vec, load_sqlite_vec, open_peer
from ricordo import registry
from ricordo.config.loading import Config
from ricordo.engine import Ricordo
from ricordo.models.base import Embedder
from ricordo.text.words import Analyzer
from stores import GrowingStore, count_chunks
from timing import aligned, busy_processes, print_json, resident_megabytes, summary, timed
from words import query_words

PER_SIDE = 30
PLAIN = {"plain": {"base": "default", "refine": []}}


class TimedEmbedder:
    """The shipped model, noting how long each query took."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.last = 0.0

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

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
        self.last = timed(lambda: answer.append(self.inner.embed_query(text)))
        return answer[0]


def ask_engine(
    engine: Ricordo, embedder: TimedEmbedder, questions: Sequence[str], repeat: int
) -> dict[str, tuple[list[float], list[float]]]:
    """By profile, milliseconds of whole searches and of their embeddings, in turns, after one round to warm up."""
    times: dict[str, tuple[list[float], list[float]]] = {"default": ([], []), "plain": ([], [])}
    for turn in range(repeat + 1):
        for question in questions:
            for profile, (whole, embedding) in times.items():
                taken = timed(lambda q=question, p=profile: engine.search(q, profile=p, track=False))  # type: ignore[misc]
                if turn:
                    whole.append(taken)
                    embedding.append(embedder.last)
    return times


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
    embedder = TimedEmbedder(shipped_embedder())
    if not (folder / "peers.db").exists():
        fill(options, documents, embedder, folder)
    registry.embedder = lambda config: embedder
    with Ricordo.open(folder / "store.db", config=Config(profiles=PLAIN)) as engine:
        degraded = engine.search(questions[0], track=False).meta.degraded
        if degraded:
            raise SystemExit(f"the search is degraded: {', '.join(degraded)}")
        rounds = {"quiet": measured(engine, embedder, questions, folder, options.repeat)}
        if options.busy:
            with busy_processes(options.busy):
                rounds["busy"] = measured(engine, embedder, questions, folder, options.repeat)
    return {"chunks": count_chunks(folder / "store.db")[0], "memory_mb": resident_megabytes(), **rounds}


def measured(
    engine: Ricordo, embedder: TimedEmbedder, questions: Sequence[str], folder: Path, repeat: int
) -> dict[str, Any]:
    """Ours and the peers' times, one after the other."""
    times = ask_engine(engine, embedder, questions, repeat)
    whole, embedding = times["default"]
    rest, plain = ([total - part for total, part in zip(*times[name], strict=True)] for name in ("default", "plain"))
    words, meaning = ask_peers(folder, questions, embedder, repeat)
    both = [word + near for word, near in zip(words, meaning, strict=True)]
    ours, theirs = summary(rest), summary(both)
    return {
        "ours": {"whole": summary(whole), "embedding": summary(embedding), "plain rest": summary(plain), "rest": ours},
        "peers": {"fts5": summary(words), "sqlite-vec": summary(meaning), "both": theirs},
        "ratio_p50": round(theirs["p50_ms"] / ours["p50_ms"], 2),
        "whole_over_embedding": round(summary(whole)["p50_ms"] / summary(embedding)["p50_ms"], 2),
        "added_p50_ms": round(ours["p50_ms"] - summary(plain)["p50_ms"], 2),
    }


def ask_peers(
    folder: Path, questions: Sequence[str], embedder: Embedder, repeat: int
) -> tuple[list[float], list[float]]:
    """Milliseconds of each question's two lookups, warm."""
    connection = open_peer(folder / "peers.db")
    load_sqlite_vec(connection)
    by_word, by_meaning = ask_fts5(connection, PER_SIDE), ask_sqlite_vec(connection, PER_SIDE)
    analyzer = Analyzer()
    words, meaning = [], []
    for turn in range(repeat + 1):
        for question, query in zip(questions, query_vectors(questions, embedder), strict=True):
            asked = query_words(question, analyzer)
            taken = timed(lambda asked=asked: by_word(asked)), timed(lambda query=query: by_meaning(query))  # type: ignore[misc]
            if turn:
                words.append(taken[0])
                meaning.append(taken[1])
    connection.close()
    return words, meaning


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
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = bench(options, folder)
    if options.json:
        print_json(figures)
        return
    print(f"{figures['chunks']:,} chunks; {figures['memory_mb']:.0f} MB of memory with the model")
    for name in ("quiet", "busy"):
        if name in figures:
            print_round(name, figures[name])


def print_round(name: str, figures: dict[str, Any]) -> None:
    """One table: ours and the peers'."""
    rows = [
        [f"{side}: {part}", f"{row['p50_ms']:.2f}", f"{row['p95_ms']:.2f}"]
        for side in ("peers", "ours")
        for part, row in figures[side].items()
    ]
    rows.append(["peers both / ours rest", f"{figures['ratio_p50']:.1f}x", ""])
    rows.append(["ours whole / embedding", f"{figures['whole_over_embedding']:.2f}x", ""])
    rows.append(["added by refining the pool", f"{figures['added_p50_ms']:.2f}", ""])
    print(aligned((name, "p50 ms", "p95 ms"), rows))


if __name__ == "__main__":
    main()
