"""One vector for all tiers: an embedder that computes a text once, however many stores are searched for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ricordo.bounded import PendingCall

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, Vectors

MOST_QUERIES = 16
"""How many texts are kept with their vectors: a query and the questions in it, of the last few searches."""


class SharedQueries:
    """An embedder that several tiers ask for the same texts at the same time: each text is computed once."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.is_remote = bool(getattr(embedder, "is_remote", False))
        self._lock = threading.Lock()
        self._last: dict[str, PendingCall[Vectors]] = {}

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self.embedder.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self.embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        """The vector of a text; who asks for it while it is computed waits for that. A failure is not kept."""
        with self._lock:
            call = self._last.pop(text, None)
            is_first = call is None
            call = call or PendingCall(partial(self.embedder.embed_query, text))
            self._last[text] = call
            if len(self._last) > MOST_QUERIES:
                del self._last[next(iter(self._last))]
        if is_first:
            call.run()
            if call.error is not None:
                with self._lock:
                    self._last.pop(text, None)
        call.wait(threading.TIMEOUT_MAX)
        return call.result()
