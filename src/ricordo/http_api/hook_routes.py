"""Answers hooks of agents' programs from stores that are open already.

Only programs that can read the server's private state file may ask, because the request names a folder and a store of
this machine.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from ricordo.cli.hook_answers import run
from ricordo.cli.hook_payload import NAMES
from ricordo.cli.hook_process import Outlet
from ricordo.errors import Conflict, Forbidden, NotFound
from ricordo.http_api.serving import Here, Who, to_json

if TYPE_CHECKING:
    from ricordo.http_api.hook_stores import HookStores

hooks = APIRouter(prefix="/api/v1", include_in_schema=False)


class HookBody(BaseModel):
    """The input of a hook, and the folder in which it runs."""

    payload: str = Field(max_length=10_000_000)
    folder: str = Field(max_length=4096)
    store: str | None = Field(default=None, max_length=4096)
    tier: str | None = Field(default=None, max_length=100)
    env: dict[str, str] = {}


@hooks.post("/hook/{event}", response_model=None)
async def answer_hook(here: Here, who: Who, event: str, body: HookBody) -> Response:
    """The answer of a hook, as the command ``ricordo hook`` prints it."""
    if who.way != "local":
        raise Forbidden("only programs of the same user may ask for hooks", hint="Use /api/v1/context.")
    if event not in NAMES:
        raise NotFound(f"there is no hook '{event}'", hint=f"One of: {', '.join(NAMES)}.")
    if body.env != own_variables():
        raise Conflict("the caller has other RICORDO_ variables than the server", hint="It does the work itself.")
    answer = await here.ask(lambda _: answered(here.hook_stores, event, body))
    return Response(to_json(answer), media_type="application/json")


def own_variables() -> dict[str, str]:
    """The variables that settings may come from."""
    return {name: value for name, value in os.environ.items() if name.startswith("RICORDO_")}


def answered(stores: HookStores, event: str, body: HookBody) -> dict[str, Any]:
    """Run the hook on an open store; the last answer that it offers is used."""
    offered: list[bytes] = []
    outlet = Outlet(offered.append, time.monotonic())
    folder = Path(body.folder)
    run(event, body.payload.encode("utf-8", "replace"), outlet, store=body.store, tier=body.tier, here=folder,
        warm=stores.opened)  # fmt: skip
    answers = [line.removeprefix(b"answer ") for line in offered if line.startswith(b"answer ")]
    return {"answer": json.loads(answers[-1]) if answers else {}}
