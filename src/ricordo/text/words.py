"""How text becomes index terms: words, folded accents, stems, identifier parts, CJK bigrams.

The same analysis serves documents and queries. It knows nothing of positions, fields or scores.

- A word is a run of letters, digits and underscores; hyphens and apostrophes join runs.
- ``camelCase``, ``snake_case`` and ``kebab-case`` give their parts and, as one term, the whole without separators.
- Terms are lower-cased, accents and marks folded, and stemmed by Snowball: a word of another script in the language of
  that script, the others in the language of their passage, or in the store's where that cannot be told.
- Scripts written without spaces (Chinese, Japanese, Korean, Thai, …) give overlapping bigrams.
"""

from __future__ import annotations

import functools
import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, count

import Stemmer

from ricordo.errors import UsageError
from ricordo.patterns import late
from ricordo.text.languages import LANGUAGES
from ricordo.text.scripts import JOINING, has_unspaced, stemmer_of, unspaced_runs
from ricordo.text.stopwords import STOP_WORDS

MAX_TERM = 64
"""Longer runs (base64, hashes) are cut to this length in texts and in queries, so that they still match."""

_CACHE_LIMIT = 300_000
_MET_LIMIT = 30_000
_WORD = re.compile(rf"[\w{JOINING}]+(?:['’\-][\w{JOINING}]+)*")
_OTHER_BYTES = bytes(range(128, 256))
_BETWEEN_WORDS = (
    bytes(code if chr(code).isalnum() or chr(code) in "_-'" else ord(" ") for code in range(128)) + _OTHER_BYTES
)
"""What ``bytes.translate`` makes of text: an ASCII character that cannot be part of a word becomes a space."""
_TEXT_END = "\x00"
_BETWEEN_WORDS_OF_TEXTS = b"\0" + _BETWEEN_WORDS[1:]
"""The same for several texts with ``_TEXT_END`` between them."""
_BETWEEN_LETTERS = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)) + _OTHER_BYTES
"""The same for words that consist of letters and digits alone."""
_PHRASE_WORD = late(rf"(?:[^\W_]|[{JOINING}])+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[_\-]+")
_ACCENTED = re.compile(r"[^\x00-\x7f]+")
_APOSTROPHE = re.compile(r"['’]")
_LETTER_FORMS = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ـ": None, "\u200c": None, "\u200d": None}
)
"""Letters that have a plain form without being accented ones: of Turkish, Polish, Danish, Vietnamese, French; and
what stretches or joins letters inside Arabic, Persian and Indian words.
"""
_AFTER_STEMMING = str.maketrans("ىةکی", "يهكي")
"""Arabic letters that are written either way; the stemmer needs them as they are."""
_PART_OF_THE_LETTER = frozenset({0, 8, 9})
"""Marks of these classes make another letter or syllable: kana's voicing, the sign that no vowel follows."""
_CONTRACTIONS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})


def fold(text: str) -> str:
    """Lower case without accents: ``Éléphant`` and ``elephant`` are the same word."""
    if text.isascii():
        return text.lower()
    return _ACCENTED.sub(_without_accents, unicodedata.normalize("NFKD", text.casefold()))


def _without_accents(match: re.Match[str]) -> str:
    letters = "".join(c for c in match.group() if unicodedata.combining(c) in _PART_OF_THE_LETTER)
    return letters.translate(_LETTER_FORMS)


def runs(text: str) -> list[str]:
    """The words of a text in order, found faster than by ``words_in``; some have signs at their ends ('quoted', --x).

    >>> runs("it's a well-known --flag"), runs("naïve –flag")
    (["it's", 'a', 'well-known', '--flag'], ['naïve', 'flag'])
    """
    parts = _apart(text, _BETWEEN_WORDS)
    if text.isascii():
        return parts
    return [word for part in parts for word in ((part,) if part.isascii() else words_in(part))]


