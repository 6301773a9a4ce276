"""The keyword side of a search: query words to index terms, phrases checked on the text, substring fallback."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen
from ricordo.search.query import ParsedQuery, topic_of
from ricordo.store.arrays import distinct
from ricordo.store.base import Matches, Scoring, Store, Wanted
from ricordo.text.scripts import has_unspaced
from ricordo.text.words import Analyzer, fold, folded_words
from ricordo.values.items import Item

Array = npt.NDArray[Any]
MAX_TERMS = 512
LETTERS_LOST = 5
SHORT_STEM = 7
"""Longer stems are special enough to stand for one word."""
DOUBT = 0.5
_CHECKED_AT_ONCE = 256


@frozen
class KeywordPlan:
    """A parsed query in index terms."""

    wanted: tuple[Wanted, ...]
    required: tuple[tuple[str, ...], ...]
    excluded: tuple[tuple[str, ...], ...]
    phrases: tuple[str, ...]
    prefixes: tuple[str, ...]
    excluded_phrases: tuple[str, ...]
    doubtful: tuple[tuple[str, str], ...] = ()
    """Terms whose stem may be another word's, each with the word that was asked for."""

    @property
    def needs_text(self) -> bool:
        """Whether candidates must be checked on their text."""
        return bool(self.phrases) or self.only_prefixes

    @property
    def only_prefixes(self) -> bool:
        """Whether nothing but prefixes is asked for: then a match must be a true one, not one by its stem."""
        return bool(self.prefixes) and len(self.wanted) == len(self.prefixes)


def plan(query: ParsedQuery, analyzer: Analyzer, store: Store) -> KeywordPlan:
    """Words become terms; a word asked for n times counts 1 + ln n times; a prefix stands for every term it starts."""
    words = topic_of(query.words)
    counts: dict[str, int] = {}
    phrase_terms = [tuple(analyzer.terms(phrase)) for phrase in query.phrases]
    for term in analyzer.query_terms(words) if words.strip() else ():
        counts[term] = counts.get(term, 0) + 1
    for phrase in query.phrases:
        for term in analyzer.query_terms(phrase):
            counts[term] = counts.get(term, 0) + 1
    doubtful = {
        term: word for word in folded_words(words) for term in analyzer.terms_of(word) if is_doubtful(word, term)
    }
    wanted = [
        Wanted(term, (term,), 1.0 + math.log(times), DOUBT if term in doubtful else 1.0)
        for term, times in list(counts.items())[:MAX_TERMS]
    ]
    for prefix in query.prefixes:
        terms = store.index.terms_starting_with(fold(prefix))
        wanted.append(Wanted(f"{prefix}*", tuple(terms)))
    excluded = [tuple(analyzer.terms(word)) for word in query.excluded]
    return KeywordPlan(
        tuple(wanted),
        tuple(terms for terms in phrase_terms if terms),
        tuple(terms for terms in excluded if terms),
        query.phrases,
        query.prefixes,
        query.excluded_phrases,
        tuple(doubtful.items()),
    )


def is_doubtful(word: str, term: str) -> bool:
    """Whether a stem is so much shorter than its word that it may be another word's: productivity, product."""
    return len(term) <= SHORT_STEM and len(word.removesuffix("s")) - len(term) >= LETTERS_LOST


def false_stems(store: Store, plan: KeywordPlan, chunks: Sequence[int]) -> dict[int, set[str]]:
    """By chunk, the doubtful terms it holds only as another word's: product is not what productivity asks for.

    A word counts as the one asked for when it agrees with it but for the last three letters: productive does.
    """
    found: dict[int, set[str]] = {}
    starts = [(term, re.compile(rf"\b{re.escape(word[: max(len(word) - 3, 1)])}")) for term, word in plan.doubtful]
    for chunk, (_, heading, text) in store.index.chunk_texts(chunks).items() if starts else ():
        folded = fold(f"{heading}\n{text}")
        missing = {term for term, start in starts if not start.search(folded)}
        if missing:
            found[chunk] = missing
    return found


