"""Routes that are not made from declarations: files that are sent or answered, settings, tokens, tasks, the graph, what
hooks showed; three of learning and the doctor that are called otherwise than their verbs; and the answers to hooks.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Query, Request, Response, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import Field

from ricordo.config.loading import SETTINGS, Config
from ricordo.engine.setting_changes import change_setting, remove_setting
from ricordo.errors import Conflict, Forbidden, NotFound, UsageError
from ricordo.hooks.local_server import answered, read_request
from ricordo.hooks.payload import NAMES
from ricordo.http_api import shapes
from ricordo.http_api.api import Parameters, WaitParameter, begins, given_by, parameters_of, reads, router, writes
from ricordo.http_api.state import Here, Serving, Who, body_of
from ricordo.permissions import asked_with
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call, plain_answer

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.http_api.state import Tells
    from ricordo.values.reports import AddReport


def settings_in_force(config: Config) -> list[dict[str, Any]]:
    """Every setting with its value, source and description; secrets are masked."""
    return [
        {
            "name": name,
            "value": setting.shown(config.get(name)),
            "default": setting.shown(setting.default),
            "source": config.source(name),
            "variable": setting.variable,
            "type": setting.type,
            "choices": list(setting.choices or ()),
            "secret": setting.secret,
            "doc": setting.doc,
        }
        for name, setting in SETTINGS.items()
    ]


def changed_setting(name: str, value: str | None) -> dict[str, Any]:
    """Write one setting or a part of a profile to the user's file; None removes it."""
    if value is None:
        removed = remove_setting(name)
        return {"name": removed.name, "removed": removed.removed}
    changed = change_setting(name, value)
    return {"name": changed.name, "value": changed.value, "in_force": changed.in_force, "source": changed.source}


files_sent = router("files")

LONGEST_NAME = 150
"""Bytes of the name of a sent file, without its ending; most disks take names of 255 bytes."""


def file_answer(media_type: str, description: str) -> dict[str, Any]:
    """What the description of the API says about a route that answers with a file."""
    return {"responses": {200: {"content": {media_type: {}}, "description": description, "model": None}}}


@begins(files_sent, "/upload")
async def upload(
    here: Here,
    files: Annotated[list[UploadFile], File(description="The files, under their own names.")],
    folder: Annotated[str, Form(max_length=1000, description="The folder below agent:/uploads.")] = "",
    wait: WaitParameter = 0,
) -> Response:
    """Take in files that are sent along, as ``agent:/uploads/NAME``. The server's own files are not touched."""
    work, about, clear = await uploaded(here, files, folder)
    return await here.begin("upload", work, about=about, wait=wait, clear=clear)


@reads(files_sent, "/original", shapes.Shape, **file_answer("application/octet-stream", "The bytes."))
async def original(
    here: Here,
    ref: Annotated[str, Query(min_length=1, max_length=4096)],
    version: Annotated[int | None, Query(ge=1, le=2**31)] = None,
) -> Response:
    """The bytes of an item that is kept without text; for any other, its text. Always as a download."""
    content = await here.ask(lambda engine: engine.original(ref, version=version))
    headers = {"Content-Disposition": "attachment"}
    return Response(content, media_type="application/octet-stream", headers=headers)


async def uploaded(here: Serving, files: list[UploadFile], folder: str) -> tuple[Any, str, Callable[[], object]]:
    """Store uploaded files in a temporary folder; returns the work to do with them, their names, and what removes the
    folder. Only the last part of a name is used.
    """
    names = told_apart([safe_name(file.filename or "") for file in files])
    base = "/".join(["uploads", *(safe_name(part) for part in PurePath(folder).parts if part.strip("/\\. "))])
    place = await write_files("ricordo-upload-", files, names)

    def work(engine: Ricordo, tell: Tells) -> AddReport:
        from ricordo.values.reports import AddReport, Progress

        done: list[Any] = []
        notes: list[str] = []
        try:
            for at, name in enumerate(names):
                tell(Progress(at, len(names), name, "reading"))
                ref = f"agent:/{base}/{name}"
                with asked_with("admin"):  # the server wrote this file itself, from what the caller sent
                    report = engine.add(place / str(at) / name, as_ref=ref, on_conflict="overwrite", wait=False)
                done += report.items
                # The folder is gone when somebody reads this; what an uploaded file claims is decided in the review.
                notes += [n if str(place) not in n else f"{name}: 'ricordo review' decides on it" for n in report.notes]
            tell(Progress(len(names), len(names), "", "reading"))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return AddReport(tuple(done), tuple(dict.fromkeys(notes)))

    return work, ", ".join(names), partial(shutil.rmtree, place, ignore_errors=True)