def runs_of_each(texts: Sequence[str]) -> list[list[str]]:
    """``runs`` of several texts, found faster than one by one.

    >>> runs_of_each(["it's --flag", "naïve –flag"])
    [["it's", '--flag'], ['naïve', 'flag']]
    """
    whole = _TEXT_END.join(texts)
    parts = whole.encode("utf-8", "surrogatepass").translate(_BETWEEN_WORDS_OF_TEXTS).decode("utf-8", "surrogatepass")
    several = parts.split(_TEXT_END)
    if len(several) != len(texts):  # a text has this character itself
        return [runs(text) for text in texts]
    if whole.isascii():
        return [part.split() for part in several]
    return [part.split() if part.isascii() else runs(text) for part, text in zip(several, texts, strict=True)]


def _apart(text: str, between: bytes) -> list[str]:
    """The parts of a text between characters that a table makes spaces."""
    return text.encode("utf-8", "surrogatepass").translate(between).decode("utf-8", "surrogatepass").split()


def words_in(text: str) -> list[str]:
    """The words of a text in order."""
    return _WORD.findall(text)


@functools.cache
def languages() -> tuple[str, ...]:
    """The languages a store can be set to."""
    return tuple(Stemmer.algorithms())


class _Cache(dict[str, tuple[str, ...]]):
    """Caches the terms of words; a missing word is analysed on access, so that counting a text needs no loop in
    Python.
    """

    def __init__(self, analyse: Callable[[str], tuple[str, ...]]) -> None:
        self._analyse = analyse

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        terms = self[word] = self._analyse(word)
        return terms


class _WordsByTerm:
    """Which words have a term, for words that were met before: so that of a page full of words the few that were asked
    for are found without a loop over all of them.
    """

    def __init__(self, terms_of: _Cache) -> None:
        self._terms_of = terms_of
        self._lock = threading.Lock()
        self._met: set[str] = set()
        self._words: dict[str, set[str]] = {}

    def among(self, words: set[str], terms: frozenset[str]) -> list[str]:
        with self._lock:
            fresh = words - self._met
            if len(self._met) + len(fresh) > _MET_LIMIT:
                self._met.clear()
                self._words.clear()
                fresh = words
            for word in fresh:
                for term in self._terms_of[word]:
                    self._words.setdefault(term, set()).add(word)
            self._met |= fresh
            having = [self._words[term] for term in terms if term in self._words]
            return list(words.intersection(set().union(*having)))


_NUMBERS = count()


@functools.cache
def _stop_words(language: str) -> frozenset[str]:
    return frozenset(map(fold, STOP_WORDS.get(language, ())))


