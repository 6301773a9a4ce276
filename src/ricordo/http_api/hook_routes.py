"""Answers hooks of agents' programs from stores that are open already.

Only programs that can read the server's private state file may ask, because the request names a folder and a store of
this machine.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ricordo.errors import Conflict, Forbidden, NotFound, UsageError
from ricordo.hooks.local_server import answered, read_request
from ricordo.hooks.payload import NAMES
from ricordo.http_api.serving import Here, Who, body_of

hooks = APIRouter(prefix="/api/v1", include_in_schema=False)


@hooks.post("/hook/{event}", response_model=None)
async def answer_hook(here: Here, who: Who, event: str, request: Request) -> Response:
    """The answer of a hook, as the command ``ricordo hook`` prints it."""
    if who.way != "local":
        raise Forbidden("only programs of the same user may ask for hooks", hint="Use /api/v1/context.")
    if event not in NAMES:
        raise NotFound(f"there is no hook '{event}'", hint=f"One of: {', '.join(NAMES)}.")
    try:
        asked = read_request(await body_of(request))
    except ValueError:
        raise UsageError("this is not what a hook sends", hint="Use /api/v1/context.") from None
    if not asked.is_from_here:
        raise Conflict("the caller has other RICORDO_ variables than the server", hint="It does the work itself.")
    answer = await here.ask(lambda _: answered(here.open_stores, event, asked))
    return Response(answer, media_type="application/json")
