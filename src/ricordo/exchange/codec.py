"""Turns frozen dataclasses into plain JSON and back; when it reads, it checks every value against its annotation.

Times are ISO 8601 in UTC with microseconds, bytes are base64, refs are their text. The order of a dataclass's fields is
the order in the file, so that equal values give equal bytes. This module does not know what the values mean.
"""

from __future__ import annotations

import base64
import binascii
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ricordo.errors import UsageError
from ricordo.values.items import Ref

T = TypeVar("T")
_Decoder = Callable[[Any, str], Any]


class BadRecord(ValueError):  # noqa: N818 - it never leaves the reader of a file, which says where it is
    """A value has the wrong type or is missing; the message says which and why."""


def encode(value: Any) -> Any:
    """A value in the terms of JSON.

    >>> encode(Ref("note", "/plan")), encode(datetime(2026, 11, 15, tzinfo=UTC))
    ('note:/plan', '2026-11-15T00:00:00.000000Z')
    """
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, tuple):
        return [encode(part) for part in value]
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    return value


def check_field(kind: type, name: str, plain: Any) -> None:
    """Refuse a plain value that a field of a dataclass cannot hold."""
    _field_decoders(kind)[name](plain, name)


def decode(kind: type[T], plain: Any, where: str = "") -> T:
    """The dataclass that a plain value describes; unknown keys are an error, because they would be lost."""
    decoder: _Decoder = _dataclass_decoder(kind)  # type: ignore[arg-type]  # classes can be hashed
    value: T = decoder(plain, where)
    return value


@cache
def _field_decoders(kind: type[Any]) -> dict[str, _Decoder]:
    hints = get_type_hints(kind)
    return {field.name: _decoder(hints[field.name]) for field in fields(kind)}


@cache
def _dataclass_decoder(kind: type[Any]) -> _Decoder:
    # What an earlier Ricordo did not write has a default.
    optional = {one.name for one in fields(kind) if (one.default, one.default_factory) != (MISSING, MISSING)}
    return _object_decoder(_field_decoders(kind), optional, kind)  # type: ignore[arg-type]  # classes can be hashed


def object_decoder(hints: Mapping[str, Any], optional: Collection[str]) -> _Decoder:
    """Reads an object whose values have these types; what is optional may be missing."""
    return _object_decoder({name: _decoder(hint) for name, hint in hints.items()}, optional, dict)


def _object_decoder(decoders: Mapping[str, _Decoder], optional: Collection[str], make: Callable[..., Any]) -> _Decoder:
    def read(plain: Any, where: str) -> Any:
        _mapping(plain, where or "the record")
        missing = [name for name in decoders if name not in plain and name not in optional]
        if missing:
            raise BadRecord(f"{_place(where, missing[0])} is missing")
        strange = [name for name in plain if name not in decoders]
        if strange:
            raise BadRecord(f"{_place(where, strange[0])} is not known")
        given = {name: decoder for name, decoder in decoders.items() if name in plain}
        return make(**{name: decoder(plain[name], _place(where, name)) for name, decoder in given.items()})

    return read


def _place(where: str, name: str) -> str:
    return f"{where}.{name}" if where else f"'{name}'"


@cache
def _decoder(hint: Any) -> _Decoder:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = _decoder(next(part for part in get_args(hint) if part is not type(None)))
        return lambda plain, where: None if plain is None else inner(plain, where)
    if origin is tuple:
        return _tuple_decoder(get_args(hint))
    if origin is Mapping or hint is dict:
        return _mapping
    if is_dataclass(hint) and hint is not Ref:
        assert isinstance(hint, type)
        return _dataclass_decoder(hint)
    return _SIMPLE[hint]


def _tuple_decoder(parts: tuple[Any, ...]) -> _Decoder:
    if len(parts) == 2 and parts[1] is Ellipsis:
        inner = _decoder(parts[0])

        def read(plain: Any, where: str) -> Any:
            return tuple(inner(part, f"{where}[{at}]") for at, part in enumerate(_list(plain, where)))

        return read
    inners = [_decoder(part) for part in parts]

    def read_fixed(plain: Any, where: str) -> Any:
        if len(_list(plain, where)) != len(inners):
            raise BadRecord(f"{where} does not have {len(inners)} values")
        return tuple(inner(part, where) for inner, part in zip(inners, plain, strict=True))

    return read_fixed


def _checked(kinds: type | tuple[type, ...], what: str, plain: Any, where: str) -> Any:
    """The value, if it is of one of the kinds; ``what`` says what another is. True and false are no numbers."""
    if not isinstance(plain, kinds) or (isinstance(plain, bool) and kinds is not bool):
        raise BadRecord(f"{where} is {what}")
    return plain


_text: _Decoder = partial(_checked, str, "not text")
_flag: _Decoder = partial(_checked, bool, "neither true nor false")
_list: _Decoder = partial(_checked, list, "not a list")
_mapping: _Decoder = partial(_checked, dict, "not an object")


def _whole(plain: Any, where: str) -> Any:
    if abs(_checked(int, "not a whole number", plain, where)) >= 2**63:
        raise BadRecord(f"{where} is not a whole number")
    return plain


def _number(plain: Any, where: str) -> float:
    return float(_checked((int, float), "not a number", plain, where))


def _time(plain: Any, where: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(plain, where))
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRecord(f"{where} is not a time") from None
    raise BadRecord(f"{where} has no time zone")


def _bytes(plain: Any, where: str) -> bytes:
    try:
        return base64.b64decode(_text(plain, where), validate=True)
    except binascii.Error:
        raise BadRecord(f"{where} is not base64") from None


def _ref(plain: Any, where: str) -> Ref:
    try:
        return Ref.parse(_text(plain, where))
    except UsageError as problem:
        raise BadRecord(f"{where}: {problem.message}") from None


_SIMPLE: dict[Any, _Decoder] = {
    str: _text, int: _whole, float: _number, bool: _flag, datetime: _time, bytes: _bytes, Ref: _ref,
}  # fmt: skip
