"""Makes commands from the declarations of verbs: their arguments, options, help and examples; and runs verbs.

A verb without a function of its own calls the engine and prints the answer, by the type of what it returns
(``show_reports``). A verb that needs more has a function marked ``@command(path)``; it is handed the call and what was
given, by the parameters' names in Python.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import (
    GLOBAL_OPTIONS,
    REGISTERED,
    QueryVerb,
    Verb,
    load_commands,
    own_commands,
    refuse_profile,
    register,
    write_help_text,
    write_options,
)
from ricordo.cli.completion import RefType
from ricordo.cli.terminal import ProgressLine, person_answers
from ricordo.errors import UsageError
from ricordo.verbs.index import all_verbs, has_verb, verb_named
from ricordo.verbs.rows import ParamRow, VerbRow, plain_answer, prepared

if TYPE_CHECKING:
    from ricordo.cli.terminal import Screen
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.hits import Answer

SENTENCE = 100_000
"""A text that may be this long is typed as several words, or read from standard input with ``-``."""
PATH, REF = RefType(), RefType(hits=True)
"""A ref, an item's id, a URL or a path; shells complete it, and the engine says what it is."""
ANY_FIELD = click.Option(["--set", "pairs"], multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable).")
FORM = (
    click.Option(["--brief", "form"], flag_value="brief", default="", help="Print one line for each hit."),
    click.Option(["--files", "form"], flag_value="files", help="Print only the paths or refs of the hits."),
)
"""How hits are printed; without one of these as fully as fits the window, and the rest through a pager."""
PROJECT = click.Option(
    ["--project", "scope"], flag_value="project", default=None, help="Change the project's settings, not your own."
)
YES = click.Option(["--yes", "-y"], is_flag=True, help="Do not ask for confirmation.")

Handler = Callable[..., int]


def find_command(path: str) -> click.Command | None:
    """The command of these words: a group, one that is written by hand, or one that calls its verb."""
    load_commands(path)
    own = own_commands()
    if path in own and own[path].alone:
        return VerbGroup(path)
    return REGISTERED.get(path) or (generated(path) if has_verb(path) else None)


def generated(path: str) -> Verb:
    """A command that calls its verb and prints what it returns."""
    row = verb_named(path)
    words = [param for param in row.on("cli") if param.argument and _is_sentence(param)]
    cls = QueryVerb if any(param.name in ("query", "task") for param in words) else Verb
    extra = [*(FORM if row.returns == "Answer" else ()), *([YES] if row.asks else ())]
    extra += [PROJECT for param in row.params if param.name == "scope"]
    return _command(row, lambda call, **given: run(call, path, given), cls, extra=extra)


def command(
    path: str,
    *,
    row: VerbRow | None = None,
    without: Sequence[str] = (),
    extra: Sequence[click.Parameter] = (),
) -> Callable[[Handler], Verb]:
    """A command with a function of its own, whose docstring, if it has one, replaces that of the verb.

    ``row`` is the verb as the command takes it, where that differs. ``without`` leaves parameters out, ``extra`` adds
    what only a terminal needs.
    """

    def decorate(function: Handler) -> Verb:
        return register(path, _command(row or verb_named(path), function, Verb, without, extra=extra))

    return decorate


