"""The page to add things: dropped files, pasted text, pages by URL, folders by name; with live progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import File, Form, Query, Request, Response, UploadFile

from ricordo.errors import UsageError
from ricordo.http_api.file_routes import uploaded
from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.permissions import refuse_files

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.http_api.tasks import Tells

adding = page_router("write")


@shows(adding, "/add")
async def add_page(request: Request, here: Here, title: Annotated[str, Query(max_length=1000)] = "") -> Response:
    """The ways to add something, and what is being added."""
    tasks = [task for task in here.tasks.all() if task.verb in ("add", "upload")][:10]
    return page(request, "add.html", tasks=tasks, title=title)


@shows(adding, "/add/sources", "POST")
async def add_sources(
    request: Request,
    here: Here,
    sources: Annotated[str, Form(min_length=1, max_length=100_000)],
    depth: Annotated[int, Form(ge=0, le=10)] = 0,
) -> Response:
    """URLs, or files and folders of this machine, one on each line."""
    named = [line.strip() for line in sources.splitlines() if line.strip()]
    if not named:
        raise UsageError("there is nothing to add", hint="Write a URL or a path on each line.")
    refuse_files(named)

    def work(engine: Ricordo, tell: Tells) -> Any:
        return engine.add(*named, depth=depth, progress=tell)

    task = here.start("add", work, about=", ".join(named))
    return page(request, "task_part.html", task=task)


@shows(adding, "/add/files", "POST")
async def add_files(request: Request, here: Here, files: Annotated[list[UploadFile], File()]) -> Response:
    """Files that were dropped or chosen."""
    work, about = await uploaded(here, files, "")
    task = here.start("upload", work, about=about)
    return page(request, "task_part.html", task=task)


@shows(adding, "/add/text", "POST")
async def add_text(
    request: Request,
    here: Here,
    text: Annotated[str, Form(min_length=1, max_length=20_000_000)],
    title: Annotated[str, Form(max_length=1000)] = "",
    tags: Annotated[str, Form(max_length=10_000)] = "",
    kind: Annotated[str, Form(max_length=20)] = "note",
    on_duplicate: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """A text that was written or pasted."""
    fields: dict[str, Any] = {}
    if title.strip():
        fields["title"] = title.strip()
    if tags.strip():
        fields["tags"] = [part.strip() for part in tags.split(",") if part.strip()]
    body = text.replace("\r\n", "\n")

    def work(engine: Ricordo) -> Any:
        return engine.remember(body, kind=kind, on_duplicate=cast("Any", on_duplicate or None), wait=False, **fields)

    saved = await here.ask(work)
    here.service.wake()
    given = {"text": body, "title": title, "tags": tags, "kind": kind}
    return page(request, "saved_part.html", saved=saved, given=given)


@shows(adding, "/task")
async def task_part(request: Request, here: Here, id: Annotated[str, Query(max_length=64)]) -> Response:  # noqa: A002
    """One task as it is now."""
    return page(request, "task_part.html", task=here.tasks.get(id))
