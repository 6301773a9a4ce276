"""Adding with embedding, against the bare model on the same texts.

``python bench/ingest.py --corpus DIR --chunks 2000`` takes turns: a slice of documents is added through the engine
(cut, indexed, embedded, committed), then exactly the texts that this embedded are given to the bare model, with
the same threads and sorted by length over the whole slice. What is left of the model's texts per second is what a
user gets (target: at least 85 %).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw

from corpus import add_corpus_options, documents_with, read_corpus
from embeddings import shipped_embedder
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo.store.prepare import embedded_text
from stores import entry_of
from timing import aligned, print_json


def texts_after(file: Path, last: int) -> tuple[list[str], int]:
    """What was embedded for the chunks added since, each text once, and the last chunk's id."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT id, prefix, text FROM chunks WHERE id > ? ORDER BY id", (last,)).fetchall()
    connection.close()
    texts = dict.fromkeys(embedded_text(prefix, text) for _, prefix, text in rows)
    return list(texts), rows[-1][0] if rows else last


def bench(options: argparse.Namespace, file: Path) -> dict[str, Any]:
    documents = read_corpus(options.corpus)
    source = documents_with(documents, 10 * options.chunks, seed=options.seed)
    embedder = shipped_embedder()
    embedder.embed_documents(["warm up"])
    texts = last = 0
    adding = bare = 0.0
    with Ricordo.open(file, config=Config()) as engine:
        engine.save("bench:/warm-up", "The model is loaded before the clock starts.")
        _, last = texts_after(file, 0)
        while texts < options.chunks:
            part = [entry_of(document) for document, _ in zip(source, range(options.slice), strict=False)]
            started = time.perf_counter()
            engine.save_many(part)
            adding += time.perf_counter() - started
            embedded, last = texts_after(file, last)
            started = time.perf_counter()
            embedder.embed_documents(embedded)
            bare += time.perf_counter() - started
            texts += len(embedded)
        waiting = engine.embed(status=True).to_dict()["pending"]
    if waiting:
        raise SystemExit(f"{waiting} texts were left in the backlog; the figures would not compare")
    return {
        "texts": texts,
        "engine_texts_per_second": round(texts / adding, 1),
        "model_texts_per_second": round(texts / bare, 1),
        "share": round(bare / adding, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=2_000, metavar="N", help="texts to embed (2000)")
    parser.add_argument("--slice", type=int, default=20, metavar="N", help="documents added at a time (20)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        figures = bench(options, Path(folder) / "store.db")
    if options.json:
        print_json(figures)
        return
    rows = [
        ["bare model", f"{figures['model_texts_per_second']:.1f}"],
        ["add with embedding", f"{figures['engine_texts_per_second']:.1f}"],
        ["share", f"{figures['share']:.1%}"],
    ]
    print(aligned((f"{figures['texts']:,} texts", "texts/s"), rows))


if __name__ == "__main__":
    main()
