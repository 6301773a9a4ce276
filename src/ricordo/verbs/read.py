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
    found: dict[str, Any] = {}
    for prefix, cls in owners.items():
        for name in dir(cls):
            function = getattr(cls, name)
            is_declared = isinstance(getattr(function, "declared", None), Declared)
            if is_declared and function.__module__.startswith(package):
                found[f"{prefix}.{name}" if prefix else name] = function
    return sorted((_row(name, function) for name, function in found.items()), key=lambda row: row.path)


def plugin_rows(plugin: Plugin) -> list[VerbRow]:
    """The verbs that a plugin brings."""
    rows = verb_rows({"": type("Verbs", tuple(map(plugin.load, plugin.verbs)), {})}, plugin.package)
    return [*rows, *verb_rows({name: plugin.load(place) for name, place in plugin.parts.items()})]


def _row(name: str, function: Any) -> VerbRow:
    said: Declared = function.declared
    names = _Names(function)
    signature = inspect.signature(function)
    params: list[ParamRow] = []
    for one in list(signature.parameters.values())[1:]:
        hint = eval(one.annotation, {}, names) if isinstance(one.annotation, str) else one.annotation
        params += _params(one, hint, names)
    not_on = {str(face): why for face, why in said.not_on.items()}
    returns = signature.return_annotation
    returned = returns if isinstance(returns, str) else getattr(returns, "__name__", "")
    return VerbRow(
        name, said.path, said.scope, said.group, said.line, inspect.cleandoc(function.__doc__ or ""), tuple(params),
        returned, said.answers, said.is_long, tuple(said.examples), not_on, looking=said.looking, creates=said.creates,
        needs_model=said.needs_model, asks=said.asks, storeless=said.storeless,
    )  # fmt: skip


def _params(one: inspect.Parameter, hint: Any, names: _Names) -> Iterator[ParamRow]:
    inner, said = _bare(hint)
    if one.kind is one.VAR_KEYWORD and get_origin(inner) is Unpack:
        for name, kind in _typed_fields(get_args(inner)[0]):
            yield _param(name, kind, None, required=False, group="**")
    elif inner is Filters:
        for part in fields(inner):
            hint = eval(part.type, {}, names) if isinstance(part.type, str) else part.type
            if _bare(hint)[1] is not None:
                default = part.default if part.default is not MISSING else None
                yield _param(part.name, hint, default or None, required=False, group=one.name)
    else:
        empty = one.default is one.empty
        row = _param(
            one.name, hint, None if empty else one.default, required=empty and one.kind is not one.VAR_POSITIONAL
        )
        is_first = one.kind is not one.KEYWORD_ONLY
        argument = said.argument if said is not None and said.argument is not None else is_first
        many = one.kind is one.VAR_POSITIONAL
        yield row._replace(argument=argument, many=row.many or many, positional=many)


def _typed_fields(cls: Any) -> Iterator[tuple[str, Any]]:
    """The fields of an item that a ``TypedDict`` names, in order, as ``Fields`` declares them; what else it names is
    for Python alone.
    """
    declared = get_type_hints(Fields, include_extras=True)
    return ((name, declared[name]) for name in cls.__annotations__ if name in declared and name not in RARE_FIELDS)


def _param(name: str, hint: Any, default: Any, *, required: bool, group: str = "") -> ParamRow:
    inner, said = _bare(hint)
    say = said or Say("")
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
        name, kind, say.line, required, plain if plain != [] else None, many, group=group,
        choices=tuple(say.choices) or choices, low=say.low, high=say.high, most=say.most, longest=say.longest,
        short=say.short, alias=say.name, http=say.http, shown=say.shown, example=say.example,
        asks=say.asks, not_on=not_on,
    )  # fmt: skip


def _bare(hint: Any) -> tuple[Any, Say | None]:
    """A type without ``Annotated`` and ``None``, and what was said about it."""
    if get_origin(hint) is Annotated:
        inner, said = _bare(get_args(hint)[0])
        return inner, next((one for one in get_args(hint)[1:] if isinstance(one, Say)), said)
    if get_origin(hint) in (Union, types.UnionType):
        members = [_bare(one) for one in get_args(hint) if one is not type(None)]
        said = next((one for _, one in members if one is not None), None)
        known = [one for one, _ in members]
        for wanted in _BY_RANK:
            if wanted in known:
                return wanted, said
        return known[0], said
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
        kept = {name: value for name, value in param._asdict().items() if value not in ("", (), {}, None)}
        kept = {name: value for name, value in kept.items() if value is not False or name == "default"}
        params.append(kept)
    looking = {"looking": dict(row.looking)} if row.looking is not None else {}
    return plain | {"params": params, "details": row.details, "returns": row.returns} | looking
