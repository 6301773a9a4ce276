"""What all routes share: the open store, the threads that use it, credentials, and tasks: long work that goes on after
the request that began it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from starlette.requests import ClientDisconnect

from ricordo.errors import Error, NotFound, Unavailable, UsageError
from ricordo.hooks.answers import for_hooks
from ricordo.hosting.credentials import Caller, Credentials, SignInCodes
from ricordo.hosting.open_stores import OpenStores
from ricordo.hosting.service import CallThreads, Service
from ricordo.hosting.workers import SHARED_OUT, Workers
from ricordo.masking import masked_in
from ricordo.plugin import has_page
from ricordo.values.reports import Progress
from ricordo.verbs.rows import to_json

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.engine.ricordo import Ricordo


CALL_SECONDS = 30.0
"""How long one call may take; longer work continues as a task."""
T = TypeVar("T")
LONGEST_WAIT = 25.0
"""Seconds that a request may wait for the task it began."""


class Serving:
    """The parts of one server."""

    def __init__(
        self,
        service: Service,
        *,
        credentials: Credentials | None = None,
        local_token: str = "",
        workers: Workers | None = None,
    ) -> None:
        self.service = service
        self.threads = CallThreads()
        self.workers = workers
        self.credentials = credentials or Credentials()
        self.codes = SignInCodes()
        self.started = time.time()
        self.tasks = Tasks(self._after_task)
        self.open_stores = OpenStores(for_hooks)
        self.local_token = local_token
        self.address = ""
        self.port = 0
        self.when_added: Callable[[], None] = lambda: None

    @property
    def config(self) -> Config:
        return self.service.settings()

    async def ask(self, work: Callable[[Ricordo], T]) -> T:
        """The result of work on the engine, done in a thread within the time limit."""
        return await self.threads.run(lambda: work(self.service.engine()), CALL_SECONDS)

    async def answer(self, work: Callable[[Ricordo], Any], *, writes: bool = False, status: int = 200) -> Response:
        """The same as a JSON answer; values are converted with ``to_dict``."""
        body = await self.ask(lambda engine: to_json(work(engine)))
        if writes:
            self.service.wake()
        return Response(body, status, media_type="application/json")

    async def by_worker(self, path: str, given: Mapping[str, Any]) -> Response | None:
        """What a verb answers in another process; None where no worker answers it."""
        workers = self.workers
        if workers is None or path not in SHARED_OUT:
            return None
        try:
            async with asyncio.timeout(CALL_SECONDS):
                body = await asyncio.wrap_future(workers.answer(path, given))
        except BrokenProcessPool:  # all requests that are with the workers come here
            if self.workers is workers:
                self.workers = None
                log.warning("a worker was ended; from now on the server answers by itself")
                workers.close()
            return None
        return Response(body, media_type="application/json")

    async def begin(
        self,
        verb: str,
        work: Callable[[Ricordo, Tells], Any],
        *,
        about: str,
        wait: float,
        clear: Callable[[], object] | None = None,
    ) -> Response:
        """Begin long work. Answers 202 and the task, or 200 if it ended within the seconds that the caller waits."""
        task = self.start(verb, work, about=about, clear=clear)
        await self.tasks.wait(task, min(wait, LONGEST_WAIT))
        where = {"Location": f"/api/v1/tasks/{task.id}"}
        return Response(to_json(task), 200 if task.is_over else 202, where, media_type="application/json")

    def start(
        self,
        verb: str,
        work: Callable[[Ricordo, Tells], Any],
        *,
        about: str = "",
        clear: Callable[[], object] | None = None,
    ) -> Task:
        """Begin long work without an answer. ``clear`` removes what was put aside for it, also if it never begins."""
        return self.tasks.start(verb, lambda tell: work(self.service.engine(), tell), about, clear)

    def new_link(self, scope: str = "admin") -> str:
        """A link that signs one browser in, once, within ten minutes; "" if there is no page."""
        return f"{self.address}/sign-in?code={self.codes.new(scope)}" if has_page() else ""

    def _after_task(self, task: Task) -> None:
        self.service.wake()
        self.when_added()

    def close(self) -> None:
        """End: accept no new work, then close the store."""
        self.tasks.close()
        self.threads.close()
        if self.workers is not None:
            self.workers.close()
        if not self.threads.busy and not self.tasks.busy:
            self.open_stores.close()
            self.service.close()


async def body_of(request: Request) -> bytes:
    """All that a caller sent. Hooks that stop waiting hang up, also before the server has read it."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise UsageError("the caller hung up", hint="It does the work itself.") from None


def _serving_of(request: Request) -> Serving:
    serving: Serving = request.app.state.serving
    return serving


def _caller_of(request: Request) -> Caller:
    """Who sent a request; the guard let nobody in without one."""
    caller: Caller = request.state.caller
    return caller


Here = Annotated[Serving, Depends(_serving_of)]
Who = Annotated[Caller, Depends(_caller_of)]


TASKS_AT_ONCE = 2
"""How many tasks run at a time; others wait."""
MOST_TASKS = 200
"""How many tasks are remembered; the oldest that have ended are dropped first."""
MOST_TASKS_WAITING = 100
POLL_SECONDS = 0.1
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
        self._pool = ThreadPoolExecutor(TASKS_AT_ONCE, thread_name_prefix="ricordo-task")
        self._lock = threading.Lock()
        self._tasks: dict[str, Task] = {}
        self._when_done = when_done or (lambda task: None)
        self._ending = threading.Event()

    def start(self, verb: str, work: Work, about: str = "", clear: Callable[[], object] | None = None) -> Task:
        """Begin a task, or put it into the queue; it works with the rights of the caller. ``clear`` is called when the
        task is over, refused, or dropped because the server ends.
        """
        task = Task(verb, about[:200])
        with ExitStack() as refused:
            refused.callback(clear or (lambda: None))
            self._queue(task)
            future = self._pool.submit(copy_context().run, self._run, task, work)
            after = refused.pop_all()
        future.add_done_callback(lambda _: after.close())
        return task

    def _queue(self, task: Task) -> None:
        with self._lock:
            if self._ending.is_set():
                raise Unavailable("the server is ending", hint="Ask again once it runs.")
            if sum(other.state == "waiting" for other in self._tasks.values()) >= MOST_TASKS_WAITING:
                raise Unavailable("too many tasks wait already", hint="Wait until some of them are done.")
            self._tasks[task.id] = task
            over = [other.id for other in self._tasks.values() if other.is_over]
            for old in over[: max(0, len(self._tasks) - MOST_TASKS)]:
                del self._tasks[old]

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
            await asyncio.sleep(POLL_SECONDS / 4)

    async def events(self, task: Task) -> AsyncIterator[bytes]:
        """The task as server-sent events: ``progress`` whenever it went on, ``done`` or ``failed`` at its end."""
        seen, sent = -1, time.monotonic()
        while not self._ending.is_set():
            if task.changes != seen:
                seen, sent, is_over = task.changes, time.monotonic(), task.is_over
                name = task.state if is_over else "progress"
                yield f"event: {name}\ndata: {json.dumps(task.to_dict(), default=str)}\n\n".encode("utf-8", "replace")
                if is_over:  # as it was when the event was made; the task may have ended since
                    return
            elif time.monotonic() - sent > HEARTBEAT_SECONDS:
                sent = time.monotonic()
                yield b": still at work\n\n"
            await asyncio.sleep(POLL_SECONDS)

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
