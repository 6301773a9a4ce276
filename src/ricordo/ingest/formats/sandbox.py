"""Runs a parser in a process of its own, so that a file that hangs, crashes or fills the memory does no other harm.

Workers are started when first needed, reused for many files, and replaced when they die or are killed. A parser is
named by its ``module:function``, so any function that can be imported can be run. This module starts and watches
processes; what happens inside them is in ``worker``.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from io import FileIO
from typing import Any, cast

from ricordo.errors import Unreadable
from ricordo.ingest.formats import wire
from ricordo.ingest.formats.source import ParseFailure, Source, unreadable
from ricordo.values.items import Parsed

_START_SECONDS = 60.0
_MOST_WORKERS = 4
# Processes are replaced now and then, so that memory leaks of parsing libraries do not add up.
_FILES_PER_WORKER = 500
_BOOTSTRAP = (
    "import json, sys; from importlib import import_module; sys.path[:] = json.loads(sys.argv[1]);"
    " import_module(sys.argv[2]).main()"
)
Answer = tuple[dict[str, Any], bytes]


def _start_process(module: str) -> subprocess.Popen[bytes]:
    """A process that runs ``main`` of a module. It gets our own search path, however that was made, and never the
    current folder.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _BOOTSTRAP, json.dumps([place for place in sys.path if place]), module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,  # so that a fork of this process holds no half-written message
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


class _WorkerLostError(Exception):
    """The process ended, or was ended, before it answered."""


class _Worker:
    """One process and the two pipes to it; used by one thread at a time."""

    def __init__(self) -> None:
        self.files = 0
        self.timed_out = False
        self._process = _start_process("ricordo.ingest.formats.worker")
        self._to = cast(FileIO, self._process.stdin)
        self._from = cast(FileIO, self._process.stdout)
        started = False
        try:
            self._within(_START_SECONDS, lambda: wire.receive(self._from))
            started = True
        finally:
            if not started:
                self.close()

    def ask(self, place: str, source: Source) -> Answer:
        """The worker's answer; ``_WorkerLostError`` when there is none within the file's time."""

        def exchange() -> Answer:
            wire.send_source(self._to, place, source)
            return wire.receive(self._from)

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
            try:
                pipe.close()
            except OSError:
                continue


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
                        raise self._lost(source, worker.timed_out) from None
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
                return self._parsed(source, answer, body)
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

    @staticmethod
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

    @staticmethod
    def _parsed(source: Source, answer: dict[str, Any], body: bytes) -> Parsed:
        error = answer.get("error")
        if error is None:
            return wire.parsed_from(answer["parsed"], body)
        if "cause" in error:
            raise unreadable(source.name, ParseFailure(error["reason"], error["cause"], error["trace"]))
        raise Unreadable(error["message"], hint=error["hint"])


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
