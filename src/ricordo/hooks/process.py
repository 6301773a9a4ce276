"""Runs a hook so that it always ends in time, with exit code 0 and at most one JSON object on standard output.

The work is done in a forked child process; the parent only listens. When the child ends or the time is up, the parent
prints the last answer that the child offered, so that neither C code that never returns nor a crash in it keeps an
agent waiting. Where there is no fork, a thread watches the clock.

The child first asks whatever of ours is running: the server, or an MCP server that an agent's program started. They
answer in milliseconds, because their store is open and their model is loaded. When there is none, or it does not answer
in time, the hook does the work itself (``answers``).

There are two limits. After ``hooks.seconds`` the hook prints the answer it has. If it has none yet, it goes on for the
time that the calling program gives it (``--within``), and prints the first answer that comes. This module imports as
little as possible, because every prompt waits for it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

from ricordo._version import __version__
from ricordo.hooks.pipe import LARGEST_PAYLOAD, Listener, Outlet
from ricordo.hosting.running import ask, forget_helper, own_surroundings, packed, read_helpers, read_running

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from typing import NoReturn

    from ricordo.hosting.running import RunningServer


PROGRAM_VARIABLES = (
    "CLAUDECODE", "CURSOR_AGENT", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "QWEN_CODE", "CLINE_ACTIVE",
    "OPENCODE",
)  # fmt: skip
"""Variables by which a hook's program is known; whoever answers goes by the hook's, not by its own."""
SHARE_FOR_HELPERS = 0.5
"""How much of the time an MCP server gets: it may be busy with a call, and then the hook still does the work itself."""
SHARE_FOR_START = 0.5
"""How much of the time the server gets when a session starts: it may be reading a project's files, and what the user
tells every agent does not wait for them.
"""
HELPERS_ASKED = 2
"""How many MCP servers are asked before the hook does the work itself."""


def ask_server(event: str, content: bytes, *, store: str | None, tier: str | None, seconds: float) -> bytes | None:
    """The answer, a JSON object; None when nothing of ours runs, or when it cannot answer for us."""
    path = f"/api/v1/hook/{event}"
    running = read_running()
    if running is not None and running.version == __version__:
        seconds *= SHARE_FOR_START if event == "session-start" else 1.0
        return _asked(running, path, _body(content, store, tier), seconds)
    helpers = [one for one in read_helpers() if one.version == __version__]
    for one in helpers[:HELPERS_ASKED]:
        answer = _asked(one, path, _body(content, store, tier), seconds * SHARE_FOR_HELPERS / HELPERS_ASKED)
        if answer is not None:
            return answer
    return None


def _body(content: bytes, store: str | None, tier: str | None) -> bytes:
    folder = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    if store and "://" not in store:
        store = os.path.abspath(store)  # noqa: PTH100 - the same
    program = [f"{name}={os.environ[name]}" for name in PROGRAM_VARIABLES if name in os.environ]
    return packed((folder, store or "", tier or "", *own_surroundings(), *program), content)


def _asked(running: RunningServer, path: str, body: bytes, seconds: float) -> bytes | None:
    try:
        status, answer = ask(running, path, body, seconds)
    except ConnectionRefusedError:  # it ended without saying so
        forget_helper(running.pid)
        return None
    except (OSError, ValueError):
        return None
    return answer if status == 200 and answer.startswith(b"{") else None


LONGEST_WAIT = 600.0
"""A larger ``--within`` is taken for a mistake, such as milliseconds, and ignored."""


def main(args: Sequence[str]) -> NoReturn:
    """``ricordo hook EVENT`` without the cost of the other verbs, which every prompt would pay."""
    event = ""
    flags: dict[str, str | None] = {"--store": None, "--tier": None, "--within": None}
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if name in flags:
            flags[name] = value if equals else next(words, None)
        elif not word.startswith("-"):
            event = event or word
    within = _seconds(flags["--within"])
    answer(event, store=flags["--store"], tier=flags["--tier"], within=within, started=_process_start())
    os._exit(0)


def _seconds(text: str | None) -> float:
    try:
        given = float(text or 0)
    except ValueError:
        return 0.0
    return given if 0 < given <= LONGEST_WAIT else 0.0


def answer(event: str, *, store: str | None, tier: str | None, started: float, within: float = 0.0) -> None:
    """Print the answer of an event's hook to the payload on standard input.

    ``within`` is how many seconds the calling program waits; 0 when it is not known.
    """

    def work(outlet: Outlet) -> None:
        content = _standard_input()
        from_server = ask_server(event, content, store=store, tier=tier, seconds=outlet.seconds_left)
        if from_server is not None:
            outlet.offer_text(from_server)
            return
        # numpy's BLAS library starts a thread for each core when it is imported, which costs more than a hook computes.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from ricordo.hooks.answers import run

        run(event, content, outlet, store=store, tier=tier)

    listener = Listener(started, within)
    if hasattr(os, "fork"):
        _in_a_child(event, work, listener, started, within=within)
    else:
        _beside_a_clock(event, work, listener, started, within=within)


def _process_start() -> float:
    """When this process began, on the monotonic clock. On a busy machine, starting Python takes much of the time."""
    now = time.monotonic()
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - pathlib is not imported yet
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, LookupError, AttributeError):  # only Linux has this file
        age = -1.0
    return now - (age if 0 <= age < 60 else time.process_time())


def _say(event: str, answer: bytes) -> None:
    """Print the answer; a reader that is gone is no failure."""
    from ricordo.hook_log import PRINT_NOTHING, log_path

    if event in PRINT_NOTHING:
        return
    try:
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()
        if answer == b"{}" and sys.stderr.isatty():  # a person tries it: an agent's program has no terminal
            sys.stderr.write(f"nothing to tell; where something went wrong, {log_path()} says what\n")
    except (OSError, ValueError, AttributeError):
        return


def _in_a_child(
    event: str, work: Callable[[Outlet], None], listener: Listener, started: float, *, within: float
) -> None:
    import select

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            _be_silent()
            work(Outlet(lambda part: _write(writer, part), started, within))
        finally:
            os._exit(0)
    os.close(writer)
    ended = False
    while not ended and (left := listener.seconds_left) > 0:
        if select.select([reader], [], [], left)[0]:
            part = os.read(reader, 65_536)
            listener.hear(part)
            ended = not part
    if not ended:
        import signal

        os.kill(child, signal.SIGKILL)
    _say(event, listener.answer)
    os.close(reader)
    # A child that waits for a slow disk cannot even be killed; the caller must not wait for it.
    _, status = os.waitpid(child, 0 if ended else os.WNOHANG)
    _note(event, listener, ended)
    if ended and os.WIFSIGNALED(status):
        from ricordo.hook_log import log

        log(event, f"ended by signal {os.WTERMSIG(status)}")


def _note(event: str, listener: Listener, ended: bool) -> None:
    """Write down how long it took, and log it if time ran out."""
    from ricordo.hook_log import OUT_OF_TIME, log, note_run

    outcome = listener.outcome(ended=ended)
    note_run(event, listener.seconds, outcome)
    if not ended:
        log(event, f"{OUT_OF_TIME}; {outcome.replace('-', ' ')}")


def _beside_a_clock(
    event: str, work: Callable[[Outlet], None], listener: Listener, started: float, *, within: float
) -> None:
    import threading

    done = threading.Event()
    ending = threading.Lock()

    def watch() -> None:
        while (left := listener.seconds_left) > 0:
            if done.wait(min(left, 0.1)):  # the limit may change meanwhile
                return
        with ending:
            if not done.is_set():
                _say(event, listener.answer)
                _note(event, listener, ended=False)
                os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    try:
        work(Outlet(listener.hear, started, within))
    finally:
        with ending:
            done.set()
            _say(event, listener.answer)
            _note(event, listener, ended=True)


def _standard_input() -> bytes:
    """All input. It is read to its end, because a program that cannot finish writing may fail, but what is too long is
    not kept.
    """
    content = b""
    while sys.stdin is not None and (part := sys.stdin.buffer.read(1_000_000)):
        if len(content) <= LARGEST_PAYLOAD:
            content += part
    return content


def _be_silent() -> None:
    """Discard whatever a library prints: standard output is for the answer alone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _write(handle: int, part: bytes) -> None:
    while part:
        part = part[os.write(handle, part) :]
