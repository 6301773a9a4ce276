"""What every command shares: the global flags on both sides of the verb, and help with examples.

``verbs`` has a verb's line of help; the docstring of its function is the rest of the help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.verbs import BY_MEANING, RANKING, VERBS
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
from ricordo.log import keep_log


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep a global flag on the call; a flag that was not given changes nothing."""
    name = (param.name or "").removeprefix(_OF_ALL)
    if value is not None and name:
        setattr(ctx.ensure_object(Call), name, value)
        if name == "verbose":
            keep_log(verbose=True)


_OF_ALL = "of_all_"
"""Begins the names of global flags while they are read, so that none is taken for a verb's own parameter."""


def _global(flag: str, name: str = "", **settings: Any) -> click.Option:
    names = [flag, *settings.pop("short", ()), f"{_OF_ALL}{name or flag[2:].replace('-', '_')}"]
    return click.Option(names, expose_value=False, callback=_remember, default=None, **settings)


def _profile_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ricordo.cli.completing import profile_names

    return profile_names(ctx, param, incomplete)


GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    _global("--store", metavar="PATH|DSN", help="The store to use, instead of the project's or the user's."),
    _global("--json", is_flag=True, help="Answer with one JSON envelope on standard output."),
    _global("--quiet", short=["-q"], is_flag=True, help="Print results and errors only."),
    _global("--verbose", short=["-v"], is_flag=True, help="Print more, and stack traces of unexpected errors."),
    _global("--tier", metavar="NAME", help="Use this tier alone: agent, project or team."),
    _global("--profile", metavar="NAME", help="Rank with this profile.", shell_complete=_profile_names),
    _global("--no-color", "color", flag_value=False, is_flag=True, help="No colours (NO_COLOR does the same)."),
    _global("--no-server", is_flag=True, help="Do the work in this process, also when a server runs."),
)


class Verb(click.Command):
    """A command with the global flags, which prints its examples after its line of help."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), details: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.details = details
        # A verb may have a flag of its own by a global one's name: eval takes several --profile.
        own = {name for param in self.params for name in param.opts}
        self.params.extend(option for option in GLOBAL_OPTIONS if own.isdisjoint(option.opts))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ensure_object(Call).command = ctx.command_path.partition(" ")[2]
        rest = super().parse_args(ctx, args)
        for param in self.params:
            if param.type is click.STRING and param.name in ctx.params:
                ctx.params[param.name] = _as_text(ctx.params[param.name])
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        refuse_profile(ctx.ensure_object(Call), ctx.ensure_object(Call).command)
        return super().invoke(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help_text(self, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)


def _as_text(value: Any) -> Any:
    """Bytes that are not UTF-8 may be the name of a file, but in text they are replaced."""
    if isinstance(value, tuple):
        return tuple(map(_as_text, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class VerbGroup(click.Group):
    """A verb with verbs of its own, such as ``config get``; alone it does what one of them does, mostly ``list``."""

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), details: str = "", alone: str = "list", **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.alone = alone
        self.callback = self._list
        self.invoke_without_command = True
        self.no_args_is_help = False
        self.examples = tuple(examples)
        self.details = details
        self.params.extend(GLOBAL_OPTIONS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ensure_object(Call).command = ctx.command_path.partition(" ")[2]
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help_text(self, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)

    def _list(self) -> int:
        context = click.get_current_context()
        if context.invoked_subcommand:
            return 0
        call = context.ensure_object(Call)
        refuse_profile(call, f"{call.command} {self.alone}")
        return int(context.invoke(self.commands[self.alone]))


def refuse_profile(call: Call, command: str) -> None:
    """Refuse a profile for a verb that does not rank with it, because it would have no effect."""
    if not call.profile or command in RANKING:
        return
    why = "ranks by meaning alone" if command in BY_MEANING else "ranks nothing with a profile"
    raise UsageError(
        f"'{command}' {why}, so --profile has no effect on it",
        hint=f"Leave it out. These verbs take it: {', '.join(sorted(RANKING))}. For servers and hooks, set"
        " search.profile.",
    )


def write_help_text(command: Verb | VerbGroup, formatter: click.HelpFormatter) -> None:
    """One line, then examples, then the rest."""
    formatter.write_paragraph()
    formatter.write_text(command.help or "")
    formatter.write_paragraph()
    formatter.write_text("Examples:")
    for example in command.examples:
        formatter.write(f"  {example}\n")
    if command.details:
        formatter.write_paragraph()
        formatter.write_text(command.details)


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """A verb's own options first, the global ones in a section below."""
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    name = ctx.command_path.partition(" ")[2]
    for param in command.get_params(ctx):
        if "--profile" in param.opts and name and name not in RANKING:
            continue  # the verb refuses this option
        record = param.get_help_record(ctx)
        if record is not None and isinstance(param, click.Option):
            (shared if param in GLOBAL_OPTIONS else own).append(record)
    for title, records in (("Options", own), ("Global options", shared)):
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def verb(
    name: str, *, examples: Sequence[str], line: str = "", cls: type[Verb] = Verb
) -> Callable[[Callable[..., int]], Verb]:
    """Make a command of a function that takes the call first and returns the exit code."""

    def decorate(function: Callable[..., int]) -> Verb:
        return click.command(
            name,
            cls=cls,
            help=line or VERBS[name].line,
            details=inspect.cleandoc(function.__doc__ or ""),
            examples=examples,
        )(click.pass_obj(function))

    return decorate


def verb_group(name: str, *, examples: Sequence[str], details: str = "", alone: str = "list") -> VerbGroup:
    """A group of verbs from the table, to which sub-verbs are added."""
    return VerbGroup(name, help=VERBS[name].line, examples=examples, details=details, alone=alone)
