"""From a parsed query to the words of an ask: which index terms to look for, and how much each counts."""

from __future__ import annotations

import math
from collections.abc import Collection

from ricordo.search.query import ParsedQuery
from ricordo.search.topics import topic_of
from ricordo.store.asking import Ask, AskedWord, Phrase
from ricordo.store.values import Scoring
from ricordo.text.asking_words import asked_for
from ricordo.text.languages import UNKNOWN, is_sentence, language_of
from ricordo.text.scripts import has_unspaced
from ricordo.text.words import Analyzer, fold, folded_words, words_in

MAX_TERMS = 512
LETTERS_LOST = 5
SHORT_STEM = 7
"""Longer stems are special enough to stand for one word."""
FEWEST_OF_A_SENTENCE = 3
"""With fewer words, a small word of another language may be what is looked for: été."""
UNCERTAIN = 0.5
"""What a word counts for when its stem may be another word's."""


class QueryWords:
    """How the words of one query are stemmed: as in its own language, and as in the others of the store."""

    def __init__(self, text: str, analyzer: Analyzer, languages: Collection[str]) -> None:
        spoken = language_of(text, short=True) if languages else UNKNOWN
        self.main = analyzer.in_language(spoken) if spoken in languages else analyzer
        code = spoken or language_of(text)
        is_asked = len(words_in(text)) >= FEWEST_OF_A_SENTENCE and (code in languages or is_sentence(text, code))
        self._small = (self.main, analyzer.in_language(code)) if is_asked else (analyzer,)
        """Know the stop words: of the question's language, also where no passage is in it."""
        every = (analyzer, *(analyzer.in_language(code) for code in languages))
        self.others = tuple(one for one in dict.fromkeys(every) if one is not self.main)

    def terms_of(self, word: str) -> list[tuple[str, ...]]:
        """The terms of a word, each with those that stand for it in other languages behind it."""
        own = self.main.terms_of(word)
        if not self.others:
            return [(term,) for term in own]
        forms = [terms for one in self.others if len(terms := one.terms_of(word)) == len(own)]
        return [tuple(dict.fromkeys(column)) for column in zip(own, *forms, strict=True)]

    def _is_stop_word(self, word: str) -> bool:
        folded = fold(word)
        return any(folded in one.stop_words for one in self._small)

    def asked(self, text: str) -> list[tuple[str, ...]]:
        """The terms that a text asks for: stop words are left out unless nothing else is left."""
        words = words_in(text)
        kept = [word for word in words if not self._is_stop_word(word)]
        parts = (part for word in (kept or words) for part in asked_for(word))
        return [terms for part in parts for terms in self.terms_of(part)]

    def phrase(self, text: str) -> Phrase:
        """A phrase, with the terms that it has in every language: the others are looked for in the texts alone."""
        terms = (terms for word in words_in(text) for terms in self.terms_of(word))
        return Phrase(text, tuple(one[0] for one in terms if len(one) == 1))

    def excluded(self, word: str) -> list[tuple[str, ...]]:
        """The groups of terms that a word which is not wanted has."""
        return list(dict.fromkeys(tuple(one.terms(word)) for one in (self.main, *self.others)))


def ask_for_words(
    query: ParsedQuery, analyzer: Analyzer, languages: Collection[str] = (), *, respell: bool = True
) -> Ask:
    """The ask for a query's words alone; a word asked for n times counts 1 + ln n times.

    ``languages`` are those of the store's passages besides its own. Without ``respell``, no similar word is looked for
    in place of one that is nowhere.
    """
    words = topic_of(query.words)
    spoken = QueryWords(query.text, analyzer, languages)
    counts: dict[str, int] = {}
    also: dict[str, tuple[str, ...]] = {}
    for text in (words, *query.phrases):
        for term, *others in spoken.asked(text) if text.strip() else ():
            counts[term] = counts.get(term, 0) + 1
            also[term] = tuple(others)
    spaced = [word for word in folded_words(words) if not has_unspaced(word)]  # the others are several words, not one
    written = {terms[0]: word for word in spaced for terms in spoken.terms_of(word)}
    uncertain = {term: word for term, word in written.items() if is_uncertain(word, term)}
    excluded = (terms for word in query.excluded for terms in spoken.excluded(word))
    return Ask(
        text=query.text,
        words=tuple(
            AskedWord(
                term,
                1.0 + math.log(times),
                UNCERTAIN if term in uncertain else 1.0,
                uncertain.get(term, ""),
                written.get(term, "") if respell else "",
                also[term],
            )
            for term, times in list(counts.items())[:MAX_TERMS]
        ),
        prefixes=query.prefixes,
        phrases=tuple(map(spoken.phrase, query.phrases)),
        excluded=tuple(terms for terms in excluded if terms),
        excluded_phrases=tuple(map(spoken.phrase, query.excluded_phrases)),
    )


def is_uncertain(word: str, term: str) -> bool:
    """Whether a stem is so much shorter than its word that it may be another word's: productivity, product."""
    return len(term) <= SHORT_STEM and len(word.removesuffix("s")) - len(term) >= LETTERS_LOST


SCORING = Scoring(1.2, 0.75, (3.3, 1.7, 1.0, 0.67, 0.33, 1.0))
"""BM25F: k1 and b as usual (others gained nothing that held on sets they were not chosen by, ``bench/NOTES.md``), and
the weights of title, path, description, tags and context relative to the body, which is the last."""
