"""One line on standard error that says how far a long job is; nothing when nobody watches a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from ricordo.cli.terminal import Screen, clip, clip_left, one_line

if TYPE_CHECKING:
    from ricordo.cli.call import Call
    from ricordo.values.reports import Progress

REDRAW_SECONDS = 0.1
BAR = 20


class ProgressLine:
    """A progress callback that draws over its own line, and wipes it at the end."""

    def __init__(self, screen: Screen, *, active: bool) -> None:
        self._screen = screen
        self._active = active
        self._drawn_at = 0.0
        self._is_drawn = False

    @classmethod
    def for_call(cls, call: Call) -> ProgressLine:
        """Drawn only on a terminal, and not with ``--json`` or ``--quiet``."""
        return cls(call.screen(), active=sys.stderr.isatty() and not (call.json or call.quiet))

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if not self._active or now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        self._is_drawn = True
        self._screen.err.write("\r\x1b[2K" + progress_text(progress, self._screen.width - 1))
        self._screen.err.flush()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_drawn:
            self._screen.err.write("\r\x1b[2K")
            self._screen.err.flush()


def progress_text(progress: Progress, width: int) -> str:
    """``reading  ████░░░  120/500  34/s  11 s left  notes/a.md`` in at most so many columns."""
    parts = [progress.phase]
    if progress.total:
        full = round(BAR * min(progress.done / progress.total, 1.0))
        parts += ["█" * full + "░" * (BAR - full), f"{progress.done:,}/{progress.total:,}"]
    else:
        parts.append(f"{progress.done:,}")
    if progress.rate > 0:
        parts.append(f"{progress.rate:,.0f}/s" if progress.rate >= 10 else f"{progress.rate:.1f}/s")
    if progress.eta is not None:
        parts.append(f"{span_of_time(progress.eta)} left")
    state = "  ".join(parts)
    room = width - len(state) - 2
    label = one_line(progress.label)
    return f"{state}  {clip_left(label, room)}" if label and room >= 8 else clip(state, width)


def span_of_time(seconds: float) -> str:
    """``8 s``, ``3 min 20 s`` or ``2 h 5 min``."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
