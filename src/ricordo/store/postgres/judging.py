"""Checks of candidates that are done in Python: phrases and prefixes in texts, words that share a stem, TF-IDF."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Any

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import Ask
from ricordo.store.postgres.asking_sql import Respelled
from ricordo.store.postgres.connection import Connection, unescaped
from ricordo.store.sql.asked_words import SpelledWords, holds_all, item_texts
from ricordo.store.sql.chunk_rows import chunk_texts
from ricordo.store.sql.matches import Matches
from ricordo.store.sql.pool import GatheredPool
from ricordo.store.sql.protocols import Values
from ricordo.store.sql.tfidf_scores import tfidf_cosines
from ricordo.text.phrases import holds_phrase
from ricordo.text.words import Analyzer
from ricordo.values.items import Item

Rows = Sequence[Sequence[Any]]


def reads_texts(ask: Ask) -> bool:
    """Whether candidates must be checked in their texts, because there are phrases, or only prefixes."""
    return bool(ask.phrases) or (bool(ask.prefixes) and not ask.words)


def verified(ask: Ask, found: Matches, rows: Rows, items_of: Callable[[], Mapping[int, Item]]) -> Matches:
    """Keep the chunks whose texts hold every phrase, or a word that begins as asked where nothing else was."""
    if not reads_texts(ask):
        return found
    known = items_of()
    prefixes = () if ask.words else ask.prefixes
    kept = []
    for at, row in enumerate(rows):
        heading, text = (unescaped(part) for part in row[4])
        sources = (text, heading, *(item_texts(known[row[1]]) if row[1] in known else ()))
        if holds_all(sources, ask.phrases, prefixes):
            kept.append(at)
    picked = np.array(kept, np.int64)
    assert found.coverage is not None, "it is always measured"
    return Matches(
        found.chunks[picked], found.items[picked], found.scores[picked], found.maximum, found.total, found.idf,
        found.coverage[picked], found.share, found.item_total,
    )  # fmt: skip


def lost_to_other_words(ask: Ask, rows: Rows, maximum: float) -> dict[int, float]:
    """By chunk, what it got for a word that is not the one asked for but shares its stem, as a part of the maximum."""
    spellings = SpelledWords(ask)
    lost: dict[int, float] = {}
    for chunk, _, _, _, (heading, text), shares in rows:
        if others := spellings.terms_of_others(unescaped(heading), unescaped(text)):
            lost[chunk] = sum((shares or {}).get(term, 0.0) for term in others) / maximum
    return lost


def barred_by_phrases(connection: Connection, ask: Ask) -> list[int]:
    """Items with a passage that contains an excluded phrase: those with all its words are fetched, in one trip."""
    phrases = [phrase for phrase in ask.excluded_phrases if phrase.terms]
    if not phrases:
        return []
    found = connection.together([(_HOLDING, (list(set(one.terms)), len(set(one.terms)))) for one in phrases])
    return sorted(
        {
            row[0]
            for phrase, rows in zip(phrases, found, strict=True)
            for row in rows
            if holds_phrase((*row[1:6], "\n".join(row[6]), row[7]), phrase.text)
        }
    )


_HOLDING = (
    "SELECT c.item, c.text, c.heading, i.title, i.path, i.description,"
    " coalesce(json_extract(i.fields, '$.tags'), '[]'),"
    " coalesce(json_extract(i.fields, '$.context') #>> '{}', '') FROM chunks c JOIN items i ON i.n = c.item"
    " WHERE c.state < 2 AND c.id IN (SELECT chunk FROM postings WHERE term = ANY(?) GROUP BY chunk HAVING count(*) = ?)"
)


@frozen
class AtHand:
    """What TF-IDF needs, as far as an answer brought it: texts by chunk, how many chunks there are, and in how many of
    them each term occurs.
    """

    texts: Mapping[int, tuple[int, str, str]] = field(default_factory=dict)
    total: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Sequence[Rows]) -> AtHand:
        """From the answers to ``asked_for_tfidf``."""
        texts, counts, total = found
        return cls({row[0]: (row[1], row[2], row[3]) for row in texts}, int(total[0][0]), dict(counts))  # type: ignore[arg-type]


def asked_for_tfidf(
    analyzer: Analyzer, ask: Ask, pool: GatheredPool, new: Sequence[int], respelled: Respelled
) -> list[tuple[str, Values]]:
    """The statements for what TF-IDF needs about the best chunks of a pool, and all chunks of some new items."""
    chunks = list(pool.best_chunks().values())
    which = "SELECT id FROM chunks WHERE id = ANY(?) OR item = ANY(?) AND state = 0"
    return [
        (f"SELECT id, item, heading, text FROM chunks WHERE id IN ({which})", (chunks, list(new))),
        (
            "SELECT w.term, coalesce(t.passages, 0) FROM (SELECT unnest(?::text[]) AS term"
            f" UNION SELECT term FROM postings WHERE chunk IN ({which})) w LEFT JOIN term_counts t ON t.term = w.term",
            ([*analyzer.content_counts(ask.text), *chain(*respelled.values())], chunks, list(new)),
        ),
        ("SELECT total FROM lexical_stats WHERE field = -1", ()),
    ]


def tfidf(
    connection: Connection,
    analyzer: Analyzer,
    ask: Ask,
    pool: GatheredPool,
    known: Mapping[int, Item],
    at_hand: AtHand,
    respelled: Respelled,
) -> dict[int, float]:
    """TF-IDF cosine of the query with each candidate; what is not at hand is asked for."""

    def texts_of(chunks: Sequence[int]) -> Mapping[int, tuple[int, str, str]]:
        missing = [chunk for chunk in chunks if chunk not in at_hand.texts]
        return {**at_hand.texts, **chunk_texts(connection, missing)} if missing else at_hand.texts

    def frequencies(terms: Collection[str]) -> tuple[int, dict[str, int]]:
        missing = [term for term in terms if term not in at_hand.counts]
        if at_hand.total is not None and not missing:
            return at_hand.total, {term: at_hand.counts[term] for term in terms}
        return document_frequencies(connection, terms)

    return tfidf_cosines(texts_of, analyzer, ask.text, pool, known, frequencies, respelled)


def document_frequencies(connection: Connection, terms: Collection[str]) -> tuple[int, dict[str, int]]:
    """The number of live chunks, and for each term in how many of them it stands."""
    wanted = sorted(terms)
    counts, found = connection.together(
        [
            ("SELECT total FROM lexical_stats WHERE field = -1", ()),
            ("SELECT term, passages FROM term_counts WHERE term = ANY(?)", (wanted,)),
        ]
    )
    known: dict[str, int] = dict(found)
    return int(counts[0][0]), {term: known.get(term, 0) for term in wanted}
