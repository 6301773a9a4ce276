"""An embedder that keeps its vectors on disk, so that a store can be built again without the model.

Only vectors of documents are kept; a query is always computed, because its time is measured. There is one file per
batch, so that two processes never write the same file and an interrupted run keeps what it computed.
"""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.files import replace_file
from ricordo.models.base import Embedder

if TYPE_CHECKING:
    from ricordo.models.base import Vectors


class RememberingEmbedder:
    """Wraps an embedder; ``folder`` belongs to one corpus and one fingerprint."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        self._known: dict[bytes, Vectors] | None = None

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    def embed_query(self, text: str) -> Vectors:
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts; only those that were never embedded before are computed."""
        import numpy as np

        if self._known is None:
            self._known = self._load()
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            computed = np.asarray(self._inner.embed_documents(list(new.values())), np.float32)
            self._keep(list(new), computed)
            self._known |= dict(zip(new, computed, strict=True))
        return np.stack([self._known[key] for key in keys])

    def _load(self) -> dict[bytes, Vectors]:
        import numpy as np

        known: dict[bytes, Vectors] = {}
        if not self._folder.is_dir():
            return known
        os.utime(self._folder)
        for file in self._folder.glob("*.npz"):
            with np.load(file) as batch:
                known |= {key.tobytes(): vector for key, vector in zip(batch["keys"], batch["vectors"], strict=True)}
        return known

    def _keep(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        import numpy as np

        content = io.BytesIO()
        np.savez(content, keys=np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1), vectors=vectors)
        replace_file(self._folder / f"{uuid.uuid4().hex}.npz", content.getvalue(), mode=0o644)