def keyword_matches(
    store: Store,
    plan: KeywordPlan,
    *,
    scoring: Scoring,
    limit: int,
    allowed: Array | None,
    times: Array | None,
    also: Array | None = None,
) -> Matches:
    """The best chunks for a plan, phrases and prefixes verified on the text."""
    if plan.excluded_phrases:
        allowed = items_without(store, replace(plan, excluded=()), scoring, allowed, times)

    def search(count: int) -> Matches:
        return store.index.keyword_search(
            plan.wanted,
            scoring=scoring,
            limit=count,
            allowed=allowed,
            required=plan.required,
            excluded=plan.excluded,
            times=times,
            also=also,
            cover=True,
        )

    if not plan.needs_text:
        return search(limit)
    count = limit
    while True:
        found = search(count)
        checked = _verified(store, found, plan, limit)
        if len(distinct(checked.items)) >= limit or len(found.chunks) >= found.total:
            return checked
        count *= 4


def _verified(store: Store, found: Matches, plan: KeywordPlan, limit: int) -> Matches:
    """Keep the chunks whose text holds every phrase, and a word for every prefix that no other word backs."""
    kept: list[int] = []
    items: set[int] = set()
    titles: dict[int, str] = {}
    for at in range(0, len(found.chunks), _CHECKED_AT_ONCE):
        part = found.chunks[at : at + _CHECKED_AT_ONCE].tolist()
        texts = store.index.chunk_texts(part)
        missing = [n for n in {texts[c][0] for c in part if c in texts} if n not in titles]
        titles |= {n: _item_text(item) for n, item in store.items.get_many(missing).items()}
        for offset, chunk in enumerate(part):
            if chunk not in texts:
                continue
            n, heading, text = texts[chunk]
            sources = (text, heading, *titles.get(n, "").split("\x00"))
            if not all(holds_phrase(sources, phrase) for phrase in plan.phrases):
                continue
            if plan.only_prefixes and not any(_holds_prefix(sources, prefix) for prefix in plan.prefixes):
                continue
            kept.append(at + offset)
            items.add(n)
        if len(items) >= limit:
            break
    picked = np.array(kept, np.int64)
    return replace(
        found,
        chunks=found.chunks[picked],
        items=found.items[picked],
        scores=found.scores[picked],
        coverage=None if found.coverage is None else found.coverage[picked],
    )


def _item_text(item: Item) -> str:
    fields = item.fields
    return "\x00".join((fields.title, item.ref.path, fields.description, "\n".join(fields.tags), fields.context))


def items_without(
    store: Store, plan: KeywordPlan, scoring: Scoring, allowed: Array | None, times: Array | None
) -> Array:
    """Item numbers without those that hold an excluded word or phrase."""
    analyzer = Analyzer(store.language)
    barred: set[int] = set()
    groups = [(terms, "") for terms in plan.excluded]
    groups += [(tuple(analyzer.terms(phrase)), phrase) for phrase in plan.excluded_phrases]
    for terms, phrase in groups:
        if not terms:
            continue
        wanted = tuple(Wanted(term, (term,)) for term in dict.fromkeys(terms))
        found = store.index.keyword_search(wanted, scoring=scoring, limit=1 << 30, required=(terms,), times=times)
        if phrase:
            found = _verified(store, found, KeywordPlan(wanted, (terms,), (), (phrase,), (), ()), 1 << 30)
        barred.update(found.items.tolist())
    everything = allowed if allowed is not None else store.index.live_items()
    return everything[~np.isin(everything, np.fromiter(barred, np.int64, len(barred)))]


def holds_phrase(sources: Iterable[str], phrase: str) -> bool:
    """Whether one of the texts holds the words of a phrase one after another, whatever stands between them."""
    words = folded_words(phrase)
    if not words:
        needle = fold(phrase)
        return any(needle in fold(source) for source in sources)
    if not phrase.isascii() and any(has_unspaced(word) for word in words):
        needle = "".join(words)
        return any(needle in "".join(folded_words(source)) for source in sources)
    needle = f" {' '.join(words)} "
    return any(needle in f" {' '.join(folded_words(source))} " for source in sources)


def _holds_prefix(sources: Sequence[str], prefix: str) -> bool:
    start = fold(prefix)
    return any(word.startswith(start) for source in sources for word in folded_words(source)) or any(
        start in fold(source) for source in sources
    )


def substring_chunks(store: Store, needle: str, *, limit: int, allowed: Array | None) -> list[tuple[int, int]]:
    """``(chunk, item)`` of live chunks that hold the text, case and accents ignored; newest items first, one each."""
    wanted = fold(needle.strip())
    if not wanted:
        return []
    found: dict[int, int] = {}
    for chunk, n, text in store.index.live_chunks(allowed):
        if n not in found and wanted in fold(text):
            found[n] = chunk
            if len(found) >= limit:
                break
    return [(chunk, n) for n, chunk in found.items()]
