"""Commands with commands of their own, such as ``config get`` and ``skills search``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.verb import GLOBAL_OPTIONS, Verb, refuse_profile, write_help_text, write_options
from ricordo.cli.verbs import line_of


class VerbGroup(click.Group):
    """A verb with verbs of its own, such as ``config get``. Those without a function are made from their rows.

    Alone it does what one of them does, mostly ``list``; or ``alone`` is a command, whose options it takes.
    """

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), details: str = "", alone: str | Verb = "list", **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.alone = alone
        self.callback = self._alone
        self.invoke_without_command = True
        self.no_args_is_help = False
        self.examples = tuple(examples)
        self.details = details
        self.params.extend(alone.params if isinstance(alone, Verb) else GLOBAL_OPTIONS)

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ricordo.verbs.index import all_verbs

        begin = f"{self.name} "
        rows = [row.path.removeprefix(begin) for row in all_verbs() if row.path.startswith(begin)]
        return list(dict.fromkeys([*self.commands, *rows]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ricordo.verbs.index import has_verb

        path = f"{self.name} {cmd_name}"
        if cmd_name not in self.commands and has_verb(path):
            from ricordo.cli.generated import generated

            self.add_command(generated(path))
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ensure_object(Call).command = ctx.command_path.partition(" ")[2]
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help_text(formatter, self.help, self.examples, self.details)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)

    def _alone(self, **given: Any) -> int:
        context = click.get_current_context()
        if context.invoked_subcommand:
            return 0
        call = context.ensure_object(Call)
        if isinstance(self.alone, Verb):
            refuse_profile(call, call.command)
            assert self.alone.callback is not None
            return int(context.invoke(self.alone.callback, **given))
        refuse_profile(call, f"{call.command} {self.alone}")
        command = self.get_command(context, self.alone)
        assert command is not None, "the group has the verb that it does alone"
        return int(context.invoke(command))


def verb_group(name: str, *, examples: Sequence[str], details: str = "", alone: str | Verb = "list") -> VerbGroup:
    """A group of verbs from the table, to which hand-written ones are added."""
    line = alone.help if isinstance(alone, Verb) else line_of(name)
    return VerbGroup(name, help=line, examples=examples, details=details, alone=alone)
