"""Checks of candidates that are done in Python: phrases and prefixes in texts, words that share a stem, TF-IDF."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ricordo.store.asking import Ask, Phrase
from ricordo.store.postgres.asking_sql import numbered
from ricordo.store.postgres.connection import unescaped
from ricordo.store.sqlite import items
from ricordo.store.sqlite.matches import Matches
from ricordo.store.sqlite.pool import GatheredPool
from ricordo.store.sqlite.tfidf_scores import tfidf_cosines
from ricordo.text.phrases import holds_phrase, holds_prefix
from ricordo.text.spelling import MOST, MOST_LOOKED_AT, first_letters, likely_words
from ricordo.text.words import Analyzer, fold
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
        sources = (text, heading, *(_item_texts(known[row[1]]) if row[1] in known else ()))
        if all(holds_phrase(sources, phrase.text) for phrase in ask.phrases) and (
            not prefixes or any(holds_prefix(sources, prefix) for prefix in prefixes)
        ):
            kept.append(at)
    picked = np.array(kept, np.int64)
    assert found.coverage is not None, "it is always measured"
    return Matches(
        found.chunks[picked], found.items[picked], found.scores[picked], found.maximum, found.total, found.idf,
        found.coverage[picked], found.share,
    )  # fmt: skip


def lost_to_other_words(ask: Ask, rows: Rows, maximum: float) -> dict[int, float]:
    """By chunk, what it got for a word that is not the one asked for but shares its stem, as a part of the maximum."""
    starts = [
        (word.term, re.compile(rf"\b{re.escape(word.spelled[: max(len(word.spelled) - 3, 1)])}"))
        for word in ask.words
        if word.spelled
    ]
    lost: dict[int, float] = {}
    for chunk, _, _, _, texts, shares in rows:
        folded = fold("\n".join(unescaped(part) for part in texts))
        false = [term for term, start in starts if not start.search(folded)]
        if false:
            lost[chunk] = sum((shares or {}).get(term, 0.0) for term in false) / maximum
    return lost


def respelled(connection: Any, unknown: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For words that occur nowhere, the index terms that they most likely mean."""
    found: dict[str, tuple[str, ...]] = {}
    for letter in first_letters(unknown):
        known = dict(
            connection.rows(
                "SELECT word, term FROM vocabulary WHERE word>=? AND word<?", (letter, letter + "\U0010ffff")
            )
        )
        for word in (one for one in unknown if one.startswith(letter)):
            likely = dict.fromkeys(known[one] for one in likely_words(word, known, MOST_LOOKED_AT))
            if likely:
                found[word] = tuple(likely)
    return _terms_in_use(connection, found)


def _terms_in_use(connection: Any, likely: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Those of the terms that occur in a text now; the vocabulary also has words of texts that are gone."""
    terms = sorted({term for some in likely.values() for term in some})
    if not terms:
        return {}
    rows = connection.rows("SELECT term FROM term_counts WHERE passages > 0 AND term = ANY(?)", (terms,))
    here = {term for (term,) in rows}
    in_use = {word: tuple(term for term in some if term in here)[:MOST] for word, some in likely.items()}
    return {word: some for word, some in in_use.items() if some}


def barred_by_phrases(connection: Any, ask: Ask) -> list[int]:
    """Items with a passage that contains an excluded phrase."""
    barred: set[int] = set()
    for phrase in ask.excluded_phrases:
        barred |= set(_holding(connection, phrase)) if phrase.terms else set()
    return sorted(barred)


def _holding(connection: Any, phrase: Phrase) -> list[int]:
    terms = sorted(set(phrase.terms))
    rows = connection.rows(
        "SELECT c.id, c.item, c.heading, c.text FROM chunks c WHERE c.state < 2 AND c.id IN (SELECT chunk"
        f" FROM postings WHERE term IN ({numbered(terms)}) GROUP BY chunk HAVING count(*) = ?)",
        (*terms, len(terms)),
    )
    known = items.by_numbers(connection, list({row[1] for row in rows}))
    return [
        n
        for _, n, heading, text in rows
        if holds_phrase((text, heading, *(_item_texts(known[n]) if n in known else ())), phrase.text)
    ]


def _item_texts(item: Item) -> tuple[str, ...]:
    fields = item.fields
    return fields.title, item.ref.path, fields.description, "\n".join(fields.tags), fields.context


def tfidf(
    connection: Any, analyzer: Analyzer, ask: Ask, pool: GatheredPool, known: Mapping[int, Item]
) -> dict[int, float]:
    """TF-IDF cosine of the query with each candidate."""
    return tfidf_cosines(connection, analyzer, ask.text, pool, known, partial(document_frequencies, connection))


def document_frequencies(connection: Any, terms: Collection[str]) -> tuple[int, dict[str, int]]:
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
