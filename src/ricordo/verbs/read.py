"""Reads the declarations: the signature of each verb becomes a row of plain values, for ``index.json``.

Only ``make docs`` and the tests use this; faces read the file.
"""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Union, Unpack, get_args, get_origin, get_type_hints

from ricordo.plugin import Plugin
from ricordo.values.hits import Filters
from ricordo.values.items import Fields, Ref
from ricordo.verbs import parameters
from ricordo.verbs.declare import PYTHON_ONLY, Declared, Say
from ricordo.verbs.rows import ParamRow, VerbRow

FACES = ("cli", "http", "mcp")
_KINDS: Mapping[Any, str] = {
    bool: "flag", int: "integer", float: "number", Ref: "ref", datetime: "time", timedelta: "span", Path: "path",
    str: "text",
}  # fmt: skip
_BY_RANK = (Ref, datetime, timedelta, Path, bool, int, float, str)
"""Of a union such as ``str | Ref``, the first of these says what it means."""


class _Unknown:
    """Stands for a name that exists for the type checker alone."""

    def __class_getitem__(cls, _: Any) -> type[_Unknown]:
        return cls


RARE_FIELDS = frozenset({"immutable", "decay_protected", "source_adapter", "thread", "seq", "metadata"})
"""Fields that programs set by name, and faces in the mapping ``fields``, so that each verb has fewer parameters."""


