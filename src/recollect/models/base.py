"""What an embedder and a token counter are: the protocols that every provider follows.

Nothing here computes, and importing it costs nothing: numpy is named for type checkers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]


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
    """Gives opinions in [0, 1] on how well texts answer a query."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One opinion per text."""
        ...
