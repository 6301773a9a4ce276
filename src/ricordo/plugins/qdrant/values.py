"""What the verb index returns."""

from __future__ import annotations

from ricordo.frozen import frozen
from ricordo.values.plain import Plain


@frozen
class IndexReport(Plain):
    """How a search engine does that is fed from a store."""

    engine: str
    """Where it is; empty if searches use the store's own index."""
    passages: int
    """How many passages the store has that can be found."""
    waiting: int
    """How many changes wait for being applied; searches look at them beside the engine."""
    lag_seconds: float
    """How long the oldest of them has been waiting."""
    feeding: str
    """The process that applies changes now; empty if none does."""
    vectors: dict[str, int]
    """How many vectors the engine holds, by model."""
    problem: str = ""
