"""The state of the store and the server, the settings with tokens and browsers, and the list of the API's verbs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Query, Request, Response

from ricordo.errors import Forbidden, UsageError
from ricordo.http_api.routes import changed_setting, settings_in_force
from ricordo.http_api.state import Here, Who
from ricordo.plugins.page.layout import page, page_router, shows

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.hosting.credentials import Caller


pages = page_router()

OPERATIONS: dict[str, tuple[str, str, Any]] = {
    "doctor": ("Check the store", "write", lambda engine, tell: engine.doctor()),
    "embed": ("Make missing vectors", "write", lambda engine, tell: engine.embed(progress=tell)),
    "refresh": ("Read everything again", "write", lambda engine, tell: engine.refresh(all=True, progress=tell)),
    "repair": ("Repair", "admin", lambda engine, tell: engine.doctor(repair=True)),
}


@shows(pages, "/jobs")
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


@shows(pages, "/jobs/start", "POST", scope="write")
async def start(request: Request, here: Here, who: Who, name: Annotated[str, Form(max_length=40)]) -> Response:
    """Begin one of the operations."""
    if name not in OPERATIONS:
        raise UsageError(f"there is no operation '{name}'")
    words, scope, work = OPERATIONS[name]
    if not who.may(scope):
        raise Forbidden(f"this needs the scope '{scope}'")
    return page(request, "task_part.html", task=here.start(name, work, about=words))


@shows(pages, "/jobs/retry", "POST", scope="write")
async def retry(request: Request, here: Here) -> Response:
    """Put failed jobs back."""
    count = await here.ask(lambda engine: engine.embed(retry=True, enqueue_only=True, search_missing=False).enqueued)
    here.service.wake()
    return page(request, "said_part.html", words=f"{count:,} put back; they are tried again now.")


@shows(pages, "/api")
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


OFTEN_CHANGED = {
    "What agents are told": (
        ("hooks.enabled", "Tell agents", "Hooks answer agents' programs; if off, nothing is told."),
        ("hooks.budget", "With a prompt", "At most this many tokens of what fits the prompt; a start gets more."),
        ("hooks.min_fit", "How well it must fit", "From 0 to 1. What fits less is not told with a prompt."),
        ("tiers.automatic", "Your own memories, too", "In a project, agents also find what holds for you everywhere."),
    ),
    "What sessions teach": (
        ("memory.capture", "Lessons from sessions", "What is found waits for your review, or is kept at once."),
        ("hooks.transcripts", "Keep transcripts", "Sessions are stored when they end, so that they can be searched."),
    ),
    "Search": (
        ("search.limit", "Hits", "How many a search returns."),
        ("search.backend", "Find by", "Words and meaning together find the most."),
        ("search.profile", "Ranking", "The profile that orders hits."),
        ("search.min_fit", "What counts as a fit", "From 0 to 1. Weaker hits are folded, and tools leave them out."),
    ),
    "Keeping": (
        ("knowledge.enabled", "Markdown files", "Memories, notes and articles are files that you can edit."),
        ("store.bin_days", "Days in the bin", "How long what you remove can be brought back."),
        ("usage.log", "Keep the log", "What was asked and told. Without it, the log stays empty."),
        ("serve.watch", "Follow folders", "Files that change in folders that you added are read again."),
    ),
    "Models": (("embedding.provider", "Meaning by", "Who computes vectors; none finds by words alone."),),
}
"""The settings that people change, by group: the name, what it is called on the page, and one line."""
CALLED = {"hybrid": "both", "lexical": "words", "grep": "exact letters",
          "off": "off", "propose": "ask me first", "accept": "keep them"}  # fmt: skip
"""What choices are called on the page."""


@shows(pages, "/settings")
async def settings_page(
    request: Request,
    here: Here,
    who: Who,
    q: Annotated[str, Query(max_length=200)] = "",
    *,
    all: bool = False,  # noqa: A002 - the name in the address
    tokens: bool = False,
) -> Response:
    """The settings that people change; all of them, or those that some words find; or who may use this server."""
    if tokens:
        _refuse_others(who)
    found = {str(row["name"]): row for row in await here.ask(lambda engine: settings_in_force(engine.config))}
    words = q.strip().casefold()
    rows: dict[str, list[tuple[dict[str, Any], str, str]]] = {}
    if words or all:
        called = {name: title for some in OFTEN_CHANGED.values() for name, title, _ in some}
        for name, row in found.items():
            title = called.get(name, "")
            if all or words in f"{name} {title} {row['doc']}".casefold():
                rows.setdefault(name.partition(".")[0], []).append((row, name, row["doc"]))
    else:
        for group, some in OFTEN_CHANGED.items():
            rows[group] = [(found[name], title, doc) for name, title, doc in some if name in found]

    return page(
        request, "settings.html", groups=list(rows.items()), count=len(found), q=q, all=all, tokens=tokens,
        credentials=here.credentials.all() if tokens else [], may_change=who.may("admin"),
        called=CALLED,
    )  # fmt: skip


@shows(pages, "/settings", "POST")
async def change(
    request: Request,
    here: Here,
    who: Who,
    name: Annotated[str, Form(min_length=1, max_length=200)],
    *,
    value: Annotated[str, Form(max_length=10_000)] = "",
    reset: Annotated[bool, Form()] = False,
) -> Response:
    """Change one setting in the user's file, or go back to its default."""
    _refuse_others(who)
    changed = await here.ask(lambda engine: changed_setting(name, None if reset else value))
    words = "Put back." if reset else "Saved."
    if changed.get("in_force") is False:
        words = f"Saved, but {changed['source']} wins over it."
    return page(request, "said_part.html", words=words)


@shows(pages, "/tokens", "POST")
async def new_token(
    request: Request,
    here: Here,
    who: Who,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    *,
    scope: Annotated[str, Form(max_length=20)] = "read",
) -> Response:
    """Make a token and show it, which is done only once."""
    _refuse_others(who)
    secret, made = await here.ask(lambda engine: here.credentials.add(name, scope))
    return page(request, "token_part.html", secret=secret, made=made)


@shows(pages, "/tokens/remove", "POST")
async def remove_token(
    request: Request,
    here: Here,
    who: Who,
    id: Annotated[str, Form(min_length=1, max_length=100)],  # noqa: A002
) -> Response:
    """Remove a token or a browser's session."""
    _refuse_others(who)
    gone = await here.ask(lambda engine: here.credentials.remove(id))
    return page(request, "said_part.html", words=f"{gone[0].name} may not ask any more.")


def _refuse_others(who: Caller) -> None:
    if not who.may("admin"):
        raise Forbidden("changing settings needs the scope 'admin'", hint="ricordo serve tokens add NAME --scope admin")
