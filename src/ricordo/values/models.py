"""What is known about models: which can be used, whether one works, and what switching to one would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen
from ricordo.values.plain import NULL_WHEN_EMPTY, Plain, named, rounded

if TYPE_CHECKING:
    from ricordo.values.reports import EmbedReport


@frozen
class ModelState(Plain):
    """A provider and the model it would use.

    ``role`` is ``in use``, ``fallback``, ``rerank`` or nothing; ``lacks`` says what is missing before it can be used:
    a key, an extra, a download.
    """

    provider: str
    model: str
    dimensions: int | None
    batch: int | None
    key_variable: str = field(metadata=NULL_WHEN_EMPTY)
    has_key: bool | None
    role: str = field(default="", metadata=NULL_WHEN_EMPTY)
    lacks: str = field(default="", metadata=NULL_WHEN_EMPTY)
    about: str = ""


@frozen
class ModelTest(Plain):
    """Whether a model works: how long its vectors are, and how many milliseconds the first and a second text took."""

    provider: str
    model: str
    dimensions: int = field(default=0, metadata=NULL_WHEN_EMPTY)
    first_ms: float = field(default=0.0, metadata=rounded(1))
    again_ms: float = field(default=0.0, metadata=rounded(1))
    error: Mapping[str, str] | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"works": self.ok}


@frozen
class ModelSwitch(Plain):
    """What switching to a model takes: ``chunks`` to embed, and about how many ``tokens`` and ``seconds`` that is.

    ``settings`` are written to the file (None removes one), ``is_written`` says whether that was done, and
    ``embedding`` is the report of embedding, if it was asked for.
    """

    provider: str
    model: str
    dimensions: int | None
    fingerprint: str = field(metadata=NULL_WHEN_EMPTY)
    settings: Mapping[str, str | None]
    chunks: int = 0
    tokens: int = 0
    rate: float | None = field(default=None, metadata=rounded(1))
    notes: tuple[str, ...] = ()
    is_written: bool = field(default=False, metadata=named("written"))
    embedding: EmbedReport | None = field(default=None)

    @property
    def seconds(self) -> float | None:
        """About how long embedding all would take, by the measured rate."""
        return self.chunks / self.rate if self.rate else None

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds
        return Plain.to_dict(self) | {"seconds": round(seconds, 1) if seconds is not None else None}
