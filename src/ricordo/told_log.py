"""What hooks told agents: one line for each answer, so that one can see which items were shown, and opened later.

Only refs and the number of tokens are kept, no text and no prompt. ``usage.log`` switches it off. The refs of an
encrypted store are sealed with its key.
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
from typing import Any

from ricordo.config.files import replace_file, state_home
from ricordo.config.state import open_log
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.values import provenance
from ricordo.values.provenance import Provenance
from ricordo.vault import seal_at_hand, seal_of

NAME = "hooks.shown"
LONGEST_FILE = 500_000
"""A longer file is renamed to ``hooks.shown.1``, in place of an older one."""


def note(event: str, store: str, refs: Sequence[str], *, asker: str = "", tokens: int = 0, sealing: str = "") -> None:
    """Append an answer; a file that cannot be written must not fail the hook. ``sealing`` is the store whose key seals
    it, if one of those that were asked is encrypted.
    """
    with suppress(OSError, Error):
        seal = seal_of(sealing)
        line = {"at": int(time.time()), "event": event, "store": store}
        line |= {"refs": list(refs)} if seal is None else {"by": sealing, "sealed": seal.sealed([list(refs), asker])}
        asker = asker if seal is None else ""
        line |= {"asker": asker} if asker else {}
        line |= {"tokens": tokens} if tokens else {}
        with open_log(str(state_home(os.environ) / NAME), LONGEST_FILE) as file:
            file.write(json.dumps(line).encode() + b"\n")


def lines(since: float) -> Iterator[dict[str, Any]]:
    """The answers since a time, in seconds."""
    path: Path = state_home(os.environ) / NAME
    for file in (path.with_name(f"{NAME}.1"), path):
        try:
            content = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for text in content.splitlines():
            try:
                line = _unseal(json.loads(text))
                if line["at"] >= since and isinstance(line["refs"], list):
                    yield line
            except (ValueError, KeyError, TypeError):  # a line that was cut when the machine stopped
                continue


def forget(store: str) -> None:
    """Remove what was noted about a store."""
    for path in (state_home(os.environ) / f"{NAME}.1", state_home(os.environ) / NAME):
        with suppress(FileNotFoundError):
            mark = f'"store": {json.dumps(store)}'.encode()
            replace_file(path, b"".join(line for line in path.read_bytes().splitlines(True) if mark not in line))


def _unseal(line: dict[str, Any]) -> dict[str, Any]:
    """A line with its refs, if they were sealed and the key is at hand."""
    if "sealed" in line and (seal := seal_at_hand(line["by"])) is not None:
        line["refs"], line["asker"] = seal.opened(line["sealed"])
    return line


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
    answers: list[ToldAnswer] = []
    elsewhere = 0
    for line in lines(time.time() - days * DAY):
        if line["store"] != store:
            elsewhere += 1
            continue
        asker = provenance.read(line.get("asker") or "")
        refs = tuple(dict.fromkeys(map(str, line["refs"])))
        at = datetime.fromtimestamp(line["at"], UTC)
        tokens = int(line.get("tokens") or 0)
        answers.append(ToldAnswer(at=at, event=str(line["event"]), asker=asker, refs=refs, tokens=tokens))
    return answers[::-1], elsewhere


def shown_by_hooks(store: str, days: float = 30) -> tuple[int, list[ShownItem]]:
    """How many answers hooks gave from a store lately, and the items in them, most often shown first."""
    answers, _ = answers_of_hooks(store, days)
    times: dict[str, list[datetime]] = {}
    for answer in answers:
        for ref in answer.refs:
            times.setdefault(ref, []).append(answer.at)
    items = [ShownItem(ref, len(at), min(at), max(at)) for ref, at in times.items()]
    return len(answers), sorted(items, key=lambda item: (-item.count, -item.last_at.timestamp(), item.ref))


def with_openings(engine: Any, items: Sequence[ShownItem]) -> list[ShownItem]:
    """The same items with their titles, and whether they were opened since they were first shown; none that is gone."""
    rows = []
    for row in items:
        try:
            item = engine.get(row.ref, track=False)
        except Error:  # it was removed since
            continue
        opened = item.last_accessed_at is not None and item.last_accessed_at >= row.first_at
        rows.append(replace(row, title=item.title, opened=opened))
    return rows
