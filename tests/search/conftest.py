"""A store whose vectors are known by hand: a marker word in a text says how near the text is to every query."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ricordo import Ricordo

DAY = 86_400_000_000_000
COSINES = {"alpha": 1.0, "beta": 0.8, "gamma": 0.6, "delta": 0.28}
"""Cosine to any query, by the first of these words in a text; a text without any is at a right angle."""


class Compass:
    """Every query points one way, and a text's marker word says how far it turns from that."""

    dimensions = 8
    max_tokens = 256

    def __init__(self, model: str = "") -> None:
        self.fingerprint = f"compass/{model}"

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self._vector(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Any:
        return np.array([1, 0, 0, 0, 0, 0, 0, 0], np.float32)

    def _vector(self, text: str) -> list[float]:
        cosine = next((COSINES[word] for word in text.lower().split() if word in COSINES), 0.0)
        return [cosine, float(np.sqrt(1 - cosine**2)), 0, 0, 0, 0, 0, 0]


Opener = Callable[..., Ricordo]
Ago = Callable[[float], Any]


@pytest.fixture
def compass(monkeypatch: pytest.MonkeyPatch, open_engine: Opener) -> Opener:
    """Opens engines that search by words and by the compass; another ``embedding.model`` is another fingerprint."""
    monkeypatch.setattr(
        "ricordo.registry.embedder",
        lambda config: None if config.embedding.provider == "none" else Compass(config.embedding.model),
    )

    def open_one(name: str = "store", **settings: Any) -> Ricordo:
        return open_engine(name, vectors=True, **settings)

    return open_one


@pytest.fixture
def ago(monkeypatch: pytest.MonkeyPatch) -> Ago:
    """What is saved inside ``with ago(30)`` was saved thirty days ago."""
    present = time.time_ns

    @contextmanager
    def shifted(days: float) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time_ns", lambda: present() - int(days * DAY))
            yield

    return shifted
