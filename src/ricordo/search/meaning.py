"""Makes the query's vector with the model that is set or, if that fails, with the fallback; and notes what failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ricordo.bounded import call_plugin
from ricordo.errors import ContractError, Unavailable
from ricordo.frozen import frozen
from ricordo.models.base import fingerprint_of
from ricordo.search.language_routing import Route, SecondModel, language_of_question, route
from ricordo.store.query import Ask, Candidates, QueryVector

if TYPE_CHECKING:
    from ricordo.models.base import Embedder
    from ricordo.store.base import Store
    from ricordo.text.words import Analyzer


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
        return _name_of(self.embedder())

    def second_model(self) -> str:
        """The fingerprint of the model for other languages; "" where there is none."""
        return _name_of(self.second.embedder())

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
        name = _name_of(second)
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


def _name_of(embedder: Embedder | None) -> str:
    return fingerprint_of(embedder) if embedder is not None else ""


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
