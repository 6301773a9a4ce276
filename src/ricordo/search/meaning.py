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
from ricordo.store.query import Ask, Candidates, QueryVector

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, SecondModel, Vectors
    from ricordo.store.base import Store

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
        *,
        embedder: Callable[[], Embedder | None],
        fallback: Callable[[], Embedder | None],
        second: SecondModel,
        embed: Callable[[Embedder, str], Vectors],
    ) -> None:
        """``embed`` asks a model for the vector of a text, or knows it already."""
        self.store = store
        self.embedder = embedder
        self.fallback = fallback
        self.second = second
        self.embed = embed

    def model(self) -> str:
        """The fingerprint of the model that is set; "" where none is."""
        return _name_of(self.embedder())

    def second_model(self) -> str:
        """The fingerprint of the model for other languages; "" where there is none."""
        return _name_of(self.second.embedder())

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
            route = self.second.route(self.store, spoken, embedder)
            vectors = [
                self._query_vector(embedder_of_route, text, () if n else questions)
                for n, embedder_of_route in enumerate(route.models)
            ]
            vector, other = (*vectors, None, None)[:2]
            return QueryMeaning(vector, model, (), other, route.second, route.notes)
        except (Unavailable, ContractError) as error:
            vector, *problems = self._fallback_vector(text)
            return QueryMeaning(vector, model, (f"vectors: {error.message}", *problems))

    def _fallback_vector(self, text: str) -> tuple[QueryVector | None, *tuple[str, ...]]:
        """The query's vector from the fallback, which is compared only with the fallback's vectors, and a note about
        it.
        """
        try:
            fallback = self.fallback()
            if fallback is None:
                return (None,)
            counts = self.store.vectors.counts(fingerprint_of(fallback))
            if not counts["embedded"]:
                return None, f"vectors: the fallback {fallback.fingerprint} has none yet"
            vector = self._query_vector(fallback, text, ())
        except (Unavailable, ContractError) as error:
            return None, f"vectors: the fallback fails too: {error.message}"
        share = f"{counts['embedded']:,} of {counts['chunks']:,} passages"
        return vector, f"vectors: the fallback {fallback.fingerprint} is used instead, for {share}"

    def _query_vector(self, embedder: Embedder, text: str, questions: Sequence[str]) -> QueryVector:
        """The vectors of a query and its questions. A service is asked once, for the query alone: each call costs
        time.
        """
        return QueryVector(
            fingerprint_of(embedder),
            self._vector_of(embedder, text),
            tuple(self._vector_of(embedder, q) for q in questions if not embedder.is_remote),
            getattr(embedder, "shift", 0.0),
            getattr(embedder, "stretch", 1.0),
        )

    def _vector_of(self, embedder: Embedder, text: str) -> Vectors:
        vector = call_plugin(
            lambda: self.embed(embedder, text), f"{embedder.fingerprint} failed", hint="Check the embedding settings."
        )
        if vector.shape != (embedder.dimensions,) or not np.isfinite(vector).all():
            raise ContractError(f"{embedder.fingerprint} gave an unusable vector for the query")
        return vector


def _name_of(embedder: Embedder | None) -> str:
    return fingerprint_of(embedder) if embedder is not None else ""
