"""Makes the collections that all engines index: from a folder of texts, or from a judged set."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from compared.base import Matrix, slice_of
from corpus import SourceDocument, questions_for
from embeddings import give_vectors, query_vectors, real_vectors, remembering, shipped_embedder, spread
from peers import query_words
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo.ingest.embed import Worker
from ricordo.plugins.evaluate.datasets import read_dataset
from ricordo.store.index.entries import COMPARED_AT_LEAST, COMPARED_SHARE, EXACT_BELOW
from ricordo.store.index.lexical import LexicalIndex
from ricordo.store.sqlite.store import SqliteStore
from ricordo.text.words import Analyzer
from ricordo.values.items import Entry
from stores import GrowingStore, entry_of

NEAREST = 50
_BLOCK = 50_000
_ROWS = (
    "SELECT chunks.id, items.drive || ':' || items.path,"
    " coalesce((SELECT tag FROM item_tags WHERE item = items.n AND tag LIKE 'slice%'), '')"
    " FROM chunks JOIN items ON items.n = chunks.item WHERE chunks.state = 0"
)


class SlicedEntries:
    """Entries of documents, each with one of a hundred labels in turn."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, document: SourceDocument) -> Entry:
        entry = entry_of(replace(document, tags=(*document.tags, slice_of(self.made))))
        self.made += 1
        return entry


def make_collection(folder: Path, documents: Sequence[SourceDocument], size: int, options: argparse.Namespace) -> Path:
    """Passages of a corpus, with true vectors for some and mixtures for the rest, and the true nearest documents."""
    shutil.rmtree(folder, ignore_errors=True)  # what an earlier run left unfinished
    (folder / "ricordo").mkdir(parents=True)
    embedder = shipped_embedder()
    real = real_vectors(documents, options.real, embedder)
    questions = questions_for(documents, options.queries, file=options.questions, seed=options.seed)
    store = folder / "ricordo" / "store.db"
    growth = GrowingStore(store, documents, most=size, seed=options.seed, entry=SlicedEntries()).grow(size)
    with Ricordo.open(store, config=Config()) as engine:
        started = time.perf_counter()
        give_vectors(engine, embedder, spread(real, growth.chunks, seed=options.seed))
        with_vectors = time.perf_counter() - started
        engine.store.maintain()
    vectors, chunks = _stored_vectors(store)  # equal texts share a vector
    queries = query_vectors(questions, embedder)
    refs, labels = _write_rows(folder, store, chunks)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "queries.npy", queries)
    _write_truth(folder, vectors, queries, refs, labels)
    ours = {
        "seconds": round(growth.seconds + with_vectors, 2),
        "chunks": growth.chunks,
        "texts per second": round(growth.rate),
        "longest lock ms": round(growth.longest_lock_ms, 1),
        "bytes": sum(file.stat().st_size for file in store.parent.iterdir()),
    }
    _write_about(folder, questions, [], ours, _limits(store, questions, len(chunks), vectors.shape[1]))
    return folder


def make_judged(folder: Path, judged: Path) -> Path:
    """The documents of a judged set with their true vectors, and what answers each question."""
    shutil.rmtree(folder, ignore_errors=True)  # what an earlier run left unfinished
    (folder / "ricordo").mkdir(parents=True)
    dataset = read_dataset(judged)
    embedder = remembering(shipped_embedder())
    store = folder / "ricordo" / "store.db"
    refs = {document.id: f"eval:/{place:07d}" for place, document in enumerate(dataset.documents)}
    config = Config()
    with Ricordo.open(store, config=config) as engine:
        entries = [
            Entry(ref=refs[document.id], content=document.text, fields={"title": document.title})
            for document in dataset.documents
        ]
        engine.save_many(entries, wait=False)
        engine.store.jobs.enqueue_missing(embedder.fingerprint, embedder.dimensions)
        Worker(engine.store, embedder, "compare", None).drain()
    vectors, chunks = _stored_vectors(store)
    _write_rows(folder, store, chunks)
    np.save(folder / "vectors.npy", vectors)
    questions = [question.text for question in dataset.questions]
    np.save(folder / "queries.npy", query_vectors(questions, embedder))
    judgements = [
        {refs[document]: grade for document, grade in dataset.judgements[question.id].items() if document in refs}
        for question in dataset.questions
    ]
    _write_about(folder, questions, judgements, {}, {})
    return folder


