"""Lets other processes prepare texts while many are added, because Python runs one thread at a time.

Helpers are started once this process has prepared much text, which a small ``add`` never does. They get texts and give
back what is to be written; only this process touches the store. A helper ends when it has been idle for a minute. If
one does not start or is lost, its texts are prepared here.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import FileIO
from queue import Empty, SimpleQueue
from typing import cast

from ricordo.cores import cores
from ricordo.ingest.parse import wire
from ricordo.ingest.preparing import NotPrepared, Preparer, Unit
from ricordo.store.values import PreparedItem

STARTED_AFTER = 500_000
"""How many characters this process prepares alone: that takes about as long as starting a helper."""
MOST = 3
GIVEN = 6
"""How many units a helper has at once, so that it need not wait for the next while this process writes."""
WRITTEN_MEANWHILE = 0.5
"""The time in which this process writes a unit, as a share of that in which a helper prepares one."""
PIPE_BYTES = 1 << 20
MAIN = "ricordo.engine.helping"
"""What a helper runs."""


class _Job:
    """A unit, and what became of it; nothing if the helper that had it was lost."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.found: list[PreparedItem | NotPrepared] | None = None
        self.words: list[tuple[str, str]] = []
        self.done = threading.Event()
        self._begun = threading.Lock()

    def begin(self) -> bool:
        """Whether the caller is to prepare it; only the first caller is."""
        return self._begun.acquire(blocking=False)

    @property
    def is_begun(self) -> bool:
        return self._begun.locked()


class _Helper:
    """One process, and the thread that talks to it."""

    def __init__(self) -> None:
        from ricordo.ingest import child

        self._process = child.start(MAIN)
        self._to = cast(FileIO, self._process.stdin)
        self._from = cast(FileIO, self._process.stdout)
        for pipe in (self._to, self._from):
            _widen(pipe)
        self._jobs: SimpleQueue[tuple[_Job, dict[str, object]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._given: list[_Job] = []
        self.is_ready = False
        self.is_lost = False
        self._thread = threading.Thread(target=self._talk, name="ricordo-helper", daemon=True)
        self._thread.start()

    @property
    def is_free(self) -> bool:
        return self.is_ready and not self.is_lost and len(self._given) < GIVEN

    def give(self, job: _Job, preparer: Preparer) -> None:
        """Let it prepare a unit with the words of a store."""
        analyzer = preparer.analyzer
        with self._lock:
            if self.is_lost:
                job.done.set()
                return
            self._given.append(job)
        self._jobs.put((job, {"words": analyzer.number, "language": analyzer.language}))

    def close(self) -> None:
        """End the process and the thread."""
        self._process.kill()
        self._jobs.put(None)
        self._thread.join()

    def abandon(self) -> None:
        """Close the pipes in a forked copy of this process; the helper belongs to the original process."""
        self._to.close()
        self._from.close()
        self._process.returncode = 0

    def _talk(self) -> None:
        try:
            with suppress(EOFError, OSError, ValueError, pickle.PickleError):
                self._exchange()
        finally:  # whatever happened, nobody waits for it any longer
            self._lose()
            self._process.kill()
            with self._process:  # closes the pipes
                pass

    def _exchange(self) -> None:
        wire.receive(self._from)
        self.is_ready = True
        job = self._send_next()
        while True:
            _, body = wire.receive(self._from)
            following = self._send_next(wait=False)  # first, so that it does not wait while this is read
            assert job is not None, "what was received was sent"
            job.found, job.words = pickle.loads(body)
            self._end(job)
            job = following or self._send_next()

    def _send_next(self, *, wait: bool = True) -> _Job | None:
        """Send the next unit that nobody began."""
        while True:
            try:
                asked = self._jobs.get(block=wait)
            except Empty:
                return None
            if asked is None:
                raise EOFError("it is to end")
            job, header = asked
            if job.begin():
                wire.send(self._to, header, pickle.dumps(job.unit, pickle.HIGHEST_PROTOCOL))
                return job
            with self._lock:
                self._given.remove(job)

    def _end(self, job: _Job) -> None:
        with self._lock:
            self._given.remove(job)
        job.done.set()

    def _lose(self) -> None:
        with self._lock:
            self.is_lost = True
            given, self._given = self._given, []
        for job in given:
            job.done.set()


def _widen(pipe: FileIO) -> None:
    """Let a pipe hold a whole message, where the system can: each part of one would have to wait for Python's lock."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


class Helpers:
    """The helpers of this process; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._helpers: list[_Helper] = []
        self._alone = 0
        self._works = True

    def prepared(self, units: Iterable[Unit], preparer: Callable[[], Preparer]) -> Iterator[PreparedItem | NotPrepared]:
        """The items of all units in their order, prepared by helpers or, where there are none, here."""
        waiting: deque[_Job] = deque()
        for job in map(_Job, units):
            helper = self._free_helper() if job.unit.is_text else None
            while helper is None and waiting and job.unit.is_text:
                yield from self._first(waiting, preparer())
                helper = self._free_helper()
            waiting.append(job)
            if helper is not None:
                helper.give(job, preparer())
            elif job.begin():
                self._prepare(job, preparer())
            while waiting and waiting[0].done.is_set():
                yield from self._first(waiting, preparer())
        while waiting:
            yield from self._first(waiting, preparer())

    def close(self) -> None:
        """End all helpers."""
        with self._lock:
            helpers, self._helpers = self._helpers, []
        for helper in helpers:
            helper.close()

    def abandon(self) -> None:
        """Forget the helpers without ending them (see ``_Helper.abandon``)."""
        for helper in self._helpers:
            helper.abandon()

    def _prepare(self, job: _Job, preparer: Preparer) -> None:
        job.found = preparer.unit(job.unit)
        job.done.set()
        with self._lock:
            self._alone += sum(one.size for one in job.unit.items)

    def _first(self, waiting: deque[_Job], preparer: Preparer) -> list[PreparedItem | NotPrepared]:
        """What became of the first unit. This process, which writes them all, prepares others only while helpers would
        be busy for longer than it.
        """
        while not waiting[0].done.is_set():
            left = [job for job in waiting if not job.is_begun]
            if len(left) > WRITTEN_MEANWHILE * len(waiting) * len(self._helpers) and left[-1].begin():
                self._prepare(left[-1], preparer)
            else:
                waiting[0].done.wait()
        job = waiting.popleft()
        if job.found is None:  # its helper was lost
            self._prepare(job, preparer)
        preparer.analyzer.stemmed.update(job.words)
        return job.found or []

    def _free_helper(self) -> _Helper | None:
        """A helper that has time; helpers are started if they are due."""
        with self._lock:
            lost = [one for one in self._helpers if one.is_lost]
            if lost:
                self._works = all(one.is_ready for one in lost)  # one that never came would not come next time either
                self._helpers = [one for one in self._helpers if not one.is_lost]
                self._alone = 0
            if not self._helpers and self._works and self._alone >= STARTED_AFTER:
                self._start()
            return next((one for one in self._helpers if one.is_free), None)

    def _start(self) -> None:
        try:
            for _ in range(min(cores() - 1, MOST)):
                self._helpers.append(_Helper())
        except OSError:
            self._works = False
        self._alone = 0


_shared = Helpers()


def shared() -> Helpers:
    """The helpers that all stores of this process share."""
    return _shared


def _after_fork() -> None:
    global _shared
    _shared.abandon()
    _shared = Helpers()


atexit.register(lambda: _shared.close())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