async def write_files(prefix: str, files: Sequence[UploadFile], names: Sequence[str]) -> Path:
    """Write files that were sent to a new temporary folder, each to ``NUMBER/NAME``, while others are answered."""

    def write() -> Path:
        place = Path(tempfile.mkdtemp(prefix=prefix))
        with ExitStack() as undo:  # if a file cannot be written, there will be no work that removes the folder
            undo.callback(shutil.rmtree, place, ignore_errors=True)
            for at, (file, name) in enumerate(zip(files, names, strict=True)):
                (place / str(at)).mkdir()
                with (place / str(at) / name).open("wb") as out:
                    shutil.copyfileobj(file.file, out)
            undo.pop_all()
        return place

    return await asyncio.to_thread(write)


def told_apart(names: Sequence[str]) -> list[str]:
    """The names of files that come together. A name that came before gets a number, so that none replaces another.

    >>> told_apart(["a.md", "b.md", "a.md"])
    ['a.md', 'b.md', 'a-2.md']
    """
    found: list[str] = []
    for name in names:
        path, number, free = PurePath(name), 2, name
        while free in found:
            free = f"{path.stem}-{number}{path.suffix}"
            number += 1
        found.append(free)
    return found


def safe_name(name: str) -> str:
    """The last part of a file's name, without anything that could lead to another folder; its ending is kept."""
    last = name.replace("\\", "/").rpartition("/")[2]
    clean = "".join(char for char in last if char.isprintable()).strip().lstrip(".")
    ending = PurePath(clean).suffix[-20:]
    stem = clean.removesuffix(ending).encode("utf-8", "replace")[:LONGEST_NAME]
    clean = stem.decode("utf-8", "ignore") + ending.encode("utf-8", "replace").decode()
    if not clean:
        raise UsageError(f"'{name[:100]}' cannot be the name of a file", hint="Give the file a name such as notes.md.")
    return clean


look_after = router("look after")
MOST_SHOWN = 100
"""How many of the items that hooks showed to agents are listed."""
TASK_EVENTS = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events.", "model": None}
}
ROLLBACK = verb_named("learn rollback")
ROLLBACK_PARAMETERS: Any = Annotated[parameters_of(ROLLBACK), Query()]


class SettingBody(Parameters):
    """A setting, or a part of a profile, to be written to the user's file; null removes it."""

    name: str = Field(min_length=1, max_length=200, examples=["search.limit"])
    value: str | None = Field(max_length=10_000, examples=["20"])


class TokenBody(Parameters):
    """A token to make."""

    name: str = Field(min_length=1, max_length=100, examples=["laptop script"])
    scope: Literal["read", "write", "admin"] = "read"
    days: float | None = Field(default=None, gt=0, le=36_500)


@reads(look_after, "/stats/shown", shapes.ListOf)
async def shown(here: Here, days: Annotated[float, Query(gt=0, le=36_500)] = 30) -> Response:
    """What hooks showed to agents: how many answers, the items in them, and whether each was opened afterwards."""

    def work(engine: Ricordo) -> dict[str, Any]:
        from ricordo.told_log import shown_by_hooks, with_openings

        answers, items = shown_by_hooks(engine.location, days)
        return {"answers": answers, "items": with_openings(engine, items[:MOST_SHOWN])}

    return await here.answer(work)


