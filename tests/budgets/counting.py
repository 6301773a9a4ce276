"""Counts what a piece of work costs, in numbers that are the same on every machine.

A test counts work of its own process with ``counted``, and a whole command with ``counted_command``, which runs this
module as a program around it. It imports nothing that a command would not import anyway.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

STATEMENTS = frozenset({"execute", "executemany"})
STATS = frozenset({"stat", "lstat"})
OF_PROCESS = ("modules", "kilobytes_read", "megabytes")
"""What is not added up over the processes of a command. The one that waits for another has read what that read, too."""


class Cost(NamedTuple):
    """What some work cost: the numbers that the table bounds, and the functions that were called most."""

    figures: Mapping[str, int]
    functions: Sequence[tuple[str, int]] = ()


class Counter:
    """Counts calls of functions written in Python, SQL statements, and looks at the file system, in all threads."""

    def __init__(self) -> None:
        self.statements = self.stats = self.opens = 0
        self.functions: dict[Any, int] = {}
        self.is_counting = False
        sys.addaudithook(self._audited)

    def start(self) -> None:
        self.is_counting = True
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        self.is_counting = False

    def forget(self) -> None:
        """Begin anew, as a process does that was forked."""
        self.statements = self.stats = self.opens = 0
        self.functions.clear()

    def _called(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            code = frame.f_code
            self.functions[code] = self.functions.get(code, 0) + 1
        elif event == "c_call":
            name = called.__name__
            if name in STATEMENTS:
                self.statements += 1
            elif name in STATS:
                self.stats += 1

    def _audited(self, event: str, _: object) -> None:
        if event == "open" and self.is_counting:
            self.opens += 1

    def cost(self) -> Cost:
        functions = sorted(self.functions.items(), key=lambda pair: -pair[1])
        named = [(f"{code.co_filename[-40:]}:{code.co_qualname}", count) for code, count in functions[:30]]
        figures = {
            "calls": sum(self.functions.values()),
            "statements": self.statements,
            "stats": self.stats,
            "opens": self.opens,
        }
        return Cost(figures, named)


def counted(work: Callable[[], object]) -> Cost:
    """What work in this process costs."""
    counter = Counter()
    counter.start()
    try:
        work()
    finally:
        counter.stop()
    return counter.cost()


def counted_command(folder: Path, *words: str, given: bytes = b"") -> Cost:
    """What a command costs, with the processes that it forks; its second run, when byte code is written."""
    import subprocess

    results = folder / "counts"
    for turn in range(2):
        results.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-P", __file__, str(results), *words], input=given, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        files = sorted(results.iterdir())
        costs = [_read(file.read_text()) for file in files]
        for file in files:
            file.unlink()
        assert costs, f"turn {turn}: nothing was counted"
    figures = {
        name: (max if name in OF_PROCESS else sum)(cost.figures[name] for cost in costs) for name in costs[0].figures
    }
    return Cost(figures, max(costs, key=lambda cost: cost.figures["calls"]).functions)


def _read(text: str) -> Cost:
    rows = [line.rpartition(" ") for line in text.splitlines()]
    figures = {name: int(count) for name, _, count in rows if ":" not in name}
    return Cost(figures, [(name, int(count)) for name, _, count in rows if ":" in name])


def main() -> None:
    """Run ``ricordo`` with the words after the first, and write into the folder that it names what that cost."""
    folder, counter, end = sys.argv[1], Counter(), os._exit
    sys.argv = ["ricordo", *sys.argv[2:]]

    def finish(code: int) -> None:
        counter.stop()
        cost = counter.cost()
        figures = {**cost.figures, **_of_process()}
        with open(f"{folder}/{os.getpid()}", "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is not imported
            file.writelines(f"{name} {count}\n" for name, count in (*figures.items(), *cost.functions))
        end(code)

    os._exit = finish  # type: ignore[assignment]
    os.register_at_fork(after_in_child=counter.forget)
    counter.start()
    from ricordo.cli import main as command

    command()
    finish(0)


def _of_process() -> dict[str, int]:
    """How much this process imported, read and holds."""
    modules = len(sys.modules)
    with open("/proc/self/io", encoding="ascii") as file:  # noqa: PTH123 - the same
        read = int(file.readline().split()[1])
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - the same
        pages = int(file.read().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") >> 20
    return dict(zip(OF_PROCESS, (modules, read >> 10, megabytes), strict=True))


if __name__ == "__main__":
    main()
