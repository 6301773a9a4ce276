"""What all routes share: the open store, the threads that use it, tasks and credentials."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from starlette.requests import ClientDisconnect

from ricordo.errors import Forbidden, UsageError
from ricordo.hosting.credentials import Caller, Credentials, SignInCodes
from ricordo.hosting.open_stores import OpenStores
from ricordo.hosting.service import CallThreads, Service
from ricordo.http_api.lately import Lately
from ricordo.http_api.request_body import RequestLimits
from ricordo.http_api.tasks import Task, Tasks, Tells

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.engine import Ricordo

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
    ) -> None:
        self.service = service
        self.threads = CallThreads()
        self.credentials = credentials or Credentials()
        self.codes = SignInCodes()
        self.lately = Lately()
        self.started = time.time()
        self.tasks = Tasks(self._after_task)
        self.open_stores = OpenStores()
        self.local_token = local_token
        self.address = ""
        self.port = 0
        self.when_added: Callable[[], None] = lambda: None

    @property
    def config(self) -> Config:
        return self.service.settings()

    @property
    def seconds(self) -> float:
        """How long one call may take, by the settings as they are now."""
        return CALL_SECONDS

    def limits(self) -> RequestLimits:
        """How much one caller may send."""
        return RequestLimits()

    async def ask(self, work: Callable[[Ricordo], T]) -> T:
        """The result of work on the engine, done in a thread within the time limit."""
        return await self.threads.run(lambda: work(self.service.engine()), self.seconds)

    async def answer(self, work: Callable[[Ricordo], Any], *, writes: bool = False, status: int = 200) -> Response:
        """The same as a JSON answer; values are converted with ``to_dict``."""

        def written(engine: Ricordo) -> bytes:
            return to_json(work(engine))

        body = await self.ask(written)
        if writes:
            self.service.wake()
        return Response(body, status, media_type="application/json")

    async def begin(self, verb: str, work: Callable[[Ricordo, Tells], Any], *, about: str, wait: float) -> Response:
        """Begin long work. Answers 202 and the task, or 200 if it ended within the seconds that the caller waits."""
        task = self.start(verb, work, about=about)
        await self.tasks.wait(task, min(wait, LONGEST_WAIT))
        where = {"Location": f"/api/v1/tasks/{task.id}"}
        return Response(to_json(task), 200 if task.is_over else 202, where, media_type="application/json")

    def start(self, verb: str, work: Callable[[Ricordo, Tells], Any], *, about: str = "") -> Task:
        """Begin long work without an answer."""
        return self.tasks.start(verb, lambda tell: work(self.service.engine(), tell), about)

    def _after_task(self, task: Task) -> None:
        self.service.wake()
        self.when_added()

    def close(self) -> None:
        """End: accept no new work, then close the store."""
        self.tasks.close()
        self.threads.close()
        if not self.threads.busy and not self.tasks.busy:
            self.open_stores.close()
            self.service.close()


def to_json(plain: Any) -> bytes:
    """JSON in UTF-8; values of the engine by their ``to_dict``."""
    return json.dumps(plain, ensure_ascii=False, default=_plain, separators=(",", ":")).encode("utf-8", "replace")


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


def serving_of(request: Request) -> Serving:
    """The server that a request came to."""
    serving: Serving = request.app.state.serving
    return serving


def caller_of(request: Request) -> Caller:
    """Who sent a request; the guard let nobody in without one."""
    caller: Caller = request.state.caller
    return caller


async def body_of(request: Request) -> bytes:
    """All that a caller sent. Hooks that stop waiting hang up, also before the server has read it."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise UsageError("the caller hung up", hint="It does the work itself.") from None


class NeedsScope:
    """Refuses callers without a scope. For a request with a body, the guard does the same before it is read."""

    def __init__(self, scope: str) -> None:
        self.scope = scope

    def __call__(self, caller: Annotated[Caller, Depends(caller_of)]) -> None:
        if not caller.may(self.scope):
            raise Forbidden(
                f"this needs the scope '{self.scope}', and the token has '{caller.scope}'",
                hint=f"ricordo serve tokens add NAME --scope {self.scope}",
            )


def needs(scope: str) -> Any:
    """A condition of a route that refuses callers without the scope."""
    return Depends(NeedsScope(scope))


Here = Annotated[Serving, Depends(serving_of)]
Who = Annotated[Caller, Depends(caller_of)]
