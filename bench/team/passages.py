"""The passages, vectors and questions that all sides get."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from corpus import SourceDocument, documents_with, questions_for, read_corpus
from embeddings import Matrix, exact_nearest, query_vectors, real_vectors, shipped_embedder, spread
from ricordo.ingest.embed import fingerprint_of
from ricordo.store.prepare import prepare
from ricordo.store.values import PreparedItem
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Fields, Passage, Ref
from ricordo.values.kinds import kind_of_drive

NEAREST = 50


class Passages:
    """Made when they are first asked for; the same options give the same."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.count: int = given.chunks
        self.embedder = shipped_embedder()
        self.fingerprint = fingerprint_of(self.embedder)

    @cached_property
    def documents(self) -> list[SourceDocument]:
        return read_corpus(self.given.corpus)

    @cached_property
    def texts(self) -> list[str]:
        """Different texts: those that are the same get a number, because the same text has one vector."""
        most = self.given.characters
        found: dict[str, None] = {}
        for document in documents_with(self.documents, self.count, seed=self.given.seed):
            for section in document.sections:
                text = section.text.strip()
                text = text if len(text) <= most else text[:most].rsplit(None, 1)[0].strip()
                found[text if text not in found else f"{text} {len(found)}"] = None
        return list(found)

    @cached_property
    def vectors(self) -> Matrix:
        real = real_vectors(self.documents, min(self.given.real, self.count), self.embedder)
        return spread(real, self.count, seed=self.given.seed)

    @cached_property
    def questions(self) -> list[str]:
        return questions_for(
            self.documents, self.given.queries, file=self.given.questions, seed=self.given.seed
        )  # fmt: skip

    @cached_property
    def query_vectors(self) -> Matrix:
        return query_vectors(self.questions, self.embedder)

    @cached_property
    def true_nearest(self) -> list[set[int]]:
        return [set(exact_nearest(self.vectors, query, NEAREST).tolist()) for query in self.query_vectors]

    def prepared(self, start: int, end: int, analyzer: Analyzer) -> Iterator[PreparedItem]:
        """Some passages as items of a store, one passage each."""
        for number in range(start, min(end, self.count)):
            yield item(Ref("note", f"/{number}"), self.texts[number], analyzer)

    def described(self) -> dict[str, Any]:
        words = [len(text.split()) for text in self.texts[:: max(1, len(self.texts) // 10_000)]]
        return {
            "count": self.count,
            "words": round(float(np.mean(words)), 1), "real vectors": self.given.real,
            "dimensions": self.vectors.shape[1], "questions": len(self.questions),
        }  # fmt: skip


def item(ref: Ref, text: str, analyzer: Analyzer) -> PreparedItem:
    """An item with one passage."""
    draft = Draft(ref, kind_of_drive(ref.drive), text, Fields(), passages=(Passage(0, len(text)),))
    return prepare(draft, analyzer, prefixes=[""], lines=[(1, 1 + text.count("\n"))])