class Analyzer:
    """Turns text into terms in one language. Instances cache words and may be shared between threads.

    >>> Analyzer("english").terms("parseHttpHeaders of the cats")
    ['pars', 'http', 'header', 'parsehttpheaders', 'of', 'the', 'cat']
    """

    def __init__(self, language: str = "english") -> None:
        if language not in (*languages(), "none"):
            raise UsageError(
                f"no stemmer for '{language}'", hint=f"lexical.language is one of: {', '.join(languages())}, none."
            )
        self.language = language
        self.number = next(_NUMBERS)
        """Of all analyzers of this process, which one this is."""
        self._stem = Stemmer.Stemmer(language, 0).stemWord if language != "none" else str
        self._stemmers: dict[str, Callable[[str], str]] = {}
        self._others: dict[str, Analyzer] = {}
        self._cache = _Cache(self._analyse)
        self._having = _WordsByTerm(self._cache)
        self.stemmed: set[tuple[str, str]] = set()
        """Words found since this was last emptied, each with a term that differs from it; prefixes look them up."""
        self.stop_words = _stop_words(language)

    def in_language(self, code: str) -> Analyzer:
        """The analyzer for passages in a language, by its code; this one where it has no stemmer of its own."""
        language = LANGUAGES.get(code)
        if language is None or not language.stemmer or self.language == "none" or language.stemmer == self.language:
            return self
        if language.stemmer not in languages():
            return self  # an older PyStemmer
        analyzer = self._others.get(code)
        if analyzer is None:
            analyzer = self._others[code] = Analyzer(language.stemmer)
            analyzer.stemmed = self.stemmed
        return analyzer

    def across(self, codes: Collection[str]) -> Analyzer:
        """An analyzer that gives a word the terms of all these languages, to find in texts what was asked for."""
        every = tuple(dict.fromkeys((self, *(self.in_language(code) for code in codes))))
        if len(every) == 1:
            return self
        key = "+".join(analyzer.language for analyzer in every)
        combined = self._others.get(key)
        if combined is None:
            combined = self._others[key] = _AcrossLanguages(self.language, every)
        return combined

    def forget_stemmed(self) -> list[tuple[str, str]]:
        """The words in ``stemmed``, which is empty from now on."""
        words, self.stemmed = self.stemmed, set()
        for other in self._others.values():
            other.stemmed = self.stemmed
        return sorted(words)

    def counts(self, text: str) -> dict[str, int]:
        return Counter(chain.from_iterable(map(self._cache.__getitem__, runs(text))))

    def content_counts(self, text: str) -> dict[str, int]:
        """How often each term occurs in the text, without stop words."""
        words = (word for word in _WORD.findall(text) if not self.is_stop_word(word))
        return Counter(chain.from_iterable(map(self._cache.__getitem__, words)))

    def terms(self, text: str) -> list[str]:
        """All terms of a text in order, repeats kept."""
        return self.terms_of_each(_WORD.findall(text))

    def query_terms(self, text: str) -> list[str]:
        """The terms a query looks for: stop words are left out unless nothing else is left."""
        words = _WORD.findall(text)
        kept = [word for word in words if not self.is_stop_word(word)]
        return self.terms_of_each(kept or words)

    def is_stop_word(self, word: str) -> bool:
        return fold(word) in self.stop_words

    def terms_of(self, word: str) -> tuple[str, ...]:
        """The terms of one word: its parts and, for a compound, the whole."""
        return self._cache[word]

    def terms_of_each(self, words: Iterable[str]) -> list[str]:
        """The terms of some words, one after the other."""
        return list(chain.from_iterable(map(self._cache.__getitem__, words)))

    def words_with(self, some: Iterable[str], terms: frozenset[str]) -> list[str]:
        """Those of some words, as ``runs`` gives them, that have one of the terms."""
        return self._having.among(set(some), terms)

    def terms_among(self, text: str, terms: frozenset[str]) -> frozenset[str]:
        return terms.intersection(chain.from_iterable(map(self._cache.__getitem__, runs(text))))

    def _analyse(self, word: str) -> tuple[str, ...]:
        if word.isascii() and word.isalpha() and (word[1:].islower() or word.isupper()):
            return (self._term(word),)  # most words: there is nothing to split
        if not _WORD.fullmatch(word):
            return tuple(term for inner in words_in(word) for term in self._analyse(inner))
        if has_unspaced(word):
            return self._mixed_scripts(word)
        pieces = _split_apostrophes(word)
        terms: list[str] = []
        for piece in pieces:
            parts = _identifier_parts(piece)
            terms += [self._term(part) for part in parts]
            if len(parts) > 1:
                terms.append(fold("".join(parts))[:MAX_TERM])
        return tuple(term for term in terms if term)

    def _mixed_scripts(self, word: str) -> tuple[str, ...]:
        terms: list[str] = []
        at = 0
        for run in unspaced_runs().finditer(word):
            if run.start() > at:
                terms += self._analyse(word[at : run.start()].strip("_-'’"))
            terms += bigrams(unicodedata.normalize("NFKC", run.group()))
            at = run.end()
        if at < len(word):
            terms += self._analyse(word[at:].strip("_-'’"))
        return tuple(terms)

    def _term(self, part: str) -> str:
        folded = fold(part)[:MAX_TERM]
        stem = str(self._stem(folded)) if part.isascii() else self._stem_of_script(folded)
        if stem != folded:
            self.stemmed.add((folded, stem))
        return stem

    def _stem_of_script(self, folded: str) -> str:
        """The stem of a word that may be in another script than the language's own."""
        name = stemmer_of(folded) if self.language != "none" else ""
        if not name or name == self.language:
            return str(self._stem(folded)).translate(_AFTER_STEMMING)
        stem = self._stemmers.get(name)
        if stem is None:
            stem = self._stemmers[name] = Stemmer.Stemmer(name, 0).stemWord if name in languages() else str
        return str(stem(folded)).translate(_AFTER_STEMMING)


