"""Vectors for benchmarks: real ones from the shipped model, and as many more as a size asks for.

Real vectors are computed once and kept in the user's cache folder. To reach a larger number, further vectors are
made from pairs of real ones: each is a real vector moved by 10 to 40 % towards another and brought back to unit
length, so that the crowd keeps the shape that the model gives to text. Recall is always reported for the real
ones alone as well.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from platformdirs import user_cache_path

from corpus import SourceDocument
from ricordo import registry
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo.ingest.embed import fingerprint_of
from ricordo.models.base import Embedder
from ricordo.plugins.evaluate.stores import RememberingEmbedder

Matrix = npt.NDArray[np.float32]
_STEP = 512


def shipped_embedder() -> Embedder:
    """The model inside the package."""
    embedder = registry.embedder(Config())
    assert embedder is not None
    return embedder


def remembering(embedder: Embedder) -> RememberingEmbedder:
    """The same model, with what it computed for earlier runs at hand."""
    name = hashlib.sha256(embedder.fingerprint.encode()).hexdigest()[:16]
    return RememberingEmbedder(embedder, user_cache_path("ricordo") / "bench" / name)


def real_vectors(documents: Sequence[SourceDocument], count: int, embedder: Embedder) -> Matrix:
    """Vectors of the corpus' sections, spread evenly over it."""
    texts = [f"{document.title}\n{part.text}" for document in documents for part in document.sections]
    texts = list(dict.fromkeys(texts))
    texts = [texts[place * len(texts) // count] for place in range(count)] if count < len(texts) else texts
    kept = remembering(embedder)
    parts = []
    for start in range(0, len(texts), _STEP):
        parts.append(kept.embed_documents(texts[start : start + _STEP]))
        print(f"\r{min(start + _STEP, len(texts)):,} of {len(texts):,} texts embedded", end="", file=sys.stderr)
    print(file=sys.stderr)
    return np.concatenate(parts)


def spread(real: Matrix, count: int, *, seed: int = 1) -> Matrix:
    """``count`` vectors: the real ones, then ones made from pairs of them."""
    if count <= len(real):
        return real[:count]
    chance = np.random.default_rng(seed)
    many = np.empty((count, real.shape[1]), np.float32)
    many[: len(real)] = real
    for start in range(len(real), count, 65_536):
        size = min(65_536, count - start)
        share = chance.uniform(0.1, 0.4, size=(size, 1)).astype(np.float32)
        made = (1 - share) * real[chance.integers(len(real), size=size)]
        made += share * real[chance.integers(len(real), size=size)]
        many[start : start + size] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return many


def query_vectors(questions: Sequence[str], embedder: Embedder) -> Matrix:
    """Questions as vectors."""
    return np.stack([np.asarray(embedder.embed_query(question), np.float32) for question in questions])


def exact_nearest(vectors: Matrix, query: Matrix, count: int) -> npt.NDArray[Any]:
    """Positions of the nearest vectors, best first, by comparing all."""
    cosines = vectors @ query
    best = np.argpartition(-cosines, min(count, len(cosines) - 1))[:count]
    return best[np.argsort(-cosines[best], kind="stable")]


def give_vectors(engine: Ricordo, embedder: Embedder, vectors: Matrix) -> list[int]:
    """Finish the backlog with vectors at hand; answers the chunks in the order of their vectors."""
    fingerprint = fingerprint_of(embedder)
    engine.store.jobs.enqueue_missing(fingerprint, embedder.dimensions)
    chunks: list[int] = []
    given: dict[bytes, Matrix] = {}
    while jobs := engine.store.jobs.claim(fingerprint, embedder.dimensions, "bench", 2_000):
        for job in jobs:
            given.setdefault(job.hash, vectors[len(given) % len(vectors)])
        engine.store.jobs.finish(fingerprint, jobs, {job.hash: given[job.hash] for job in jobs})
        chunks += [job.chunk for job in jobs]
    return chunks
