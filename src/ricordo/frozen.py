"""``@frozen``: a frozen, slotted dataclass that costs a fresh process a twentieth as much.

``dataclass`` writes and compiles six functions for every class, about a millisecond each time, and a search imports two
hundred classes, most of which it makes few objects of, or none. Here all methods are the same functions for all
classes. The constructor is compiled when a class has made some objects, and what ``dataclasses`` knows of a class is
made when it is asked for. ``fields``, ``replace``, ``asdict``, copying and pickling work as usual.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache, partial
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

MADE_SLOWLY = 16
"""So many objects of a class are made before its constructor is compiled; compiling takes longer than all of them."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """The class as a frozen value; what it defines itself stays.

    >>> @frozen
    ... class Place:
    ...     name: str
    ...     floor: int = 0
    >>> Place("office") == Place("office", 0), {Place("office"): 1}[Place("office")], Place("office")
    (True, 1, Place(name='office', floor=0))
    """
    members = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    own = [name for name, hint in members.get("__annotations__", {}).items() if "ClassVar" not in str(hint)]
    own_defaults = {name: members.pop(name, MISSING) for name in own}
    inherited: dict[str, Any] = getattr(cls, "__defaults_of_fields__", {})
    members["__slots__"] = tuple([name for name in own if name not in inherited])
    members["__defaults_of_fields__"] = inherited | own_defaults
    members["__match_args__"] = tuple(inherited | own_defaults)
    members.setdefault("__eq__", _equals)
    members.setdefault("__repr__", _shows)
    if members.get("__hash__") is None:  # a class with an __eq__ of its own has a None there
        members["__hash__"] = _hashes
    members |= {"__setattr__": _refuses_setting, "__delattr__": _refuses_deleting, "__reduce__": _reduces}
    kind: Any = type(cls)
    made = kind(cls.__name__, cls.__bases__, members)
    made.__init__ = _LateInit(made)
    made.__dataclass_fields__ = _LateFields(made, own_defaults)
    return made  # type: ignore[no-any-return]


def declared(cls: Any) -> dict[str, tuple[str, Any]]:
    """The fields of such a class, each with its type as it was written and its default; ``dataclasses.fields`` would
    make all that it knows of the class.

    >>> @frozen
    ... class Place:
    ...     floor: int = 0
    >>> declared(Place)
    {'floor': ('int', 0)}
    """
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        hints |= vars(base).get("__annotations__", {})
    defaults: dict[str, Any] = cls.__defaults_of_fields__
    types = {name: hint.__name__ if isinstance(hint, type) else str(hint) for name, hint in hints.items()}
    return {name: (types[name], value) for name, value in defaults.items()}


def is_frozen(value: object) -> bool:
    """Whether a value is of such a class."""
    return hasattr(type(value), "__defaults_of_fields__")


class _LateFields:
    """Stands for what ``dataclasses`` knows of a class until that is first asked for."""

    def __init__(self, cls: Any, own_defaults: dict[str, Any]) -> None:
        self._class, self._own_defaults = cls, own_defaults

    def __get__(self, instance: Any, owner: Any) -> Any:
        cls = self._class
        if cls.__dict__["__dataclass_fields__"] is self:  # else another thread was faster
            members = {name: value for name, value in self._own_defaults.items() if value is not MISSING}
            members |= {name: cls.__dict__.get(name, {}) for name in ("__module__", "__annotations__")}
            plain: Any = type(cls)(cls.__name__, cls.__bases__, members | {"__doc__": cls.__name__})
            plain = dataclass(init=False, eq=False, repr=False)(plain)
            cls.__dataclass_params__ = plain.__dataclass_params__
            cls.__dataclass_fields__ = plain.__dataclass_fields__
        return cls.__dataclass_fields__


class _LateInit:
    """Makes the first objects of a class, and compiles its constructor when there are more."""

    def __init__(self, cls: Any) -> None:
        self._class, self._left = cls, MADE_SLOWLY

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._compiled() if instance is None else partial(self._make, instance)

    def _compiled(self) -> Any:
        cls = self._class
        if cls.__dict__["__init__"] is self:  # else another thread was faster
            cls.__init__ = _init_of(cls)
        return cls.__init__

    def _make(self, instance: Any, /, *values: Any, **named: Any) -> None:
        self._left -= 1
        arguments = _arguments(self._class, values, named) if self._left > 0 else None
        if arguments is None:  # if something is missing or too much, the compiled constructor says what
            self._compiled()(instance, *values, **named)
        else:
            _sets(instance, arguments)


def _arguments(cls: Any, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
    """The values of all fields, or None if what is given does not fit."""
    defaults: dict[str, Any] = cls.__defaults_of_fields__
    given = dict(zip(defaults, values, strict=False))
    if len(values) > len(defaults) or given.keys() & named.keys() or not named.keys() <= defaults.keys():
        return None
    given |= named
    for name, default in defaults.items():
        if name not in given:
            given[name] = _default(default)
    return None if any(value is MISSING for value in given.values()) else given


def _default(value: Any) -> Any:
    """What a field is if it is not given: ``MISSING`` if it has no default."""
    if not isinstance(value, Field):
        return value
    return value.default if value.default_factory is MISSING else value.default_factory()


def _init_of(cls: Any) -> Any:
    """The constructor, generated and compiled, because a generic one would slow down every object that is made.

    ``object.__setattr__`` takes several times as long as a plain assignment. So while an object is made, it is of a
    class whose fields can be set. An object of a class below this one takes the long way.
    """
    unfrozen = type(cls)(
        cls.__name__, (cls,), {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    )
    known: dict[str, Any] = {"_set": object.__setattr__, "_set_all": _sets, "_MISSING": MISSING}
    known |= {"_frozen": cls, "_unfrozen": unfrozen}
    defaults: dict[str, Any] = cls.__defaults_of_fields__
    parameters: list[str] = []
    body: list[str] = []
    for name, default in defaults.items():
        if isinstance(default, Field) and default.default_factory is not MISSING:
            known[f"_make_{name}"] = default.default_factory
            parameters.append(f"{name}=_MISSING")
            body.append(f"if {name} is _MISSING: {name} = _make_{name}()")
        elif (value := _default(default)) is not MISSING:
            known[f"_default_{name}"] = value
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
    values = ", ".join(f"{name!r}: {name}" for name in defaults)
    body += [
        f"if self.__class__ is not _frozen: return _set_all(self, {{{values}}})",
        "_set(self, '__class__', _unfrozen)",
        *(f"self.{name} = {name}" for name in defaults),
        "self.__class__ = _frozen",
    ]
    exec("\n    ".join([f"def __init__({', '.join(['self', *parameters])}):", *body]), known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    bases = [vars(base).get("__annotations__", {}) for base in reversed(cls.__mro__)]
    hints = {name: hint for annotations in bases for name, hint in annotations.items() if name in defaults}
    init.__annotations__ = hints | {"return": None}
    return init


def _refuses_setting(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuses_deleting(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduces(self: Any) -> tuple[Any, tuple[Any, ...]]:
    return self.__class__, tuple([getattr(self, name) for name in _names(self.__class__)])


def _sets(self: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        object.__setattr__(self, name, value)


def _equals(self: Any, other: object) -> Any:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hashes(self: Any) -> int:
    return hash(_compared(self))


def _shows(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in _compared_names(self.__class__)])


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(cls))


@cache
def _compared_names(cls: Any) -> tuple[str, ...]:
    defaults: dict[str, Any] = cls.__defaults_of_fields__
    return tuple(name for name, value in defaults.items() if not isinstance(value, Field) or value.compare)