class _AcrossLanguages(Analyzer):
    """Gives a word the terms that it has in any of some languages."""

    def __init__(self, language: str, every: tuple[Analyzer, ...]) -> None:
        super().__init__(language)
        self._every = every

    def _analyse(self, word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for analyzer in self._every for term in analyzer.terms_of(word)))


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of a run; a single character stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def folded_words(text: str) -> list[str]:
    """The words of a text, folded but not stemmed, identifiers whole: what an exact phrase is compared with."""
    if text.isascii():
        return _apart(text.lower(), _BETWEEN_LETTERS)
    return [fold(word) for word in _PHRASE_WORD.findall(text)]


def _split_apostrophes(word: str) -> list[str]:
    """``cat's`` is cat, ``don't`` is dont, ``l'avion`` is l and avion."""
    pieces = _APOSTROPHE.split(word)
    if len(pieces) == 1:
        return pieces
    if len(pieces) == 2 and pieces[1].lower() in _CONTRACTIONS:
        return [pieces[0]] if pieces[1] in ("s", "S") else [pieces[0] + pieces[1]]
    return pieces


def _identifier_parts(piece: str) -> list[str]:
    parts = [part for part in _SEPARATORS.split(piece) if part]
    if piece.islower() or piece.isdigit():
        return parts
    return [camel for part in parts for camel in _CAMEL.split(part) if camel]


def holds_phrase(sources: Iterable[str], phrase: str) -> bool:
    """Whether one of the texts contains the words of a phrase in a row; spaces and punctuation between them are
    ignored.
    """
    words = folded_words(phrase)
    if not words:
        needle = fold(phrase)
        return any(needle in fold(source) for source in sources)
    if any(has_unspaced(word) for word in words):
        needle = "".join(words)
        return any(needle in "".join(folded_words(source)) for source in sources)
    needle = f" {' '.join(words)} "
    return any(needle in f" {' '.join(folded_words(source))} " for source in sources)


def holds_prefix(sources: Sequence[str], prefix: str) -> bool:
    """Whether one of the texts contains a word with this beginning; in scripts without spaces, anywhere in the text."""
    start = fold(prefix)
    return any(word.startswith(start) for source in sources for word in folded_words(source)) or any(
        start in fold(source) for source in sources
    )


def tfidf_cosine(query: Mapping[str, int], text: Mapping[str, int], idf: Mapping[str, float]) -> float:
    """Cosine of the TF-IDF vectors of a query and a text; terms without an idf are ignored."""
    dot = sum(count * text[term] * idf[term] ** 2 for term, count in query.items() if term in text and term in idf)
    if not dot:
        return 0.0
    norms = [math.sqrt(sum((n * idf[t]) ** 2 for t, n in counts.items() if t in idf)) for counts in (query, text)]
    return min(1.0, dot / (norms[0] * norms[1]))


def tfidf_idf(documents: int, frequency: int) -> float:
    """ln((N + 1)/(df + 1)) + 1."""
    return math.log((documents + 1) / (frequency + 1)) + 1.0
