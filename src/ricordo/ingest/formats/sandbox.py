"""Runs a parser in a process of its own, so that a file that hangs, crashes or fills the memory does no other harm.

Workers are started when first needed, reused for many files, and replaced when they die or are killed. A parser is
named by its ``module:function``, so any function that can be imported can be run. A worker (``main``) reads one file at
a time until its input ends; it uses no store and no model.

A message is a JSON header and a body of bytes, with their lengths in front. Messages are plain data, because the worker
reads hostile files: nothing that it sends is unpickled or run.
"""

from __future__ import annotations

import atexit
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any, cast

from ricordo.errors import Unreadable
from ricordo.ingest.formats.source import FileType, Limits, ParseFailure, Source, attempt, load_parser, unreadable
from ricordo.values.items import Mark, Parsed

_START_SECONDS = 60.0
_IDLE_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_MOST_WORKERS = 4
# Processes are replaced now and then, so that memory leaks of parsing libraries do not add up.
_FILES_PER_WORKER = 500
_BOOTSTRAP = (
    "import json, sys; from importlib import import_module; sys.path[:] = json.loads(sys.argv[1]);"
    " import_module(sys.argv[2]).main()"
)
_LENGTHS = struct.Struct("!QQ")
_LARGEST_HEADER = 64 * 1024 * 1024
_LARGEST_BODY = 4 * 1024 * 1024 * 1024
Answer = tuple[dict[str, Any], bytes]


