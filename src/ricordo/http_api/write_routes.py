"""The verbs of the API that write: saving, remembering, changing, linking, judging, and taking in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import File, Form, Response, UploadFile

from ricordo.errors import Forbidden, StaleVersion, UsageError
from ricordo.hosting.credentials import Caller
from ricordo.http_api import bodies, shapes
from ricordo.http_api.routing import begins, router, writes
from ricordo.http_api.serving import Here, Serving, Who
from ricordo.values.items import Ref, Saved

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.http_api.tasks import Tells
    from ricordo.values.reports import AddReport

write = router("write")

LONGEST_NAME = 150
"""Bytes of the name of a sent file, without its ending; most disks take names of 255 bytes."""


@writes(write, "/remember", shapes.SavedShape)
async def remember(here: Here, who: Who, body: bodies.RememberBody) -> Response:
    """Save a text worth knowing, unless it is known. Nearly the same text answers needs_decision."""
    return await here.answer(
        lambda engine: engine.remember(
            body.text,
            kind=body.kind,
            ref=allowed_ref(engine, who, body.ref) if body.ref else None,
            source=body.source,
            on_duplicate=body.on_duplicate,
            allow_secrets=body.allow_secrets,
            wait=False,
            **body.fields(),
        ),
        writes=True,
    )


@writes(write, "/save", shapes.SavedShape)
async def save(here: Here, who: Who, body: bodies.SaveBody) -> Response:
    """Write one text under a ref."""
    return await here.answer(
        lambda engine: engine.save(
            allowed_ref(engine, who, body.ref),
            body.content,
            kind=body.kind,
            fields=body.fields,
            on_conflict=body.on_conflict,
            allow_secrets=body.allow_secrets,
            wait=False,
        ),
        writes=True,
    )


@writes(write, "/edit", shapes.SavedShape)
async def edit(here: Here, body: bodies.EditBody) -> Response:
    """Change an item's text or fields: a new version. With ``base``, a change made on an old version is refused."""
    return await here.answer(
        lambda engine: edited(
            engine, body.ref, body.content, body.fields, base=body.base, allow_secrets=body.allow_secrets
        ),
        writes=True,
    )


@writes(write, "/correct", shapes.SavedShape)
async def correct(here: Here, body: bodies.CorrectBody) -> Response:
    """Save a correct text in place of an item, which is archived."""
    return await here.answer(
        lambda engine: engine.correct(body.ref, body.text, allow_secrets=body.allow_secrets, wait=False), writes=True
    )


@writes(write, "/supersede", shapes.SavedShape)
async def supersede(here: Here, body: bodies.SupersedeBody) -> Response:
    """Let one item take another's place."""
    return await here.answer(lambda engine: engine.supersede(body.old, body.new), writes=True)


@writes(write, "/mv", shapes.SavedShape)
async def move(here: Here, who: Who, body: bodies.MoveBody) -> Response:
    """Give an item another ref; its history moves with it."""
    return await here.answer(
        lambda engine: engine.mv(body.ref, allowed_ref(engine, who, body.new_ref), wait=False), writes=True
    )


@writes(write, "/rm", shapes.SavedManyShape)
async def remove(here: Here, body: bodies.RemoveBody) -> Response:
    """Remove items: to the bin, or out of the store at once."""
    return await here.answer(lambda engine: engine.rm(*body.refs, purge=body.purge, dry_run=body.dry_run), writes=True)


@writes(write, "/forget", shapes.SavedManyShape)
async def forget(here: Here, body: bodies.ForgetBody) -> Response:
    """Archive items: out of normal search, kept in history."""
    return await here.answer(
        lambda engine: engine.forget(
            *body.refs,
            older_than=body.older_than,
            unused_since=body.unused_since,
            kinds=body.kinds,
            tags=body.tags,
            dry_run=body.dry_run,
        ),
        writes=True,
    )


@writes(write, "/restore", shapes.SavedShape)
async def restore(here: Here, body: bodies.RestoreBody) -> Response:
    """Bring back a removed or archived item, or an earlier version."""
    return await here.answer(lambda engine: engine.restore(body.ref, body.version), writes=True)


@writes(write, "/link", shapes.LinkShape)
async def link(here: Here, body: bodies.LinkBody) -> Response:
    """Link one item to another."""
    return await here.answer(lambda engine: engine.link(body.source, body.target, body.type), writes=True)


@writes(write, "/unlink", shapes.CountShape)
async def unlink(here: Here, body: bodies.UnlinkBody) -> Response:
    """Remove a link."""
    return await here.answer(lambda engine: {"count": engine.unlink(body.source, body.target, body.type)}, writes=True)


@writes(write, "/feedback", shapes.FeedbackShape)
async def feedback(here: Here, body: bodies.FeedbackBody) -> Response:
    """Give a verdict on an item that a query found."""
    return await here.answer(lambda engine: engine.feedback(body.query, body.ref, body.verdict), writes=True)


@begins(write, "/add")
async def add(here: Here, who: Who, body: bodies.AddBody, wait: bodies.WaitParameter = 0) -> Response:
    """Take in URLs or, for callers with the scope admin, files and folders of the server's machine."""
    refuse_files(who, body.sources)

    def work(engine: Ricordo, tell: Tells) -> AddReport:
        return engine.add(
            *body.sources,
            kind=body.kind,
            fields=body.fields,
            on_conflict=body.on_conflict,
            globs=body.globs,
            depth=body.depth,
            sitemap=body.sitemap,
            max_pages=body.max_pages,
            progress=tell,
        )

    return await here.begin("add", work, about=", ".join(body.sources), wait=wait)


