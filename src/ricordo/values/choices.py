"""The words a caller may choose from, each list once: what to do about conflicts and duplicates, and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Mode = Literal["scan", "full"]
By = Literal["both", "words", "meaning", "text"]
OnConflict = Literal["skip", "overwrite", "error"]
OnDuplicate = Literal["save", "skip", "merge", "supersede"]
Verdict = Literal["accepted", "modified", "dismissed", "failed"]
ReviewDecision = Literal["accept", "refuse", "always", "never", "ask"]
Writer = Literal["user", "agent"]
StatsBy = Literal["query", "tool", "day"]
BundleFormat = Literal["markdown", "json"]

ON_CONFLICT: tuple[str, ...] = ("skip", "overwrite", "error")
"""What to do when a ref is taken already."""
ON_DUPLICATE: tuple[str, ...] = ("save", "skip", "merge", "supersede")
"""What to do when nearly the same is known already."""
VERDICTS: Mapping[str, float | None] = {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0, "failed": None}
"""The value of each verdict; ``failed`` has none, because it says that something broke, not whether the item helped."""
IMPORT_FORMATS = ("ricordo", "obsidian", "basic-memory", "mem0", "memory-server", "claude", "chatgpt")
"""The programs whose files ``import`` reads."""
