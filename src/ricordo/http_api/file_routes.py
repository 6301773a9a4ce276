"""The routes that send or take files: uploads, export, import, and the bytes of an item."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import File, Form, Query, Response, UploadFile
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from ricordo.errors import UsageError
from ricordo.http_api import shapes
from ricordo.http_api.generated import given_by, parameters_of
from ricordo.http_api.routing import WaitParameter, begins, reads, router
from ricordo.http_api.serving import Here, Serving
from ricordo.permissions import asked_with
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.http_api.tasks import Tells
    from ricordo.values.reports import AddReport

files_sent = router("files")

LONGEST_NAME = 150
"""Bytes of the name of a sent file, without its ending; most disks take names of 255 bytes."""
EXPORT, IMPORT = verb_named("export"), verb_named("import")
EXPORT_PARAMETERS: Any = Annotated[parameters_of(EXPORT), Query()]
IMPORT_FORM: Any = Annotated[parameters_of(IMPORT, file=(UploadFile, ...)), Form(media_type="multipart/form-data")]


def _file_answer(media_type: str, description: str) -> dict[str, Any]:
    return {"responses": {200: {"content": {media_type: {}}, "description": description, "model": None}}}


@begins(files_sent, "/upload")
async def upload(
    here: Here,
    files: Annotated[list[UploadFile], File(description="The files, under their own names.")],
    folder: Annotated[str, Form(max_length=1000, description="The folder below agent:/uploads.")] = "",
    wait: WaitParameter = 0,
) -> Response:
    """Take in files that are sent along, as ``agent:/uploads/NAME``. The server's own files are not touched."""
    work, about = await uploaded(here, files, folder)
    return await here.begin("upload", work, about=about, wait=wait)


@reads(files_sent, "/original", shapes.Shape, **_file_answer("application/octet-stream", "The bytes."))
async def original(
    here: Here,
    ref: Annotated[str, Query(min_length=1, max_length=4096)],
    version: Annotated[int | None, Query(ge=1, le=2**31)] = None,
) -> Response:
    """The bytes of an item that is kept without text; for any other, its text. Always as a download."""
    content = await here.ask(lambda engine: engine.original(ref, version=version))
    headers = {"Content-Disposition": "attachment"}
    return Response(content, media_type="application/octet-stream", headers=headers)


@reads(files_sent, "/export", shapes.Shape, **_file_answer("application/x-ndjson", "JSON lines."))
async def export(here: Here, asked: EXPORT_PARAMETERS) -> Response:
    """Everything the store holds, as JSON lines."""
    place = Path(tempfile.mkdtemp(prefix="ricordo-export-"))
    file = place / "export.jsonl"

    def clear() -> None:
        file.unlink(missing_ok=True)
        place.rmdir()

    with ExitStack() as after_failure:
        after_failure.callback(clear)
        await here.ask(lambda engine: call(engine, EXPORT, given_by(EXPORT, asked) | {"target": file}))
        after_failure.pop_all()
    return FileResponse(file, media_type="application/x-ndjson", filename=file.name, background=BackgroundTask(clear))


@begins(files_sent, "/import", scope="admin")
async def import_(here: Here, asked: IMPORT_FORM, wait: WaitParameter = 0) -> Response:
    """Take in what export wrote, or a file that another program wrote."""
    given = given_by(IMPORT, asked)
    file: UploadFile = given["source"]
    with tempfile.NamedTemporaryFile(prefix="ricordo-import-", delete=False) as kept:
        kept.write(await file.read())

    def work(engine: Ricordo, tell: Tells) -> Any:
        try:
            return call(engine, IMPORT, given | {"source": kept.name, "wait": False, "progress": tell})
        finally:
            Path(kept.name).unlink(missing_ok=True)

    return await here.begin("import", work, about=file.filename or "", wait=wait)


async def uploaded(here: Serving, files: list[UploadFile], folder: str) -> tuple[Any, str]:
    """Store uploaded files in a temporary folder and return the work to do with them; only the last part of a name is
    used.
    """
    names = told_apart([safe_name(file.filename or "") for file in files])
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
                with asked_with("admin"):  # the server wrote this file itself, from what the caller sent
                    report = engine.add(place / str(at) / name, as_ref=ref, on_conflict="overwrite", wait=False)
                done += report.items
                # The folder is gone when somebody reads this; what an uploaded file claims is decided in the review.
                notes += [n if str(place) not in n else f"{name}: 'ricordo review' decides on it" for n in report.notes]
            tell(Progress(len(names), len(names), "", "reading"))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return AddReport(tuple(done), tuple(dict.fromkeys(notes)))

    return work, ", ".join(names)


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
