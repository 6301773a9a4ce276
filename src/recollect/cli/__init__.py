"""The command line: parse, call the engine, format. No logic lives here.

``verbs`` is the table of commands, ``program`` runs them, ``call`` is one invocation, ``options`` holds
shared flags, the modules named after groups hold the commands, and ``present_*`` turn values into text.
"""

from __future__ import annotations


def main() -> None:
    """The entry point of the ``recollect`` script."""
    from recollect.cli.program import program

    program.main(prog_name="recollect")