def _stored_vectors(store: Path) -> tuple[Matrix, list[int]]:
    """The vector of each live passage, and the passages."""
    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(
        "SELECT chunks.id, vectors.vector FROM chunks JOIN vectors ON vectors.hash = chunks.embed_hash"
        " WHERE chunks.state = 0 ORDER BY chunks.id"
    ).fetchall()
    connection.close()
    return np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(len(rows), -1), [row[0] for row in rows]


def _write_rows(folder: Path, store: Path, chunks: Sequence[int]) -> tuple[list[str], list[str]]:
    """Which document and which slice each passage belongs to, by the number of the passage."""
    np.save(folder / "chunks.npy", np.asarray(chunks, np.int64))
    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    rows = {chunk: (ref, label) for chunk, ref, label in connection.execute(_ROWS)}
    connection.close()
    refs, labels = [rows[chunk][0] for chunk in chunks], [rows[chunk][1] for chunk in chunks]
    (folder / "refs.txt").write_text("\n".join(refs), encoding="utf-8")
    return refs, labels


def _write_truth(folder: Path, vectors: Matrix, queries: Matrix, refs: Sequence[str], labels: Sequence[str]) -> None:
    """The nearest documents of every question, found by comparing all; once among all and once within a slice."""
    cosines = np.concatenate([vectors[at : at + _BLOCK] @ queries.T for at in range(0, len(vectors), _BLOCK)])
    kinds = np.asarray(labels)
    near, within = [], []
    for question in range(len(queries)):
        order = np.argsort(-cosines[:, question])
        near.append(_first_documents(order, refs))
        within.append(_first_documents(order[kinds[order] == slice_of(question)], refs))
    (folder / "nearest.json").write_text(json.dumps(near), encoding="utf-8")
    (folder / "nearest_filtered.json").write_text(json.dumps(within), encoding="utf-8")


def _first_documents(order: Iterable[int], refs: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for number in order:
        found.setdefault(refs[number])
        if len(found) == NEAREST:
            break
    return list(found)


def _limits(store: Path, questions: Sequence[str], passages: int, dimensions: int) -> dict[str, float]:
    """The least time a hybrid search of ours could take: the bytes it must read, over the speed of memory."""
    opened = SqliteStore(store)
    analyzer, index, counts = Analyzer(), LexicalIndex(), []
    with opened.database.read() as connection:
        for question in questions:
            terms = {term for word in query_words(question, analyzer) for term in analyzer.terms(word)}
            _, found = index.document_frequencies(connection, terms)
            counts.append(sum(found.values()))
    opened.close()
    speed = _memory_speed()
    compared = max(COMPARED_AT_LEAST, passages // COMPARED_SHARE) if passages > EXACT_BELOW else passages
    read = {
        "postings": float(np.median(counts)) * _POSTING_BYTES,
        "sketches": passages * dimensions / 8,
        "vectors": float(compared * dimensions * 4),
    }
    return {
        "memory GB/s": round(speed / 1e9, 1),
        **{f"{name} MB": round(size / 1e6, 2) for name, size in read.items()},
        "keyword least ms": round(read["postings"] / speed * 1000, 3),
        "vector least ms": round((read["sketches"] + read["vectors"]) / speed * 1000, 3),
        "hybrid least ms": round(sum(read.values()) / speed * 1000, 3),
    }


_POSTING_BYTES = 4 + 4 + 4
"""A posting's place, its saturated count, and the score it is added to."""


def _memory_speed() -> float:
    """Bytes that one core reads in a second."""
    many = np.ones(32_000_000, np.float64)
    best = min(_seconds_to_sum(many) for _ in range(5))
    return many.nbytes / best


def _seconds_to_sum(many: Any) -> float:
    started = time.perf_counter()
    many.sum()
    return time.perf_counter() - started


def _write_about(
    folder: Path,
    questions: Sequence[str],
    judgements: Sequence[Mapping[str, float]],
    ours: Mapping[str, Any],
    limits: Mapping[str, float],
) -> None:
    analyzer = Analyzer()
    about = {
        "questions": questions,
        "words": [query_words(question, analyzer) for question in questions],
        "judgements": judgements,
        "ricordo": ours,
        "limits": limits,
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
