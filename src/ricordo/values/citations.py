"""What became of something that a memory cites."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain

FRESH, CHANGED, MOVED, REPLACED, GONE, ELSEWHERE = "fresh", "changed", "moved", "replaced", "gone", "not on this branch"


@frozen
class CitedNow(Plain):
    """One thing that a memory cites (``src/cart.py:12``, ``Cart.total``, ``make docs``, ``note:/plan``), and what it is
    now: fresh, changed, moved, replaced, gone, or not on this branch.
    """

    what: str
    state: str
    where: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """Where it moved to, or what replaced it."""
    diff: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What changed since it was cited, where both texts are known; only for an item that is read on its own."""

    def __str__(self) -> str:
        by = {MOVED: " to ", REPLACED: " by "}.get(self.state, "")
        return f"{self.what}: {self.state}{by}{self.where if by else ''}"
