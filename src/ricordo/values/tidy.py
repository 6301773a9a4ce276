"""Values about what should be done about a memory: findings, and what was done about them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.items import Saved
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain

TIDY_KINDS: Mapping[str, str] = {
    "duplicates": "memories that say the same, or nearly so",
    "contradictions": "memories of which one contradicts the other",
    "gone": "memories that cite a file which is gone",
    "changed": "memories that cite a file which was changed or moved since",
    "expired": "items that held until a date which is past",
    "unused": "memories that nobody found, opened or changed for a year",
    "proposals": "what sessions seem to teach, and waits for a decision",
    "secrets": "texts that hold what looks like a secret",
}
"""What tidying looks for, by the name of the kind."""


@frozen
class Finding(Plain):
    """One thing to do something about."""

    id: str
    kind: str
    refs: tuple[str, ...]
    why: str
    """One sentence."""
    action: str
    """What ``tidy --do`` would do about it."""
    versions: tuple[tuple[int, int], ...] = field(default=(), metadata=NOT_SHOWN)
    """The numbers of the items and the versions that were looked at."""


def finding(
    kind: str, refs: tuple[str, ...], why: str, action: str, versions: tuple[tuple[int, int], ...] = ()
) -> Finding:
    """A finding; its id is the same as long as the items are."""
    digest = hashlib.sha256(repr((kind, refs, versions)).encode("utf-8", "surrogatepass")).hexdigest()
    return Finding(digest[:8], kind, refs, why, action, versions)


@frozen
class TidyReport(Plain):
    """What was found, how many of each kind there are, and what was done."""

    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    done: tuple[Saved, ...] = ()
    notes: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
