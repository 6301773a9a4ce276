"""How well it is told what two memories are to each other: contradictions found, the same noticed, others kept apart.

``python bench/memory_pairs.py FOLDER`` reads ``contradictions.json`` (a list of ``{old, new, contradicts}``) and
``duplicates.json`` (a list of ``{a, b, same}``), saves each pair into a store of its own, and prints what was said at
the save and what ``review`` suggests. ``--wrong`` lists the pairs that were judged wrongly. ``--saving 300`` measures
what saving costs, with and without the comparison. How well pairs of voices that were left out are judged, says
``tools/train_compare.py``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ricordo import Ricordo
from ricordo.speaking import as_agent


class Judged(NamedTuple):
    """What was said of a pair of memories."""

    contradicts: bool
    stopped: bool
    offered: bool


def judged(old: str, new: str) -> Judged:
    """Save one memory and then the other into a store of their own, and look at what there is to review."""
    with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "store.db") as engine, as_agent():
        engine.remember(old)
        saved = engine.remember(new)
        if saved.status == "needs_decision":
            engine.remember(new, on_duplicate="save")
        offered = bool(engine.review(kinds=("duplicates",)).findings)
        contradicts = any(one.contradiction for one in saved.candidates)
        return Judged(contradicts, saved.status != "created", offered)


def rows(folder: Path, *, shows_wrong: bool) -> Iterator[tuple[str, int, int]]:
    """Each figure: what it counts, how many, of how many."""
    pairs = [(one["old"], one["new"], one["contradicts"]) for one in _read(folder / "contradictions.json")]
    found = [(judged(old, new).contradicts, wanted, old, new) for old, new, wanted in pairs]
    yield "contradictions found", sum(a and b for a, b, *_ in found), sum(b for _, b, *_ in found)
    yield "others called one", sum(a and not b for a, b, *_ in found), sum(not b for _, b, *_ in found)
    twins = [(judged(one["a"], one["b"]), one["same"], one["a"], one["b"]) for one in _read(folder / "duplicates.json")]
    for title, wanted in (("the same", True), ("different", False)):
        some = [verdict for verdict, same, *_ in twins if same == wanted]
        yield f"{title}: stopped at the save", sum(one.stopped for one in some), len(some)
        yield f"{title}: offered by review", sum(one.offered for one in some), len(some)
    if shows_wrong:
        for told, wanted, old, new in found:
            if told != wanted:
                print(f"{'missed' if wanted else 'no contradiction'}: {old} | {new}")
        for verdict, same, one, other in twins:
            if verdict.stopped != same:
                print(f"{'not noticed' if same else 'stopped'}: {one} | {other}")


def _read(path: Path) -> list[dict[str, str | bool]]:
    pairs: list[dict[str, str | bool]] = json.loads(path.read_text("utf-8"))
    return pairs


THINGS = ("mailer", "crawler", "gateway", "parser", "indexer", "importer", "exporter", "scheduler", "viewer", "editor")
PARTS = ("timeout", "owner", "budget", "port", "password", "branch", "schema", "region", "queue", "licence")
PLACES = ("Lisbon", "Porto", "Graz", "Vienna", "Berlin", "Madrid", "Geneva", "Oslo", "Turin", "Lyon")


def sentence(n: int) -> str:
    """One of many short memories, no two of which say the same."""
    thing, part, place = THINGS[n % 10], PARTS[n // 10 % 10], PLACES[n // 100 % 10]
    return f"For project {n // 1000 + 1} the {part} of the {thing} was agreed with {place} in talk {n}."


def measure_saving(count: int) -> None:
    """Fill a store, then save in turn with and without comparing; prints both medians."""
    from ricordo.memory import duplicates

    with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "store.db") as engine:
        for n in range(count):
            engine.remember(sentence(n), on_duplicate="save", wait=False)
        engine.embed()
        times: dict[bool, list[float]] = {True: [], False: []}
        most = duplicates.MOST_COMPARED
        for n in range(count, count + 200):
            looks = n % 2 == 0
            duplicates.MOST_COMPARED = most if looks else 0
            started = time.perf_counter()
            engine.remember(sentence(n), on_duplicate="save" if n % 4 > 1 else None)
            times[looks].append((time.perf_counter() - started) * 1000)
    looking, plain = (statistics.median(times[looks]) for looks in (True, False))
    print(
        f"saving into {count:,} memories: {looking:.1f} ms; without comparing: {plain:.1f} ms; ×{looking / plain:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--saving", type=int, default=0, metavar="MEMORIES")
    given = parser.parse_args()
    if given.folder is not None:
        print("| | pairs | of |\n|---|---|---|")
        for title, many, of in rows(given.folder, shows_wrong=given.wrong):
            print(f"| {title} | {many} | {of} |")
    if given.saving:
        measure_saving(given.saving)


if __name__ == "__main__":
    main()
