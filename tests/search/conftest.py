"""A store whose vectors are known by hand: a marker word in a text says how near the text is to every query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ricordo import Ricordo
from ricordo.bounded import PendingCall

DAY = 86_400_000_000_000
COSINES = {"alpha": 1.0, "beta": 0.8, "gamma": 0.6, "delta": 0.28}
"""Cosine to any query, by the first of these words in a text; a text without any is at a right angle."""


class Compass:
    """Every query points one way, and a text's marker word says how far it turns from that."""

    dimensions = 8
    max_tokens = 256
    is_remote = False

    def __init__(self, model: str = "") -> None:
        self.fingerprint = f"compass/{model}"

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self._vector(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Any:
        return np.array([1, 0, 0, 0, 0, 0, 0, 0], np.float32)

    def _vector(self, text: str) -> list[float]:
        cosine = next((COSINES[word] for word in text.lower().split() if word in COSINES), 0.0)
        return [cosine, float(np.sqrt(1 - cosine**2)), 0, 0, 0, 0, 0, 0]


class HangingCalls:
    """Calls of tiers that hang; those who wait for them may be told that their time is over already."""

    def __init__(self) -> None:
        self.are_waited_for = True
        self._calls: set[PendingCall[Any]] = set()
        self._of_thread = threading.local()

    def hang(self, until: threading.Event) -> None:
        """What a tier does instead of answering."""
        call = self._of_thread.call
        self._calls.add(call)
        until.wait(300)
        self._calls.discard(call)

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run, wait = PendingCall.run, PendingCall.wait

        def noted(call: PendingCall[Any]) -> None:
            self._of_thread.call = call
            run(call)

        def waited(call: PendingCall[Any], seconds: float) -> bool:
            deadline = time.monotonic() + seconds
            while self.are_waited_for or call not in self._calls:
                left = deadline - time.monotonic()
                if left <= 0 or wait(call, min(left, 0.02)):
                    break
            return wait(call, 0)

        monkeypatch.setattr(PendingCall, "run", noted)
        monkeypatch.setattr(PendingCall, "wait", waited)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> HangingCalls:
    calls = HangingCalls()
    calls.patch(monkeypatch)
    return calls


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
