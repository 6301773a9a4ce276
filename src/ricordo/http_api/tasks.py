"""Runs long work: it continues after the request that began it, reports its progress, and keeps its result for a
while.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ricordo.errors import Error, NotFound, Unavailable
from ricordo.masking import masked_in
from ricordo.values.reports import Progress

AT_ONCE = 2
"""How many tasks run at a time; others wait."""
KEPT = 200
"""How many tasks are remembered; the oldest that have ended are dropped first."""
MOST_WAITING = 100
LOOK_SECONDS = 0.1
HEARTBEAT_SECONDS = 15.0

Tells = Callable[[Progress], None]
Work = Callable[[Tells], Any]

log = logging.getLogger("ricordo.http")


@dataclass(slots=True)
class Task:
    """One piece of long work; ``state`` is waiting, running, done or failed."""

    verb: str
    about: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    state: str = "waiting"
    progress: Progress | None = None
    result: Any = None
    error: dict[str, str] | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = None
    changes: int = 0

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")

    def to_dict(self) -> dict[str, Any]:
        progress = self.progress
        return {
            "id": self.id,
            "verb": self.verb,
            "about": self.about,
            "state": self.state,
            "progress": {
                "done": progress.done,
                "total": progress.total,
                "label": progress.label,
                "phase": progress.phase,
                "rate": progress.rate,
                "eta": progress.eta,
            }
            if progress is not None
            else None,
            "result": self.result,
            "error": self.error,
            "created": self.created.isoformat(),
            "ended": self.ended.isoformat() if self.ended else None,
        }


class Tasks:
    """Runs and remembers tasks."""

    def __init__(self, when_done: Callable[[Task], None] | None = None) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ricordo-task")
        self._lock = threading.Lock()
        self._tasks: dict[str, Task] = {}
        self._when_done = when_done or (lambda task: None)
        self._ending = threading.Event()

    def start(self, verb: str, work: Work, about: str = "") -> Task:
        """Begin a task, or put it into the queue; it works with the rights of the caller."""
        task = Task(verb, about[:200])
        with self._lock:
            if sum(one.state == "waiting" for one in self._tasks.values()) >= MOST_WAITING:
                raise Unavailable("too many tasks wait already", hint="Wait until some of them are done.")
            self._tasks[task.id] = task
            over = [one.id for one in self._tasks.values() if one.is_over]
            for old in over[: max(0, len(self._tasks) - KEPT)]:
                del self._tasks[old]
        self._pool.submit(copy_context().run, self._run, task, work)
        return task

    def get(self, identity: str) -> Task:
        """A task by its id."""
        task = self._tasks.get(identity)
        if task is None:
            raise NotFound(f"there is no task '{identity}'", hint="Tasks are remembered while the server runs.")
        return task

    def all(self) -> list[Task]:
        """All that are remembered, the newest first."""
        with self._lock:
            return list(reversed(self._tasks.values()))

    def counts(self) -> dict[str, int]:
        """How many there are in each state."""
        counts = dict.fromkeys(("waiting", "running", "done", "failed"), 0)
        for task in self.all():
            counts[task.state] += 1
        return counts

    def close(self) -> None:
        """Begin no more tasks; a running task ends with the process, and its rest is done from the backlog next
        time.
        """
        self._ending.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def busy(self) -> bool:
        return any(task.state == "running" for task in self.all())

    async def wait(self, task: Task, seconds: float) -> None:
        """Until the task is over, or the time is up."""
        until = time.monotonic() + seconds
        while not task.is_over and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS / 4)

    async def events(self, task: Task) -> AsyncIterator[bytes]:
        """The task as server-sent events: ``progress`` whenever it went on, ``done`` or ``failed`` at its end."""
        seen, said = -1, time.monotonic()
        while not self._ending.is_set():
            if task.changes != seen:
                seen, said, is_over = task.changes, time.monotonic(), task.is_over
                name = task.state if is_over else "progress"
                yield f"event: {name}\ndata: {json.dumps(task.to_dict(), default=str)}\n\n".encode("utf-8", "replace")
                if is_over:  # as it was when the event was made; the task may have ended since
                    return
            elif time.monotonic() - said > HEARTBEAT_SECONDS:
                said = time.monotonic()
                yield b": still at work\n\n"
            await asyncio.sleep(LOOK_SECONDS)

    def _run(self, task: Task, work: Work) -> None:
        def tell(progress: Progress) -> None:
            task.progress = progress
            task.changes += 1

        task.state = "running"
        task.changes += 1
        state = "failed"
        try:
            result = work(tell)
            task.result = result.to_dict() if hasattr(result, "to_dict") else result
            state = "done"
        except Error as error:
            task.error = error.to_dict("http")
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            task.error = {"code": "system", "message": f"{error.strerror or error}{where}", "hint": ""}
        except Exception as error:  # nothing above catches it: the caller gets an answer, and the log gets the trace
            log.exception("the task %s failed", task.verb)
            hint = "This is a fault of the server; its log has more."
            message = masked_in(f"{type(error).__name__}: {error}")[:500]
            task.error = {"code": "unexpected", "message": message, "hint": hint}
        task.ended = datetime.now(UTC)
        task.state = state
        task.changes += 1
        self._when_done(task)
