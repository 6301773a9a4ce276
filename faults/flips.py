"""Flips bytes of a store, and looks whether anybody notices.

For every flip: a fresh copy of a small store, one byte changed, then ``doctor``, every ``get``, some searches, and an
export. Each either works or says in an error of Ricordo that something is wrong. An answer that differs from what was
saved while ``doctor`` calls the store clean is a failure, and so are a trace and a run that does not end.

    python faults/flips.py --flips 500 --seed 1
"""

from __future__ import annotations

import argparse
import io
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Error

NO_VECTORS = ConfigProvider({"embedding.provider": "none"})
SECONDS = 60
"""No single flip may take longer."""


def build(store: Path) -> dict[str, Any]:
    """A small store with versions, tags, links and a bin; and what every item says."""
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        for number in range(30):
            fields = {"title": f"Title {number}", "tags": ["odd" if number % 2 else "even"]}
            engine.save(f"note:/n{number}", f"text number {number} about zebras\n" * 8, fields=fields, wait=False)
        for number in range(0, 30, 3):
            engine.edit(f"note:/n{number}", f"changed text {number} about lions\n" * 8, wait=False)
        engine.link("note:/n1", "note:/n2", "supports")
        engine.rm("note:/n29")
        return answers(engine)


def answers(engine: Ricordo) -> dict[str, Any]:
    """All that the store says, by what was asked; errors of Ricordo are answers too."""
    said: dict[str, Any] = {}
    for number in range(30):
        said[f"get {number}"] = asked(lambda number=number: _read(engine, f"note:/n{number}"))
    for query in ("zebras", "lions", "tag:odd text", "number 7"):
        said[f"search {query}"] = asked(
            lambda query=query: sorted(hit.ref for hit in engine.search(query, limit=50, track=False).hits)
        )
    said["export"] = asked(lambda: _exported(engine))
    return said


def _read(engine: Ricordo, ref: str) -> tuple[Any, ...]:
    item = engine.get(ref, track=False)
    return item.content, item.fields.title, item.fields.tags, item.version, item.kind


def _exported(engine: Ricordo) -> int:
    out = io.BytesIO()
    engine.export(out, log=False)
    return out.getvalue().count(b"\n")


def asked(question: Any) -> Any:
    try:
        return question()
    except Error as error:
        return f"error {error.code}"


def flip(file: Path, chance: random.Random) -> str:
    """Change one byte of the file; where and how."""
    data = bytearray(file.read_bytes())
    place, bit = chance.randrange(len(data)), chance.randrange(8)
    data[place] ^= 1 << bit
    file.write_bytes(data)
    return f"{file.name} byte {place} bit {bit}"


def look(store: Path, truth: dict[str, Any]) -> tuple[str, str]:
    """How a damaged store behaves: the class of outcome, and details when it is bad."""
    try:
        with Ricordo.open(store, config=NO_VECTORS, create=False) as engine:
            said = answers(engine)
            is_clean = engine.doctor().ok
    except Error:
        return "refused", ""
    wrong = [name for name in truth if said[name] != truth[name] and not str(said[name]).startswith("error ")]
    if wrong and is_clean:
        return "WRONG", f"{wrong[:3]}: {said[wrong[0]]!r:.200}"
    if not is_clean:
        return "noticed", ""
    return ("errors only", "") if any(said[name] != truth[name] for name in truth) else ("harmless", "")


def out_of_time(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def run(flips: int, seed: int) -> int:
    """How many flips went wrong."""
    chance = random.Random(seed)
    counts: dict[str, int] = {}
    bad = 0
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, out_of_time)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.db"
        truth = build(whole)
        for number in range(flips):
            copy = Path(folder) / "copy.db"
            for end in ("-wal", "-shm"):
                Path(f"{copy}{end}").unlink(missing_ok=True)
            shutil.copy(whole, copy)
            where = flip(copy, chance)
            if hasattr(signal, "SIGALRM"):
                signal.alarm(SECONDS)
            try:
                outcome, details = look(copy, truth)
            except BaseException:  # noqa: BLE001 - a trace is what is looked for
                outcome, details = "TRACE", traceback.format_exc()[-1200:]
            if hasattr(signal, "SIGALRM"):
                signal.alarm(0)
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome.isupper():
                bad += 1
                print(f"flip {number}: {outcome} at {where}\n{details}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}; to repeat: {sys.executable} faults/flips.py --flips {given.flips} --seed {given.seed}")
    started = time.monotonic()
    bad = run(given.flips, given.seed)
    print(f"{given.flips} flips in {time.monotonic() - started:.0f} s: {bad} went wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
