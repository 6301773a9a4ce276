"""What is known of models: which can be used, whether one works, and what switching to one would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen

if TYPE_CHECKING:
    from ricordo.values.reports import EmbedReport


@frozen
class ModelState:
    """A provider and the model it would use.

    ``role`` is ``in use``, ``fallback``, ``rerank`` or nothing; ``lacks`` says what is missing before it can be used:
    a key, an extra, a download.
    """

    provider: str
    model: str
    dimensions: int | None
    batch: int | None
    key_variable: str
    has_key: bool | None
    role: str = ""
    lacks: str = ""
    about: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "provider": self.provider,
            "model": self.model,
            "dimensions": self.dimensions,
            "batch": self.batch,
            "key_variable": self.key_variable or None,
            "has_key": self.has_key,
            "role": self.role or None,
            "lacks": self.lacks or None,
            "about": self.about,
        }


@frozen
class ModelTest:
    """Whether a model works: how long its vectors are, and how many milliseconds the first and a second text took."""

    provider: str
    model: str
    dimensions: int = 0
    first_ms: float = 0.0
    again_ms: float = 0.0
    error: Mapping[str, str] | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        return {
            "provider": self.provider,
            "model": self.model,
            "works": self.ok,
            "dimensions": self.dimensions or None,
            "first_ms": round(self.first_ms, 1),
            "again_ms": round(self.again_ms, 1),
            "error": dict(self.error) if self.error is not None else None,
        }


@frozen
class ModelSwitch:
    """What using a model comes to: ``chunks`` to embed, some ``tokens``, and about so many ``seconds``.

    ``settings`` are what is written (None takes one out), ``is_written`` whether that was done, ``embedding`` what
    embedding came to, if it was asked for.
    """

    provider: str
    model: str
    dimensions: int | None
    fingerprint: str
    settings: Mapping[str, str | None]
    chunks: int = 0
    tokens: int = 0
    rate: float | None = None
    notes: tuple[str, ...] = ()
    is_written: bool = False
    embedding: EmbedReport | None = field(default=None)

    @property
    def seconds(self) -> float | None:
        """About how long embedding all would take, by the measured rate."""
        return self.chunks / self.rate if self.rate else None

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds
        return {
            "provider": self.provider,
            "model": self.model,
            "dimensions": self.dimensions,
            "fingerprint": self.fingerprint or None,
            "settings": dict(self.settings),
            "chunks": self.chunks,
            "tokens": self.tokens,
            "rate": round(self.rate, 1) if self.rate else None,
            "seconds": round(seconds, 1) if seconds is not None else None,
            "written": self.is_written,
            "embedding": self.embedding.to_dict() if self.embedding is not None else None,
            "notes": list(self.notes),
        }
