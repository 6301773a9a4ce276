"""Runs a hook so that it always ends in time, with exit code 0 and at most one JSON object on standard output.

The work is done in a forked child process; the parent only listens. When the child ends or the time is up, the parent
prints the last answer that the child offered, so that neither C code that never returns nor a crash in it keeps an
agent waiting. Where there is no fork, a thread watches the clock. ``hook_answers`` decides what is answered.

There are two limits. After ``hooks.seconds`` the hook prints the answer it has. If it has none yet, it goes on for the
time that the calling program gives it (``--within``), and prints the first answer that comes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, NoReturn

DEFAULT_SECONDS = 2.0
"""The limit until the settings have been read."""
LARGEST = 8_000_000
"""Bytes of a payload that are read; a prompt that a person wrote is shorter."""
LOG_NAME = "hooks.log"
LOG_BYTES = 200_000
"""A longer log is renamed to ``hooks.log.1``, in place of an older one."""
SILENT = ("pre-compact", "session-end")
"""Events that print nothing: Claude Code adds what a PreCompact hook prints, even ``{}``, to its compaction prompt."""

_RESERVE = 0.05
"""Seconds of the limit that ending the process takes."""
_SHARE_OF_HOST = 0.85
"""How much of the calling program's time is used: it counts from before our process started."""
_LONGEST_REASON = 500
LONGEST_WAIT = 600.0
"""A larger ``--within`` is taken for a mistake, such as milliseconds, and ignored."""


class Outlet:
    """The child's side: it says how long the work may take, and offers answers; the last one offered counts."""

    def __init__(self, send: Callable[[bytes], None], started: float) -> None:
        self._send = send
        self._started = started
        self._limit = DEFAULT_SECONDS
        self.shown: tuple[str, str, list[str]] | None = None
        """What the last answer shows: the event, the store, and the refs of the items."""

    def limit(self, seconds: float) -> None:
        self._limit = seconds
        self._send(f"limit {seconds}\n".encode())

    def offer(self, answer: Mapping[str, Any]) -> None:
        import json

        self.offer_text(json.dumps(answer).encode())

    def offer_text(self, answer: bytes) -> None:
        """The same for an answer that is JSON already, in one line."""
        self._send(b"answer " + answer + b"\n")

    def note_shown(self) -> None:
        """Write down which items were shown to the agent."""
        if self.shown is not None:
            from ricordo.cli import hook_shown

            hook_shown.note(*self.shown)

    @property
    def left(self) -> float:
        """The share of the time that is left."""
        return 1 - (time.monotonic() - self._started) / self._limit

    @property
    def seconds_for_server(self) -> float:
        """How long to wait for a running server: all the time left, because the hook alone would take longer.

        A program that gives its hooks more time than the limit still gets an answer from a server that hangs.
        """
        return max(0.0, self.left * self._limit - _RESERVE)


class _Listener:
    """The parent's side: hears what an outlet sends."""

    def __init__(self, started: float, within: float = 0.0) -> None:
        self.answer = b"{}"
        self._started = started
        self._limit = DEFAULT_SECONDS
        self._within = within * _SHARE_OF_HOST
        self._has_answer = False
        self._rest = b""

    @property
    def seconds_left(self) -> float:
        """How long to go on listening: with an answer until the limit, without one as long as the caller waits."""
        limit = self._limit if self._has_answer else max(self._limit, self._within)
        return self._started + limit - _RESERVE - time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it took by now."""
        return time.monotonic() - self._started

    @property
    def outcome(self) -> str:
        """What it means that time ran out now."""
        from ricordo.cli import hook_runs

        return hook_runs.SAID_LESS if self._has_answer else hook_runs.SAID_NOTHING

    def hear(self, part: bytes) -> None:
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"limit":
                self._limit = float(value)
            elif word == b"answer":
                self.answer, self._has_answer = value, True


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
        from ricordo.cli.hook_server import ask_server

        content = _standard_input()
        from_server = ask_server(event, content, store=store, tier=tier, seconds=outlet.seconds_for_server)
        if from_server is not None:
            outlet.offer_text(from_server)
            return
        # numpy's BLAS library starts a thread for each core when it is imported, which costs more than a hook computes.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from ricordo.cli.hook_answers import run

        run(event, content, outlet, store=store, tier=tier)

    listener = _Listener(started, within)
    if hasattr(os, "fork"):
        _in_a_child(event, work, listener, started)
    else:
        _beside_a_clock(event, work, listener, started)


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
    if event in SILENT:
        return
    try:
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()
        if answer == b"{}" and sys.stderr.isatty():  # a person tries it: an agent's program has no terminal
            sys.stderr.write(f"nothing to tell; where something went wrong, {_log_path()} says what\n")
    except (OSError, ValueError, AttributeError):
        return


def _in_a_child(event: str, work: Callable[[Outlet], None], listener: _Listener, started: float) -> None:
    import select

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            _be_silent()
            work(Outlet(lambda part: _write(writer, part), started))
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
        log(event, f"ended by signal {os.WTERMSIG(status)}")


def _note(event: str, listener: _Listener, ended: bool) -> None:
    """Write down how long it took, and log it if time ran out."""
    from ricordo.cli import hook_runs

    hook_runs.note(event, listener.seconds, hook_runs.IN_TIME if ended else listener.outcome)
    if not ended:
        log(event, f"out of time; {listener.outcome.replace('-', ' ')}")


def _beside_a_clock(event: str, work: Callable[[Outlet], None], listener: _Listener, started: float) -> None:
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
        work(Outlet(listener.hear, started))
    finally:
        with ending:
            done.set()
            _say(event, listener.answer)
            _note(event, listener, ended=True)


def _standard_input() -> bytes:
    """Read all input, although only ``LARGEST`` bytes are kept, because a program that cannot finish writing may
    fail.
    """
    content = b""
    while sys.stdin is not None and (part := sys.stdin.buffer.read(1_000_000)):
        if len(content) <= LARGEST:
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


def log(event: str, reason: str) -> None:
    """Log why a hook had no answer, without any text of the user's. A log that cannot be written is no failure."""
    from contextlib import suppress
    from datetime import datetime

    line = " ".join(f"{event or '(no event)'}: {reason}".split())[:_LONGEST_REASON]
    with suppress(OSError), open_log() as file:
        file.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {line}\n".encode("utf-8", "replace"))


def _log_path() -> Path:
    from ricordo.config.files import state_home

    return state_home(os.environ) / LOG_NAME


def open_log() -> Any:
    """The log, opened for appending; it is renamed first if it is too long."""
    from contextlib import suppress

    path = _log_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.replace(path.with_name(LOG_NAME + ".1"))
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
