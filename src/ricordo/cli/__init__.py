"""The command line: parse, call the engine, format. No logic lives here.

``verbs`` is the table of commands, ``program`` runs them, ``call`` is one invocation, ``options`` holds
shared flags, the modules named after groups hold the commands, and ``present_*`` turn values into text.
"""

from __future__ import annotations

import gc
import sys

GARBAGE = 50_000
"""So many new objects are looked through for garbage at a time: a command that imports makes much and drops little."""


def main() -> None:
    """The entry point of the ``ricordo`` script."""
    gc.set_threshold(GARBAGE)
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"} & set(sys.argv):
        from ricordo.cli import hook_process  # every prompt waits for it, so it goes the short way

        hook_process.main(sys.argv[2:])
    from ricordo.cli.program import program

    program.main(prog_name="ricordo")
