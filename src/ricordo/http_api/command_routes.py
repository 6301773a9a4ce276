"""Answers commands of the same user that only read, from stores that are open already.

The code that starts the server says what runs a command. Only programs that can read the server's private state file
may ask.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from ricordo.errors import Error, Forbidden, UsageError
from ricordo.hosting.packing import ALONE, CommandRequest
from ricordo.http_api.serving import Here, Who, body_of

commands = APIRouter(prefix="/api/v1", include_in_schema=False)


@commands.post("/command", response_model=None)
async def answer_command(here: Here, who: Who, request: Request) -> StreamingResponse:
    """What a command of the same user prints, and its exit code; or that the caller is to run it itself."""
    if who.way != "local":
        raise Forbidden("only commands of the same user may be asked for", hint="Use the verbs of the API.")
    try:
        wanted = CommandRequest.from_bytes(await body_of(request))
    except ValueError:
        raise UsageError("this is not what a command sends", hint="Use the verbs of the API.") from None

    async def parts() -> AsyncIterator[bytes]:
        """First an empty part, so that the caller gets the head and knows that the server is alive; then the answer."""
        yield b""
        try:
            yield await here.ask(lambda _: here.run_command(here.open_stores, wanted))
        except (TimeoutError, Error):  # the time limit, or a server that is ending
            yield ALONE

    return StreamingResponse(parts(), media_type="application/octet-stream")
