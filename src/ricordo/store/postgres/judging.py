"""TF-IDF of candidates, how rare words are, and what verdicts say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ricordo.store.asking import Ask
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.sql.chunk_rows import chunk_texts
from ricordo.store.sql.pool import GatheredPool
from ricordo.store.sql.tfidf_scores import tfidf_cosines
from ricordo.values.items import Item
from ricordo.values.use import feedback_prior

Texts = Mapping[int, tuple[int, str, str]]


def tfidf(
    opened: OpenWorkspace,
    connection: Connection,
    ask: Ask,
    pool: GatheredPool,
    known: Mapping[int, Item],
    at_hand: Texts,
    respelled: Mapping[str, tuple[str, ...]],
) -> dict[int, float]:
    """TF-IDF cosine of the query with each candidate; texts that are not at hand are asked for."""

    def texts_of(chunks: Sequence[int]) -> Texts:
        missing = [chunk for chunk in chunks if chunk not in at_hand]
        return {**at_hand, **chunk_texts(connection, missing)} if missing else at_hand

    def frequencies(terms: Collection[str]) -> tuple[int, dict[str, int]]:
        return document_frequencies(opened, connection, terms)

    return tfidf_cosines(texts_of, opened.analyzer, ask.text, pool, known, frequencies, respelled)


def document_frequencies(
    opened: OpenWorkspace, connection: Connection, terms: Collection[str]
) -> tuple[int, dict[str, int]]:
    """The number of live chunks, and for each term in how many of them it stands."""
    opened.words.bring(connection, terms)
    return opened.words.document_frequencies(connection, terms)


def feedback(numbers: Sequence[int], rows: Sequence[Sequence[Any]]) -> dict[int, float]:
    """By item, what verdicts say of it; ``rows`` are items with a verdict and how often it was given."""
    counts: dict[int, dict[str, int]] = {n: {} for n in numbers}
    for n, verdict, count in rows:
        counts.setdefault(n, {})[verdict] = count
    return {n: feedback_prior(given) for n, given in counts.items()}
