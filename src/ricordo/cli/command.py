"""What every command shares: its place in the help, the global flags on both sides of the verb, help with examples.

Commands are made from the declarations of verbs (``generated``); the tables here name those that are no verbs of the
engine, and those that are written by hand. The help reads nothing but the list of commands that ``make docs`` writes,
as long as the plugins are those of that list.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.errors import UsageError
from ricordo.log import keep_log
from ricordo.plugin import Command, Plugin, are_all, installed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ricordo.verbs.rows import VerbRow

SECTIONS: dict[str, str] = {
    "add": "Add",
    "find": "Find",
    "remember": "Remember",
    "agents": "For agents",
    "look after": "Look after",
}
"""The sections of the help, by the groups of verbs."""

FIRST = (
    "init", "add", "refresh", "search", "get", "list", "remember", "correct", "edit", "forget", "rm", "context",
    "install", "serve", "status", "config",
)  # fmt: skip
"""What the first help shows."""

_CORE: dict[str, Command] = {
    "init": Command("add", "Make a store for this project."),
    "roots": Command(
        "add",
        "Show folders that were added, leave one, say what it holds or that it was moved.",
        "list",
        "refresh finds new files in these folders. 'roots rm' leaves a folder and keeps its items; 'rm FOLDER/' removes"
        " the items, too.",
    ),
    "open": Command("find", "Open an item in your editor, or its page in the browser."),
    "hook": Command("agents", "Answer a hook of an agent's program: JSON in, JSON out."),
    "mcp": Command("agents", "Serve agents over the Model Context Protocol."),
    "serve": Command("agents", "Serve the page, the API, MCP and hooks.", "serve"),
    "serve tokens": Command(
        "agents",
        "Make and take away tokens for the server.",
        "list",
        "Programs send a token as 'Authorization: Bearer TOKEN'. Only a hash of it is kept.",
    ),
    "config": Command(
        "look after",
        "Read and change settings.",
        "list",
        "A flag wins over a RICORDO_* variable, that over the project's file, that over yours. A change takes effect at"
        " the next query of every running process.",
    ),
    "learn": Command(
        "look after",
        "Show, freeze or undo what feedback did to the ranking.",
        "status",
        "With 30 verdicts or more, the weight of the text signal in the profiles default and vault is their own plus"
        " (acceptance - 0.5) x 0.30, so at most 0.15 away from it; the other weights keep their proportions.",
    ),
    "profiles": Command(
        "look after",
        "Show the ranking profiles and their weights.",
        "list",
        "A profile is a list of signals and their weights, which sum to 1. Add your own to config.toml as"
        " [profiles.NAME] with base and weights, or with signals of its own; --weights changes them for one search.",
    ),
    "models": Command(
        "look after",
        "Show, test and choose the embedding model.",
        "list",
        "What turns text into vectors. The model inside the package needs nothing; others need a key, a server or a"
        " download. Vectors of different models are never compared, so a switch means making them again.",
    ),
    "completion": Command("look after", "Print the completion script of a shell."),
    "version": Command("look after", "Print the version."),
}

_BY_HAND = {
    "cmd_search": "get open",
    "cmd_write": "init add watch save edit",
    "cmd_config": "config profiles",
    "cmd_serve": "serve mcp",
    "cmd_program": "hook version completion",
}
_MODULES = {name: module for module, names in _BY_HAND.items() for name in names.split()}


@cache
def own_commands() -> Mapping[str, Command]:
    """The commands that are no verbs, those of plugins included."""
    return _CORE | {name: command for plugin in installed().values() for name, command in plugin.commands.items()}


def load_commands(path: str) -> None:
    """Import the module of hand-written commands that begin with the first of these words."""
    first = path.partition(" ")[0]
    if module := _MODULES.get(first):
        import_module(f"ricordo.cli.{module}")
    elif plugin := _plugin_of(first):
        plugin.load_cli()


def _plugin_of(name: str) -> Plugin | None:
    from ricordo.verbs.index import has_verb, verb_named

    for plugin in installed().values():
        if name in plugin.commands:
            return plugin
    return installed().get(verb_named(name).plugin) if has_verb(name) else None


def shown_commands() -> Mapping[str, tuple[str, str]]:
    """All commands with their section and line: the first ones, then the others by name."""
    from ricordo.cli.command_list import COMMANDS, PLUGINS

    if are_all(PLUGINS):
        return COMMANDS
    from ricordo.verbs.index import all_verbs

    return declared_commands(all_verbs())


def declared_commands(verbs: Iterable[VerbRow]) -> dict[str, tuple[str, str]]:
    """The same, from all verbs and what plugins declare."""
    known = {name: (own.section, own.line) for name, own in own_commands().items() if " " not in name}
    known |= {row.path: (row.group, row.line) for row in verbs if "cli" not in row.not_on and " " not in row.path}
    return {name: known[name] for name in (*FIRST, *sorted(known.keys() - set(FIRST))) if name in known}


def first_commands() -> dict[str, tuple[str, str]]:
    """Those of the first help."""
    commands = shown_commands()
    return {name: commands[name] for name in FIRST if name in commands}


_GLOBAL = "of_all_"
"""Begins the names of global flags while they are read, so that none is taken for a verb's own parameter."""


