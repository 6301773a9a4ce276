"""Marks the words of a query in a text, as the search understood them: by their stems."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from markupsafe import Markup, escape

from ricordo.text.sentences import answering
from ricordo.text.words import Analyzer

_PIECES = re.compile(r"<[^>]*>|&#?\w+;|[^<&]+")
_WORD = re.compile(r"\w+(?:['’\-]\w+)*")


@lru_cache(maxsize=8)
def _analyzer(language: str) -> Analyzer:
    return Analyzer(language)


def terms_of(query: str, language: str = "english") -> frozenset[str]:
    """The terms that a query looks for."""
    return frozenset(_analyzer(language).query_terms(query))


def mark_words(text: str, terms: Iterable[str], language: str = "english") -> Markup:
    """The text with ``<mark>`` around each word that has one of the terms; everything else is escaped.

    >>> str(mark_words("<b>Keys</b> are kept", {"key"}))
    '&lt;b&gt;<mark>Keys</mark>&lt;/b&gt; are kept'
    """
    wanted = frozenset(terms)
    if not wanted:
        return escape(text)
    analyzer = _analyzer(language)
    parts: list[str] = []
    at = 0
    for found in _WORD.finditer(text):
        if wanted.isdisjoint(analyzer.terms_of(found.group())):
            continue
        parts += (str(escape(text[at : found.start()])), f"<mark>{escape(found.group())}</mark>")
        at = found.end()
    parts.append(str(escape(text[at:])))
    return Markup("".join(parts))  # every part was escaped above


def mark_snippet(text: str, terms: Iterable[str], language: str = "english") -> Markup:
    """The same, and the sentence that has most of the terms in bold, where there are several sentences.

    >>> str(mark_snippet("One thing. Keys are kept.", {"key"}))
    'One thing. <strong><mark>Keys</mark> are kept.</strong>'
    """
    wanted = frozenset(terms)
    span = answering(text, lambda said: len(_analyzer(language).terms_among(said, wanted))) if wanted else None
    if span is None:
        return mark_words(text, wanted, language)
    pieces = (text[: span[0]], text[span[0] : span[1]], text[span[1] :])
    before, sentence, after = (mark_words(one, wanted, language) for one in pieces)
    return before + Markup("<strong>") + sentence + Markup("</strong>") + after


def mark_html(html: str, terms: Iterable[str], language: str = "english") -> Markup:
    """HTML of ours with ``<mark>`` around each word of its texts that has one of the terms."""
    wanted = frozenset(terms)
    if not wanted:
        return Markup(html)  # it was made by us
    analyzer = _analyzer(language)
    known: dict[str, bool] = {}

    def marked(found: re.Match[str]) -> str:
        word = found[0]
        if word not in known:
            known[word] = not wanted.isdisjoint(analyzer.terms_of(word))
        return f"<mark>{word}</mark>" if known[word] else word

    def piece(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "<&" else _WORD.sub(marked, found[0])

    return Markup(_PIECES.sub(piece, html))  # only marks are added to what was made by us
