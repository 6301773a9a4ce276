"""Makes the query's vector with the model that is set or, if that fails, with the fallback; and notes what failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ricordo.errors import ContractError, Unavailable
from ricordo.frozen import frozen
from ricordo.models.fingerprint import fingerprint_of
from ricordo.plugins import call_plugin
from ricordo.store.asking import Candidates, QueryVector

if TYPE_CHECKING:
    from ricordo.models.base import Embedder
    from ricordo.store.base import Store

SWITCHED_OFF = "vectors: switched off; 'ricordo config set embedding.provider local' switches them on"
NONE_YET = "vectors: this item has none yet; run 'ricordo embed'"


@frozen
class QueryMeaning:
    """A query's vector, if it has one, the fingerprint of the model that is set, and what went wrong."""

    vector: QueryVector | None = None
    model: str = ""
    problems: tuple[str, ...] = ()

    def degraded(self, answer: Candidates) -> list[str]:
        """What a reader should know about the vectors that were searched."""
        notes = []
        if self.model and answer.active is not None:
            if answer.active != self.model:
                notes.append(f"vectors: made by another model ({answer.active}); run 'ricordo embed again'")
            if answer.waiting:
                passages = "1 passage is" if answer.waiting == 1 else f"{answer.waiting:,} passages are"
                notes.append(f"vectors: {passages} not embedded yet; run 'ricordo embed'")
        return [*notes, *self.problems]


class QueryVectors:
    """Makes the vectors of queries to one store."""

    def __init__(
        self, store: Store, embedder: Callable[[], Embedder | None], fallback: Callable[[], Embedder | None]
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.fallback = fallback

    def model(self) -> str:
        """The fingerprint of the model that is set; "" where none is."""
        embedder = self.embedder()
        return fingerprint_of(embedder) if embedder is not None else ""

    def meaning(self, text: str, active: str | None, questions: Sequence[str] = ()) -> QueryMeaning:
        """The vector of a query, and of the ``questions`` that it consists of.

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
            return QueryMeaning(_query_vector(embedder, model, text, questions), model)
        except (Unavailable, ContractError) as error:
            vector, *problems = self._fallback_vector(text)
            return QueryMeaning(vector, model, (f"vectors: {error.message}", *problems))

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
    return QueryVector(fingerprint, _vector_of(embedder, text), tuple(_vector_of(embedder, one) for one in apart))


def _vector_of(embedder: Embedder, text: str) -> np.ndarray:
    vector = call_plugin(
        lambda: embedder.embed_query(text), f"{embedder.fingerprint} failed", hint="Check the embedding settings."
    )
    if vector.shape != (embedder.dimensions,) or not np.isfinite(vector).all():
        raise ContractError(f"{embedder.fingerprint} gave an unusable vector for the query")
    return vector
