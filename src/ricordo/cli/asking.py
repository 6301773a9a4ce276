"""Asks a running server to answer a command that reads, because its store is open and its model is loaded.

What is printed, the exit code and the errors are the same as without a server: the server runs the same command and
sends back what it wrote. When there is no server, when it is of another version, when its environment differs, or when
it does not answer in time, the caller does the work itself. This module imports as little as possible.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from ricordo._version import __version__

VERBS = frozenset(
    {
        "search", "explain", "semantic", "similar", "grep", "get", "list", "tree", "history", "diff", "links",
        "suggest-links", "context", "gather", "timeline", "recent", "route", "skills", "sessions",
    }
)  # fmt: skip
"""Verbs that only read, and whose time goes into starting: importing, opening the store, loading the model."""
PARTS = {"skills": ("list", "search", "show"), "sessions": ("list", "show")}
"""Of verbs that have parts, those that only read."""
LOOKS = ("NO_COLOR", "FORCE_COLOR", "TERM")
"""Variables that say how the answer is to be written; the server goes by the caller's."""

FIRST_SECONDS = 1.0
"""A server that does not begin to answer within this time is busy or stuck."""
ALL_SECONDS = 60.0

_NOT_ASKED = ("--help", "-h", "--verbose", "--no-server", "--rerank", "-", "--")


def may_be_asked(args: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a server may answer this command line: a verb that reads, from arguments alone, in the usual way."""
    if not args or args[0] not in VERBS or "_RICORDO_COMPLETE" in env:
        return False
    if args[0] in PARTS and args[1:2] not in [[part] for part in PARTS[args[0]]]:
        return False
    return not any(map(_is_not_asked, args))


def _is_not_asked(arg: str) -> bool:
    if arg in _NOT_ASKED or arg.startswith("--rerank="):
        return True
    if arg[:1] == "-" and arg[1:2] != "-":  # -v says more about this process, and may stand among others: -qv
        return "v" in arg or "h" in arg
    return os.name == "nt" and not set("*?[~$%").isdisjoint(arg)  # click expands these where the command runs


def answered(args: Sequence[str]) -> int | None:
    """Print what the server answers, and hand back the exit code; None when the command is to be run here."""
    from ricordo.hosting.running import ask, read_running

    running = read_running()
    if running is None or running.version != __version__:
        return None
    from ricordo.hosting.packing import ALONE, unpacked_answer

    try:
        status, body = ask(running, "/api/v1/command", _request(args), ALL_SECONDS, first=FIRST_SECONDS)
        if status != 200 or body == ALONE:
            return None
        code, parts = unpacked_answer(body)
    except (OSError, ValueError):
        return None
    try:
        for purpose, part in parts:
            _write(purpose, part)
    except BrokenPipeError:  # a reader that has seen enough is no failure
        return 0
    return code


def _request(args: Sequence[str]) -> bytes:
    from ricordo.cli.streams import SITTING, sitting
    from ricordo.hosting.packing import CommandRequest
    from ricordo.hosting.surroundings import is_surrounding

    terminals = "".join(
        letter
        for letter, stream in (("i", sys.stdin), ("o", sys.stdout), ("e", sys.stderr))
        if stream is not None and stream.isatty()
    )
    folder = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    seen = {name: value for name, value in os.environ.items() if name in LOOKS or is_surrounding(name)}
    seen[SITTING] = sitting()
    request = CommandRequest(
        version=__version__, folder=folder, terminals=terminals, window=_window(), args=args, env=seen
    )
    return request.to_bytes()


def _window() -> tuple[int, int]:
    """Columns and lines, as ``shutil.get_terminal_size((100, 24))`` says; importing it takes longer than the rest."""
    given = [_number(os.environ.get(name, "")) for name in ("COLUMNS", "LINES")]
    if min(given) > 0:
        return given[0], given[1]
    try:
        stream = sys.__stdout__
        seen = tuple(os.get_terminal_size(stream.fileno())) if stream is not None else (0, 0)
    except (AttributeError, ValueError, OSError):
        seen = (0, 0)
    return given[0] if given[0] > 0 else seen[0] or 100, given[1] if given[1] > 0 else seen[1] or 24


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _write(purpose: str, part: bytes) -> None:
    if purpose in ("o", "e"):
        stream = sys.stdout if purpose == "o" else sys.stderr
        stream.buffer.write(part)
        stream.buffer.flush()
        return
    from ricordo.cli.streams import PAGED_WITH_COLOR, show_paged
    from ricordo.cli.terminal import prepare_streams

    prepare_streams()
    show_paged(part.decode(), color=purpose == PAGED_WITH_COLOR)
