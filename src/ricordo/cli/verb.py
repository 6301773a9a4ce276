"""What every command shares: the global flags on both sides of the verb, and help with examples.

``verbs`` has the line of help of commands that are no verbs of the engine; the docstring of a command's function is the
rest of its help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.verbs import line_of
from ricordo.errors import UsageError
from ricordo.log import keep_log

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ricordo.verbs.rows import VerbRow

RANKED_BY_SETTING = frozenset({"context", "gather", "route", "tools find", "eval"})
"""Verbs that rank with the profile of the settings, which ``--profile`` stands for, and take none of their own."""
BY_MEANING = frozenset({"semantic", "similar", "suggest-links"})
"""The verbs that rank by likeness alone, whatever the profile."""


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
        call = ctx.ensure_object(Call)
        refuse_profile(call, call.command)
        return super().invoke(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help_text(formatter, self.help, self.examples, self.details)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)


def _as_text(value: Any) -> Any:
    """Bytes that are not UTF-8 may be the name of a file, but in text they are replaced."""
    if isinstance(value, tuple):
        return tuple(map(_as_text, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def takes_profile(command: str) -> bool:
    """Whether a command ranks with a profile of the user's choice."""
    if command in RANKED_BY_SETTING:
        return True
    from ricordo.verbs.index import has_verb, verb_named

    return has_verb(command) and _has_profile(verb_named(command))


def _has_profile(row: VerbRow) -> bool:
    return "by" not in row.fixed and any(param.name == "profile" for param in row.params)


def refuse_profile(call: Call, command: str) -> None:
    """Refuse a profile for a verb that does not rank with it, because it would have no effect."""
    if not call.profile or takes_profile(command):
        return
    from ricordo.verbs.index import all_verbs

    known = sorted({*RANKED_BY_SETTING, *(row.path for row in all_verbs() if _has_profile(row))})
    why = "ranks by meaning alone" if command in BY_MEANING else "ranks nothing with a profile"
    raise UsageError(
        f"'{command}' {why}, so --profile has no effect on it",
        hint=f"Leave it out. These verbs take it: {', '.join(known)}. For servers and hooks, set search.profile.",
    )


def write_help_text(formatter: click.HelpFormatter, line: str | None, examples: Sequence[str], details: str) -> None:
    """One line, then examples, then the rest."""
    formatter.write_paragraph()
    formatter.write_text(line or "")
    formatter.write_paragraph()
    formatter.write_text("Examples:")
    for example in examples:
        formatter.write(f"  {example}\n")
    if details:
        formatter.write_paragraph()
        formatter.write_text(details)


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """A verb's own options first, the global ones in a section below."""
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    name = ctx.command_path.partition(" ")[2]
    for param in command.get_params(ctx):
        if "--profile" in param.opts and name and not takes_profile(name):
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
            help=line or line_of(name),
            details=inspect.cleandoc(function.__doc__ or ""),
            examples=examples,
        )(click.pass_obj(function))

    return decorate