def _keep_flag(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep a global flag on the call; a flag that was not given changes nothing."""
    name = (param.name or "").removeprefix(_GLOBAL)
    if value is not None and name:
        setattr(ctx.ensure_object(Call), name, value)
        if name == "verbose":
            keep_log(verbose=True)


def _global(flag: str, name: str = "", **settings: Any) -> click.Option:
    names = [flag, *settings.pop("short", ()), f"{_GLOBAL}{name or flag[2:]}"]
    return click.Option(names, expose_value=False, callback=_keep_flag, default=None, **settings)


def _profile_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ricordo.cli.completion import profile_names

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


class QueryVerb(Verb):
    """A verb whose words may start with a dash: ``ricordo search -draft plan`` leaves drafts out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the words after the options, behind ``--``."""
        options = {
            name: param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }
        flags: list[str] = []
        words: list[str] = []
        takes_value = False
        for index, arg in enumerate(args):
            if takes_value:
                flags.append(arg)
                takes_value = False
            elif arg == "--":
                words += args[index + 1 :]
                break
            elif _is_word(arg, options):
                words.append(arg)
            else:
                flags.append(arg)
                option = options.get(arg)
                takes_value = option is not None and not (option.is_flag or option.count)
        return super().parse_args(ctx, [*flags, "--", *words])


def _is_word(arg: str, options: Mapping[str, click.Option]) -> bool:
    """Whether this is part of the query: ``plan``, ``-draft``, ``-``; not ``-n``, ``-n5``, ``-qv`` or ``--x``."""
    if not arg.startswith("-") or arg == "-":
        return True
    if arg.startswith("--") or len(arg) == 2:
        return False
    if arg[2:].isdigit():
        return arg[:2] not in options
    return not all(f"-{letter}" in options and options[f"-{letter}"].is_flag for letter in arg[1:])


REGISTERED: dict[str, Verb] = {}
"""The commands that are written by hand, by all their words; their modules put them here."""


def verb(
    path: str, *, examples: Sequence[str], line: str = "", details: str = ""
) -> Callable[[Callable[..., int]], Verb]:
    """Make a command of a function that takes the call first and returns the exit code; its docstring is the rest of
    the help, before the ``details``.
    """

    def decorate(function: Callable[..., int]) -> Verb:
        text, help_line = inspect.cleandoc(function.__doc__ or "") + details, line or own_commands()[path].line
        make = click.command(path.split()[-1], cls=Verb, help=help_line, details=text, examples=examples)
        return register(path, make(click.pass_obj(function)))

    return decorate


def register(path: str, command: Verb) -> Verb:
    """Put a command that is written by hand where it is looked up, with what plugins add to it."""
    REGISTERED[path] = command
    for plugin in installed().values():
        if path in plugin.extends:
            plugin.load(plugin.extends[path])(command)
    return command


def _as_text(value: Any) -> Any:
    """Bytes that are not UTF-8 may be the name of a file, but in text they are replaced."""
    if isinstance(value, tuple):
        return tuple(map(_as_text, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def takes_profile(command: str) -> bool:
    """Whether a command ranks with a profile: one that the verb is given, or that of the settings."""
    from ricordo.verbs.index import has_verb, verb_named

    if not has_verb(command):
        own = own_commands()
        return command in own and own[command].takes_profile
    row = verb_named(command)
    return row.needs_model or any(param.name == "profile" for param in row.params)


def refuse_profile(call: Call, command: str) -> None:
    """Refuse a profile for a verb that does not rank with it, because it would have no effect."""
    if call.profile and not takes_profile(command):
        from ricordo.verbs.index import all_verbs

        known = sorted(path for path in (*own_commands(), *(row.path for row in all_verbs())) if takes_profile(path))
        raise UsageError(
            f"'{command}' ranks nothing with a profile, so --profile has no effect on it",
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
