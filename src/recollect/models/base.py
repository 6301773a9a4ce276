"""What computes: the protocols that embedders and token counters follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]


class TokenCounter(Protocol):
    """Counts tokens as the model will see them."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]: ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...
    def embed_query(self, text: str) -> Vectors: ...


class Reranker(Protocol):
    """Gives opinions in [0, 1] on how well texts answer a query."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]: ...


__all__ = ["Any", "Embedder", "TokenCounter"]
