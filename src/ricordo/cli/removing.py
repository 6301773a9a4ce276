"""What ``rm`` and ``forget`` share: options that choose items, and asking for confirmation."""

from __future__ import annotations

import sys
from typing import Any

import click

from ricordo.cli.options import together
from ricordo.errors import UsageError
from ricordo.values.kinds import KINDS

_SPAN = "AGE"
CRITERIA = together(
    click.option("--older-than", metavar=_SPAN, help="Only items not changed for this long: 36h, 90d, 12w, 6m, 1y."),
    click.option("--unused-since", metavar=_SPAN, help="Only items not found, opened or changed for this long."),
    click.option(
        "--kind", "-k", "kinds", multiple=True, type=click.Choice(KINDS), metavar="KIND", help="Only this kind."
    ),
    click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="Only items with one of these tags."),
)
_NAMES = ("older_than", "unused_since", "kinds", "tags")


def criteria_from(given: dict[str, Any]) -> dict[str, Any]:
    """Take the flags of ``CRITERIA`` out of a verb's options."""
    return {name: given.pop(name) for name in _NAMES}


def confirm(what: str, count: int, *, always: bool = False) -> None:
    """Ask a person on a terminal before more than one item is changed or text is erased; a script is not asked."""
    asks = (always or count > 1) and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and not click.confirm(f"{what} {count} item{'' if count == 1 else 's'}?", err=True):
        raise UsageError("you did not confirm, so nothing was done", hint="Answer y, or use --yes.")
