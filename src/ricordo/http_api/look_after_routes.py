"""The verbs of the API that maintain a store: status, settings, learning, models, tokens, export and import."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import File, Form, Query, Response, UploadFile
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from ricordo.http_api import bodies, shapes
from ricordo.http_api.routing import begins, reads, router, writes
from ricordo.http_api.serving import Here
from ricordo.http_api.setting_changes import changed_setting, settings_in_force

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.http_api.tasks import Tells

look_after = router("look after")
MOST_SHOWN = 100
"""How many of the items that hooks showed to agents are listed."""
TASK_EVENTS = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events.", "model": None}
}


@reads(look_after, "/status", shapes.StatusShape)
async def status(here: Here) -> Response:
    """What the store holds and how it is."""
    return await here.answer(lambda engine: engine.status())


@reads(look_after, "/stats", shapes.StatsShape)
async def stats(
    here: Here,
    days: Annotated[float, Query(gt=0, le=36_500)] = 30,
    by: Literal["query", "tool", "day"] = "query",
    limit: bodies.Limit = 10,
) -> Response:
    """What was asked and found in the last days."""
    return await here.answer(lambda engine: engine.stats(days=days, by=by, limit=limit))


@reads(look_after, "/stats/shown", shapes.ListOf)
async def shown(here: Here, days: Annotated[float, Query(gt=0, le=36_500)] = 30) -> Response:
    """What hooks showed to agents: how many answers, the items in them, and whether each was opened afterwards."""

    def work(engine: Ricordo) -> dict[str, Any]:
        from ricordo.hooks.shown import shown_by_hooks, with_openings

        answers, items = shown_by_hooks(engine.location, days)
        return {"answers": answers, "items": with_openings(engine, items[:MOST_SHOWN])}

    return await here.answer(work)


@writes(look_after, "/stats/clear", shapes.CountShape, scope="admin")
async def clear_log(here: Here) -> Response:
    """Erase the log of queries and of what they found."""
    return await here.answer(lambda engine: {"count": engine.clear_log()})


@reads(look_after, "/profiles", shapes.ListOf)
async def profiles(here: Here) -> Response:
    """The ways to rank, with the weights in force."""

    def work(engine: Ricordo) -> dict[str, Any]:
        vectors = engine.config.embedding.provider != "none"
        known = engine.profiles().values()
        return {
            "profiles": [
                {
                    "name": one.name,
                    "description": one.description,
                    "weights": one.weights(vectors=vectors),
                    "source": one.source,
                }
                for one in known
            ]
        }

    return await here.answer(work)


@reads(look_after, "/tiers", shapes.ListOf)
async def tiers(here: Here) -> Response:
    """The stores that are searched together."""
    return await here.answer(lambda engine: {"tiers": list(engine.tiers())})


@reads(look_after, "/models", shapes.ListOf)
async def models(here: Here) -> Response:
    """The providers of embeddings, and what each lacks."""
    return await here.answer(lambda engine: {"models": list(engine.models())})


@reads(look_after, "/jobs", shapes.ListOf)
async def jobs(here: Here) -> Response:
    """What waits for a vector, what failed, and how much is done."""
    return await here.answer(lambda engine: engine.jobs())


@writes(look_after, "/jobs/retry", shapes.CountShape)
async def retry_jobs(here: Here) -> Response:
    """Put failed jobs back."""
    return await here.answer(lambda engine: {"count": engine.retry_jobs()}, writes=True)


@reads(look_after, "/learn", shapes.ListOf)
async def learn(here: Here, limit: bodies.Limit = 50) -> Response:
    """What feedback did to the ranking, and every change of weights."""
    return await here.answer(lambda engine: engine.learn.status().to_dict() | {"history": engine.learn.history(limit)})


@writes(look_after, "/learn/{change}", shapes.ListOf, scope="admin")
async def change_learning(
    here: Here,
    change: Literal["freeze", "unfreeze", "rollback"],
    id: Annotated[int | None, Query(ge=1, le=2**31, description="Roll back this change.")] = None,  # noqa: A002
) -> Response:
    """Freeze what was learned, continue learning, or undo it."""

    def work(engine: Ricordo) -> dict[str, Any]:
        if change == "rollback":
            return {"changes": list(engine.learn.rollback(id))}
        (engine.learn.freeze if change == "freeze" else engine.learn.unfreeze)()
        return {"frozen": change == "freeze"}

    return await here.answer(work)


@reads(look_after, "/config", shapes.ListOf)
async def config(here: Here) -> Response:
    """All settings in force and where each came from; secrets are masked."""
    return await here.answer(lambda engine: {"settings": settings_in_force(engine.config)})


@writes(look_after, "/config", shapes.ListOf, scope="admin")
async def set_config(here: Here, body: bodies.SettingBody) -> Response:
    """Change one setting in the user's file, or remove it."""
    return await here.answer(lambda engine: changed_setting(body.name, body.value))


