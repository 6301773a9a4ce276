"""Every verb is a command with all its parameters, or its declaration says why not."""

from __future__ import annotations

import click

from ricordo.cli.program import program
from ricordo.verbs.index import all_verbs
from ricordo.verbs.rows import VerbRow

ROWS = all_verbs()


def command_of(row: VerbRow) -> click.Command | None:
    """The command that a verb's words lead to."""
    found: click.Command | None = program
    for word in row.path.split():
        found = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
    return found


def lacking(row: VerbRow, command: click.Command) -> list[str]:
    """Parameters of a verb that its command does not take, and whose declaration does not say why."""
    flags = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
    taken = [param.name for param in command.params if isinstance(param, click.Argument)]
    wanted = [param for param in row.params if not param.not_on.get("cli")]
    arguments = [param.name for param in wanted if param.argument]
    options = [param for param in wanted if not param.argument and not (param.kind == "fields" and "--set" in flags)]
    without = [param.name for param in options if not names_of(param.face_name) & flags]
    return without if "words" in taken else without + arguments[len(taken) :]


def names_of(name: str) -> set[str]:
    """The flags that stand for a parameter."""
    words = name.replace("_", "-")
    return {f"--{words}", f"--no-{words}"}


def test_every_verb_is_a_command_or_its_declaration_says_why_not() -> None:
    without = {row.path for row in ROWS if command_of(row) is None and not row.not_on.get("cli")}
    assert without == set()


def test_every_parameter_is_an_option_or_its_declaration_says_why_not() -> None:
    found = {row.path: lacking(row, command) for row in ROWS if (command := command_of(row)) is not None}
    assert {path: names for path, names in found.items() if names} == {}
