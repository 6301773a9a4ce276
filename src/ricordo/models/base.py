"""The protocols of an embedder, a token counter and a reranker, and what decides whether vectors can be compared.

Importing this is cheap, because every search needs the fingerprint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from ricordo.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ricordo.store.base import Store
    from ricordo.store.values import Backlog

    Vectors = npt.NDArray[np.float32]

CHUNKER_VERSION = 1
"""The version of the rules by which text is cut into passages; other passages have other vectors."""


class Budget:
    """Seconds that may be spent on vectors while somebody waits for something else."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds


class Embedder(Protocol):
    """Turns texts into unit vectors of meaning: the closer two texts, the larger their dot product.

    ``fingerprint`` names everything that decides a vector (provider, model, its file, dimensions, pooling, window), so
    vectors with equal fingerprints can be compared. It, ``dimensions`` and ``max_tokens`` are known without loading
    the model. A text longer than ``max_tokens`` is cut, never refused.
    """

    @property
    def fingerprint(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def is_remote(self) -> bool:
        """Whether it is a service: each call takes time, and may hang or cost money."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in the order given: float32, shape (texts, dimensions)."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """The vector of one question: float32, shape (dimensions,)."""
        ...


class TokenCounter(Protocol):
    """Counts tokens as the model will see them, without the two it adds around every text."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]: ...


class Reranker(Protocol):
    """Scores how well texts answer a query, between 0 and 1; ``seconds``, if it has that, is how long it may take."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order given."""
        ...


@frozen
class Route:
    """The models that embed a question, by whose vectors passages are compared first; without any, words decide."""

    models: tuple[Embedder, ...]
    second: str = ""
    """The fingerprint of the second model, where the store or the question is not in English alone."""
    notes: tuple[str, ...] = ()


class SecondModel:
    """What embeds the languages that the model which is set does not read: nothing, unless a plugin brings it."""

    def embedder(self) -> Embedder | None:
        """The model, with its ``languages``; None where it is not installed, or not wanted."""
        return None

    def backlog(self) -> Backlog | None:
        """The passages that it embeds."""
        return None

    def language_of(self, question: str, store: Store) -> str:
        """The language of a question; "" where it cannot be told."""
        from ricordo.text.languages import language_of

        return language_of(question)

    def prepare(self, store: Store, language: str, budget: Budget) -> None:
        """Make vectors that a question in this language needs, before it is answered, as far as they fit the budget."""

    def route(self, store: Store, language: str, own: Embedder) -> Route:
        """How a question is embedded; ``own`` is the model that is set."""
        return Route(() if language in unread_by(own) else (own,))


def unread_by(embedder: Embedder) -> Collection[str]:
    """The languages that a model cannot read, as far as it says so."""
    languages: Collection[str] = getattr(embedder, "unread", ())
    return languages


def fingerprint_of(embedder: Embedder) -> str:
    """The model and the chunker's version. Vectors can be compared only if their fingerprints are equal."""
    return f"{embedder.fingerprint}/chunker-{CHUNKER_VERSION}"
