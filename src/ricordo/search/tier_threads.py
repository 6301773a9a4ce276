"""The threads in which tiers are asked, and what is remembered about tiers that did not answer."""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar
from weakref import WeakSet

from ricordo.bounded import PendingCall

MOST_THREADS = 4
"""How many searches of one tier run at the same time. Each tier has its own, so one that hangs delays no other."""

SECONDS_AT_END = 2.0
"""How long a process that ends, or an engine that is closed, waits for searches that still run."""

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
"""A tier that did not answer is left alone for a while: 5 s, then twice as long each time, up to 5 minutes."""

_Result = TypeVar("_Result")
_WORKING: WeakSet[TierThreads] = WeakSet()


def wait_for_all(threads: list[TierThreads]) -> None:
    """Wait until no thread works any more, for a moment at most."""
    end = time.monotonic() + SECONDS_AT_END
    for one in threads:
        one.wait_until_idle(max(0.0, end - time.monotonic()))


atexit.register(lambda: wait_for_all(list(_WORKING)))


class TierThreads:
    """A few threads that are kept between searches, because a store has one connection for each thread.

    They are daemon threads, so that a tier on a network drive that does not answer cannot keep the process from ending.
    A process that ends waits a moment for those that still work: ending while a model computes would abort it.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Condition()
        self._started = 0
        self._idle = 0
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self, work: Callable[[], _Result]) -> PendingCall[_Result]:
        """Start the work in one of the threads; the caller waits for it as long as it likes."""
        call = PendingCall(work)
        with self._lock:
            if not self._idle and self._started < self.most:
                self._started += 1
                _WORKING.add(self)
                threading.Thread(target=self._serve, name="ricordo-tier", daemon=True).start()
            else:
                self._idle -= 1
            self._work.put(call.run)
        return call

    def _serve(self) -> None:
        while True:
            self._work.get()()
            with self._lock:
                self._idle += 1
                self._lock.notify_all()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until all work is done, for at most this long; returns whether it is."""
        with self._lock:
            return self._lock.wait_for(lambda: self._idle >= self._started, seconds)


class Pauses:
    """Which tiers did not answer, and until when they are left alone. A file tells it to other processes, too."""

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._known: dict[str, tuple[int, float]] = {}

    def may_ask(self, location: str) -> bool:
        """Whether a tier may be asked now. After a pause one caller may try; the others wait for its result."""
        known = self._read().get(location)
        if known is None:
            return True
        times, until = known
        now = self._clock()
        if now < until <= now + LONGEST_PAUSE:
            return False
        self._write({**self._read(), location: (times, now + FIRST_PAUSE)})
        return True

    def late(self, location: str) -> None:
        """The tier did not answer in time: leave it alone, longer each time."""
        known = self._read()
        times = known.get(location, (0, 0.0))[0]
        pause = min(FIRST_PAUSE * 2**times, LONGEST_PAUSE)
        self._write({**known, location: (min(times + 1, 10), self._clock() + pause)})

    def answered(self, location: str) -> None:
        """The tier answered: ask it every time again."""
        known = self._read()
        if location in known:
            self._write({name: one for name, one in known.items() if name != location})

    def _read(self) -> dict[str, tuple[int, float]]:
        if self._file is None:
            return self._known
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return {str(name): (int(times), float(until)) for name, (times, until) in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, known: dict[str, tuple[int, float]]) -> None:
        self._known = known
        if self._file is None:
            return
        with suppress(OSError):  # a pause that is not kept costs another wait, and nothing else
            if not known:
                self._file.unlink(missing_ok=True)
                return
            part = self._file.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            part.write_text(json.dumps(known), encoding="utf-8")
            part.replace(self._file)
