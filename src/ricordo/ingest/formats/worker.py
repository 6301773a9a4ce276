"""The process that reads risky files; ``sandbox`` starts it and sends it the files.

It reads one file at a time until its input ends. It uses no store and no model, and it can be killed at any time:
whatever a file does to it, only that file is lost.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from ricordo.errors import Unreadable
from ricordo.ingest.formats import wire
from ricordo.ingest.formats.source import Limits, Source, attempt, load_parser
from ricordo.values.items import Parsed

_IDLE_SECONDS = 60.0
_GRACE_SECONDS = 5.0


def main() -> None:
    """Read files until the parent closes the pipe, dies, or has no work for a minute."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions, answers = take_over_pipes()
    life = Life()
    threading.Thread(target=life.watch, daemon=True).start()
    memory_at_start = _address_space()
    wire.send(answers, {"ready": True})
    while True:
        try:
            place, source = wire.receive_source(questions)
        except EOFError:
            return
        life.busy = True
        with _Bounds(source.limits, memory_at_start):
            reply = _read(place, source)
        try:
            reply(answers)
        except (BrokenPipeError, OSError):
            return
        life.rest()


def take_over_pipes() -> tuple[FileIO, FileIO]:
    """The pipes to the parent, moved so that code that prints or reads in this process does not disturb them."""
    questions = FileIO(os.dup(0), "rb")
    answers = FileIO(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return questions, answers


def _read(place: str, source: Source) -> Callable[[FileIO], None]:
    """Run the parser, and return its result or its failure as the message to send."""
    try:
        parsed = attempt(lambda source: load_parser(place)(source), source)
        if isinstance(parsed, Parsed):
            return lambda stream: wire.send_parsed(stream, parsed)
        error = {"reason": parsed.reason, "cause": parsed.cause, "trace": parsed.trace}
    except Unreadable as problem:
        error = {"message": problem.message, "hint": problem.hint}
    except MemoryError:
        # Nothing can be trusted after this; the parent starts another worker.
        error = {"memory": "yes"}
    return lambda stream: wire.send(stream, {"error": error})


def _address_space() -> int:
    """The memory that the interpreter itself uses, if the system tells; a file's limit is added to it."""
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[0]) * mmap.PAGESIZE


class _Bounds:
    """Limits that the system enforces while one file is read, where it can (not on Windows)."""

    def __init__(self, limits: Limits, memory_at_start: int) -> None:
        self._limits = limits
        self._memory_at_start = memory_at_start

    def __enter__(self) -> None:
        self._limit_memory(self._memory_at_start + self._limits.memory_mb * 1024 * 1024)
        # The parent watches the time. If it dies, this ends the process even in a loop of C code.
        self._alarm(self._limits.seconds + _GRACE_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._alarm(0)
        self._limit_memory(None)

    @staticmethod
    def _alarm(seconds: float) -> None:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, seconds)

    @staticmethod
    def _limit_memory(size: int | None) -> None:
        if sys.platform != "win32":
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            soft = hard if size is None else size if hard == resource.RLIM_INFINITY else min(size, hard)
            # macOS has this limit but refuses to set it.
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Life:
    """Ends this process when it has been idle for long or its parent is gone."""

    def __init__(self) -> None:
        self.busy = False
        self._parent = os.getppid()
        self._idle_since = time.monotonic()

    def rest(self) -> None:
        """From now on it waits for work."""
        self.busy = False
        self._idle_since = time.monotonic()

    def watch(self) -> None:
        """Look once a second whether to end."""
        while True:
            time.sleep(1.0)
            idle = not self.busy and time.monotonic() - self._idle_since > _IDLE_SECONDS
            if idle or os.getppid() != self._parent:
                os._exit(0)
