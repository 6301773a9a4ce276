"""Fakes of what costs money, time or a download. They keep the protocols of ``models.base`` and nothing more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.errors import Unavailable
from ricordo.models.base import LlmReply, LlmTool, LlmUsage, Message
from ricordo.text.words import folded_words


class FakeEmbedder:
    """Vectors from words alone: texts that share words are near each other, others are not.

    ``synonyms`` makes words count as the same: ``FakeEmbedder(synonyms={"car": "automobile"})``. ``calls`` lists the
    batches it was asked for. While ``broken`` is set, every call raises ``Unavailable`` with that message.
    """

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


class FakeReranker:
    """Scores every text with the function ``opinion``; without one, by the share of the query's words in the text."""

    def __init__(self, opinion: Callable[[str, str], float] | None = None) -> None:
        self.opinion = opinion
        self.calls: list[tuple[str, tuple[str, ...]]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.calls.append((query, tuple(texts)))
        return [(self.opinion or _shared)(query, text) for text in texts]


def _shared(query: str, text: str) -> float:
    asked = set(folded_words(query))
    return len(asked & set(folded_words(text))) / len(asked) if asked else 0.0


class FakeLLM:
    """Answers with the replies it was given, in order, or with what a function makes of the messages.

    A reply is a text, a mapping (the data a schema asked for), a ``LlmReply``, or an exception to be raised.
    ``calls`` lists the messages it was asked with.
    """

    def __init__(
        self,
        *replies: str | Mapping[str, Any] | LlmReply | Exception,
        answer: Callable[[Sequence[Message]], Any] | None = None,
    ) -> None:
        self._replies = list(replies)
        self._answer = answer
        self.calls: list[tuple[Message, ...]] = []
        self.usage = LlmUsage(model="fake")

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[LlmTool] = (),
        seconds: float | None = None,
    ) -> LlmReply:
        self.calls.append(tuple(messages))
        self.usage = replace(self.usage, calls=self.usage.calls + 1)
        if self._answer is not None:
            given = self._answer(messages)
        elif self._replies:
            given = self._replies.pop(0)
        else:
            raise Unavailable("the fake language model has no reply left", hint="Give it one more.")
        if isinstance(given, Exception):
            raise given
        if isinstance(given, LlmReply):
            return given
        return LlmReply(text=given) if isinstance(given, str) else LlmReply(data=given)
