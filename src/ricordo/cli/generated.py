"""Makes commands from the declarations of verbs: their arguments, options, help and examples.

A verb without a function of its own gets ``run``, which calls the engine and prints the answer. A verb that is shown in
a way of its own has a function marked ``@command(path)``; it is handed the call and what was given, by the
parameters' names in Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.completing import RefType
from ricordo.cli.verb import Verb
from ricordo.errors import UsageError
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import ParamRow, VerbRow, plain_answer, prepared

if TYPE_CHECKING:
    from ricordo.cli.terminal import Screen

SENTENCE = 100_000
"""A text that may be this long is typed as several words, or read from standard input with ``-``."""
_INTEGER_FIELDS = ("importance", "seq")
_FLAG_FIELDS = ("immutable", "decay_protected", "is_textual")
_TEXT_FIELDS = ("title", "description", "context")
REF = RefType(allow_dash=True)
"""A ref, an item's id, a URL or a path; shells complete it, and the engine says what it is."""

Handler = Callable[..., int]


def command(
    path: str,
    *,
    row: VerbRow | None = None,
    cls: type[Verb] = Verb,
    without: Sequence[str] = (),
    extra: Sequence[click.Parameter] = (),
) -> Callable[[Handler], Verb]:
    """A command with a function of its own, whose docstring is the rest of the help.

    ``row`` is the verb, where the command is called otherwise. ``without`` leaves parameters out, ``extra`` adds what
    only a terminal needs.
    """

    def decorate(function: Handler) -> Verb:
        verb = row or verb_named(path)
        return _command(verb, function, cls, without, function.__doc__ or verb.details, extra)

    return decorate


def generated(path: str) -> Verb:
    """A command that calls its verb and prints what it returns."""
    row = verb_named(path)
    return _command(row, lambda call, **given: run(call, row, given), Verb, (), row.details, ())


def run(call: Call, row: VerbRow, given: Mapping[str, Any]) -> int:
    """Call a verb and print its answer: as JSON, or as lines of names and values."""
    ask = prepared(row, given)
    with call.engine(create=row.scope != "read") as engine:
        plain = plain_answer(row, ask(engine))

    def draw(screen: Screen) -> None:
        from ricordo.cli.present_plain import show_plain

        show_plain(screen, plain)

    return call.answer(plain, draw)


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
            shown += field_options(but=params)
        elif not param.argument:
            shown.append(option(param))
    if is_item:
        shown.append(_any_field())

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
        [param.name], nargs=-1 if many else 1, required=param.required, metavar=f"{name}..." if many else name,
        type=_type(param), default=None,
    )  # fmt: skip


def option(param: ParamRow) -> click.Option:
    """An option from a parameter; what is not given stays None, so that the verb's own default counts."""
    flag = f"--{param.face_name.replace('_', '-')}"
    names = [flag, *([param.short] if param.short else []), param.name]
    settings: dict[str, Any] = {
        "help": _help(param),
        "hidden": param.hidden,
        "default": None,
        "required": param.required,
    }
    if param.kind == "flag":
        both = param.default is not False or " or not" in param.line
        names[0] = f"{flag}/--no-{flag[2:]}" if both else flag
        return click.Option(names, is_flag=True, **settings)
    if param.kind == "pair":
        return click.Option(names, nargs=2, multiple=True, metavar=param.shown, **settings)
    multiple = param.many and param.shown != "A,B"
    return click.Option(names, multiple=multiple, type=_type(param), metavar=param.shown or None, **settings)


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
        return REF
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
        from ricordo.values.items import checked_tags

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


def field_options(but: Sequence[ParamRow]) -> list[click.Parameter]:
    """Options for the fields of an item, but for names that are taken, and ``--set`` for any of them."""
    taken = {param.name for param in but}
    fields = [param for param in verb_named("remember").on("cli") if param.group == "**" and param.name not in taken]
    return [*map(option, fields), _any_field()]


def _any_field() -> click.Option:
    return click.Option(["--set", "pairs"], multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable).")


def fields_from(given: dict[str, Any]) -> dict[str, Any]:
    """Take the fields of an item out of what was given, by options of their own or by ``--set``."""
    from ricordo.values.items import FIELD_NAMES, checked_fields, checked_tags

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
        return _metadata(value)
    if not value and name not in _TEXT_FIELDS:
        return None
    if name in _INTEGER_FIELDS:
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"{name} cannot be '{value}'", hint="A whole number.") from None
    return text


def _metadata(value: str) -> Mapping[str, Any]:
    try:
        read = json.loads(value or "{}")
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise UsageError("metadata must be a JSON object", hint="""For example --set 'metadata={"team": "search"}'""")
    return read
