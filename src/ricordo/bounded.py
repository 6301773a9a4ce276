"""Calls into code of others, which may take too long or raise anything.

A call without a time limit of its own (looking up host names, libraries, plugins) runs in a thread, and nobody waits
for it longer than allowed. A thread cannot be stopped from outside: one that is late is left behind as a daemon, which
does not keep the process alive. What a plugin raises becomes one of our errors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

from ricordo.errors import ContractError, Error
from ricordo.log import report
from ricordo.plugin import attempt

T = TypeVar("T")

_CALLER_LEAVES: ContextVar[tuple[float, float] | None] = ContextVar("caller_leaves", default=None)
"""When the caller would like its answer, and when it leaves."""


@contextmanager
def caller_waits(seconds: float, at_most: float = 0.0) -> Iterator[None]:
    """Say how long the caller waits for what is done in the ``with`` block, and how long if it would get nothing."""
    now = time.monotonic()
    token = _CALLER_LEAVES.set((now + seconds, now + max(seconds, at_most)))
    try:
        yield
    finally:
        _CALLER_LEAVES.reset(token)


def within_callers(seconds: float) -> float:
    """A limit for one part of the work: at most half of the time for which the caller still waits."""
    leaves = _CALLER_LEAVES.get()
    return seconds if leaves is None else min(seconds, max(0.0, leaves[0] - time.monotonic()) / 2)


def while_caller_waits(seconds: float) -> float:
    """A limit for what the caller cannot do without: as long as it still waits."""
    leaves = _CALLER_LEAVES.get()
    return seconds if leaves is None else min(seconds, max(0.0, leaves[1] - time.monotonic()))


class PendingCall(Generic[T]):
    """A call that another thread runs. ``wait`` until it is done, then ask for its ``error`` or its ``result``."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done = threading.Event()
        self._cancelled = False
        self._results: list[T] = []
        self.error: BaseException | None = None
        """What the call raised; None if it raised nothing, or is not done yet."""

    def run(self) -> None:
        """Make the call, in the thread that runs this; a call that was cancelled is not made."""
        if self._cancelled:
            return
        try:
            self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001 - the thread that waits for the result gets the error
            self.error = error
        self._done.set()

    def cancel(self) -> None:
        self._cancelled = True

    def wait(self, seconds: float) -> bool:
        """Wait for at most this long; returns whether the call is done."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """What the call returned; what it raised is raised here."""
        if self.error is not None:
            raise self.error
        return self._results[0]


class BoundedCall(PendingCall[T]):
    """A call that runs in a thread of its own, which is started at once."""

    def __init__(self, work: Callable[[], T], name: str) -> None:
        super().__init__(work)
        threading.Thread(target=self.run, name=name, daemon=True).start()


def call_within(seconds: float, work: Callable[[], T], name: str) -> T:
    """The result of ``work()``, or what it raised; a ``TimeoutError`` if that takes longer.

    >>> call_within(1.0, lambda: "quick", "example")
    'quick'
    """
    call = BoundedCall(work, name)
    if not call.wait(seconds):
        raise TimeoutError
    return call.result()


def call_plugin(call: Callable[[], T], problem: str, *, hint: str, kind: type[Error] = ContractError) -> T:
    """The result of a call into a plugin; ``problem`` says what it means if that fails: ``the plugin 'x' failed``."""
    result = attempt(call)
    if not isinstance(result, Exception):
        return result
    if isinstance(result, Error):
        raise result
    report(problem, result)
    raise kind(f"{problem}: {type(result).__name__}: {result}", hint=hint) from result
