"""What hooks showed to agents: one line for each answer, so that one can see which items were shown, and opened later.

Only refs are kept, no text and no prompt. ``usage.log`` switches it off.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.config.files import state_home
from ricordo.errors import Error
from ricordo.frozen import frozen

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

NAME = "hooks.shown"
LONGEST_FILE = 500_000
"""A longer file is renamed to ``hooks.shown.1``, in place of an older one."""
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


def note(event: str, store: str, refs: Sequence[str]) -> None:
    """Append an answer; a file that cannot be written must not fail the hook."""
    with suppress(OSError):
        path = state_home(os.environ) / NAME
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileNotFoundError):
            if path.stat().st_size > LONGEST_FILE:
                path.replace(path.with_name(f"{NAME}.1"))
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        line = {"at": int(time.time()), "event": event, "store": store, "refs": list(refs)}
        with os.fdopen(handle, "ab") as file:
            file.write(json.dumps(line).encode() + b"\n")


def shown_by_hooks(store: str, days: float = 30) -> tuple[int, list[ShownItem]]:
    """How many answers hooks gave from a store lately, and the items in them, most often shown first."""
    answers = 0
    counts: dict[str, tuple[int, float, float]] = {}
    for line in _lines(time.time() - days * DAY):
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


def _lines(since: float) -> Iterator[dict[str, Any]]:
    path: Path = state_home(os.environ) / NAME
    for one in (path.with_name(f"{NAME}.1"), path):
        try:
            content = one.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for text in content.splitlines():
            try:
                line = json.loads(text)
                if line["at"] >= since and isinstance(line["refs"], list):
                    yield line
            except (ValueError, KeyError, TypeError):  # a line that was cut when the machine stopped
                continue
