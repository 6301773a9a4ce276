"""Many processes on one store: how long writes and searches take, beside a plain sqlite3 program with FTS5.

Eight processes save short texts and eight search, all at once, for some minutes: first on a store of Ricordo, then on
one SQLite file with an FTS5 table, written by Python's sqlite3 in the same way (write-ahead log, every write waits for
the disk, a time limit for locks). Every error is counted, and at the end every acknowledged text must be found.

    python bench/sharing.py --seconds 300 --plain-seconds 60
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Error

WORDS = [f"{a}{b}" for a in ("river", "stone", "lamp", "market", "bridge", "oak") for b in ("", "s", "side", "man")]
SETTINGS = {"embedding.provider": "none", "knowledge.enabled": False}
BUSY_SECONDS = 30
AT_FIRST = 500
"""Texts that are in the store before it begins."""


def text_of(chance: random.Random, name: str) -> str:
    return f"{name} " + " ".join(chance.choices(WORDS, k=40))


class OurStore:
    """Ricordo, as agents use it: a save is acknowledged when it is on the disk; searches are by words."""

    def __init__(self, path: Path) -> None:
        self._engine = Ricordo.open(path, config=ConfigProvider(SETTINGS))

    def write(self, name: str, text: str) -> None:
        self._engine.save(f"note:/{name}", text, wait=False)

    def search(self, query: str) -> int:
        return len(self._engine.search(query, limit=10, track=False).hits)

    def has(self, name: str) -> bool:
        try:
            return self._engine.get(f"note:/{name}", track=False).content.startswith(name)
        except Error:
            return False

    def is_sound(self) -> bool:
        return self._engine.doctor().ok


class PlainStore:
    """The least that works: a table, an FTS5 index of it, and durable writes."""

    def __init__(self, path: Path) -> None:
        self._raw = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        self._raw.execute("PRAGMA journal_mode=wal")
        self._raw.execute("PRAGMA synchronous=FULL")
        self._raw.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(name UNINDEXED, text, tokenize='porter')"
        )

    def write(self, name: str, text: str) -> None:
        self._raw.execute("BEGIN IMMEDIATE")
        self._raw.execute("INSERT INTO texts(name, text) VALUES(?, ?)", (name, text))
        self._raw.execute("COMMIT")

    def search(self, query: str) -> int:
        asked = " OR ".join(query.split())
        rows = self._raw.execute(
            "SELECT name, snippet(texts, 1, '', '', '…', 20), bm25(texts) FROM texts WHERE texts MATCH ?"
            " ORDER BY bm25(texts) LIMIT 10",
            (asked,),
        )
        return len(rows.fetchall())

    def has(self, name: str) -> bool:
        rows = self._raw.execute("SELECT 1 FROM texts WHERE texts MATCH ?", (f'"{name}"',)).fetchall()
        return bool(rows)

    def is_sound(self) -> bool:
        return bool(self._raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)])


STORES: dict[str, Callable[[Path], Any]] = {"ricordo": OurStore, "sqlite3 + FTS5": PlainStore}


def work(kind: str, path: Path, name: str, seed: int, writes: bool, start: Any, seconds: float, out: Path) -> None:
    """One process: writes or searches until the time is over, and writes down how long each took."""
    chance = random.Random(seed)
    store = STORES[kind](path)
    taken: list[float] = []
    errors: list[str] = []
    names: list[str] = []
    store.write(f"{name}xfirst", text_of(chance, f"{name}xfirst"))  # loads what the first call loads
    store.search("river")
    start.wait()  # until all have opened the store
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.perf_counter()
        try:
            if writes:
                one = f"{name}x{len(taken)}"
                store.write(one, text_of(chance, one))
                names.append(one)
            else:
                store.search(" ".join(chance.choices(WORDS, k=3)))
        except (Error, sqlite3.Error) as error:
            errors.append(str(error))
        taken.append(time.perf_counter() - begun)
    out.write_text(json.dumps({"writes": writes, "taken": taken, "errors": errors, "names": names}))
    os._exit(0)


def measured(kind: str, folder: Path, given: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Let all processes work at once; what they say, and whether what they wrote is there."""
    path = folder / f"{kind.split()[0]}.db"
    chance = random.Random(given.seed)
    store = STORES[kind](path)
    for number in range(AT_FIRST):
        store.write(f"first{number}", text_of(chance, f"first{number}"))
    start = multiprocessing.Barrier(given.writers + given.readers)
    outs: list[Path] = []
    processes = []
    for number in range(given.writers + given.readers):
        outs.append(folder / f"{kind.split()[0]}-{number}.json")
        args = (kind, path, f"p{number}", given.seed * 100 + number, number < given.writers, start, seconds, outs[-1])
        processes.append(multiprocessing.Process(target=work, args=args))
        processes[-1].start()
    for process in processes:
        process.join()
    said = [json.loads(out.read_text()) for out in outs]
    errors = [error for one in said for error in one["errors"]]
    names = [name for one in said for name in one["names"]]
    lost = [name for name in names if not store.has(name)]
    return {
        "writes": sorted(taken for one in said if one["writes"] for taken in one["taken"]),
        "searches": sorted(taken for one in said if not one["writes"] for taken in one["taken"]),
        "errors": errors,
        "lost": lost,
        "sound": store.is_sound(),
    }


def told(times: list[float]) -> str:
    if not times:
        return "none"
    places = {name: times[min(len(times) - 1, int(len(times) * share))] for name, share in
              (("p50", 0.5), ("p99", 0.99))}  # fmt: skip
    return f"{len(times):,}, p50 {places['p50'] * 1000:.0f} ms, p99 {places['p99'] * 1000:.0f} ms, " + (
        f"longest {times[-1] * 1000:.0f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="How long Ricordo is measured.")
    parser.add_argument("--plain-seconds", type=float, default=60, help="How long the plain program is measured.")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in STORES:
            seconds = given.seconds if kind == "ricordo" else given.plain_seconds
            found = measured(kind, Path(folder), given, seconds)
            print(f"{kind}: {given.writers} writers, {given.readers} readers, {seconds:g} s")
            print(f"  writes    {told(found['writes'])}")
            print(f"  searches  {told(found['searches'])}")
            print(f"  {len(found['errors'])} errors, {len(found['lost'])} lost, sound: {found['sound']}", flush=True)
            for error in found["errors"][:3]:
                print(f"    {error}")
            failed = failed or (kind == "ricordo" and bool(found["errors"] or found["lost"] or not found["sound"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
