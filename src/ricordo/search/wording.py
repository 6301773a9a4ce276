"""From a parsed query to the words of an ask: which index terms to look for, and how much each counts."""

from __future__ import annotations

import math

from ricordo.config.settings import Config
from ricordo.search.query import ParsedQuery, topic_of
from ricordo.store.asking import Ask, AskedWord, Phrase
from ricordo.store.values import Scoring
from ricordo.text.words import Analyzer, folded_words

MAX_TERMS = 512
LETTERS_LOST = 5
SHORT_STEM = 7
"""Longer stems are special enough to stand for one word."""
UNCERTAIN = 0.5
"""What a word counts for when its stem may be another word's."""


def ask_for_words(query: ParsedQuery, analyzer: Analyzer, *, respell: bool = True) -> Ask:
    """The ask for a query's words alone; a word asked for n times counts 1 + ln n times.

    Without ``respell``, no similar word is looked for in place of one that is nowhere.
    """
    words = topic_of(query.words)
    counts: dict[str, int] = {}
    for term in analyzer.query_terms(words) if words.strip() else ():
        counts[term] = counts.get(term, 0) + 1
    for phrase in query.phrases:
        for term in analyzer.query_terms(phrase):
            counts[term] = counts.get(term, 0) + 1
    written = {term: word for word in folded_words(words) for term in analyzer.terms_of(word)}
    uncertain = {term: word for term, word in written.items() if is_uncertain(word, term)}
    excluded = (tuple(analyzer.terms(word)) for word in query.excluded)
    return Ask(
        text=query.text,
        words=tuple(
            AskedWord(
                term,
                1.0 + math.log(times),
                UNCERTAIN if term in uncertain else 1.0,
                uncertain.get(term, ""),
                written.get(term, "") if respell else "",
            )
            for term, times in list(counts.items())[:MAX_TERMS]
        ),
        prefixes=query.prefixes,
        phrases=_phrases(query.phrases, analyzer),
        excluded=tuple(terms for terms in excluded if terms),
        excluded_phrases=_phrases(query.excluded_phrases, analyzer),
    )


def _phrases(texts: tuple[str, ...], analyzer: Analyzer) -> tuple[Phrase, ...]:
    return tuple(Phrase(text, tuple(analyzer.terms(text))) for text in texts)


def is_uncertain(word: str, term: str) -> bool:
    """Whether a stem is so much shorter than its word that it may be another word's: productivity, product."""
    return len(term) <= SHORT_STEM and len(word.removesuffix("s")) - len(term) >= LETTERS_LOST


def scoring_of(config: Config) -> Scoring:
    """BM25F's constants as they are set."""
    lexical = config.lexical
    weights = (
        lexical.title_weight, lexical.path_weight, lexical.description_weight,
        lexical.tags_weight, lexical.context_weight, lexical.body_weight,
    )  # fmt: skip
    return Scoring(lexical.k1, lexical.b, weights)
