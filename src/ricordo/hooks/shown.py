"""What hooks showed to agents lately, and what of it was opened later."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ricordo import told_log
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.values import provenance
from ricordo.values.provenance import Provenance

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

DAY = 86_400


@frozen
class ShownItem:
    """An item that hooks showed to agents: how often, when first and last, and whether it was opened afterwards."""

    ref: str
    count: int
    first_at: datetime
    last_at: datetime
    title: str = ""
    opened: bool = False

    def to_dict(self) -> dict[str, Any]:
        plain = {"ref": self.ref, "count": self.count, "title": self.title, "opened": self.opened}
        return plain | {"first_at": self.first_at.isoformat(), "last_at": self.last_at.isoformat()}


@frozen
class ToldAnswer:
    """One answer of a hook: when, at which event, to whom, what it told, and how many tokens that took."""

    at: datetime
    event: str
    asker: Provenance
    refs: tuple[str, ...]
    tokens: int


def answers_of_hooks(store: str, days: float = 30) -> tuple[list[ToldAnswer], int]:
    """What hooks told from a store lately, the latest first; and how many answers other stores gave."""
    found: list[ToldAnswer] = []
    elsewhere = 0
    for line in told_log.lines(time.time() - days * DAY):
        if line["store"] != store:
            elsewhere += 1
            continue
        asker = provenance.read(line.get("asker") or "")
        refs = tuple(dict.fromkeys(map(str, line["refs"])))
        found.append(ToldAnswer(_moment(line["at"]), str(line["event"]), asker, refs, int(line.get("tokens") or 0)))
    return found[::-1], elsewhere


def shown_by_hooks(store: str, days: float = 30) -> tuple[int, list[ShownItem]]:
    """How many answers hooks gave from a store lately, and the items in them, most often shown first."""
    answers = 0
    counts: dict[str, tuple[int, float, float]] = {}
    for line in told_log.lines(time.time() - days * DAY):
        if line["store"] != store:
            continue
        answers += 1
        for ref in dict.fromkeys(line["refs"]):
            count, first, last = counts.get(ref, (0, line["at"], 0.0))
            counts[ref] = (count + 1, min(first, line["at"]), max(last, line["at"]))
    ordered = sorted(counts.items(), key=lambda one: (-one[1][0], -one[1][2], one[0]))
    return answers, [ShownItem(ref, count, _moment(first), _moment(last)) for ref, (count, first, last) in ordered]


def with_openings(engine: Ricordo, items: Sequence[ShownItem]) -> list[ShownItem]:
    """The same items with their titles, and whether they were opened since they were first shown; none that is gone."""
    rows = []
    for one in items:
        try:
            item = engine.get(one.ref, track=False)
        except Error:  # it was removed since
            continue
        opened = item.last_accessed_at is not None and item.last_accessed_at >= one.first_at
        rows.append(replace(one, title=item.title, opened=opened))
    return rows


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
