"""Where a command writes, and the size of its window: the streams of its own process, or those of a caller.

A running server answers commands of other processes, several at a time. What such a command writes is kept as parts,
which the caller's process then writes as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

OUT, ERR, PAGED, PAGED_WITH_COLOR = "o", "e", "p", "c"
"""What a part is for: standard output, standard error, or the pager, without and with colours."""

SITTING = "_SITTING"
"""The name under which a server is told at which terminal the caller sits."""


def sitting() -> str:
    """What tells this terminal from others: the shell that leads its processes."""
    return str(os.getsid(0) if hasattr(os, "getsid") else os.getppid())


class Streams:
    """Those of this process."""

    def __init__(self) -> None:
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self.env: Mapping[str, str] = os.environ

    @property
    def is_typed_at(self) -> bool:
        """Whether a person sits at standard input."""
        return sys.stdin is not None and sys.stdin.isatty()

    @property
    def window(self) -> tuple[int, int]:
        """Columns and lines."""
        import shutil

        columns, lines = shutil.get_terminal_size((100, 24))
        return columns, lines

    @property
    def sitting(self) -> str:
        """What tells one terminal from another."""
        return sitting()

    def page(self, text: str, *, color: bool) -> None:
        """Show a long text through the user's pager."""
        self.out.flush()
        show_paged(text, color=color)


class CallersStreams(Streams):
    """Those of another process, which gets the parts in the order in which they were written."""

    def __init__(self, *, terminals: str, window: tuple[int, int], env: Mapping[str, str]) -> None:
        self.parts: list[tuple[str, bytes]] = []
        self.out = cast("TextIO", _Kept(self.parts, OUT, "o" in terminals))
        self.err = cast("TextIO", _Kept(self.parts, ERR, "e" in terminals))
        self.env = env
        self._terminals = terminals
        self._window = window

    @property
    def is_typed_at(self) -> bool:
        return "i" in self._terminals

    @property
    def sitting(self) -> str:
        return self.env.get(SITTING, "")

    @property
    def window(self) -> tuple[int, int]:
        return self._window

    def page(self, text: str, *, color: bool) -> None:
        self.parts.append((PAGED_WITH_COLOR if color else PAGED, encoded(text)))


class _Kept:
    """As much of a text stream as commands use."""

    def __init__(self, parts: list[tuple[str, bytes]], purpose: str, is_terminal: bool) -> None:
        self._parts = parts
        self._purpose = purpose
        self._is_terminal = is_terminal

    @property
    def buffer(self) -> Any:
        return self

    def write(self, text: str | bytes) -> int:
        self._parts.append((self._purpose, encoded(text) if isinstance(text, str) else bytes(text)))
        return len(text)

    def flush(self) -> None:
        """There is nothing to flush."""

    def isatty(self) -> bool:
        return self._is_terminal


def encoded(text: str) -> bytes:
    """As ``prepare_streams`` has every stream of a command write it."""
    return text.encode("utf-8", "backslashreplace")


def show_paged(text: str, *, color: bool) -> None:
    """Show a long text through the user's pager."""
    import click

    os.environ.setdefault("LESS", "FRX")  # colours are shown, and the text stays on the screen at the end
    click.echo_via_pager(text.rstrip("\n"), color=color)


_callers: ContextVar[Streams | None] = ContextVar("streams of the caller", default=None)


def current() -> Streams:
    """The streams of the command that runs now."""
    return _callers.get() or Streams()


@contextmanager
def writing_to(streams: Streams) -> Iterator[None]:
    """Commands in this thread write there."""
    token = _callers.set(streams)
    try:
        yield
    finally:
        _callers.reset(token)
