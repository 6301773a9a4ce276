"""How long ``tidy`` takes on many memories, and what looking after the memory costs when saving: contradictions,
citations, and steps for ``undo``.

``python bench/tidy.py --memories 10000`` prints both; the second is a ratio of two runs side by side, by words alone.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from ricordo import ConfigProvider, Ricordo
from ricordo.engine import memories
from ricordo.memory.duplicates import DuplicateFinder
from ricordo.store.sql import history
from ricordo.values.items import Entry

SUBJECTS = ("billing", "search", "login", "export", "mail", "report", "import", "audit", "ledger", "cache")
THINGS = ("service", "worker", "database", "queue", "page", "gateway", "job", "token", "index", "bucket")
FACTS = (
    "We deploy the {a} {b} of team {n} on {day}.",
    "The {a} {b} of team {n} listens on port {port}.",
    "The {a} {b} of team {n} is kept for {days} days.",
    "The {a} {b} of team {n} is owned by the group {owner}.",
)
DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays")


def sentences(count: int) -> list[str]:
    """Facts that differ, with some that repeat or contradict another."""
    chance = random.Random(19)
    return [
        chance.choice(FACTS).format(
            a=chance.choice(SUBJECTS), b=chance.choice(THINGS), n=chance.randrange(count // 4 + 1),
            day=chance.choice(DAYS), port=chance.randrange(1024, 9999), days=chance.randrange(1, 365),
            owner=f"g{chance.randrange(99)}",
        )
        for _ in range(count)
    ]  # fmt: skip


@contextmanager
def as_before() -> Iterator[None]:
    """Save without noting steps and citations, and without looking for contradictions."""
    with (
        patch.object(history, "current_step", lambda: None),
        patch.object(memories, "citations_of", lambda *_: {}),
        patch.object(DuplicateFinder, "_contradicted", lambda *_: {}),
    ):
        yield


def saving(engine: Ricordo, texts: list[str]) -> tuple[float, float]:
    """The median milliseconds of a save without and with what looks after the memory, one after the other."""
    plain, kept = [], []
    for at, text in enumerate(texts):
        times = plain if at % 2 else kept
        start = time.process_time()
        if at % 2:
            with as_before():
                engine.remember(text, on_duplicate="save")
        else:
            engine.remember(text, on_duplicate="save")
        times.append((time.process_time() - start) * 1000)
    return statistics.median(plain), statistics.median(kept)


def main() -> None:
    """Fill a store, tidy it, and save some more."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--saves", type=int, default=200)
    given = parser.parse_args()
    texts = sentences(given.memories + given.saves)
    with tempfile.TemporaryDirectory() as folder:
        config = ConfigProvider({"embedding.provider": "none"})
        with Ricordo.open(Path(folder) / "store.db", config=config) as engine:
            some = texts[: given.memories]
            engine.save_many([Entry(f"memory:/m{at}", text, "memory") for at, text in enumerate(some)], wait=False)
            start, cpu = time.perf_counter(), time.process_time()
            report = engine.tidy()
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            found = ", ".join(f"{count:,} {kind}" for kind, count in report.counts.items())
            print(f"tidy of {given.memories:,} memories: {wall:.1f} s ({cpu:.1f} s of CPU); {found}")
            before, after = saving(engine, texts[given.memories :])
            print(
                f"remember: {before:.2f} ms of CPU; with contradictions, citations and steps {after:.2f} ms: ", end=""
            )
            print(f"x{after / before:.2f}")


if __name__ == "__main__":
    main()
