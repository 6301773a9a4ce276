"""Text on a terminal: widths, wrapping, colours, tables, progress, and the two streams of a command.

It knows nothing of items or hits; ``show`` and ``show_reports`` decide what to say.
"""

from __future__ import annotations

import io
import os
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import click

from ricordo.patterns import late

if TYPE_CHECKING:
    from ricordo.cli.call import Call
    from ricordo.values.reports import Progress

MAX_WIDTH = 120
"""Lines longer than this are hard to read, however wide the window is."""

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

_CONTROLS = late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Codes that control a terminal, and those that change the direction of text."""
_SPACES = late(r"\s+")
_SENTENCE = late(r"(?!.*(?:[{}=]|\w\(|;\s*$))(?:[^\W\d_]|[\"'“‘«(…])")
"""How a line of a sentence begins, at the margin; code has other signs."""
_WORDS_OF_A_SENTENCE = 6
"""Shorter lines are rarely broken by an editor: what follows is a line of its own."""


def clean(text: str) -> str:
    """The text without control characters, because stored text must not control the terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one blank, without control characters."""
    return clean(_SPACES.sub(" ", text).strip())


def counted(count: int, what: str) -> str:
    """``1 item``, ``12 items``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def cells(text: str) -> int:
    """How many columns a text takes: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def clip(text: str, width: int) -> str:
    """The text cut to a number of columns, with an ellipsis where it was cut."""
    if cells(text) <= width:
        return text
    return _head(text, max(width - 1, 0)) + "…"


def clip_left(text: str, width: int) -> str:
    """Like ``clip``, but keeps the end: the last part of a path says most."""
    if cells(text) <= width:
        return text
    return "…" + _head(text[::-1], max(width - 1, 0))[::-1]


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:index]
    return text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at blanks where there are any."""
    width = max(width, 10)
    lines: list[str] = []
    line = ""
    for word in one_line(text).split(" "):
        rest = word
        if line and cells(line) + 1 + cells(rest) <= width:
            line += " " + rest
            continue
        if line:
            lines.append(line)
        while cells(rest) > width:
            head = _head(rest, width)
            lines.append(head)
            rest = rest[len(head) :]
        line = rest
    return [*lines, line] if line else lines


def wrap_lines(text: str, width: int) -> list[str]:
    """The same, but code, tables, lists and headings keep their lines and indentation; sentences flow."""
    lines: list[str] = []
    paragraph: list[str] = []
    for line in [*textwrap.dedent(text.expandtabs(4)).splitlines(), ""]:
        flows = _SENTENCE.match(line) is not None
        if paragraph and not (flows and len(paragraph[-1].split()) >= _WORDS_OF_A_SENTENCE):
            lines += wrap(" ".join(paragraph), width)
            paragraph = []
        if flows:
            paragraph.append(line)
        elif line.strip():
            kept = clean(line.rstrip())
            lines += [kept] if cells(kept) <= width else wrap(line, width)
    return lines


def wants_color(stream: TextIO, asked: bool | None) -> bool:
    """Whether colour codes may go to a stream: flag, then NO_COLOR and FORCE_COLOR, then what it is."""
    if asked is not None:
        return asked
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def person_answers() -> bool:
    """Whether somebody sits at the terminal who can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def prepare_streams() -> None:
    """UTF-8 on every platform; what cannot be encoded is escaped, never an exception."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


class Screen:
    """Writes to a person: results on standard output, the rest on standard error."""

    def __init__(
        self, *, color: bool | None = None, quiet: bool = False, verbose: bool = False, language: str = "english"
    ) -> None:
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self.color = wants_color(self.out, color)
        self.err_color = wants_color(self.err, color)
        self.quiet = quiet
        self.verbose = verbose
        self.language = language
        self.is_terminal = self.out.isatty()
        import shutil

        columns, self.height = shutil.get_terminal_size((100, 24))
        self.width = min(columns, MAX_WIDTH)

    def style(self, text: str, **how: Any) -> str:
        """The text with colour codes if standard output takes them (``fg="green"``, ``bold=True``, …)."""
        return click.style(text, **how) if self.color and text else text

    def dim(self, text: str) -> str:
        return self.style(text, dim=True)

    def bold(self, text: str) -> str:
        return self.style(text, bold=True)

    def line(self, text: str = "") -> None:
        self.out.write(text + "\n")

    def drawn(self, draw: Callable[[], None]) -> str:
        """What ``draw`` would write on standard output."""
        out, self.out = self.out, io.StringIO()
        try:
            draw()
            return self.out.getvalue()
        finally:
            self.out = out

    def page(self, text: str, *, is_long: bool) -> None:
        """Write a text; one that is longer than the window goes through a pager, which shows its beginning first."""
        if not is_long or not sys.stdin.isatty():
            self.out.write(text)
            return
        self.out.flush()
        os.environ.setdefault("LESS", "FRX")  # colours are shown, and the text stays on the screen at the end
        click.echo_via_pager(text.rstrip("\n"), color=self.color)

    def write_bytes(self, data: bytes) -> None:
        """Bytes as they are, for a file or a pipe."""
        self.out.flush()
        self.out.buffer.write(data)
        self.out.buffer.flush()

    def note(self, text: str) -> None:
        """Something worth knowing that is not the result; ``--quiet`` drops it."""
        if not self.quiet:
            self._speak(clean(text), dim=True)

    def warn(self, text: str) -> None:
        """Something that made the result less than it could be; ``--quiet`` drops it."""
        if not self.quiet:
            self._speak(clean(text), fg="yellow")

    def error(self, message: str, hint: str = "") -> None:
        """What went wrong and what to do next; always shown."""
        self._speak(f"error: {clean(message)}", fg="red")
        if hint:
            self._speak(f"hint: {clean(hint)}")

    def _speak(self, text: str, **how: Any) -> None:
        self.out.flush()
        self.err.write((click.style(text, **how) if self.err_color and how else text) + "\n")
        self.err.flush()

    def table(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        right: Iterable[int] = (),
        paths: Iterable[int] = (),
        empty: str = "",
    ) -> None:
        """Columns under their heads; on a terminal the widest are cut to fit the window, ``paths`` at the front.

        ``empty`` is noted if there are no rows.
        """
        body = [[one_line(cell) for cell in row] for row in rows]
        if not body:
            if empty:
                self.note(empty)
            return
        widths = [max(cells(row[i]) for row in [list(head), *body]) for i in range(len(head))]
        if self.is_terminal:
            widths = _fitted(widths, self.width)
        to_the_right, with_paths = set(right), set(paths)
        for number, row in enumerate([list(head), *body]):
            parts = []
            for i, cell in enumerate(row):
                cut = clip_left if i in with_paths else clip
                shown = cut(cell, widths[i]) if self.is_terminal else cell
                gap = " " * (widths[i] - cells(shown))
                parts.append(gap + shown if i in to_the_right else shown + gap)
            text = "  ".join(parts).rstrip()
            self.line(self.dim(text) if number == 0 else text)


def _fitted(widths: list[int], total: int) -> list[int]:
    """Column widths that fit the window: the widest gives way first, down to 12 columns."""
    widths = list(widths)
    while sum(widths) + 2 * (len(widths) - 1) > total:
        widest = max(range(len(widths)), key=lambda i: widths[i])
        if widths[widest] <= 12:
            break
        widths[widest] -= 1
    return widths


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
