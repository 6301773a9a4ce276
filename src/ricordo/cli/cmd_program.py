"""Commands about the program itself: version, hook, and what ``ricordo`` says without a verb."""

from __future__ import annotations

import platform
import time

import click

from ricordo._version import __version__
from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.terminal import Screen
from ricordo.errors import Error

_WITHOUT_ITEMS = (
    ("ricordo add notes/", "add a folder of files"),
    ("ricordo search how do I ...", "find what is in them"),
    ("ricordo --help", "see all verbs"),
)
_WITH_ITEMS = (
    ("ricordo search how do I ...", "find items by words and meaning"),
    ("ricordo add PATH", "add more files or pages"),
    ("ricordo --help", "see all verbs"),
)


def welcome(call: Call) -> int:
    """One line about the store, then what to do next."""
    items, line = _state(call)
    commands = _WITH_ITEMS if items else _WITHOUT_ITEMS

    def draw(screen: Screen) -> None:
        screen.line(line)
        screen.line()
        width = max(len(words) for words, _ in commands)
        for words, what in commands:
            screen.line(f"  {screen.bold(words.ljust(width))}  {screen.dim(what)}")

    plain = {"items": items, "state": line, "try": [words for words, _ in commands]}
    return call.answer(plain, draw)


def _state(call: Call) -> tuple[int, str]:
    from ricordo.config.files import current_folder
    from ricordo.config.loading import load_config, locate_store

    try:
        if not locate_store(call.store, load_config(), current_folder()).path.exists():
            return 0, "There is no store yet; the first add makes one."
        with call.engine() as engine:
            items = engine.count()
            plural = "" if items == 1 else "s"
            return items, f"The store {engine.location} holds {items:,} item{plural}."
    except Error as error:
        return 0, f"The store cannot be used: {error.message} {error.hint}".strip()


@verb("version", examples=["ricordo version", "ricordo version --json"])
def version(call: Call) -> int:
    """With --verbose, Python and the system too."""
    plain = {"version": __version__, "python": platform.python_version(), "system": platform.platform(terse=True)}

    def draw(screen: Screen) -> None:
        screen.line(f"ricordo {__version__}")
        if screen.verbose:
            screen.line(f"python {plain['python']} on {plain['system']}")

    return call.answer(plain, draw)


@verb(
    "hook",
    examples=[
        "ricordo hook session-start < payload.json",
        """echo '{"prompt": "How are the signing keys rotated?"}' | ricordo hook user-prompt""",
        "ricordo hook session-end < payload.json",
    ],
)
@click.argument("event", metavar="EVENT")
@click.option("--within", type=float, default=0.0, metavar="SECONDS", help="How long the calling program waits.")
def hook(call: Call, event: str, within: float) -> int:
    """Agents' programs call this; 'ricordo install' sets it up. EVENT is session-start, user-prompt or
    before-agent-start, which answer with what the agent should know, or pre-compact or session-end, which read the
    transcript and print nothing. The payload is a JSON object on standard input; the answer is a JSON object on
    standard output, in the form that Claude Code, Codex, Gemini CLI, Qwen Code, VS Code and Cursor read. The exit code
    is always 0. After hooks.seconds it prints the answer it has; without an answer it goes on for as long as --within
    allows. When there is nothing to say or something is wrong, it prints {} and writes the reason to hooks.log.
    """
    from ricordo.hooks.process import answer

    answer(event, store=call.store, tier=call.tier, started=time.monotonic(), within=within)
    return 0


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

    from ricordo.cli.completion import BASH

    complete = get_completion_class(shell)
    assert complete is not None, "the choices above are the shells click knows"
    program = click.get_current_context().find_root().command
    script = BASH if shell == "bash" else complete(program, {}, "ricordo", "_RICORDO_COMPLETE").source()
    return call.answer({"shell": shell, "script": script}, lambda screen: screen.line(script))
