"""A verb and its parameters as plain values, and how what a face was given becomes a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ricordo.plugin import installed, names_of

FILTERS = "filters"
RARE_FILTERS = ("tags_all", "categories", "severities")
"""Filters that people write into the query, and tools of agents have as arguments."""


class ParamRow(NamedTuple):
    """One parameter. Fields of a value that a verb takes (``Filters``, the fields of an item) are rows of their own."""

    name: str
    """Its name in Python."""
    kind: str
    """``text``, ``ref``, ``path``, ``time``, ``since`` (a time or a span), ``span``, ``integer``, ``number``, ``flag``,
    ``object``, ``fields``, ``weights``, ``lines`` (first and last), ``pair`` or ``python``.
    """
    line: str = ""
    required: bool = False
    default: Any = None
    many: bool = False
    """It may be given several times."""
    positional: bool = False
    """In Python it has no name (``*refs``)."""
    group: str = ""
    """The parameter whose value it is a part of, such as ``filters``."""
    argument: bool = False
    choices: tuple[str, ...] = ()
    seam: str = ""
    """The field of ``Plugin`` whose names are choices, too; those of a verb of ``index`` have them already."""
    plugin: str = ""
    """The plugin without which no face has it."""
    low: float | None = None
    high: float | None = None
    most: float | None = None
    longest: int | None = None
    short: str = ""
    alias: str = ""
    http: str = ""
    shown: str = ""
    example: Any = None
    asks: bool = False
    not_on: Mapping[str, str] = {}

    @property
    def face_name(self) -> str:
        """Its name on the command line and over HTTP."""
        return self.alias or self.name

    @property
    def http_name(self) -> str:
        """Its name over HTTP."""
        return self.http or self.face_name

    def is_on(self, face: str) -> bool:
        return face not in self.not_on


class VerbRow(NamedTuple):
    """One verb."""

    name: str
    """Its method: ``search``, ``tools.find``."""
    path: str
    scope: str
    group: str
    line: str
    details: str
    params: tuple[ParamRow, ...]
    returns: str
    answers: str = ""
    is_long: bool = False
    examples: tuple[str, ...] = ()
    not_on: Mapping[str, str] = {}
    looking: Mapping[str, Any] | None = None
    """With these parameters fixed it only looks, which is ``GET`` over HTTP."""
    creates: bool = False
    needs_model: bool = False
    asks: str = ""
    storeless: bool = False
    plugin: str = ""
    """The plugin that brings it; empty for a verb of the core."""

    def on(self, face: str) -> list[ParamRow]:
        """The parameters that a face has."""
        return [param for param in self.params if param.is_on(face)]


def verb_row(plain: Mapping[str, Any]) -> VerbRow:
    """A verb from its entry in ``index.json``."""
    there = [param for param in plain["params"] if param.get("plugin", "") in ("", *installed())]
    params = tuple(ParamRow(**param | {"choices": tuple(_choices(param))}) for param in there)
    return VerbRow(**{**plain, "params": params, "examples": tuple(plain.get("examples", ()))})


def _choices(param: Mapping[str, Any]) -> list[str]:
    """The choices of a parameter, with those that plugins bring."""
    return [*param.get("choices", ()), *(names_of(param["seam"]) if "seam" in param else ())]


def call(engine: Any, row: VerbRow, values: Mapping[str, Any]) -> Any:
    """Call a verb with what a face was given, by the parameters' names in Python; None means "not given"."""
    return prepared(row, values)(engine)


def prepared(row: VerbRow, values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The same in two steps: what was given is read now, so that a mistake in it is found before a store is opened."""
    positional, named = arguments(row, values)

    def call_on(engine: Any) -> Any:
        function = engine
        for name in row.name.split("."):
            function = getattr(function, name)
        return function(*positional, **named)

    return call_on


def arguments(row: VerbRow, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """What a face was given, as the method takes it; names that no face has are passed on, too."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    conditions: dict[str, Any] = {}
    rest = dict(values)
    for param in row.params:
        value = rest.pop(param.name, None)
        if value is None:
            continue
        value = _read(param, value)
        if param.positional:
            positional += value
        elif param.group == FILTERS:
            conditions[param.name] = value
        else:
            named[param.name] = value
    conditions |= {name: rest.pop(name) for name in RARE_FILTERS if rest.get(name) is not None}
    if conditions:
        from ricordo.values.hits import Filters

        named[FILTERS] = Filters(**conditions)
    return positional, named | {name: value for name, value in rest.items() if value is not None}


def _read(param: ParamRow, value: Any) -> Any:
    if param.kind == "weights":
        return weights_from(value)
    if param.kind == "time" and isinstance(value, str):
        from ricordo.values.times import parse_time

        return parse_time(value)
    if param.kind == "lines" and isinstance(value, str):
        first, _, last = value.partition("-")
        return int(first), int(last or first)
    return tuple(value) if param.many else value


def plain_answer(row: VerbRow, result: Any) -> dict[str, Any]:
    """What a verb returned, as JSON says it; a list or a number stands under the name that the verb declares."""
    if row.answers:
        return {row.answers: _plain(result)}
    plain = _plain(result)
    return plain if isinstance(plain, dict) else {"done": True}


def to_json(plain: Any) -> bytes:
    """JSON in UTF-8; values of the engine by their ``to_dict``."""
    import json

    return json.dumps(plain, ensure_ascii=False, default=_as_dict, separators=(",", ":")).encode("utf-8", "replace")


def _as_dict(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(element) for name, element in value.items()}
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else value


def weights_from(value: str | Mapping[str, float]) -> dict[str, float]:
    """``vector=0.5,recency=0`` as a mapping; the engine checks names and values."""
    if not isinstance(value, str):
        return dict(value)
    from ricordo.errors import UsageError

    weights: dict[str, float] = {}
    for part in filter(None, map(str.strip, value.split(","))):
        name, equals, number = part.partition("=")
        try:
            if not equals or not name.strip():
                raise ValueError
            weights[name.strip()] = float(number)
        except ValueError:
            raise UsageError(
                f"'{part}' is not a weight", hint="Write vector=0.5,recency=0.", parameter="weights"
            ) from None
    return weights
