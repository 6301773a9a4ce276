"""Text on a terminal: widths, wrapping, colours, and the two streams of a command.

It knows nothing of items or hits; ``present_*`` decide what to say.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import click

MAX_WIDTH = 120
"""Lines longer than this are hard to read, however wide the window is."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Codes that control a terminal, and those that change the direction of text."""
_SPACES = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?!.*(?:[{}=]|\w\(|;\s*$))(?:[^\W\d_]|[\"'“‘«(…])")
"""How a line of a sentence begins, at the margin; code has other signs."""
_WORDS_OF_A_SENTENCE = 6
"""Shorter lines are rarely broken by an editor: what follows is a line of its own."""


def clean(text: str) -> str:
    """The text without control characters, because stored text must not control the terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one blank, without control characters."""
    return clean(_SPACES.sub(" ", text).strip())


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


def prepare_streams() -> None:
    """UTF-8 on every platform; what cannot be encoded is escaped, never an exception."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


class Screen:
    """Writes to a person: results on standard output, the rest on standard error."""

    def __init__(self, *, color: bool | None = None, quiet: bool = False, verbose: bool = False) -> None:
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self.color = wants_color(self.out, color)
        self.err_color = wants_color(self.err, color)
        self.quiet = quiet
        self.verbose = verbose
        self.is_terminal = self.out.isatty()
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
        """One line of result."""
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
    ) -> None:
        """Columns under their heads; on a terminal the widest are cut to fit the window, ``paths`` at the front."""
        body = [[one_line(cell) for cell in row] for row in rows]
        if not body:
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
