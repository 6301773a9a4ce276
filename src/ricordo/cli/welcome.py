"""What ``ricordo`` without a verb prints: the state of the store, and three commands to try."""

from __future__ import annotations

from ricordo.cli.call import Call
from ricordo.cli.terminal import Screen
from ricordo.config.files import current_folder
from ricordo.config.loading import load_config, locate_store
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
        width = max(len(command) for command, _ in commands)
        for command, what in commands:
            screen.line(f"  {screen.bold(command.ljust(width))}  {screen.dim(what)}")

    plain = {"items": items, "state": line, "try": [command for command, _ in commands]}
    return call.answer(plain, draw)


def _state(call: Call) -> tuple[int, str]:
    try:
        if not locate_store(call.store, load_config(), current_folder()).path.exists():
            return 0, "There is no store yet; the first add makes one."
        with call.engine() as engine:
            items = engine.count()
            plural = "" if items == 1 else "s"
            return items, f"The store {engine.location} holds {items:,} item{plural}."
    except Error as error:
        return 0, f"The store cannot be used: {error.message} {error.hint}".strip()
