"""Makes commands from the declarations of verbs: their arguments, options, help and examples.

A verb without a function of its own gets ``run``, which calls the engine and prints the answer. A verb that is shown in
a way of its own has a function marked ``@command(path)``; it is handed the call and what was given, by the
parameters' names in Python.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.completing import RefType
from ricordo.cli.fields import ANY_FIELD, fields_from, item_fields
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.running import run
from ricordo.cli.verb import Verb
from ricordo.errors import UsageError
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import ParamRow, VerbRow

SENTENCE = 100_000
"""A text that may be this long is typed as several words, or read from standard input with ``-``."""
PATH, REF = RefType(), RefType(hits=True)
"""A ref, an item's id, a URL or a path; shells complete it, and the engine says what it is."""

Handler = Callable[..., int]


def command(
    path: str,
    *,
    row: VerbRow | None = None,
    cls: type[Verb] = Verb,
    without: Sequence[str] = (),
    extra: Sequence[click.Parameter] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Handler], Verb]:
    """A command with a function of its own, whose docstring is the rest of the help.

    ``row`` is the verb, where the command is called otherwise. ``without`` leaves parameters out, ``extra`` adds what
    only a terminal needs, ``defaults`` says what is usual on a terminal.
    """

    def decorate(function: Handler) -> Verb:
        verb = row or verb_named(path)
        usual = dict(defaults or {})
        params = [one._replace(default=usual.get(one.name, one.default)) for one in verb.params]
        handler = (lambda call, **given: function(call, **{**usual, **given})) if usual else function
        details = function.__doc__ or _for_a_terminal(verb)
        return _command(verb._replace(path=path, params=tuple(params)), handler, cls, without, details, extra)

    return decorate


def generated(path: str) -> Verb:
    """A command that calls its verb and prints what it returns, in a form of its own if ``SHOWN`` names one."""
    row = verb_named(path)
    words = [param for param in row.on("cli") if param.argument and _is_sentence(param)]
    make = command(path, cls=QueryVerb if words and row.scope == "read" else Verb)
    return make(_printing(path))


def optional(path: str, name: str) -> VerbRow:
    """A verb of which one parameter may be left out on a terminal."""
    row = verb_named(path)
    return row._replace(params=tuple(one._replace(required=one.required and one.name != name) for one in row.params))


def _printing(path: str) -> Handler:
    def handler(call: Call, **given: Any) -> int:
        return run(call, path, given)

    return handler


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
    without: Sequence[str],
    details: str,
    extra: Sequence[click.Parameter],
) -> Verb:
    import inspect

    params = [param for param in row.on("cli") if param.name not in without]
    arguments = [param for param in params if param.argument]
    words = next((at for at, param in enumerate(arguments) if _is_sentence(param)), None)
    shown: list[click.Parameter] = []
    if words is None:
        shown += [_argument(param) for param in arguments]
    else:
        shown += [_argument(param) for param in arguments[:words]]
        names = [param.shown or param.name.upper() for param in arguments[words:]]
        shown.append(click.Argument(["words"], nargs=-1, metavar=" ".join([f"{names[0]}...", *names[1:]])))
    has_fields = any(param.kind == "fields" for param in params)
    is_item = any(param.group == "**" for param in params)
    for param in params:
        if param.kind == "fields":
            shown += [*map(option, item_fields(but=params)), ANY_FIELD]
        elif not param.argument:
            shown.append(option(param))
    if is_item:
        shown.append(ANY_FIELD)

    @click.pass_obj
    def callback(call: Call, /, **given: Any) -> int:
        if words is not None:
            given |= _sentence(row, arguments[words:], given.pop("words"))
        if has_fields:
            given["fields"] = fields_from(given) or None
        elif is_item:
            given |= fields_from(given)
        return function(call, **{name: value for name, value in given.items() if value not in (None, ())})

    return cls(
        row.path.split()[-1], params=[*shown, *extra], callback=callback, help=row.line,
        details=inspect.cleandoc(details), examples=row.examples,
    )  # fmt: skip


def _is_sentence(param: ParamRow) -> bool:
    return param.kind == "text" and (param.longest or 0) >= SENTENCE


def _argument(param: ParamRow) -> click.Argument:
    many = param.many
    name = param.shown or param.name.upper()
    return click.Argument(
        [param.name], nargs=-1 if many else 1, metavar=f"{name}..." if many else name, type=_type(param),
        **_presence(param),
    )  # fmt: skip


def _presence(param: ParamRow) -> dict[str, Any]:
    """What is not given stays None; not so what is required, because to click a default of None is a value, too."""
    return {"required": True} if param.required else {"required": False, "default": None}


def option(param: ParamRow) -> click.Option:
    """An option from a parameter; what is not given stays None, so that the verb's own default counts."""
    flag = _flag(param)
    names = [flag, *([param.short] if param.short else []), param.name]
    settings: dict[str, Any] = {"help": _help(param), "hidden": param.hidden, **_presence(param)}
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


def _help(param: ParamRow) -> str:
    if param.default in (None, "", 0, False, True) or isinstance(param.default, list):
        return param.line
    return f"{param.line.rstrip('.')} ({param.default})."


def _type(param: ParamRow) -> click.ParamType[Any]:
    if param.choices:
        return click.Choice(param.choices)
    if param.kind == "integer":
        return click.IntRange(
            None if param.low is None else int(param.low), None if param.high is None else int(param.high)
        )
    if param.kind == "number":
        return click.FloatRange(param.low, param.high)
    if param.kind in ("ref", "path"):
        return REF if param.kind == "ref" and param.required and param.name != "new_ref" else PATH
    return {"object": JSON, "lines": LINES}.get(
        param.kind, COMMAS if param.many and param.shown == "A,B" else click.STRING
    )


class _Json(click.ParamType[Any]):
    """An object, written as JSON."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            read = json.loads(value or "{}")
        except ValueError:
            read = None
        if not isinstance(read, dict):
            self.fail(f"'{value}' is not a JSON object", param, ctx)
        return read


class _Commas(click.ParamType[Any]):
    """Several values with commas between them."""

    name = "commas"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ricordo.values.field_checks import checked_tags

        return checked_tags(value)


class _Lines(click.ParamType[Any]):
    """``N`` or ``N-M``: the first and the last line."""

    name = "lines"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        first, dash, last = value.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            self.fail(f"'{value}' does not say which lines", param, ctx)
        return int(first), int(last or first)


JSON, COMMAS, LINES = _Json(), _Commas(), _Lines()


def _sentence(row: VerbRow, arguments: Sequence[ParamRow], words: tuple[str, ...]) -> dict[str, Any]:
    """The words of a text and of the arguments after it: ``explain how do I rotate keys notes/keys.md``."""
    first, after = arguments[0], arguments[1:]
    needed = len(after) + first.required
    if len(words) < needed and (after or first.required):
        names = " ".join([f"{first.shown or first.name.upper()}...", *(one.shown or one.name.upper() for one in after)])
        raise UsageError(f"'{row.path}' takes {names.lower()}", hint=f"For example: {row.examples[0]}")
    cut = len(words) - len(after)
    given: dict[str, Any] = {one.name: word for one, word in zip(after, words[cut:], strict=True)}
    for one in after:
        if one.choices and given[one.name] not in one.choices:
            raise UsageError(f"{one.name} cannot be '{given[one.name]}'", hint=f"One of: {', '.join(one.choices)}.")
    return given | {first.name: text_from(words[:cut])}


def text_from(words: Sequence[str]) -> str:
    """The text of the words given; ``-`` alone reads it from standard input."""
    if list(words) == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    return " ".join(words)