def send(stream: FileIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message whole; a pipe may take less than it is given."""
    head = json.dumps(header).encode()
    for part in (_LENGTHS.pack(len(head), len(body)) + head, body):
        left = memoryview(part)
        while left:
            left = left[stream.write(left) or 0 :]


def receive(stream: FileIO) -> Answer:
    """Read one whole message; ``EOFError`` when the other side is gone or sends something else."""
    head_length, body_length = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if head_length > _LARGEST_HEADER or body_length > _LARGEST_BODY:
        raise EOFError("not a message")
    try:
        header = json.loads(_exactly(stream, head_length))
    except ValueError:
        raise EOFError("not a message") from None
    if not isinstance(header, dict):
        raise EOFError("not a message")
    return header, _exactly(stream, body_length)


def _exactly(stream: FileIO, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = stream.read(min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side is gone")
        parts += part
    return bytes(parts)


class _WorkerLostError(Exception):
    """The process ended, or was ended, before it answered."""


class _Worker:
    """One process and the two pipes to it; used by one thread at a time."""

    def __init__(self) -> None:
        self.files = 0
        self.timed_out = False
        # It gets our own search path, however that was made, and never the current folder.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOTSTRAP, json.dumps([place for place in sys.path if place]), __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # so that a fork of this process holds no half-written message
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._to = cast("FileIO", self._process.stdin)
        self._from = cast("FileIO", self._process.stdout)
        started = False
        try:
            self._within(_START_SECONDS, lambda: receive(self._from))
            started = True
        finally:
            if not started:
                self.close()

    def ask(self, place: str, source: Source) -> Answer:
        """The worker's answer; ``_WorkerLostError`` when there is none within the file's time."""
        header = {"place": place, "name": source.name, "charset": source.charset, "page": source.page}

        def exchange() -> Answer:
            send(self._to, header | {"type": asdict(source.type), "limits": asdict(source.limits)}, source.data)
            return receive(self._from)

        self.files += 1
        self.timed_out = False
        return self._within(source.limits.seconds, exchange)

    def _within(self, seconds: float, exchange: Callable[[], Answer]) -> Answer:
        # Killing the process ends the blocking read below; that works the same on every system.
        watchdog = threading.Timer(seconds, self._expire)
        watchdog.daemon = True
        watchdog.start()
        try:
            return exchange()
        except (EOFError, OSError, ValueError) as problem:
            raise _WorkerLostError from problem
        finally:
            watchdog.cancel()

    def _expire(self) -> None:
        self.timed_out = True
        self._process.kill()

    @property
    def is_worn(self) -> bool:
        return self.timed_out or self.files >= _FILES_PER_WORKER or self._process.poll() is not None

    def close(self) -> None:
        """End the process and wait for it."""
        self._close_pipes()
        self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """Close the pipes in a forked copy of this process; the worker belongs to the original process."""
        self._close_pipes()
        self._process.returncode = 0

    def _close_pipes(self) -> None:
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()


class Sandbox:
    """A few workers behind one ``run``; safe to call from many threads."""

    def __init__(self, workers: int = _MOST_WORKERS) -> None:
        self._slots = threading.BoundedSemaphore(max(1, min(workers, os.cpu_count() or 1)))
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    def run(self, place: str, source: Source) -> Parsed:
        """What the parser at ``place`` makes of the file, or ``Unreadable`` with the reason."""
        with self._slots:
            while True:
                worker = self._take(source.name)
                is_fresh = worker.files == 0
                answer: dict[str, Any] | None = None
                try:
                    answer, body = worker.ask(place, source)
                except _WorkerLostError:
                    if worker.timed_out or is_fresh:
                        raise _lost(source, worker.timed_out) from None
                    # It may have died from an earlier file, or ended itself because it was idle.
                    continue
                finally:
                    # The worker is lost, or was interrupted within a message, so that its pipes are no longer in step.
                    if answer is None:
                        self._discard(worker)
                if "memory" in answer.get("error", {}):
                    self._discard(worker)
                    if is_fresh:
                        break
                    continue
                self._give_back(worker)
                return _parsed(source, answer, body)
        raise Unreadable(
            f"{source.name} needs more than {source.limits.memory_mb} MB of memory to read",
            hint="Split it, or save it in a simpler format.",
        )

    def close(self) -> None:
        """End every worker; a later ``run`` starts new ones."""
        with self._lock:
            workers, self._all, self._idle = self._all, set(), []
        for worker in workers:
            worker.close()

    def abandon(self) -> None:
        """Forget the workers without ending them (see ``_Worker.abandon``)."""
        for worker in self._all:
            worker.abandon()

    def _take(self, name: str) -> _Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            worker = _Worker()
        except (_WorkerLostError, OSError) as problem:
            raise Unreadable(
                f"{name} cannot be read: the process that reads such files did not start",
                hint="Check that Python itself starts and that there is memory left.",
            ) from problem
        with self._lock:
            self._all.add(worker)
        return worker

    def _give_back(self, worker: _Worker) -> None:
        if worker.is_worn:
            self._discard(worker)
            return
        with self._lock:
            if worker in self._all:
                self._idle.append(worker)

    def _discard(self, worker: _Worker) -> None:
        with self._lock:
            self._all.discard(worker)
        worker.close()


def _lost(source: Source, timed_out: bool) -> Unreadable:
    if timed_out:
        return Unreadable(
            f"reading {source.name} took longer than {source.limits.seconds:g} s",
            hint="The file may be damaged or very large; save it again or in a simpler format.",
        )
    return Unreadable(
        f"reading {source.name} crashed the process that read it",
        hint="The file is probably damaged; open it in its own program and save it again.",
    )


def _parsed(source: Source, answer: dict[str, Any], body: bytes) -> Parsed:
    if (error := answer.get("error")) is not None:
        raise unreadable(source.name, ParseFailure(**error)) if "cause" in error else Unreadable(**error)
    parsed = answer["parsed"]
    parsed["marks"] = tuple(Mark(**mark) for mark in parsed["marks"])
    parsed["warnings"] = tuple(parsed["warnings"])
    if "tags" in parsed["fields"]:
        parsed["fields"]["tags"] = tuple(parsed["fields"]["tags"])
    return Parsed(**parsed | {"text": body.decode("utf-8", "surrogatepass")})


_shared = Sandbox()


def run_bounded(place: str, source: Source) -> Parsed:
    """``Sandbox.run`` on the workers that this process shares."""
    return _shared.run(place, source)


def _after_fork() -> None:
    global _shared
    _shared.abandon()
    _shared = Sandbox()


atexit.register(lambda: _shared.close())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def main() -> None:
    """What a worker does: read files until the parent closes the pipe, dies, or has no work for a minute."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The pipes are moved, so that code that prints or reads in this process does not disturb them.
    questions, answers = FileIO(os.dup(0), "rb"), FileIO(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    life = _Life()
    threading.Thread(target=life.watch, daemon=True).start()
    memory_at_start = 0  # of the interpreter itself, if the system tells; a file's limit is added to it
    with suppress(OSError):
        memory_at_start = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
    with suppress(EOFError, OSError):
        send(answers, {"ready": True})
        while True:
            asked, data = receive(questions)
            place, limits = asked.pop("place"), Limits(**asked.pop("limits"))
            source = Source(data, type=FileType(**asked.pop("type")), limits=limits, **asked)
            life.busy = True
            with _bounds(limits, memory_at_start):
                answer, body = _read(place, source)
            send(answers, answer, body)
            life.idle_since, life.busy = time.monotonic(), False


def _read(place: str, source: Source) -> Answer:
    """Run the parser, and return its result or its failure as the message to send."""
    try:
        parsed = attempt(lambda source: load_parser(place)(source), source)
        if isinstance(parsed, ParseFailure):
            return {"error": asdict(parsed)}, b""
        plain = asdict(parsed)
        return {"parsed": plain}, plain.pop("text").encode("utf-8", "surrogatepass")
    except Unreadable as problem:
        return {"error": {"message": problem.message, "hint": problem.hint}}, b""
    except MemoryError:
        # Nothing can be trusted after this; the parent starts another worker.
        return {"error": {"memory": "yes"}}, b""


@contextmanager
def _bounds(limits: Limits, memory_at_start: int) -> Iterator[None]:
    """Limits that the system enforces while one file is read, where it can (not on Windows)."""
    if sys.platform == "win32":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = memory_at_start + limits.memory_mb * 1024 * 1024
    # macOS has this limit but refuses to set it.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    # The parent watches the time. If it dies, this ends the process even in a loop of C code.
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _GRACE_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class _Life:
    """Ends this process when it has been idle for long or its parent is gone."""

    def __init__(self) -> None:
        self.busy = False
        self.idle_since = time.monotonic()
        self._parent = os.getppid()

    def watch(self) -> None:
        while True:
            time.sleep(1.0)
            idle = not self.busy and time.monotonic() - self.idle_since > _IDLE_SECONDS
            if idle or os.getppid() != self._parent:
                os._exit(0)
