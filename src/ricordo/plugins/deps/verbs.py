"""The verb that takes in what the packages of a project offer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.engine.context import OpenEngine
from ricordo.errors import NotFound, UsageError
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT


class DepsVerbs(OpenEngine):
    """Takes in installed packages."""

    @verb(
        "files",
        "add",
        "Read what the installed packages of a project offer.",
        path="deps add",
        is_long=True,
        examples=("ricordo deps add", "ricordo deps add ~/work/shop"),
    )
    def deps_add(
        self,
        project: Annotated[str | Path, Say("The folder of the project.", longest=REF_TEXT, shown="FOLDER")] = ".",
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Names, signatures, docstrings and READMEs of the packages that the project names and that are installed: in
        its virtual environment or the active one, and in ``node_modules``. Nothing of them is imported or run.
        ``refresh`` follows upgrades. A search tells of a package only if the question names it or something that it
        offers.
        """
        from ricordo.plugins.deps.intake import PackageIntake

        folder = (self._context.start / Path(project).expanduser()).resolve()
        if not folder.is_dir():
            raise NotFound(f"there is no folder {folder}", hint="Name the folder of the project.")
        context = self._context
        if context.located.location.origin == "default":
            raise UsageError(
                f"{folder} has no store of its own, and what is installed for it would be told in other projects, too",
                hint="‹:init› makes one in the project; or name another store.",
            )
        intake = PackageIntake(context.store, context.pipeline, context.models.backlog(), folder)
        intake.collect(progress)
        return AddReport(tuple(intake.done), notes=tuple(intake.notes))