@begins(look_after, "/embed")
async def embed(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Make the vectors of texts that have none yet."""
    return await here.begin("embed", lambda engine, tell: engine.embed(progress=tell), about="", wait=wait)


@begins(look_after, "/reembed", scope="admin")
async def reembed(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Make all vectors again with the model in force."""
    return await here.begin("reembed", lambda engine, tell: engine.reembed(progress=tell), about="", wait=wait)


@begins(look_after, "/relink", scope="admin")
async def relink(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Find the links in all texts again."""
    return await here.begin("relink", lambda engine, tell: {"count": engine.relink()}, about="", wait=wait)


@begins(look_after, "/doctor")
async def doctor(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Check the store."""
    return await here.begin("doctor", lambda engine, tell: engine.doctor(), about="check", wait=wait)


@begins(look_after, "/doctor/repair", scope="admin")
async def repair(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Check the store, and repair what can be rebuilt."""
    return await here.begin("doctor", lambda engine, tell: engine.doctor(repair=True), about="repair", wait=wait)


@begins(look_after, "/vacuum", scope="admin")
async def vacuum(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Erase what is not needed any more, and free the space."""
    return await here.begin("vacuum", lambda engine, tell: engine.vacuum(), about="", wait=wait)


@begins(look_after, "/backup", scope="admin")
async def backup(here: Here, body: bodies.FileBody, wait: bodies.WaitParameter = 0) -> Response:
    """Copy the store to a file of the server's machine."""

    def work(engine: Ricordo, tell: Tells) -> Any:
        return engine.backup(body.file, force=body.force, progress=tell)

    return await here.begin("backup", work, about=body.file, wait=wait)


@reads(
    look_after,
    "/export",
    shapes.Shape,
    responses={200: {"content": {"application/x-ndjson": {}}, "description": "JSON lines.", "model": None}},
)
async def export(here: Here, log: bool = True) -> Response:
    """Everything the store holds, as JSON lines."""
    place = Path(tempfile.mkdtemp(prefix="ricordo-export-"))
    file = place / "export.jsonl"

    def clear() -> None:
        file.unlink(missing_ok=True)
        place.rmdir()

    with ExitStack() as after_failure:
        after_failure.callback(clear)
        await here.ask(lambda engine: engine.export(file, log=log))
        after_failure.pop_all()
    return FileResponse(file, media_type="application/x-ndjson", filename=file.name, background=BackgroundTask(clear))


@begins(look_after, "/import", scope="admin")
async def import_(
    here: Here,
    file: Annotated[UploadFile, File(description="What export wrote.")],
    on_conflict: Annotated[Literal["skip", "overwrite", "error"], Form()] = "skip",
    wait: bodies.WaitParameter = 0,
) -> Response:
    """Take in what export wrote."""
    with tempfile.NamedTemporaryFile(prefix="ricordo-import-", delete=False) as kept:
        kept.write(await file.read())

    def work(engine: Ricordo, tell: Tells) -> Any:
        try:
            return engine.import_(kept.name, on_conflict=on_conflict, wait=False, progress=tell)
        finally:
            Path(kept.name).unlink(missing_ok=True)

    return await here.begin("import", work, about=file.filename or "", wait=wait)


@reads(look_after, "/tasks", shapes.TasksShape)
async def tasks(here: Here) -> Response:
    """Long work since the server began, the newest first."""
    return await here.answer(lambda engine: {"tasks": here.tasks.all()})


@reads(look_after, "/tasks/{id}", shapes.TaskShape)
async def task(here: Here, id: str) -> Response:  # noqa: A002 - the name in the path
    """One piece of long work."""
    found = here.tasks.get(id)
    return await here.answer(lambda engine: found)


@reads(look_after, "/tasks/{id}/events", shapes.Shape, responses=TASK_EVENTS)
async def task_events(here: Here, id: str) -> Response:  # noqa: A002 - the name in the path
    """The same as server-sent events: progress whenever it went on, done or failed at the end."""
    return StreamingResponse(here.tasks.events(here.tasks.get(id)), media_type="text/event-stream")


@writes(look_after, "/sign-in-links", shapes.ListOf, scope="admin")
async def sign_in_link(here: Here) -> Response:
    """A link that signs one browser in, once, within ten minutes."""
    link = f"{here.address}/sign-in?code={here.codes.new()}"
    return await here.answer(lambda engine: {"link": link})


@reads(look_after, "/tokens", shapes.TokensShape)
async def list_tokens(here: Here) -> Response:
    """Tokens and signed-in browsers, without their secrets."""
    return await here.answer(lambda engine: {"tokens": here.credentials.all()})


@writes(look_after, "/tokens", shapes.TokenShape, scope="admin")
async def add_token(here: Here, body: bodies.TokenBody) -> Response:
    """Make a token; its secret is shown only now."""

    def work(engine: Ricordo) -> dict[str, Any]:
        secret, made = here.credentials.add(body.name, body.scope, days=body.days)
        return made.to_dict() | {"token": secret}

    return await here.answer(work)


@writes(look_after, "/tokens/{name}/remove", shapes.CountShape, scope="admin")
async def remove_token(here: Here, name: str) -> Response:
    """Remove a token by its id or name; requests with it are refused from then on."""
    return await here.answer(lambda engine: {"count": len(here.credentials.remove(name))})