@reads(look_after, "/graph", shapes.ListOf)
async def graph(
    here: Here,
    item: Annotated[str | None, Query(min_length=1, max_length=4096)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Items and the links between them, which the page draws: all, or what is at most two links away from one."""
    return await here.answer(lambda engine: engine.graph(ref=item, limit=limit).to_dict())


@reads(look_after, "/learn", shapes.ListOf)
async def learn(here: Here, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """What feedback did to the ranking, and every change of weights."""
    return await here.answer(
        lambda engine: engine.learn.status().to_dict() | {"history": engine.learn.status().changes[:limit]}
    )


@writes(look_after, "/learn/rollback", shapes.ListOf, scope="admin")
async def rollback(here: Here, asked: ROLLBACK_PARAMETERS) -> Response:
    """Undo what was learned: all of it, or one change."""
    given = given_by(ROLLBACK, asked)
    return await here.answer(lambda engine: plain_answer(ROLLBACK, call(engine, ROLLBACK, given)))


@begins(look_after, "/doctor/repair", scope="admin")
async def repair(here: Here, wait: WaitParameter = 0) -> Response:
    """Check the store, and repair what can be rebuilt."""
    return await here.begin("doctor", lambda engine, tell: engine.doctor(repair=True), about="repair", wait=wait)


@reads(look_after, "/config", shapes.ListOf)
async def config(here: Here) -> Response:
    """All settings in force and where each came from; secrets are masked."""
    return await here.answer(lambda engine: {"settings": settings_in_force(engine.config)})


@writes(look_after, "/config", shapes.ListOf, scope="admin")
async def set_config(here: Here, body: SettingBody) -> Response:
    """Change one setting in the user's file, or remove it."""
    return await here.answer(lambda engine: changed_setting(body.name, body.value))


@reads(look_after, "/tasks", shapes.TasksShape)
async def tasks(here: Here) -> Response:
    """Long work since the server began, the newest first."""
    return await here.answer(lambda engine: {"tasks": here.tasks.all()})


@reads(look_after, "/tasks/{id}", shapes.TaskShape)
async def task(here: Here, id: str) -> Response:  # noqa: A002 - the name in the path
    """One piece of long work."""
    task = here.tasks.get(id)
    return await here.answer(lambda engine: task)


@reads(look_after, "/tasks/{id}/events", shapes.Shape, responses=TASK_EVENTS)
async def task_events(here: Here, id: str) -> Response:  # noqa: A002 - the name in the path
    """The same as server-sent events: progress whenever it went on, done or failed at the end."""
    return StreamingResponse(here.tasks.events(here.tasks.get(id)), media_type="text/event-stream")


@writes(look_after, "/sign-in-links", shapes.ListOf, scope="admin")
async def sign_in_link(request: Request, here: Here, scope: Literal["read", "admin"] = "admin") -> Response:
    """A link that signs one browser in, once, within ten minutes. Whoever opens it counts as the user, so that a token
    gets none; with the scope read, it is for a guest, who sees and searches and changes nothing.
    """
    if request.state.caller.way not in ("local", "session"):
        raise Forbidden(
            "a token gets no link, because whoever opens one counts as the user", hint="‹:serve link› makes one."
        )
    link = here.new_link(scope)
    return await here.answer(lambda engine: {"link": link})


@reads(look_after, "/tokens", shapes.TokensShape, scope="admin")
async def list_tokens(here: Here) -> Response:
    """Tokens and signed-in browsers, without their secrets."""
    return await here.answer(lambda engine: {"tokens": here.credentials.all()})


@writes(look_after, "/tokens", shapes.TokenShape, scope="admin")
async def add_token(here: Here, body: TokenBody) -> Response:
    """Make a token; its secret is shown only now."""

    def work(engine: Ricordo) -> dict[str, Any]:
        secret, made = here.credentials.add(body.name, body.scope, days=body.days)
        return made.to_dict() | {"token": secret}

    return await here.answer(work)


@writes(look_after, "/tokens/{name}/remove", shapes.CountShape, scope="admin")
async def remove_token(here: Here, name: str) -> Response:
    """Remove a token by its id or name; requests with it are refused from then on."""
    return await here.answer(lambda engine: {"count": len(here.credentials.remove(name))})


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
