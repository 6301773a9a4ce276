"""The state of the store and the server: what is stored, waiting and running; and the list of the API's verbs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Request, Response

from ricordo.errors import Forbidden, UsageError
from ricordo.http_api.serving import Here, Who
from ricordo.http_api.web.frame import page, page_router, shows

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

health = page_router()
operating = page_router("write")

OPERATIONS: dict[str, tuple[str, str, Any]] = {
    "doctor": ("Check the store", "write", lambda engine, tell: engine.doctor()),
    "embed": ("Make missing vectors", "write", lambda engine, tell: engine.embed(progress=tell)),
    "refresh": ("Read everything again", "write", lambda engine, tell: engine.refresh(all=True, progress=tell)),
    "repair": ("Repair", "admin", lambda engine, tell: engine.doctor(repair=True)),
}


@shows(health, "/jobs")
async def jobs_page(request: Request, here: Here, who: Who) -> Response:
    """What the store holds, what waits for vectors, and the long work of this server."""

    def work(engine: Ricordo) -> dict[str, Any]:
        return {
            "status": engine.status(),
            "jobs": engine.embed(status=True).to_dict(),
            "tiers": engine.tiers(),
            "models": [one for one in engine.models() if one.role],
        }

    found = await here.ask(work)
    offered = [(name, words) for name, (words, scope, _) in OPERATIONS.items() if who.may(scope)]
    uptime = time.time() - here.started
    return page(request, "jobs.html", tasks=here.tasks.all()[:20], operations=offered, uptime=uptime, **found)


@shows(operating, "/jobs/start", "POST")
async def start(request: Request, here: Here, who: Who, name: Annotated[str, Form(max_length=40)]) -> Response:
    """Begin one of the operations."""
    if name not in OPERATIONS:
        raise UsageError(f"there is no operation '{name}'")
    words, scope, work = OPERATIONS[name]
    if not who.may(scope):
        raise Forbidden(f"this needs the scope '{scope}'")
    return page(request, "task_part.html", task=here.start(name, work, about=words))


@shows(operating, "/jobs/retry", "POST")
async def retry(request: Request, here: Here) -> Response:
    """Put failed jobs back."""
    count = await here.ask(lambda engine: engine.embed(retry=True, enqueue_only=True, search_missing=False).enqueued)
    here.service.wake()
    return page(request, "said_part.html", words=f"{count:,} put back; they are tried again now.")


@shows(health, "/api")
async def api_page(request: Request, here: Here) -> Response:
    """The verbs of the API, from its own description."""
    document = request.app.openapi()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            verb = {
                "method": method.upper(),
                "path": path,
                "words": operation.get("description") or operation.get("summary", ""),
                "scope": operation.get("x-scope", ""),
                "parameters": operation.get("parameters", []),
                "body": _body_of(document, operation),
            }
            groups.setdefault((operation.get("tags") or ["other"])[0], []).append(verb)
    return page(request, "api.html", groups=groups, address=here.address)


def _body_of(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """The fields of a verb's body, by name."""
    content = operation.get("requestBody", {}).get("content", {})
    kinds: list[dict[str, Any]] = list(content.values())
    name = str(kinds[0].get("schema", {}).get("$ref", "")).rpartition("/")[2] if kinds else ""
    fields: dict[str, Any] = document["components"]["schemas"].get(name, {}).get("properties", {})
    return fields
