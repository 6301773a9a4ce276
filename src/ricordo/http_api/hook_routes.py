"""Answers hooks of agents' programs from stores that are open already.

Only programs that can read the server's private state file may ask, because the request names a folder and a store of
this machine.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from ricordo.errors import Conflict, Forbidden, NotFound, UsageError
from ricordo.hooks.answers import for_hooks, run
from ricordo.hooks.asking import own_variables
from ricordo.hooks.outlet import Outlet
from ricordo.hooks.payload import NAMES
from ricordo.hosting.open_stores import changing_settings
from ricordo.hosting.packing import unpacked
from ricordo.http_api.serving import Here, Who, body_of

if TYPE_CHECKING:
    from ricordo.hosting.open_stores import OpenStores

hooks = APIRouter(prefix="/api/v1", include_in_schema=False)


@hooks.post("/hook/{event}", response_model=None)
async def answer_hook(here: Here, who: Who, event: str, request: Request) -> Response:
    """The answer of a hook, as the command ``ricordo hook`` prints it."""
    if who.way != "local":
        raise Forbidden("only programs of the same user may ask for hooks", hint="Use /api/v1/context.")
    if event not in NAMES:
        raise NotFound(f"there is no hook '{event}'", hint=f"One of: {', '.join(NAMES)}.")
    try:
        (folder, store, tier, *env), payload = unpacked(await body_of(request))
    except ValueError:
        raise UsageError("this is not what a hook sends", hint="Use /api/v1/context.") from None
    if sorted(env) != sorted(own_variables()):
        raise Conflict("the caller has other RICORDO_ variables than the server", hint="It does the work itself.")
    place = Path(folder), store or None, tier or None
    answer = await here.ask(lambda _: answered(here.open_stores, event, payload, *place))
    return Response(answer, media_type="application/json")


def answered(
    stores: OpenStores, event: str, payload: bytes, folder: Path, store: str | None, tier: str | None
) -> bytes:
    """Run the hook on an open store; the last answer that it offers is used."""
    offered: list[bytes] = []
    outlet = Outlet(offered.append, time.monotonic())
    with changing_settings(for_hooks):
        run(event, payload, outlet, store=store, tier=tier, here=folder, warm=stores.opened)
    answers = [line.removeprefix(b"answer ") for line in offered if line.startswith(b"answer ")]
    return answers[-1].strip() if answers else b"{}"
