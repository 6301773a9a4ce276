"""The logs of hooks: why one had no answer, without any text of the user's, and how long each took.

It imports next to nothing, because every prompt waits for it.
"""

from __future__ import annotations

import os
import time

from ricordo.config import state

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

LOG, RUNS = "hooks.log", "hooks.runs"
LONGEST_FILES = {LOG: 200_000, RUNS: 100_000}
"""A longer file is renamed to ``hooks.log.1`` or ``hooks.runs.1``, in place of an older one."""
LONGEST_REASON = 500
DAY = 86_400
IN_TIME, SAID_LESS, SAID_NOTHING = "in-time", "said-less", "said-nothing"
"""The outcomes: the work ended in time; time ran out with an answer by words alone; time ran out with no answer."""


def log(event: str, reason: str) -> None:
    """Log why a hook had no answer, without any text of the user's."""
    from datetime import datetime

    from ricordo.log import leaves_out_texts

    if leaves_out_texts():  # an error may quote what is in the store
        reason = f"{reason.partition(':')[0].split(' ')[0]} (texts are left out: the store is encrypted)"
    line = " ".join(f"{event or '(no event)'}: {reason}".split())[:LONGEST_REASON]
    _append(LOG, f"{datetime.now().astimezone().isoformat(timespec='seconds')} {line}")


def note_run(event: str, seconds: float, outcome: str) -> None:
    """Note how long a call took."""
    _append(RUNS, f"{int(time.time())} {event or '-'} {seconds:.2f} {outcome}")


def _append(name: str, line: str) -> None:
    """Append a line; a file that cannot be written must not fail the hook."""
    try:
        with open_log(name) as file:
            file.write(f"{line}\n".encode("utf-8", "replace"))
    except OSError:
        return


def open_log(name: str = LOG) -> BinaryIO:
    """A log, opened for appending."""
    return state.open_log(f"{state.state_folder(os.environ)}{os.sep}{name}", LONGEST_FILES[name])


def log_path() -> Path:
    """Where the log is, whether or not there is one yet."""
    from pathlib import Path

    return Path(state.state_folder(os.environ)) / LOG


def summary(days: int = 7) -> str:
    """What ``doctor`` says: how many calls there were lately, how long they took, and how many ran out of time."""
    runs = _read(time.time() - days * DAY)
    if not runs:
        return f"no hooks were called in the last {days} days"
    took = sorted(seconds for seconds, _ in runs)
    less = sum(outcome == SAID_LESS for _, outcome in runs)
    nothing = sum(outcome == SAID_NOTHING for _, outcome in runs)
    usual, slowest = took[len(took) // 2], took[-1]
    calls = f"{len(runs):,} calls in the last {days} days, usually {usual:.1f} s, at most {slowest:.1f} s"
    if not less + nothing:
        return f"{calls}; none ran out of time"
    late = f"{less + nothing:,} ran out of time ({nothing:,} said nothing, {less:,} said less)"
    return f"{calls}; {late}. Give them longer with: ricordo config set hooks.seconds 5"


def _read(since: float) -> list[tuple[float, str]]:
    from contextlib import suppress

    path = log_path().with_name(RUNS)
    runs: list[tuple[float, str]] = []
    for file in (path.with_name(f"{RUNS}.1"), path):
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            parts = line.split()
            with suppress(ValueError):
                if len(parts) == 4 and float(parts[0]) >= since:
                    runs.append((float(parts[2]), parts[3]))
    return runs
