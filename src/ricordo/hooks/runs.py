"""How long hooks took: one line for each call, so that ``doctor`` can say how often they ran out of time."""

from __future__ import annotations

import os
import time

from ricordo.config.homes import state_folder

NAME = "hooks.runs"
LONGEST_FILE = 100_000
"""A longer file is renamed to ``hooks.runs.1``, in place of an older one: about 2,500 calls each."""
DAY = 86_400
IN_TIME, SAID_LESS, SAID_NOTHING = "in-time", "said-less", "said-nothing"
"""The outcomes: the work ended in time; time ran out with an answer by words alone; time ran out with no answer."""


def note(event: str, seconds: float, outcome: str) -> None:
    """Append a call; a file that cannot be written must not fail the hook."""
    folder = state_folder(os.environ)
    path = os.path.join(folder, NAME)  # noqa: PTH118 - importing pathlib takes longer than all that is done here
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - the same
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(f"{int(time.time())} {event or '-'} {seconds:.2f} {outcome}\n".encode())
            is_long = file.tell() > LONGEST_FILE
        if is_long:
            os.replace(path, f"{path}.1")  # noqa: PTH105 - the same
    except OSError:
        return


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

    from ricordo.config.files import state_home

    path = state_home(os.environ) / NAME
    found: list[tuple[float, str]] = []
    for one in (path.with_name(f"{NAME}.1"), path):
        try:
            lines = one.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            parts = line.split()
            with suppress(ValueError):
                if len(parts) == 4 and float(parts[0]) >= since:
                    found.append((float(parts[2]), parts[3]))
    return found
