"""The keyword side of an ask: words as index terms, phrases and prefixes checked in the texts, exclusions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ricordo.store.arrays import Array, distinct
from ricordo.store.index.lexical import LexicalIndex, Scored
from ricordo.store.index.scoring import Matches, Wanted
from ricordo.store.query import Ask, AskedWord, Phrase
from ricordo.store.sql import items
from ricordo.store.sql.database import Connection
from ricordo.store.sql.items import chunk_texts, live_items
from ricordo.text.alike import MOST_LIKELY, MOST_LOOKED_UP, likely_words
from ricordo.text.words import fold, holds_phrase, holds_prefix
from ricordo.values.items import Item

EVERY = 1 << 30
RESPELLED = 0.7
"""The weight of a word that is searched in place of one that occurs nowhere."""
_CHECKED_AT_ONCE = 256


class KeywordSide:
    """Answers the keyword part of one ask. ``times`` are the chunks to look among, where not the live ones."""

    def __init__(self, index: LexicalIndex, connection: Connection, ask: Ask, times: Array | None) -> None:
        self.index = index
        self.connection = connection
        self.ask = ask
        self.times = times
        self.texts: dict[int, tuple[int, str, str]] = {}
        """Item, heading and text of chunks that were read already."""
        self.titles: dict[int, tuple[str, ...]] = {}
        """The other texts of items that were read already."""
        index.expect(connection, terms_of(ask))
        expanded = {prefix: tuple(index.terms_starting_with(connection, fold(prefix))) for prefix in ask.prefixes}
        self.prefix_terms = tuple(dict.fromkeys(term for terms in expanded.values() for term in terms))
        self.respelled = self._spellings() if ask.by_word else {}
        words = [self._wanted(word) for word in ask.words]
        if ask.rarest:
            words = self._rarest(words, ask.rarest)
        self.wanted = (*words, *(Wanted(f"{prefix}*", expanded[prefix]) for prefix in ask.prefixes))
        self.required = tuple(phrase.terms for phrase in ask.phrases if phrase.terms)
        self.only_prefixes = bool(ask.prefixes) and not words

    def _wanted(self, word: AskedWord) -> Wanted:
        likely = self.respelled.get(word.written)
        if likely:
            return Wanted(word.written, likely, word.weight * RESPELLED)
        return Wanted(word.term, word.terms, word.weight, word.certainty)

    def _rarest(self, words: Sequence[Wanted], count: int) -> list[Wanted]:
        _, frequencies = self.index.document_frequencies(self.connection, [word.label for word in words])
        rare = sorted((frequencies[word.label], word.label, word) for word in words if frequencies[word.label])
        return [word for *_, word in rare[:count]]

    def _spellings(self) -> dict[str, tuple[str, ...]]:
        """For words of the ask that occur nowhere, the index terms that they most likely mean."""
        asked = [word for word in self.ask.words if word.written]
        if not asked or self.times is not None:
            return {}
        terms = [term for word in asked for term in word.terms]
        _, frequencies = self.index.document_frequencies(self.connection, terms)
        unknown = [word.written for word in asked if not any(frequencies[term] for term in word.terms)]
        similar = self.index.words_like(self.connection, unknown) if unknown else {}
        terms_of_word: dict[str, tuple[str, ...]] = {}
        for word in unknown:
            alike = (candidate for candidate in similar if candidate.startswith(word[0]))
            likely = dict.fromkeys(
                term for candidate in likely_words(word, alike, MOST_LOOKED_UP) for term in similar[candidate]
            )
            if likely:
                terms_of_word[word] = tuple(likely)
        return self._terms_in_use(terms_of_word)

    def _terms_in_use(self, likely: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Those of the terms that occur in a text now; the index also has words of texts that are gone."""
        terms = {term for some in likely.values() for term in some}
        if not terms:
            return {}
        _, frequencies = self.index.document_frequencies(self.connection, terms)
        in_use = {
            word: tuple(term for term in some if frequencies[term])[:MOST_LIKELY] for word, some in likely.items()
        }
        return {word: some for word, some in in_use.items() if some}

    @property
    def reads_texts(self) -> bool:
        """Whether matches must be checked in their texts, because there are phrases, or only prefixes."""
        return bool(self.ask.phrases) or self.only_prefixes

    def scored(self, allowed: Array | None) -> Scored:
        """The scores of all chunks of the allowed items; phrases are not verified."""
        return self.index.scored(
            self.connection,
            self.wanted,
            scoring=self.ask.scoring,
            allowed=allowed,
            required=self.required,
            excluded=self.ask.excluded,
            times=self.times,
        )

    def matches(self, limit: int, allowed: Array | None, also: Array | None = None) -> Matches:
        """The best chunks, and those of the items in ``also``; phrases and prefixes are verified on the texts."""
        if self.ask.excluded_phrases:
            allowed = self.items_without(allowed, (), self.ask.excluded_phrases)

        scored = self.scored(allowed)
        if not self.reads_texts:
            return scored.best(limit, also)
        # If only prefixes are searched, a match must really begin so, not only by its stem.
        prefixes = self.ask.prefixes if self.only_prefixes else ()
        count = limit
        while True:
            matches = scored.best(count, also)
            checked = self._verified(matches, self.ask.phrases, prefixes, limit)
            if len(distinct(checked.items)) >= limit or len(matches.chunks) >= matches.total:
                return checked
            count *= 4

    def allowed_items(self, allowed: Array | None) -> Array:
        """Item numbers without those that hold a word or phrase that the ask excludes."""
        return self.items_without(allowed, self.ask.excluded, self.ask.excluded_phrases)

    def items_without(
        self, allowed: Array | None, groups: Sequence[tuple[str, ...]], phrases: Sequence[Phrase]
    ) -> Array:
        """Item numbers without those that hold all terms of a group or one of the phrases."""
        barred = self.barred_items(groups, phrases)
        everything = allowed if allowed is not None else live_items(self.connection)
        return everything[~np.isin(everything, np.fromiter(barred, np.int64, len(barred)))]

    def barred_items(self, groups: Sequence[tuple[str, ...]], phrases: Sequence[Phrase]) -> set[int]:
        """The items that hold all terms of a group, or one of the phrases."""
        barred: set[int] = set()
        for phrase in (*(Phrase("", terms) for terms in groups), *phrases):
            if phrase.terms:
                matches = self.holding(phrase.terms)
                if phrase.text:
                    matches = self._verified(matches, (phrase,), (), EVERY)
                barred.update(matches.items.tolist())
        return barred

    def holding(self, terms: Sequence[str]) -> Matches:
        """The chunks that hold all of some terms."""
        return self.index.search(
            self.connection,
            tuple(Wanted(term, (term,)) for term in dict.fromkeys(terms)),
            scoring=self.ask.scoring,
            items=EVERY,
            required=(terms,),
            times=self.times,
        )

    def _verified(self, matches: Matches, phrases: Sequence[Phrase], prefixes: Sequence[str], limit: int) -> Matches:
        """Keep the chunks whose texts hold every phrase and, where prefixes are given, a word for one of these."""
        verified: list[int] = []
        owners: set[int] = set()
        titles = self.titles
        for at in range(0, len(matches.chunks), _CHECKED_AT_ONCE):
            part = matches.chunks[at : at + _CHECKED_AT_ONCE].tolist()
            texts = self._texts(part)
            missing = [n for n in {texts[c][0] for c in part if c in texts} if n not in titles]
            titles |= {n: item_texts(item) for n, item in items.by_numbers(self.connection, missing).items()}
            for offset, chunk in enumerate(part):
                if chunk not in texts:
                    continue
                n, heading, text = texts[chunk]
                sources = (text, heading, *titles.get(n, ("",)))
                if holds_all(sources, phrases, prefixes):
                    verified.append(at + offset)
                    owners.add(n)
            if len(owners) >= limit:
                break
        picked = np.array(verified, np.int64)
        return replace(
            matches,
            chunks=matches.chunks[picked],
            items=matches.items[picked],
            scores=matches.scores[picked],
            coverage=None if matches.coverage is None else matches.coverage[picked],
        )

    def _texts(self, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
        """The texts of some chunks; those that were read already are not read again."""
        missing = [chunk for chunk in chunks if chunk not in self.texts]
        if missing:
            self.texts |= chunk_texts(self.connection, missing)
        return {chunk: self.texts[chunk] for chunk in chunks if chunk in self.texts}

    def lost_to_other_words(self, chunks: Sequence[int]) -> dict[int, float]:
        """By chunk, the part of its score that it got for another word with the same stem as one asked for.

        A word counts as the one asked for when it agrees with it but for the last three letters: for productivity,
        productive does and product does not.
        """
        starts = [
            (word.term, re.compile(rf"\b{re.escape(word.spelled[: max(len(word.spelled) - 3, 1)])}"))
            for word in self.ask.words
            if word.spelled
        ]
        spelled = {term for term, _ in starts}
        words = [word for word in self.wanted if word.label in spelled]
        shares = self.index.word_shares(self.connection, words, chunks, scoring=self.ask.scoring, times=self.times)
        lost: dict[int, float] = {}
        for chunk, (_, heading, text) in self._texts(list(shares)).items():
            folded = fold(f"{heading}\n{text}")
            others = {term: shares[chunk].get(term, 0.0) for term, start in starts if not start.search(folded)}
            if others:
                lost[chunk] = sum(others.values())
        return lost

    def shares(
        self, words: Sequence[Wanted], chunks: Sequence[int]
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]:
        """What each word added to each chunk."""
        return self.index.shares(self.connection, words, chunks, scoring=self.ask.scoring, times=self.times)


def terms_of(ask: Ask) -> set[str]:
    """The index terms that an ask looks at."""
    terms = {term for word in ask.words for term in word.terms}
    terms.update(term for phrase in (*ask.phrases, *ask.excluded_phrases) for term in phrase.terms)
    return terms.union(*ask.excluded)


def item_texts(item: Item) -> tuple[str, ...]:
    """The texts that all passages of an item share."""
    fields = item.fields
    return fields.title, item.ref.path, fields.description, "\n".join(fields.tags), fields.context


def holds_all(sources: Sequence[str], phrases: Sequence[Phrase], prefixes: Sequence[str]) -> bool:
    """Whether texts hold every phrase and, where prefixes are given, a word that begins with one of these."""
    return all(holds_phrase(sources, phrase.text) for phrase in phrases) and (
        not prefixes or any(holds_prefix(sources, prefix) for prefix in prefixes)
    )
