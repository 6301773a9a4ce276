"""Verbs for the store's health and the program itself: status, doctor, completion, version."""

from __future__ import annotations

import platform

import click

from ricordo._version import __version__
from ricordo.cli.call import Call
from ricordo.cli.present_reports import show_checks, show_facts
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb


@verb("status", examples=["ricordo status", "ricordo status --json"])
def status(call: Call) -> int:
    """It shows the number of items of each kind, the size of the store, its folders, the model that makes vectors, how
    many passages still wait for one, and where the knowledge files are.
    """
    with call.engine() as engine:
        plain = engine.status()
    return call.answer(plain, lambda screen: show_facts(screen, plain))


@verb("doctor", examples=["ricordo doctor", "ricordo doctor --repair"])
@click.option("--repair", is_flag=True, help="Repair what can be repaired; items are never dropped.")
def doctor(call: Call, repair: bool) -> int:
    """It checks the database, indexes, vectors, permissions and free space, and says how often hooks ran out of
    time. The exit code is 1 when a check fails and was not repaired.
    """
    from dataclasses import replace

    from ricordo.hooks import runs
    from ricordo.values.reports import Check

    with call.engine() as engine:
        report = engine.doctor(repair=repair)
    report = replace(report, checks=(*report.checks, Check("hooks", True, runs.summary())))
    bad = [check.name for check in report.checks if not (check.ok or check.repaired)]
    error = {
        "code": "unhealthy",
        "message": f"these checks failed: {', '.join(bad)}",
        "hint": "Read the details above, or try: ricordo doctor --repair",
    }

    def draw(screen: Screen) -> None:
        show_checks(screen, report)
        if bad:
            screen.error(error["message"], "" if repair else error["hint"])

    return call.answer(report.to_dict(), draw, exit_code=1 if bad else 0, error=error if bad else None)


@verb("version", examples=["ricordo version", "ricordo version --json"])
def version(call: Call) -> int:
    """With --verbose, Python and the system too."""
    plain = {
        "version": __version__,
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
    }

    def draw(screen: Screen) -> None:
        screen.line(f"ricordo {__version__}")
        if screen.verbose:
            screen.line(f"python {plain['python']} on {plain['system']}")

    return call.answer(plain, draw)


@verb(
    "completion",
    examples=[
        "ricordo completion bash > ~/.local/share/bash-completion/completions/ricordo",
        "ricordo completion zsh > ~/.zfunc/_ricordo",
        "ricordo completion fish > ~/.config/fish/completions/ricordo.fish",
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(call: Call, shell: str) -> int:
    """Put the script where your shell looks for completions, then start a new shell."""
    from click.shell_completion import get_completion_class

    from ricordo.cli.completing import BASH

    complete = get_completion_class(shell)
    assert complete is not None, "the choices above are the shells click knows"
    program = click.get_current_context().find_root().command
    script = BASH if shell == "bash" else complete(program, {}, "ricordo", "_RICORDO_COMPLETE").source()
    return call.answer({"shell": shell, "script": script}, lambda screen: screen.line(script))
