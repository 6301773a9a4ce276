"""The protocols of an embedder, a token counter, a reranker and a language model; every provider follows them.

Nothing here computes. Importing it is cheap: numpy is imported for type checkers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.frozen import frozen

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
    """Scores how well texts answer a query, between 0 and 1."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order given."""
        ...


@frozen
class LlmTool:
    """A tool that a language model may ask us to use; ``parameters`` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@frozen
class ToolCall:
    """A model asks to use a tool; the result is sent back with the same ``id``."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@frozen
class Message:
    """One turn of a conversation with a model.

    ``role`` is system, user, assistant or tool. In a message of a tool, the text is the result of the call ``answers``.
    """

    role: str
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    answers: ToolCall | None = None


@frozen
class LlmUsage:
    """How much a language model was used; ``cost`` is in dollars, None where the price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    model: str = ""

    def __str__(self) -> str:
        times = "once" if self.calls == 1 else f"{self.calls:,} times"
        cost = "" if self.cost is None else f", ${self.cost:.4f}"
        return (
            f"language model asked {times}: {self.input_tokens:,} tokens read,"
            f" {self.output_tokens:,} written{cost} ({self.model})"
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@frozen
class LlmReply:
    """A model's answer: its text, the data that the schema asked for, and the tools that it asks us to use. If it was
    too long, its end is missing (``is_cut``).
    """

    text: str = ""
    data: Any = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: LlmUsage = LlmUsage()
    is_cut: bool = False


def object_schema(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON schema of an object: all properties are required and no others allowed, which providers insist on."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def list_schema(items: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON schema of a list whose items fit a schema."""
    return {"type": "array", "items": items}


class LLM(Protocol):
    """A language model that answers within a bounded time.

    It raises ``Unavailable`` when it cannot be reached or refuses, ``ContractError`` when its answer is not what was
    asked for. ``usage`` adds up everything asked of it so far.
    """

    @property
    def usage(self) -> LlmUsage: ...
    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[LlmTool] = (),
        seconds: float | None = None,
    ) -> LlmReply:
        """The next turn. With a ``schema`` (a JSON schema of an object), ``data`` fits it; it excludes ``tools``.

        ``seconds`` is the most that this answer may take, retries included; None is the setting.
        """
        ...
