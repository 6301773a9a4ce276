"""A fake of the embedder, which costs time and a download; it keeps the protocol of ``models.base``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ricordo.errors import Unavailable
from ricordo.text.words import folded_words


class FakeEmbedder:
    """Vectors from words alone: texts that share words are near each other, others are not.

    ``synonyms`` makes words count as the same: ``FakeEmbedder(synonyms={"car": "automobile"})``. ``calls`` lists the
    batches it was asked for. While ``broken`` is set, every call raises ``Unavailable`` with that message.
    """

    is_remote = False

    def __init__(
        self,
        dimensions: int = 64,
        *,
        name: str = "fake",
        synonyms: Mapping[str, str] | None = None,
        max_tokens: int = 256,
    ) -> None:
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self.fingerprint = f"{name}/{dimensions}"
        self.synonyms = dict(synonyms or {})
        self.calls: list[tuple[str, ...]] = []
        self.broken = ""

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self.broken:
            raise Unavailable(self.broken, hint="Mend the fake.")
        self.calls.append(tuple(texts))
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        vector: npt.NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        total = np.zeros(self.dimensions, np.float32)
        for word in folded_words(text):
            known = self.synonyms.get(word, word)
            seed = int.from_bytes(hashlib.sha256(known.encode()).digest()[:8], "little")
            total += np.random.default_rng(seed).standard_normal(self.dimensions).astype(np.float32)
        length = float(np.linalg.norm(total))
        if not length:
            total[0] = length = 1.0
        unit: npt.NDArray[np.float32] = total / length
        return unit
