"""Kills processes at random moments while they share a store, and then checks what they were told.

Several workers write, edit, count, read, search and remove over one store with a knowledge folder; an "editor" changes
knowledge files from outside. One worker after the other is killed with SIGKILL, or stopped with SIGSTOP for a moment,
and replaced. At the end:

- every acknowledged text is there, as a version of its item, unless its item was removed;
- the counter is at least the largest acknowledged value: compare-and-set lost nothing;
- no read went back to an older version, and no worker met an error;
- every edit of the "editor" is a version of its item;
- ``doctor`` finds nothing, and the next search and write work.

    python faults/kills.py --kills 50 --workers 4 --seed 1 --pace 0.3
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from ricordo import ConfigProvider, Ricordo

HERE = Path(__file__).parent
NO_VECTORS = ConfigProvider({"embedding.provider": "none"})


class Nursery:
    """Starts workers, each with a file in which it says what it did."""

    def __init__(self, place: Path, seed: int) -> None:
        self.folder = place / "said"
        self.folder.mkdir()
        self.seed = seed
        self.born = 0
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> int:
        """A new worker; its process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        name = f"w{self.born}"
        self.born += 1
        self.process.stdin.write(f"{name} {self.seed * 1000 + self.born} {self.folder / name}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def said(self) -> list[str]:
        """All whole lines that workers wrote."""
        lines: list[str] = []
        for file in sorted(self.folder.iterdir()):
            text = file.read_text(encoding="utf-8")
            lines += text[: text.rfind("\n") + 1].splitlines()
        return lines

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def kill(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def editor(folder: Path, chance: random.Random, stop: threading.Event, edits: dict[str, list[str]]) -> None:
    """Somebody who changes notes by hand, as editors do: a new file beside, then in its place."""
    number = 0
    while not stop.wait(0.15):
        files = sorted(folder.glob("notes/e-*.md"))
        if not files:
            continue
        file = chance.choice(files)
        number += 1
        try:
            text = file.read_text(encoding="utf-8")
            head, sign, _ = text.partition("\n---\n")
            if not sign:
                continue
            new = f"by hand {number} {chance.randrange(10**9)}"
            beside = file.with_name(f".{file.name}.{number}.swp")
            beside.write_text(f"{head}{sign}\n{new}\n", encoding="utf-8")
            beside.replace(file)
            edits.setdefault(f"note:/{file.stem}", []).append(new)
        except OSError:
            continue


def run(place: Path, *, kills: int, workers: int, seed: int, pace: float) -> list[str]:
    """All problems that were found."""
    chance = random.Random(seed)
    (place / ".ricordo").mkdir(parents=True)
    (place / "files").mkdir()
    for number in range(5):
        (place / "files" / f"f{number}.md").write_text(f"# File {number}\n\nText of file {number}.\n", encoding="utf-8")
    store = place / ".ricordo" / "ricordo.db"
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        engine.save("note:/counter", "value 0", wait=False)
        for number in range(5):
            engine.save(f"note:/e-{number}", f"text e {number}", wait=False)
    edits: dict[str, list[str]] = {}
    stop = threading.Event()
    hand = threading.Thread(
        target=editor, args=(place / ".ricordo" / "knowledge", random.Random(seed + 1), stop, edits), daemon=True
    )
    nursery = Nursery(place, seed)
    alive = [nursery.start() for _ in range(workers)]
    hand.start()
    for done in range(kills):
        time.sleep(chance.random() * 2 * pace)
        victim = chance.randrange(workers)
        if chance.random() < 0.1:
            kill(alive[victim], signal.SIGSTOP)  # it may hold the lock: others wait for it
            time.sleep(chance.random() * 0.3)
            kill(alive[victim], signal.SIGCONT)
        kill(alive[victim], signal.SIGKILL)
        alive[victim] = nursery.start()
        if (done + 1) % 100 == 0:
            print(f"{done + 1} kills, {len(nursery.said()):,} lines said", flush=True)
    stop.set()
    hand.join(10)
    for pid in alive:
        kill(pid, signal.SIGKILL)
    nursery.end()
    return check(store, nursery.said(), edits)


def check(store: Path, said: list[str], edits: dict[str, list[str]]) -> list[str]:
    """What of all that was said is not so."""
    problems: list[str] = []
    removed = {line.split(" ", 1)[1] for line in said if line.startswith(("removing ", "removed "))}
    problems += [line for line in said if line.startswith(("BACKWARDS", "conflict", "ERROR"))]
    counted = [int(line.split()[1]) for line in said if line.startswith("counted ")]
    if len(counted) != len(set(counted)):
        problems.append("two processes counted to the same value")
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        engine.sync()
        versions: dict[str, set[str]] = {}

        def texts(ref: str) -> set[str]:
            if ref not in versions:
                versions[ref] = {
                    engine.get(ref, version=one.number, track=False).content.strip() for one in engine.history(ref)
                }
            return versions[ref]

        for line in said:
            if line.startswith("saved "):
                _, ref, number, text = line.split(" ", 3)
                if ref not in removed and int(number) > 0 and text not in texts(ref):
                    pruned = len(engine.history(ref)) >= 20  # only so many versions are kept
                    if not pruned:
                        problems.append(f"lost: {ref} version {number}")
        for ref, made in edits.items():
            kept = texts(ref)
            if len(kept) < 19 and made[-1] not in kept:
                problems.append(f"lost an edit by hand: {ref} {made[-1]}")
        value = int(engine.get("note:/counter", track=False).content.split()[1])
        if value < max(counted, default=0):
            problems.append(f"the counter is {value}, and {max(counted)} was acknowledged")
        report = engine.doctor()
        problems += [f"doctor: {one.name}: {one.detail}" for one in report.checks if not one.ok]
        engine.save("note:/after", "a write after all kills", wait=False)
        if not engine.search("after kills").hits:
            problems.append("the search after all kills finds nothing")
    acknowledged = sum(line.startswith(("saved ", "counted ", "removed ")) for line in said)
    print(f"{acknowledged:,} acknowledged writes, {sum(map(len, edits.values())):,} edits by hand")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--pace", type=float, default=0.2, help="Seconds between two kills, on the average.")
    given = parser.parse_args()
    options = f"--kills {given.kills} --workers {given.workers} --seed {given.seed} --pace {given.pace}"
    again = f"{sys.executable} faults/kills.py {options}"
    print(f"seed {given.seed}; to repeat: {again}", flush=True)
    os.environ.setdefault("RICORDO_CONFIG_HOME", tempfile.mkdtemp())
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        problems = run(
            Path(folder) / "place", kills=given.kills, workers=given.workers, seed=given.seed, pace=given.pace
        )
    print(f"{given.kills} kills in {time.monotonic() - started:.0f} s: {len(problems)} problems")
    for problem in problems[:20]:
        print("-", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
