"""Asks the person at the terminal for the passphrase of an encrypted store; programs are never asked."""

from __future__ import annotations

import sys

from ricordo.keys.finding import ask_with


def asking_at_terminal() -> None:
    """From now on, a passphrase that is needed is asked for, if a person sits there."""
    is_person = all(one is not None and one.isatty() for one in (sys.stdin, sys.stderr))
    ask_with(_asked if is_person else None)


def _asked(what: str, is_new: bool) -> str:
    import click

    return str(click.prompt(what, hide_input=True, confirmation_prompt=is_new, err=True))
