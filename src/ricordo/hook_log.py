"""The logs of hooks: why one had no answer, without any text of the user's, and how long each took.

It imports next to nothing, because every prompt waits for it.
"""

from __future__ import annotations

import os
import time

from ricordo.config import state

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

LOG, RUNS = "hooks.log", "hooks.runs"
LONGEST_FILES = {LOG: 200_000, RUNS: 100_000}
"""A longer file is renamed to ``hooks.log.1`` or ``hooks.runs.1``, in place of an older one."""
LONGEST_REASON = 500
WEEK = 7 * 86_400
ANSWERED, SILENT, SAID_LESS, SAID_NOTHING = "answered", "silent", "said-less", "said-nothing"
"""The outcomes: the work ended in time, with an answer or with nothing to say; time ran out with an answer by words
alone; time ran out with no answer."""
LATE = (SAID_LESS, SAID_NOTHING)
OUT_OF_TIME, NO_STORE = "out of time", "NoStore"
STARTS = "session-start"
WORTH_TELLING = 0.1
"""The share of late hooks that the start of a session tells."""
PRINT_NOTHING = ("pre-compact", "session-end")
"""Events whose hooks print nothing: Claude Code adds what one of PreCompact prints, even ``{}``, to its compaction
prompt."""
TRANSCRIPT = "transcript"
"""Stands in the log in place of an event: that a transcript is not read is no failure."""


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


def summary() -> str:
    """What ``doctor`` says: how many calls there were lately, how long they took, and what went wrong."""
    runs, failures = _lately()
    if not runs:
        return "no hooks were called in the last 7 days"
    took = sorted(seconds for _, _, seconds, _ in runs)
    less, nothing = (sum(outcome == late for *_, outcome in runs) for late in LATE)
    usual, slowest = took[len(took) // 2], took[-1]
    calls = f"{len(runs):,} calls in the last 7 days, usually {usual:.1f} s, at most {slowest:.1f} s"
    if failures:
        _, event, kind = failures[-1]
        calls += f"; {len(failures):,} failed, the last at {event}: {kind} ({log_path()} says more)"
    if not less + nothing:
        return f"{calls}; none ran out of time"
    late = f"{less + nothing:,} ran out of time ({nothing:,} said nothing, {less:,} said less)"
    return f"{calls}; {late}. Give them longer with: ricordo config set hooks.seconds 5"


def week() -> dict[str, int]:
    """What ``status`` says of the last seven days; empty if there was no hook. What failed is silent or late, too."""
    runs, failures = _lately()
    outcomes = [outcome for _, event, _, outcome in runs if event not in PRINT_NOTHING]
    late = sum(outcome in LATE for outcome in outcomes)
    counts = {"asked": len(outcomes), "answered": outcomes.count(ANSWERED), "silent": outcomes.count(SILENT)}
    return counts | {"late": late, "failed": len(failures)} if runs or failures else {}


def trouble(seconds: float) -> str:
    """What went wrong since the start of a session last told something, in one line with the commands that mend it; ""
    if nothing did. ``seconds`` is the time that hooks have.
    """
    runs, failures = _lately()
    told = max(
        (at for at, event, _, outcome in runs if event == STARTS and outcome in (ANSWERED, SAID_LESS)), default=0
    )
    since = [outcome for at, _, _, outcome in runs if at > told]
    kinds = [kind for at, _, kind in failures if at > told]
    late, homeless = sum(outcome in LATE for outcome in since), kinds.count(NO_STORE)
    parts = (
        (len(kinds) - homeless, "failed", "ricordo doctor"),
        (
            late * (late >= WORTH_TELLING * len(since)),
            "ran out of time",
            f"ricordo config set hooks.seconds {_longer(seconds)}",
        ),
        (homeless, "found no store", "ricordo init"),
    )
    said = ", ".join(f"{count:,} {what} ({command})" for count, what, command in parts if count)
    return f"of the hooks since the last session started, {said}" if said else ""


def had_no_store() -> bool:
    """Whether a session started without a store in the last seven days."""
    return any(event == STARTS and kind == NO_STORE for _, event, kind in _lately()[1])


def _longer(seconds: float) -> str:
    return f"{min(60, 2 * seconds):g}"


def _lately() -> tuple[list[tuple[float, str, float, str]], list[tuple[float, str, str]]]:
    """The calls of the last seven days: when each ended, its event, seconds and outcome. And those that failed: when,
    the event, and the kind of error, without what it said.
    """
    from contextlib import suppress
    from datetime import datetime

    since = time.time() - WEEK
    runs: list[tuple[float, str, float, str]] = []
    failures: list[tuple[float, str, str]] = []
    for at, line in _lines(RUNS):
        with suppress(ValueError):
            event, seconds, outcome = line.split()
            runs.append((float(at), event, float(seconds), outcome))
    for at, line in _lines(LOG):
        event, _, reason = line.partition(": ")
        if event != TRANSCRIPT and not reason.startswith(OUT_OF_TIME):
            with suppress(ValueError):
                when = datetime.fromisoformat(at).timestamp()
                failures.append((when, event, reason.partition(":")[0].partition(" (")[0]))
    return [run for run in runs if run[0] >= since], [one for one in failures if one[0] >= since]


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """The lines of a log, the oldest first: when, and the rest."""
    path = log_path().with_name(name)
    for file in (path.with_name(f"{name}.1"), path):
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            at, _, rest = line.partition(" ")
            yield at, rest
