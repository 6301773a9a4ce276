"""Ricordo through its public engine, with everything that a user gets: ranking, snippets, items."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from compared.base import Collection, ComparedEngine, Matrix, slice_of
from ricordo import registry
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo.models.base import Embedder, fingerprint_of
from ricordo.store.query import Ask, QueryVector
from ricordo.values.hits import Filters
from ricordo.values.items import Entry


class KnownQueries:
    """The shipped model's place, taken by vectors at hand: embedding a question or a new text costs nothing."""

    is_remote = False

    def __init__(self, inner: Embedder, collection: Collection) -> None:
        self.inner = inner
        self.known = dict(zip(collection.questions, collection.query_vectors, strict=True))
        self.some = collection.vectors[:1000]
        self.fingerprint, self.dimensions, self.max_tokens = inner.fingerprint, inner.dimensions, inner.max_tokens

    def embed_query(self, text: str) -> Matrix:
        if text not in self.known:  # a part of a question; computed when the question is first asked, to warm up
            self.known[text] = self.inner.embed_query(text)
        return self.known[text]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self.some[: len(texts)]


class RicordoEngine(ComparedEngine):
    """Default profile through the Python engine, with snippets."""

    name = "Ricordo"
    shares_folder = True

    @property
    def address(self) -> Path | str:
        return self.collection.store

    def load(self) -> None:
        """Nothing: making the collection was loading it, and ``compare.py`` took the time."""

    def open(self) -> None:
        embedder = registry.embedder(Config())
        assert embedder is not None
        known = KnownQueries(embedder, self.collection)
        registry.embedder = lambda config: known
        self.fingerprint = fingerprint_of(embedder)
        self.engine = Ricordo.open(self.address, config=Config())

    def check(self) -> None:
        degraded = self.engine.search(self.collection.questions[0], track=False, literal=True).meta.degraded
        if degraded:
            raise SystemExit(f"the search is degraded: {', '.join(degraded)}")

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        filters = Filters(tags_any=(slice_of(question),)) if kind == "filtered" else None
        answer = self.engine.search(
            self.collection.questions[question],
            limit=limit,
            filters=filters,
            profile="default",
            by={"vector": "meaning", "keyword": "words"}.get(kind, "both"),
            track=False,
            literal=True,
        )
        return [str(hit.ref) for hit in answer]

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        vector = QueryVector(self.fingerprint, self.collection.query_vectors[question])
        filters = Filters(tags_any=(label,)) if label else Filters()
        ask = Ask(by_word=False, vector=vector, per_side=limit, filters=filters)
        found = self.engine.store.index.candidates(ask).found
        return [found.refs[at] for at in (-found.cosines).argsort(kind="stable")[:limit]]

    def write(self, number: int) -> None:
        entry = Entry(ref=f"note:/written-{number}", content=f"Note {number}, written while others search.")
        self.engine.save_many([entry], wait=True)

    def close(self) -> None:
        self.engine.close()


class RicordoOnPostgres(RicordoEngine):
    """The same, the store in a PostgreSQL server on this machine."""

    name = "Ricordo on PostgreSQL"

    @classmethod
    def missing(cls) -> str:
        return "" if os.environ.get("RICORDO_BENCH_PG_DSN") else "RICORDO_BENCH_PG_DSN is not set"

    @property
    def address(self) -> Path | str:
        dsn = os.environ["RICORDO_BENCH_PG_DSN"]
        joined = "&" if "?" in dsn else "?"
        name = re.sub(r"[^a-z0-9]+", "_", self.collection.folder.name.lower())
        return f"{dsn}{joined}schema=compare_{name}"

    def load(self) -> None:
        with Ricordo.open(self.collection.store, config=Config()) as engine:
            engine.migrate(self.address)
