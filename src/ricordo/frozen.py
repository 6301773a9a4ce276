"""``@frozen``: a frozen, slotted dataclass that costs a fresh process less than half as much.

``dataclass`` writes and compiles six functions for every class, about a millisecond each time, and a search creates a
hundred classes before it begins. Here only ``__init__`` is compiled; all other methods are the same functions for all
classes. ``fields``, ``replace``, ``asdict``, copying and pickling work as usual.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


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
    for name, function in (("__eq__", _equals), ("__repr__", _shows)):
        if name not in cls.__dict__:
            setattr(cls, name, function)
    if cls.__dict__.get("__hash__") is None:  # a class with an __eq__ of its own has a None there
        cls.__hash__ = _hashes  # type: ignore[method-assign]
    made: Any = dataclass(init=False, slots=True, eq=False, repr=False)(cls)
    made.__setattr__, made.__delattr__ = _refuses_setting, _refuses_deleting
    made.__reduce__ = _reduces
    made.__init__ = _init_of(made)
    return made  # type: ignore[no-any-return]


def _init_of(cls: Any) -> Any:
    """The constructor, generated and compiled, because a generic one would slow down every object that is made.

    ``object.__setattr__`` takes several times as long as a plain assignment. So while an object is made, it is of a
    class whose fields can be set. An object of a class below this one takes the long way.
    """
    unfrozen = type(cls)(
        cls.__name__, (cls,), {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    )
    known: dict[str, Any] = {"_set": object.__setattr__, "_set_all": _sets, "_MISSING": MISSING}
    names = [one.name for one in fields(cls)]
    known |= {"_frozen": cls, "_unfrozen": unfrozen, "_names": names}
    parameters: list[str] = []
    body: list[str] = []
    for one in fields(cls):
        name = one.name
        if one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            parameters.append(f"{name}=_MISSING")
            body.append(f"if {name} is _MISSING: {name} = _make_{name}()")
        elif one.default is not MISSING:
            known[f"_default_{name}"] = one.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
    body += [
        f"if self.__class__ is not _frozen: return _set_all(self, _names, [{', '.join(names)}])",
        "_set(self, '__class__', _unfrozen)",
        *(f"self.{name} = {name}" for name in names),
        "self.__class__ = _frozen",
    ]
    exec("\n    ".join([f"def __init__({', '.join(['self', *parameters])}):", *body]), known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {one.name: one.type for one in fields(cls)} | {"return": None}
    return init


def _refuses_setting(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuses_deleting(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduces(self: Any) -> tuple[Any, tuple[Any, ...]]:
    return self.__class__, tuple([getattr(self, name) for name in _names(self.__class__)])


def _sets(self: Any, names: list[str], values: list[Any]) -> None:
    for name, value in zip(names, values, strict=True):
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
    return tuple(one.name for one in fields(cls) if one.compare)
