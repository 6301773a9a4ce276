"""The command line: parse, call the engine, format. No logic lives here.

``program`` finds and runs commands, ``generated`` makes them from the declarations of verbs and runs verbs, ``call`` is
one invocation. ``cmd_*`` hold what is written by hand, ``show`` and ``show_reports`` turn values into text.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

GARBAGE = 150_000
"""How many new objects trigger a garbage collection; a command that imports makes many objects and drops few."""


def main() -> None:
    """The entry point of the ``ricordo`` script."""
    gc.set_threshold(GARBAGE)
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"} & set(sys.argv):
        from ricordo.hooks import process  # every prompt waits for a hook, so it imports as little as possible

        process.main(sys.argv[2:])
    from ricordo.cli.program import program

    try:
        program.main(prog_name="ricordo")
    except SystemExit as end:
        _end(end.code if isinstance(end.code, int) else int(end.code is not None))


def _end(code: int) -> None:
    """End the process at once. All is written and closed, and Python would take longer to clear its memory than some
    commands need.
    """
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(code)