class _Names(dict[str, Any]):
    """The names that an annotation may use: those of its module, and the shared parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__({**vars(builtins), **vars(parameters), **inspect.unwrap(function).__globals__})

    def __missing__(self, name: str) -> Any:
        return _Unknown


def verb_rows(owners: Mapping[str, type], package: str = "") -> list[VerbRow]:
    """The verbs of classes, by the name under which ``Ricordo`` holds an object of each ("" for itself); of a package
    alone, if one is named.
    """
    functions: dict[str, Any] = {}
    for prefix, cls in owners.items():
        for name in dir(cls):
            function = getattr(cls, name)
            is_declared = isinstance(getattr(function, "declared", None), Declared)
            if is_declared and function.__module__.startswith(package):
                functions[f"{prefix}.{name}" if prefix else name] = function
    return sorted((_row(name, function) for name, function in functions.items()), key=lambda row: row.path)


def plugin_rows(plugin: Plugin) -> list[VerbRow]:
    """The verbs that a plugin brings."""
    owners = {"": type("Verbs", tuple(map(plugin.load, plugin.verbs)), {})}
    return verb_rows(owners | {name: plugin.load(place) for name, place in plugin.groups.items()}, plugin.package)


def _row(name: str, function: Any) -> VerbRow:
    declared: Declared = function.declared
    names = _Names(function)
    signature = inspect.signature(function)
    params: list[ParamRow] = []
    for parameter in list(signature.parameters.values())[1:]:
        hint = eval(parameter.annotation, {}, names) if isinstance(parameter.annotation, str) else parameter.annotation
        params += _params(parameter, hint, names)
    not_on = {str(face): why for face, why in declared.not_on.items()}
    returns = signature.return_annotation
    returned = returns if isinstance(returns, str) else getattr(returns, "__name__", "")
    return VerbRow(
        name=name, path=declared.path, scope=declared.scope, group=declared.group, line=declared.line,
        details=inspect.cleandoc(function.__doc__ or ""), params=tuple(params), returns=returned,
        answers=declared.answers, is_long=declared.is_long, examples=tuple(declared.examples), not_on=not_on,
        looking=declared.looking, creates=declared.creates, needs_model=declared.needs_model,
        asks=declared.asks, storeless=declared.storeless,
    )  # fmt: skip


def _params(parameter: inspect.Parameter, hint: Any, names: _Names) -> Iterator[ParamRow]:
    inner, say = _bare(hint)
    if parameter.kind is parameter.VAR_KEYWORD and get_origin(inner) is Unpack:
        for name, kind in _typed_fields(get_args(inner)[0]):
            yield _param(name, kind, None, required=False, group="**")
    elif inner is Filters:
        for part in fields(inner):
            hint = eval(part.type, {}, names) if isinstance(part.type, str) else part.type
            if _bare(hint)[1] is not None:
                default = part.default if part.default is not MISSING else None
                yield _param(part.name, hint, default or None, required=False, group=parameter.name)
    else:
        empty = parameter.default is parameter.empty
        row = _param(
            parameter.name,
            hint,
            None if empty else parameter.default,
            required=empty and parameter.kind is not parameter.VAR_POSITIONAL,
        )
        is_first = parameter.kind is not parameter.KEYWORD_ONLY
        argument = say.argument if say is not None and say.argument is not None else is_first
        many = parameter.kind is parameter.VAR_POSITIONAL
        yield row._replace(argument=argument, many=row.many or many, positional=many)


def _typed_fields(cls: Any) -> Iterator[tuple[str, Any]]:
    """The fields of an item that a ``TypedDict`` names, in order, as ``Fields`` declares them; what else it names is
    for Python alone.
    """
    declared = get_type_hints(Fields, include_extras=True)
    return ((name, declared[name]) for name in cls.__annotations__ if name in declared and name not in RARE_FIELDS)


def _param(name: str, hint: Any, default: Any, *, required: bool, group: str = "") -> ParamRow:
    inner, own = _bare(hint)
    say = own or Say("")
    kind, many, choices = _kind(inner)
    kind = say.kind or kind
    not_on: Mapping[str, str] = (
        dict.fromkeys(FACES, say.not_on)
        if isinstance(say.not_on, str)
        else {str(face): why for face, why in say.not_on.items()}
    )
    if kind == "python":
        not_on = dict.fromkeys(FACES, PYTHON_ONLY)
    plain = list(default) if isinstance(default, tuple) else default
    return ParamRow(
        name=name, kind=kind, line=say.line, required=required, default=plain if plain != [] else None, many=many,
        group=group, choices=tuple(say.choices) or choices, seam=say.seam, plugin=say.plugin, low=say.low,
        high=say.high, most=say.most, longest=say.longest, short=say.short, alias=say.name, http=say.http,
        shown=say.shown, example=say.example, asks=say.asks, not_on=not_on,
    )  # fmt: skip


def _bare(hint: Any) -> tuple[Any, Say | None]:
    """A type without ``Annotated`` and ``None``, and what was said about it."""
    if get_origin(hint) is Annotated:
        inner, say = _bare(get_args(hint)[0])
        return inner, next((member for member in get_args(hint)[1:] if isinstance(member, Say)), say)
    if get_origin(hint) in (Union, types.UnionType):
        members = [_bare(member) for member in get_args(hint) if member is not type(None)]
        say = next((member for _, member in members if member is not None), None)
        hints = [member for member, _ in members]
        for wanted in _BY_RANK:
            if wanted in hints:
                return wanted, say
        return hints[0], say
    return hint, None


def _kind(inner: Any) -> tuple[str, bool, tuple[str, ...]]:
    """What a type is to a face, whether there may be several, and the choices."""
    origin = get_origin(inner)
    if origin is Literal:
        return "text", False, tuple(map(str, get_args(inner)))
    if origin in (tuple, list, Sequence):
        element, _ = _bare(get_args(inner)[0])
        if origin is tuple and get_args(inner)[-1] is not Ellipsis:
            return "lines", False, ()
        if get_origin(element) is tuple:
            return "pair", True, ()
        kind, _, choices = _kind(element)
        return kind, True, choices
    if origin in (dict, Mapping):
        return ("weights" if get_args(inner)[1] is float else "object"), False, ()
    return _KINDS.get(inner, "python"), False, ()


def plain_row(row: VerbRow) -> dict[str, Any]:
    """A row as JSON holds it; what is empty is left out."""
    plain = {name: value for name, value in row._asdict().items() if value not in ("", (), {}, False, None)}
    params = []
    for param in row.params:
        values = {name: value for name, value in param._asdict().items() if value not in ("", (), {}, None)}
        values = {name: value for name, value in values.items() if value is not False or name == "default"}
        params.append(values)
    looking = {"looking": dict(row.looking)} if row.looking is not None else {}
    return plain | {"params": params, "details": row.details, "returns": row.returns} | looking