@begins(write, "/upload")
async def upload(
    here: Here,
    files: Annotated[list[UploadFile], File(description="The files, under their own names.")],
    folder: Annotated[str, Form(max_length=1000, description="The folder below agent:/uploads.")] = "",
    wait: bodies.WaitParameter = 0,
) -> Response:
    """Take in files that are sent along, as ``agent:/uploads/NAME``. The server's own files are not touched."""
    work, about = await uploaded(here, files, folder)
    return await here.begin("upload", work, about=about, wait=wait)


@begins(write, "/refresh")
async def refresh(here: Here, body: bodies.RefreshBody, wait: bodies.WaitParameter = 0) -> Response:
    """Read items again from where they came from."""
    return await here.begin(
        "refresh",
        lambda engine, tell: engine.refresh(*body.refs, all=body.all, prune=body.prune, progress=tell),
        about=", ".join(body.refs) or "all",
        wait=wait,
    )


@begins(write, "/sync")
async def sync(here: Here, wait: bodies.WaitParameter = 0) -> Response:
    """Take in what was done to the knowledge files."""
    return await here.begin("sync", lambda engine, tell: engine.sync(progress=tell), about="", wait=wait)


@begins(write, "/sessions/add", scope="admin")
async def sessions_add(here: Here, body: bodies.PathsBody, wait: bodies.WaitParameter = 0) -> Response:
    """Take in what is new in transcripts of the server's machine."""
    return await here.begin(
        "sessions add",
        lambda engine, tell: engine.sessions_add(*body.paths, progress=tell),
        about=", ".join(body.paths),
        wait=wait,
    )


@begins(write, "/skills/add", scope="admin")
async def skills_add(here: Here, body: bodies.PathsBody, wait: bodies.WaitParameter = 0) -> Response:
    """Take in the skills below folders of the server's machine."""
    return await here.begin(
        "skills add",
        lambda engine, tell: engine.skills_add(*body.paths, prune=body.prune, progress=tell),
        about=", ".join(body.paths),
        wait=wait,
    )


def edited(
    engine: Ricordo,
    ref: str,
    content: str | None,
    fields: Mapping[str, Any] | None,
    *,
    base: int | None,
    allow_secrets: bool = False,
) -> Saved:
    """Change an item unless it was changed since ``base``; then the user sees both texts and decides."""
    current = engine.get(ref, track=False).version
    if base is not None and base != current:
        raise StaleVersion(
            f"{ref} was changed meanwhile: version {current} is the current one, and this change was made on {base}",
            hint="Read it again, and make the change on the current version.",
        )
    return engine.edit(ref, content, fields, allow_secrets=allow_secrets, base=base, wait=False)


def refuse_files(who: Caller, sources: list[str]) -> None:
    """Refuse files of the server's machine, because a token that may only write must not read them."""
    files = [one for one in sources if not one.lower().startswith(("http://", "https://"))]
    if files and not who.may("admin"):
        raise Forbidden(
            f"'{files[0][:200]}' is on the server's machine, which needs the scope 'admin'",
            hint="Send a URL, or the file itself to /api/v1/upload.",
        )


def allowed_ref(engine: Ricordo, who: Caller, ref: str) -> Ref:
    """The ref that is written to. One on ``disk`` names a file, which a later refresh would read."""
    known = engine.resolve(ref)
    if known.drive == "disk" and not who.may("admin"):
        raise Forbidden(
            f"{known} names a file, which needs the scope 'admin'", hint="Use another drive, such as note:/."
        )
    return known


async def uploaded(here: Serving, files: list[UploadFile], folder: str) -> tuple[Any, str]:
    """Store uploaded files in a temporary folder and return the work to do with them; only the last part of a name is
    used.
    """
    names = [safe_name(file.filename or "") for file in files]
    place = Path(tempfile.mkdtemp(prefix="ricordo-upload-"))
    base = "/".join(["uploads", *(safe_name(part) for part in PurePath(folder).parts if part.strip("/\\. "))])
    with ExitStack() as undo:  # if a file cannot be written, there will be no work that removes the folder
        undo.callback(shutil.rmtree, place, ignore_errors=True)
        for at, file in enumerate(files):
            (place / str(at)).mkdir()
            (place / str(at) / names[at]).write_bytes(await file.read())
        undo.pop_all()

    def work(engine: Ricordo, tell: Tells) -> AddReport:
        from ricordo.values.reports import AddReport, Progress

        done: list[Any] = []
        notes: list[str] = []
        try:
            for at, name in enumerate(names):
                tell(Progress(at, len(names), name, "reading"))
                ref = f"agent:/{base}/{name}"
                report = engine.add(place / str(at) / name, as_ref=ref, on_conflict="overwrite", wait=False)
                done += report.items
                notes += report.notes
            tell(Progress(len(names), len(names), "", "reading"))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return AddReport(tuple(done), tuple(dict.fromkeys(notes)))

    return work, ", ".join(names)


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