class VerbGroup(click.Group):
    """A command with commands of its own, such as ``config get``.

    Alone it does what one of them does, mostly ``list``; or it is a command itself, whose options it takes.
    """

    def __init__(self, path: str) -> None:
        own = own_commands()[path]
        super().__init__(path.split()[-1], help=own.line, callback=self._alone, invoke_without_command=True)
        self.path = path
        self.itself = REGISTERED.get(path)
        self.details = self.itself.details if self.itself else own.details
        self.params.extend(self.itself.params if self.itself else GLOBAL_OPTIONS)

    @property
    def examples(self) -> Sequence[str]:
        """Those of the command itself, or the first of some parts."""
        if self.itself:
            return self.itself.examples
        parts = [find_command(f"{self.path} {name}") for name in self.list_commands(click.Context(self))[:4]]
        return [part.examples[0] for part in parts if isinstance(part, Verb) and part.examples]

    def list_commands(self, ctx: click.Context) -> list[str]:
        begin = f"{self.path} "
        paths = [
            path
            for path in (*(row.path for row in all_verbs()), *REGISTERED, *own_commands())
            if path.startswith(begin)
        ]
        return [name for name in dict.fromkeys(path.removeprefix(begin) for path in paths) if " " not in name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return find_command(f"{self.path} {cmd_name}")

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
        command = self.itself or self.get_command(context, own_commands()[self.path].alone)
        assert command is not None, "the group has the verb that it does alone"
        refuse_profile(call, call.command if self.itself else f"{call.command} {command.name}")
        return int(context.invoke(command, **given))


def run(call: Call, path: str, given: Mapping[str, Any]) -> int:
    """Call a verb and print its answer."""
    row = verb_named(path)
    given = with_globals(call, row, given)
    if given.get("source") == "-":
        given["source"] = sys.stdin.buffer
    if given.get("arguments") == ("-",):
        given["arguments"] = (sys.stdin.read(),)
    form, yes = given.pop("form", ""), given.pop("yes", False)
    for param in row.params:
        if param.asks and param.name not in given:
            given[param.name] = lambda would: not call.json and person_answers() and _agrees(would)
    progress: ProgressLine | None = None
    if any(param.name == "progress" for param in row.params):
        progress = ProgressLine.for_call(call)
        given["progress"] = progress
    ask = prepared(row, given)
    storeless = row.storeless and (row.scope == "read" or not call.has_store())
    if not storeless:
        call.check_named_store(create=row.creates)
    # Whether the vector of a query will be asked for.
    asked = given.get("query", "") or given.get("task", "")
    opened = call.engine(
        create=row.creates,
        meaning=bool(row.needs_model and asked and given.get("by") not in ("words", "text")),
        storeless=storeless,
    )
    with opened as engine, progress or nullcontext():
        if row.asks and not (yes or given.get("dry_run")):
            _confirm(call, engine, row, given)
        result = ask(engine)
        if row.returns == "Answer":
            return _tell_hits(call, engine, result, given, form=form)
        if row.returns == "RemovalReport" and given.get("purge"):
            from ricordo.cli import last_search
            from ricordo.engine.context import sealing_store

            last_search.forget([saved.ref for saved in result.items if saved.status == "purged"], sealing_store(engine))
    return tell(call, row, result, limit=given.get("limit"))


def _tell_hits(call: Call, engine: Ricordo, answer: Answer, given: Mapping[str, Any], *, form: str) -> int:
    """Print hits, and keep their numbers for the next command."""
    from ricordo.cli import last_search
    from ricordo.cli.show import show_answer
    from ricordo.engine.context import sealing_store

    first = given.get("offset", 0) + 1

    def draw(screen: Screen) -> None:
        last_search.keep([hit.ref for hit in answer.hits], first, sealing_store(engine))
        show_answer(screen, answer, query=given.get("query", ""), first=first, form=form)

    return call.answer(answer.to_dict(), draw)


def _confirm(call: Call, engine: Ricordo, row: VerbRow, given: Mapping[str, Any]) -> None:
    """Ask a person on a terminal before it is done; a script is not asked, or must say ``--yes``."""
    from ricordo.cli.show_reports import present, question_of

    if row.asks == "people" and (call.json or not person_answers()):
        return
    would = prepared(row, {**given, "dry_run": True})(engine)
    if not question_of(would):
        return
    if not person_answers():
        hint = "See what it would do with --dry-run; --yes does not ask."
        raise UsageError("this is asked on a terminal before it is done", hint=hint)
    if row.asks == "everybody":
        present(call.screen(), row, would, {})
    if not _agrees(would):
        raise UsageError("you did not confirm, so nothing was done", hint="Answer y, or use --yes.")


def _agrees(would: Any) -> bool:
    """Ask whether what a verb would do shall be done; nobody is asked about nothing."""
    from ricordo.cli.show_reports import question_of

    question = question_of(would)
    return bool(question) and click.confirm(question, err=True)


def tell(call: Call, row: VerbRow, result: Any, *, limit: int | None = None) -> int:
    """Print what a verb returned, and what of it failed."""
    from ricordo.cli.show_reports import present, problem_of
    from ricordo.values.reports import AddReport

    if row.returns == "Saved":
        result, row = AddReport((result,)), row._replace(returns="AddReport")
    plain = plain_answer(row, result)
    code, error = problem_of(result) or (0, None)

    def draw(screen: Screen) -> None:
        present(screen, row, result, plain)
        most = limit or next((one.default for one in row.params if one.name == "limit"), None)
        if isinstance(result, list | tuple) and not hasattr(result, "to_dict") and most and len(result) >= most:
            screen.note(f"stopped at {most:,}; --limit shows more")

    return call.answer(plain, draw, exit_code=code, error=error)


def with_globals(call: Call, row: VerbRow, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, with the global flags that are parameters of the verb: the tier and the profile."""
    names = {param.name for param in row.params if not param.is_on("cli")}
    flags: dict[str, Any] = {}
    if call.tier and "tiers" in names:
        flags["tiers"] = (call.tier,)
    if call.profile and "profile" in names:
        flags["profile"] = call.profile
    return {**given, **flags}


def _for_a_terminal(row: VerbRow) -> str:
    """The rest of the help, where parameters are named as on the command line."""
    options = {param.name: param for param in row.on("cli") if not param.argument}

    def as_option(name: re.Match[str]) -> str:
        param = options.get(name[1])
        return name[1] if param is None else _flag(param)

    return re.sub(r"``([^`]*)``", as_option, row.details)


def _command(
    row: VerbRow,
    function: Handler,
    cls: type[Verb],
    without: Sequence[str] = (),
    *,
    extra: Sequence[click.Parameter] = (),
) -> Verb:
    params = [param for param in row.on("cli") if param.name not in without]
    arguments = [param for param in params if param.argument]
    words = next((at for at, param in enumerate(arguments) if _is_sentence(param)), None)
    shown: list[click.Parameter] = []
    if words is None:
        shown += [_argument(param) for param in arguments]
    else:
        shown += [_argument(param) for param in arguments[:words]]
        shown.append(click.Argument(["words"], nargs=-1, metavar=_names_of(arguments[words:])))
    names = {param.name for param in params}
    has_fields = any(param.kind == "fields" for param in params)
    apart = [param.name for param in params if param.kind != "fields" and param.group != "**"]
    for param in params:
        if param.kind == "fields":
            fields = [one for one in verb_named("remember").on("cli") if one.group == "**" and one.name not in names]
            shown += [*map(option, fields), ANY_FIELD]
        elif not param.argument:
            shown.append(option(param))

    @click.pass_obj
    def callback(call: Call, /, **given: Any) -> int:
        if words is not None:
            given |= _sentence(row, arguments[words:], given.pop("words"))
        if has_fields:
            own = {name: given.pop(name) for name in apart if name in given}
            given = own | {"fields": fields_from(given) or None} | given
        return function(call, **{name: value for name, value in given.items() if value not in (None, ())})

    return cls(
        row.path.split()[-1], params=[*shown, *extra], callback=callback, help=row.line, examples=row.examples,
        details=inspect.cleandoc(function.__doc__) if function.__doc__ else _for_a_terminal(row),
    )  # fmt: skip


def _is_sentence(param: ParamRow) -> bool:
    return param.kind == "text" and (param.longest or 0) >= SENTENCE


def _argument(param: ParamRow) -> click.Argument:
    many = param.many or param.kind == "object"
    name = (param.shown or param.name.upper()) + ("..." if many else "")
    return click.Argument(
        [param.name], nargs=-1 if many else 1, metavar=name if param.required else f"[{name}]", type=_type(param),
        **_presence(param),
    )  # fmt: skip


def _presence(param: ParamRow) -> dict[str, Any]:
    """What is not given stays None; not so what is required, because to click a default of None is a value, too."""
    return {"required": True} if param.required else {"required": False, "default": None}


def option(param: ParamRow) -> click.Option:
    """An option from a parameter; what is not given stays None, so that the verb's own default counts."""
    flag = _flag(param)
    names = [flag, *([param.short] if param.short else []), param.name]
    has_default = param.default not in (None, "", 0, False, True) and not isinstance(param.default, list)
    line = f"{param.line.rstrip('.')} ({param.default})." if has_default else param.line
    settings: dict[str, Any] = {"help": line, **_presence(param)}
    if param.kind == "flag":
        both = param.default is not False or " or not" in param.line
        names[0] = f"{flag}/--no-{flag[2:]}" if both else flag
        return click.Option(names, is_flag=True, **settings)
    if param.kind == "pair":
        return click.Option(names, nargs=2, multiple=True, metavar=param.shown, **settings)
    multiple = param.many and param.shown != "A,B"
    return click.Option(names, multiple=multiple, type=_type(param), metavar=param.shown or None, **settings)


def _flag(param: ParamRow) -> str:
    return f"--{param.face_name.replace('_', '-')}"


def _type(param: ParamRow) -> click.ParamType[Any]:
    if param.choices and param.name != "rerank":  # plugins bring rerankers of their own
        return click.Choice(param.choices)
    if param.kind == "integer":
        return click.IntRange(
            None if param.low is None else int(param.low), None if param.high is None else int(param.high)
        )
    if param.kind == "number":
        return click.FloatRange(param.low, param.high)
    if param.kind in ("ref", "path"):
        return REF if param.kind == "ref" and param.required and param.name != "new_ref" else PATH
    return {"object": click.STRING if param.argument else JSON, "lines": LINES}.get(
        param.kind, COMMAS if param.many and param.shown == "A,B" else click.STRING
    )


class _Read(click.ParamType[Any]):
    """A value that a function reads from its text, or says in a ``ValueError`` why it cannot."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


def _json(text: str) -> Any:
    with suppress(ValueError):
        if isinstance(read := json.loads(text or "{}"), dict):
            return read
    raise ValueError(f"'{text}' is not a JSON object")


def _commas(text: str) -> Any:
    from ricordo.values.field_checks import checked_tags

    return checked_tags(text)


def _lines(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise ValueError(f"'{text}' does not say which lines")
    return int(first), int(last or first)


JSON, COMMAS, LINES = _Read("json", _json), _Read("commas", _commas), _Read("lines", _lines)


def _sentence(row: VerbRow, arguments: Sequence[ParamRow], words: tuple[str, ...]) -> dict[str, Any]:
    """The words of a text and of the arguments after it: ``explain how do I rotate keys notes/keys.md``."""
    first, after = arguments[0], arguments[1:]
    needed = len(after) + first.required
    if len(words) < needed and (after or first.required):
        raise UsageError(f"'{row.path}' takes {_names_of(arguments).lower()}", hint=f"For example: {row.examples[0]}")
    cut = len(words) - len(after)
    given: dict[str, Any] = {
        one.name: REF.hit(word) if one.kind == "ref" else word for one, word in zip(after, words[cut:], strict=True)
    }
    for one in after:
        if one.choices and given[one.name] not in one.choices:
            raise UsageError(f"{one.name} cannot be '{given[one.name]}'", hint=f"One of: {', '.join(one.choices)}.")
    return given | {first.name: text_from(words[:cut])}


def _names_of(arguments: Sequence[ParamRow]) -> str:
    first, *after = [param.shown or param.name.upper() for param in arguments]
    return " ".join([f"{first}..." if arguments[0].required else f"[{first}...]", *after])


def text_from(words: Sequence[str]) -> str:
    """The text of the words given; ``-`` alone reads it from standard input."""
    if list(words) == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    return " ".join(words)


_INTEGER_FIELDS = ("importance", "seq")
_FLAG_FIELDS = ("immutable", "decay_protected", "is_textual")
_TEXT_FIELDS = ("title", "description", "context")


def fields_from(given: dict[str, Any]) -> dict[str, Any]:
    """Take the fields of an item out of what was given, by options of their own or by ``--set``."""
    from ricordo.values.field_checks import checked_tags
    from ricordo.values.items import FIELD_NAMES, checked_fields

    changes: dict[str, Any] = {}
    for pair in given.pop("pairs", ()):
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"'{pair}' is not FIELD=VALUE", hint="Write --set severity=warning")
        changes[name] = _field(name, value) if name in FIELD_NAMES else value
    for name in FIELD_NAMES:
        value = given.pop(name, None)
        if value not in (None, ()):
            changes[name] = checked_tags(",".join(value)) if name == "tags" else value
    return checked_fields(changes)


def _field(name: str, text: str) -> object:
    """The value of one field from its text; ``checked_fields`` says what is allowed."""
    value = text.strip()
    if name == "tags":
        return value
    if name in _FLAG_FIELDS:
        if value.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise UsageError(f"{name} cannot be '{value}'", hint="true or false.")
        return value.lower() in ("true", "yes", "1")
    if name == "metadata":
        return JSON.convert(value, None, None)
    if not value and name not in _TEXT_FIELDS:
        return None
    if name in _INTEGER_FIELDS:
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"{name} cannot be '{value}'", hint="A whole number.") from None
    return text
