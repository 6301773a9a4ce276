"""The verb that says why a line is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.context import OpenEngine
from ricordo.errors import UsageError
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.plugins.history.values import BlameReport
    from ricordo.values.items import Ref
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT


class HistoryVerbs(OpenEngine):
    """Says what lines of files come from."""

    @verb(
        "files",
        "find",
        "Say why a line is there: its commit, the turn, and what the agent knew.",
        examples=(
            "ricordo blame src/app.py:42",
            "ricordo blame src/app.py:10-20 --json",
            "ricordo blame --rests-on memory:/timeout",
        ),
    )
    def blame(
        self,
        place: Annotated[
            str,
            Say(
                "A line, lines or a file; with --rests-on a folder.", longest=REF_TEXT, shown="FILE:LINE", argument=True
            ),
        ] = "",
        *,
        rests_on: Annotated[
            str | Ref,
            Say("The lines that rest on this memory, which was corrected since.", longest=REF_TEXT, shown="REF"),
        ]
        | None = None,
    ) -> BlameReport:
        """The commit of a line, the turn of a stored session that wrote it, the user's sentence that asked for it,
        and what the agent had been told by then, in that day's versions. Turns are known by what they wrote, also
        after it was formatted or moved; the best is first.

        With ``rests_on``, the lines that agents wrote after they had been told a memory that was corrected,
        superseded, changed or removed since, and what it said and says.
        """
        from ricordo.plugins.history.blame import Blaming

        if rests_on is not None:
            return Blaming(self._context).resting_on(str(rests_on), place)
        if not place:
            raise UsageError("blame needs a line", hint="Name a file with a line: src/app.py:42")
        return Blaming(self._context).lines(place)
