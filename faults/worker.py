"""The processes of the kill test: each writes, reads and searches over a shared store, and says what was acknowledged.

Started once, this program loads Ricordo and then forks a worker for every line on its standard input (``NAME SEED
FILE``), so that a new worker is at work within milliseconds. A line in a worker's file is an acknowledgement: it is
written after the call came back, so what it says must survive anything. ``BACKWARDS``, ``conflict`` and ``ERROR`` tell
of what must never happen.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Conflict, NotFound, StaleVersion


def main() -> None:
    place = Path(sys.argv[1])
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        name, seed, file = line.split()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            out = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            try:
                Worker(place, name, int(seed), out).work()
            except BaseException:  # noqa: BLE001 - whatever ends a worker is what the test looks for
                os.write(out, f"ERROR {traceback.format_exc()[-3000:]!r}\n".encode())
            finally:
                os._exit(1)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def warm_up() -> None:
    """Load every module that a worker needs, so that its time is spent on the store."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / ".ricordo").mkdir()
        (place / "files").mkdir()
        (place / "files" / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
        worker = Worker(place, "warm", 0, os.open(os.devnull, os.O_WRONLY))
        worker.engine.save("note:/counter", "value 0", wait=False)
        for verb in (worker.save, worker.edit, worker.count, worker.get, worker.add):
            verb()
        worker.engine.search("text", track=False)
        worker.rm()
        worker.engine.close()


class Worker:
    """One process at work; it goes on until it is killed."""

    def __init__(self, place: Path, name: str, seed: int, out: int) -> None:
        self.place = place
        self.name = name
        self.chance = random.Random(seed)
        self.out = out
        self.number = 0
        self.seen: dict[str, int] = {}
        config = ConfigProvider({"embedding.provider": "none"})
        self.engine = Ricordo.open(place / ".ricordo" / "ricordo.db", config=config)

    def say(self, *words: object) -> None:
        os.write(self.out, (" ".join(map(str, words)) + "\n").encode())

    def work(self) -> None:
        verbs = (self.save, self.edit, self.count, self.get, self.search, self.rm, self.add)
        while True:
            self.number += 1
            try:
                self.chance.choices(verbs, (4, 3, 3, 4, 2, 1, 1))[0]()
            except (NotFound, StaleVersion):
                continue
            except Conflict as error:
                self.say("conflict", error.message[:200])

    def some_ref(self) -> str:
        return f"note:/{self.name}-{self.chance.randrange(max(self.number, 1))}"

    def some_text(self) -> str:
        return f"text {self.name} {self.number} {self.chance.randrange(10**9)}" + " word" * self.chance.randrange(60)

    def save(self) -> None:
        ref, text = f"note:/{self.name}-{self.number}", self.some_text()
        saved = self.engine.save(ref, text, wait=False)
        self.say("saved", ref, saved.version, text)

    def edit(self) -> None:
        ref, text = self.some_ref(), self.some_text()
        saved = self.engine.edit(ref, text, wait=False)
        self.say("saved", ref, saved.version, text)

    def count(self) -> None:
        item = self.engine.get("note:/counter", track=False)
        value = int(item.content.split()[1]) + 1
        self.engine.edit("note:/counter", f"value {value}", base=item.version, wait=False)
        self.say("counted", value)

    def get(self) -> None:
        ref = self.some_ref()
        item = self.engine.get(ref, track=False)
        if item.version < self.seen.get(ref, 0):
            self.say("BACKWARDS", ref, item.version, self.seen[ref])
        self.seen[ref] = item.version

    def search(self) -> None:
        query = f"text {self.name} {self.chance.randrange(max(self.number, 1))}"
        self.engine.search(query, track=self.chance.random() < 0.5)

    def rm(self) -> None:
        ref = self.some_ref()
        self.say("removing", ref)
        self.engine.rm(ref)
        self.say("removed", ref)

    def add(self) -> None:
        self.engine.add(self.place / "files", wait=False, on_conflict="overwrite")


if __name__ == "__main__":
    main()
