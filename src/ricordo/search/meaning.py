"""Makes the query's vector with the model that is set or, if that fails, with the fallback; and notes what failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ricordo.bounded import call_plugin
from ricordo.errors import ContractError, Unavailable
from ricordo.frozen import frozen
from ricordo.models.base import fingerprint_of
from ricordo.store.query import Ask, Candidates, QueryVector
from ricordo.text.languages import ENGLISH, LANGUAGES, is_sentence, language_of
from ricordo.text.stopwords import SMALL_WORDS
from ricordo.text.words import Analyzer, fold, words_in

if TYPE_CHECKING:
    from ricordo.models.base import Embedder
    from ricordo.store.base import Store
    from ricordo.store.search.index import SearchIndex
    from ricordo.text.words import Analyzer


INSTALL = "pip install 'ricordo[multilingual]'"


@frozen
class SecondModel:
    """The model for other languages, made when it is asked for: None where none is installed or wanted."""

    embedder: Callable[[], Embedder | None] = lambda: None
    reach_out: Callable[[Store, str], None] = lambda store, language: None
    """Before a question in a language is answered: makes the vectors that a small store lacks for it."""
    offered: Callable[[], bool] = lambda: False
    """Whether one could be installed that would help."""
    mine: Callable[[], Collection[str]] = tuple
    """The languages that the user says to speak."""
    reads: Callable[[], Collection[str]] = tuple
    """The languages that it reads, whether it is installed or not."""
    left_behind: Callable[[Store], int] = lambda store: 0
    """How many vectors of it a store has that cannot be used, because it is not installed any more."""


NO_SECOND = SecondModel()


@frozen
class Route:
    """By which models a question is embedded: whether by the second one first, and whether by both."""

    language: str = ""
    second_first: bool = False
    both: bool = False
    by_words: bool = False
    """Whether no model reads it."""
    notes: tuple[str, ...] = ()


def language_of_question(
    text: str,
    is_whole: Callable[[str], bool],
    index: SearchIndex,
    analyzer: Analyzer,
    second: SecondModel,
) -> str:
    """The language of a question; "" for English, and where it cannot be told.

    A single small word or letter may stand in English, too (die casting, Müller's contract). So where there is not more
    to go by, most other words must be ones that neither the model for English has whole nor the store contains; if it
    contains passages in that language, or the user speaks it, half of them, and the store is not asked. Nor is it
    where no model would read the question anyway. Of several small words among as many English ones (Sur la Table
    restaurant), the same is asked, as long as the store and the user have nothing to do with that language.
    """
    code = language_of(text, short=True)
    if code in ("", ENGLISH):
        return ""
    words = {fold(word) for word in words_in(text.lower()) if code not in SMALL_WORDS.get(word, ())}
    unknown = [word for word in words if not is_whole(word)]
    is_near = code in (*index.languages, *second.mine())
    if language_of(text) == code and (is_near or unknown or is_sentence(text, code)):
        return code
    if is_near:
        return code if len(unknown) * 2 >= len(words) else ""
    if len(unknown) * 2 <= len(words) or code not in second.reads():
        return ""
    terms = {word: analyzer.terms(word) for word in unknown}
    _, known = index.document_frequencies({term for found in terms.values() for term in found})
    unknown = [word for word in unknown if not all(known.get(term) for term in terms[word])]
    return code if len(unknown) * 2 > len(words) else ""


def unread_by(embedder: object) -> Collection[str]:
    """The languages that a model cannot read, as far as it says so."""
    found: Any = getattr(getattr(embedder, "embedder", embedder), "unread", ())
    return frozenset(found)


def route(store: Store, spoken: str, own: Embedder, second: SecondModel) -> Route | None:
    """How a question in a language is embedded. None for an English one in a store of English alone: that never asks
    for the second model.
    """
    languages = store.index.languages
    unread = spoken in unread_by(own)
    if not spoken and not languages:
        return None
    other = second.embedder()
    if other is None:
        notes = _offer(spoken, second, unread=unread) or _left_behind(second.left_behind(store))
        return Route(spoken, by_words=unread, notes=notes)
    foreign: Collection[str] = getattr(getattr(other, "embedder", other), "languages", ())
    if spoken not in foreign:
        has_other = any(code in foreign for code in languages) and store.index.has_vectors_of(fingerprint_of(other))
        return Route(spoken, both=has_other and not unread, by_words=unread)
    counts = store.vectors.counts(fingerprint_of(other))
    lacking = counts["chunks"] - counts["embedded"]
    if not counts["embedded"]:
        return Route(spoken, by_words=unread, notes=(_how(spoken, lacking),) if lacking else ())
    notes = (_how(spoken, lacking),) if lacking and not counts["pending"] else ()
    return Route(spoken, second_first=True, both=bool(lacking) and not unread, notes=notes)


def _offer(spoken: str, second: SecondModel, *, unread: bool) -> tuple[str, ...]:
    if not spoken or not second.offered():
        return ()
    found = "so only words were looked for" if unread else "which it knows little of"
    return (
        f"this question seems to be in {LANGUAGES[spoken].name}, and the model reads English, {found}; {INSTALL},"
        " then 'ricordo embed', finds texts by meaning in sixteen languages",
    )


def _left_behind(vectors: int) -> tuple[str, ...]:
    if not vectors:
        return ()
    return (
        f"texts in other languages are found by their words: the model that made {vectors:,} vectors of them is not"
        f" installed; {INSTALL} brings it back, or 'ricordo embed' makes other ones where it can",
    )


def _how(spoken: str, lacking: int) -> str:
    seconds = max(1, round(lacking * SECONDS_PER_PASSAGE))
    return (
        f"{lacking:,} passages have no vector that a question in {LANGUAGES[spoken].name} can be compared with;"
        f" 'ricordo config set language.mine {spoken},en', then 'ricordo embed', makes them (about {seconds:,} s)"
    )


SECONDS_PER_PASSAGE = 0.007


SWITCHED_OFF = "vectors: switched off; 'ricordo config set embedding.provider local' switches them on"
NONE_YET = "vectors: this item has none yet; run 'ricordo embed'"


@frozen
class QueryMeaning:
    """A query's vector, if it has one, the fingerprint of the model that is set, and what went wrong."""

    vector: QueryVector | None = None
    model: str = ""
    problems: tuple[str, ...] = ()
    other: QueryVector | None = None
    """That of another model, for passages without a vector of the first."""
    second: str = ""
    """The fingerprint of the model for other languages, where the store has passages in any."""
    notes: tuple[str, ...] = ()

    def asked(self, ask: Ask) -> Ask:
        """An ask with these vectors."""
        return replace(ask, vector=self.vector, other=self.other, model=self.model, second=self.second)

    def degraded(self, answer: Candidates) -> list[str]:
        """What a reader should know about the vectors that were searched."""
        notes = []
        if self.model and answer.active is not None:
            if answer.active != self.model:
                notes.append(f"vectors: made by another model ({answer.active}): set that one, or run 'ricordo embed'")
            if answer.waiting:
                passages = "1 passage is" if answer.waiting == 1 else f"{answer.waiting:,} passages are"
                notes.append(f"vectors: {passages} not embedded yet; run 'ricordo embed'")
        return [*notes, *self.problems]


class QueryVectors:
    """Makes the vectors of queries to one store."""

    def __init__(
        self,
        store: Store,
        embedder: Callable[[], Embedder | None],
        fallback: Callable[[], Embedder | None],
        second: SecondModel,
        analyzer: Analyzer,
    ) -> None:
        self.store = store
        self.analyzer = analyzer
        self.embedder = embedder
        self.fallback = fallback
        self.second = second

    def model(self) -> str:
        """The fingerprint of the model that is set; "" where none is."""
        embedder = self.embedder()
        return fingerprint_of(embedder) if embedder is not None else ""

    def second_model(self) -> str:
        """The fingerprint of the model for other languages; "" where there is none."""
        second = self.second.embedder()
        return fingerprint_of(second) if second is not None else ""

    def language(self, text: str) -> str:
        """The language of a question; "" for English, and where it cannot be told."""
        return language_of_question(text, self._is_whole, self.store.index, self.analyzer, self.second)

    def _is_whole(self, word: str) -> bool:
        """Whether the model for English has a word whole."""
        try:
            embedder = self.embedder()
        except Unavailable:
            return False  # embedding the question reports it
        known: Callable[[str], bool] | None = getattr(getattr(embedder, "embedder", embedder), "is_whole", None)
        return known is not None and known(word)

    def meaning(self, text: str, active: str | None, spoken: str = "", questions: Sequence[str] = ()) -> QueryMeaning:
        """The vector of a query in a language, and of the ``questions`` that it consists of.

        Where nothing was ever embedded (``active`` is None), no model is loaded.
        """
        model = ""
        try:
            embedder = self.embedder()
            if embedder is None:
                return QueryMeaning()
            model = fingerprint_of(embedder)
            if active is None:
                return QueryMeaning(model=model)
            way = route(self.store, spoken, embedder, self.second)
            if way is not None:
                return self._routed(way, embedder, text, questions)
            return QueryMeaning(_query_vector(embedder, model, text, questions), model)
        except (Unavailable, ContractError) as error:
            vector, *problems = self._fallback_vector(text)
            return QueryMeaning(vector, model, (f"vectors: {error.message}", *problems))

    def _routed(self, way: Route, own: Embedder, text: str, questions: Sequence[str]) -> QueryMeaning:
        """The vectors of a question that is in another language, or is asked of passages that are."""
        model, second = fingerprint_of(own), self.second.embedder()
        name = fingerprint_of(second) if second is not None else ""
        if way.by_words:
            return QueryMeaning(None, model, second=name, notes=way.notes)
        order = [one for one in ((second, own) if way.second_first else (own, second)) if one is not None]
        first, *others = order if way.both else order[:1]
        vector = _query_vector(first, fingerprint_of(first), text, questions)
        other = _query_vector(others[0], fingerprint_of(others[0]), text, ()) if others else None
        return QueryMeaning(vector, model, (), other, name, way.notes)

    def _fallback_vector(self, text: str) -> tuple[QueryVector | None, *tuple[str, ...]]:
        """The query's vector from the fallback, which is compared only with the fallback's vectors, and a note about
        it.
        """
        try:
            second = self.fallback()
            if second is None:
                return (None,)
            fingerprint = fingerprint_of(second)
            counts = self.store.vectors.counts(fingerprint)
            if not counts["embedded"]:
                return None, f"vectors: the fallback {second.fingerprint} has none yet"
            vector = _query_vector(second, fingerprint, text, ())
        except (Unavailable, ContractError) as error:
            return None, f"vectors: the fallback fails too: {error.message}"
        share = f"{counts['embedded']:,} of {counts['chunks']:,} passages"
        return vector, f"vectors: the fallback {second.fingerprint} is used instead, for {share}"


def _query_vector(embedder: Embedder, fingerprint: str, text: str, questions: Sequence[str]) -> QueryVector:
    """The vectors of a query and its questions. A service is asked once, for the query alone: each call costs time."""
    apart = () if getattr(embedder, "is_remote", False) else questions
    made = getattr(embedder, "embedder", embedder)
    return QueryVector(
        fingerprint,
        _vector_of(embedder, text),
        tuple(_vector_of(embedder, one) for one in apart),
        getattr(made, "shift", 0.0),
        getattr(made, "stretch", 1.0),
    )


def _vector_of(embedder: Embedder, text: str) -> np.ndarray:
    vector = call_plugin(
        lambda: embedder.embed_query(text), f"{embedder.fingerprint} failed", hint="Check the embedding settings."
    )
    if vector.shape != (embedder.dimensions,) or not np.isfinite(vector).all():
        raise ContractError(f"{embedder.fingerprint} gave an unusable vector for the query")
    return vector
