"""How far a long job is: one line on a terminal that is drawn over, and now and then a new line elsewhere."""

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
LINE_SECONDS = 10.0
"""How often a line is printed where there is no terminal to draw over; a short job prints none."""

COSTLY_BYTES = 5_000_000
"""From this size on, a line says how much will be read."""

BYTES_OF_PASSAGE = 400
"""About how many bytes a passage of plain text has; logs and tables have a little less, prose a little more."""

MANY_PASSAGES = 500
"""From this many passages on, a line says that their vectors can be left to later."""

BAR = 20


class ProgressLine:
    """A progress callback. On a terminal it draws over its own line and wipes it at the end; else it prints lines."""

    def __init__(self, screen: Screen, *, active: bool, redraws: bool = True) -> None:
        self._screen = screen
        self._active = active
        self._redraws = redraws
        self._printed_at = 0.0 if redraws else time.monotonic()
        self._is_drawn = False
        self._cost_is_shown = False

    @classmethod
    def for_call(cls, call: Call) -> ProgressLine:
        """Drawn on a terminal, printed as lines elsewhere; nothing with ``--json`` or ``--quiet``."""
        return cls(call.screen(), active=not (call.json or call.quiet), redraws=sys.stderr.isatty())

    def __call__(self, progress: Progress) -> None:
        if not self._active:
            return
        self._show_cost(progress)
        now = time.monotonic()
        if now - self._printed_at < (REDRAW_SECONDS if self._redraws else LINE_SECONDS):
            return
        self._printed_at = now
        if not self._redraws:
            self._screen.note(progress_text(progress, self._screen.width))
            return
        self._is_drawn = True
        self._screen.err.write("\r\x1b[2K" + progress_text(progress, self._screen.width - 1))
        self._screen.err.flush()

    def _show_cost(self, progress: Progress) -> None:
        """Say once, before much is read or embedded, how much it is, and that it may be left to later."""
        embeds = progress.phase == "embedding" and (progress.total or 0) >= MANY_PASSAGES
        if self._cost_is_shown or not (embeds or progress.size >= COSTLY_BYTES):
            return
        self._cost_is_shown = True
        if embeds:
            self._screen.note(
                f"{progress.total:,} passages get their vectors, also those that waited. Ctrl-C loses nothing;"
                " 'ricordo embed' makes the rest later."
            )
            return
        passages = round(progress.size / BYTES_OF_PASSAGE, -3)
        self._screen.note(
            f"{progress.size / 1e6:,.0f} MB to read: if it is all text, about {passages:,.0f} passages, and making"
            " their vectors takes most of the time. Ctrl-C loses nothing; 'ricordo embed' makes the vectors later."
        )

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_drawn:
            self._screen.err.write("\r\x1b[2K")
            self._screen.err.flush()


def progress_text(progress: Progress, width: int) -> str:
    """``reading  ████░░░  120/500  34/s  11 s left  notes/a.md`` in at most ``width`` columns."""
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
