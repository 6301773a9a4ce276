"""What ``rm`` and ``forget`` share: asking for confirmation."""

from __future__ import annotations

import sys

import click

from ricordo.errors import UsageError

YES = click.Option(["--yes", "-y"], is_flag=True, help="Do not ask for confirmation.")


def confirm(what: str, count: int, *, always: bool = False) -> None:
    """Ask a person on a terminal before more than one item is changed or text is erased; a script is not asked."""
    asks = (always or count > 1) and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and not click.confirm(f"{what} {count} item{'' if count == 1 else 's'}?", err=True):
        raise UsageError("you did not confirm, so nothing was done", hint="Answer y, or use --yes.")
