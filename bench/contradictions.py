"""How well contradictions are told from repetitions and from memories that only look alike, and what that costs.

``python bench/contradictions.py`` prints the table. ``--wrong`` also lists the pairs of the tuning half that are judged
wrong; those of the half that is held back are never listed, so that nobody tunes the rules on them. ``--saving 2000``
measures what saving costs with and without the comparison.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from ricordo.plugins.upkeep.contradictions import contradiction

PAIRS = Path(__file__).parents[1] / "tests" / "plugins" / "upkeep" / "pairs"


class Pair(NamedTuple):
    """Two memories and what they are to each other: a contradiction, a duplicate, or only near."""

    kind: str
    older: str
    newer: str


class Figures(NamedTuple):
    """Counts of a half: contradictions found and missed, and pairs wrongly taken for one."""

    pairs: int
    found: int
    missed: int
    wrong: int

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.wrong)

    @property
    def recall(self) -> float:
        return self.found / (self.found + self.missed)


def pairs(half: str) -> list[Pair]:
    """The pairs of a half of the set."""
    lines = (PAIRS / f"{half}.txt").read_text("utf-8").splitlines()
    return [Pair(*map(str.strip, line.split("|"))) for line in lines if line and not line.startswith("#")]


def measure(half: str) -> Figures:
    """Judge every pair of a half."""
    judged = [(pair.kind == "contradiction", bool(contradiction(pair.older, pair.newer))) for pair in pairs(half)]
    return Figures(len(judged), judged.count((True, True)), judged.count((True, False)), judged.count((False, True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--saving", type=int, default=0, metavar="MEMORIES")
    given = parser.parse_args()
    print("| half | pairs | found | missed | wrong | precision | recall |\n|---|---|---|---|---|---|---|")
    for half in sorted(path.stem for path in PAIRS.glob("*.txt")):
        row = measure(half)
        print(f"| {half.replace('_', ' ')} | {' | '.join(map(str, row))} | {row.precision:.2f} | {row.recall:.2f} |")
    for pair in pairs("tuning") if given.wrong else ():
        why = contradiction(pair.older, pair.newer)
        if bool(why) != (pair.kind == "contradiction"):
            print(f"{pair.kind}: {pair.older} / {pair.newer} ({why or 'not found'})")
    if given.saving:
        measure_saving(given.saving)


THINGS = ("mailer", "crawler", "gateway", "parser", "indexer", "importer", "exporter", "scheduler", "viewer", "editor")
PARTS = ("timeout", "owner", "budget", "port", "password", "branch", "schema", "region", "queue", "licence")
PLACES = ("Lisbon", "Porto", "Graz", "Vienna", "Berlin", "Madrid", "Geneva", "Oslo", "Turin", "Lyon")


def sentence(n: int) -> str:
    """One of many short memories, no two of which say the same."""
    thing, part, place = THINGS[n % 10], PARTS[n // 10 % 10], PLACES[n // 100 % 10]
    return f"For project {n // 1000 + 1} the {part} of the {thing} was agreed with {place} in talk {n}."


def measure_saving(count: int) -> None:
    """Fill a store, then save in turn with and without looking for contradictions; prints both medians."""
    from ricordo import Ricordo
    from ricordo.plugins.upkeep import pairs as comparison

    with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "store.db") as engine:
        for n in range(count):
            engine.remember(sentence(n), on_duplicate="save", wait=False)
        engine.embed()
        times: dict[bool, list[float]] = {True: [], False: []}
        for n in range(count, count + 400):
            looks = n % 2 == 0
            comparison.CLAIMING = ("memory",) if looks else ()
            started = time.perf_counter()
            engine.remember(sentence(n), on_duplicate="save" if n % 4 > 1 else None)
            times[looks].append((time.perf_counter() - started) * 1000)
    looking, plain = (statistics.median(times[looks]) for looks in (True, False))
    print(f"saving into {count:,} memories: {looking:.1f} ms; without looking: {plain:.1f} ms; ×{looking / plain:.2f}")


if __name__ == "__main__":
    main()
