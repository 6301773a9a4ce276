"""Runs a hook so that it always ends in time, with exit code 0 and one JSON object on standard output.

The work is done in a forked child; the parent only listens. When the child ends or the time is up, the parent says the
last answer that was offered, so that neither C code that holds on nor a crash in it keeps an agent waiting. Where
there is no fork, a thread watches the clock. What is said, and why, is ``hook_answers``'.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

DEFAULT_SECONDS = 2.0
"""The limit until the settings are read."""
LOG_NAME = "hooks.log"
LOG_BYTES = 200_000
"""A log that is longer is put aside as ``hooks.log.1``, in place of an older one."""

_RESERVE = 0.05
"""Seconds of the limit that ending takes."""
_LONGEST_REASON = 500


class Outlet:
    """Where the work says how long it may take, and what it has to say so far: the last word counts."""

    def __init__(self, send: Callable[[bytes], None], started: float) -> None:
        self._send = send
        self._started = started
        self._limit = DEFAULT_SECONDS

    def limit(self, seconds: float) -> None:
        self._limit = seconds
        self._send(f"limit {seconds}\n".encode())

    def offer(self, answer: Mapping[str, Any]) -> None:
        import json

        self._send(f"answer {json.dumps(answer)}\n".encode())

    @property
    def left(self) -> float:
        """The share of the time that is left."""
        return 1 - (time.monotonic() - self._started) / self._limit


class _Listener:
    """Hears what an outlet sends."""

    def __init__(self, started: float) -> None:
        self.answer = b"{}"
        self._started = started
        self._limit = DEFAULT_SECONDS
        self._rest = b""

    @property
    def seconds_left(self) -> float:
        return self._started + self._limit - _RESERVE - time.monotonic()

    def hear(self, part: bytes) -> None:
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"limit":
                self._limit = float(value)
            elif word == b"answer":
                self.answer = value


def main(args: Sequence[str]) -> NoReturn:
    """``ricordo hook EVENT`` without the cost of the other verbs, which every prompt would pay."""
    event = ""
    flags: dict[str, str | None] = {"--store": None, "--tier": None}
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if name in flags:
            flags[name] = value if equals else next(words, None)
        elif not word.startswith("-"):
            event = event or word
    answer(event, store=flags["--store"], tier=flags["--tier"], started=_process_start())
    os._exit(0)


def answer(event: str, *, store: str | None, tier: str | None, started: float) -> None:
    """Say what the hook of an event has to say about what stands on standard input."""

    def work(outlet: Outlet) -> None:
        from ricordo.cli.hook_answers import run

        run(event, outlet, store=store, tier=tier)

    listener = _Listener(started)
    if hasattr(os, "fork"):
        _in_a_child(event, work, listener, started)
    else:
        _beside_a_clock(event, work, listener, started)


def _process_start() -> float:
    """When this process began, on the monotonic clock: on a busy machine, starting up takes a good part of the time."""
    now = time.monotonic()
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - pathlib is not imported yet
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, LookupError, AttributeError):  # only Linux tells
        age = -1.0
    return now - (age if 0 <= age < 60 else time.process_time())


def _say(answer: bytes) -> None:
    """Print the answer; a reader that is gone is no failure."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def _in_a_child(event: str, work: Callable[[Outlet], None], listener: _Listener, started: float) -> None:
    import select
    import signal

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
        os.kill(child, signal.SIGKILL)
    _say(listener.answer)
    os.close(reader)
    # A child that a slow disk holds up cannot even be killed; whoever called is not to wait for it.
    _, status = os.waitpid(child, 0 if ended else os.WNOHANG)
    if not ended:
        log(event, "out of time; " + ("said less" if listener.answer != b"{}" else "said nothing"))
    elif os.WIFSIGNALED(status):
        log(event, f"ended by signal {os.WTERMSIG(status)}")


def _beside_a_clock(event: str, work: Callable[[Outlet], None], listener: _Listener, started: float) -> None:
    done = threading.Event()
    ending = threading.Lock()

    def watch() -> None:
        while (left := listener.seconds_left) > 0:
            if done.wait(min(left, 0.1)):  # the limit may change meanwhile
                return
        with ending:
            if not done.is_set():
                _say(listener.answer)
                log(event, "out of time")
                os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    try:
        work(Outlet(listener.hear, started))
    finally:
        with ending:
            done.set()
            _say(listener.answer)


def _be_silent() -> None:
    """Whatever a library prints goes nowhere: standard output carries the answer alone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _write(handle: int, part: bytes) -> None:
    while part:
        part = part[os.write(handle, part) :]


def log(event: str, reason: str) -> None:
    """Note why a hook said nothing; no text of the user's is written, and no failure to write is told."""
    from datetime import datetime

    line = " ".join(f"{event or '(no event)'}: {reason}".split())[:_LONGEST_REASON]
    with suppress(OSError), open_log() as file:
        file.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {line}\n".encode("utf-8", "replace"))


def open_log() -> Any:
    """The log, to be written at its end; put aside first when it grew long."""
    from ricordo.config.files import state_home

    path = state_home(os.environ) / LOG_NAME
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.replace(path.with_name(LOG_NAME + ".1"))
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
