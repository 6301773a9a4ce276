"""Commands for the program itself: completion, version."""

from __future__ import annotations

import platform

import click

from ricordo._version import __version__
from ricordo.cli.call import Call
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb


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
