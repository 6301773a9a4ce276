"""The routes of export and import, which answer with a file and take one."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Query, Response, UploadFile
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from ricordo.http_api import shapes
from ricordo.http_api.api import WaitParameter, begins, given_by, parameters_of, reads, router
from ricordo.http_api.routes import file_answer, write_files
from ricordo.http_api.state import Here
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.http_api.state import Tells

EXPORT, IMPORT = verb_named("export"), verb_named("import")
EXPORT_PARAMETERS: Any = Annotated[parameters_of(EXPORT), Query()]
IMPORT_FORM: Any = Annotated[parameters_of(IMPORT, file=(UploadFile, ...)), Form(media_type="multipart/form-data")]

routes = router("files")


@reads(routes, "/export", shapes.Shape, **file_answer("application/x-ndjson", "JSON lines."))
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


@begins(routes, "/import", scope="admin")
async def import_(here: Here, asked: IMPORT_FORM, wait: WaitParameter = 0) -> Response:
    """Take in what export wrote, or a file that another program wrote."""
    given = given_by(IMPORT, asked)
    file: UploadFile = given["source"]
    place = await write_files("ricordo-import-", [file], ["sent.jsonl"])
    clear = partial(shutil.rmtree, place, ignore_errors=True)

    def work(engine: Ricordo, tell: Tells) -> Any:
        try:
            return call(engine, IMPORT, given | {"source": place / "0" / "sent.jsonl", "wait": False, "progress": tell})
        finally:
            clear()

    return await here.begin("import", work, about=file.filename or "", wait=wait, clear=clear)
