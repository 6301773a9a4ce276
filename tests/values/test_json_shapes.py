"""The JSON of every value that scripts and agents read. A changed shape must be a deliberate act: see ``RECORDED``."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pkgutil
import sys
import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from ricordo import values
from ricordo.plugin import installed
from ricordo.values.items import Fields, Ref

RECORDED = Path(__file__).with_name("json_shapes.json")
"""What each value's ``to_dict`` gives, once with every field set and once with the fields that must be set.

``python tests/values/test_json_shapes.py`` writes it anew.
"""
PLACES = [f"{plugin.package}.values" for plugin in installed().values()]
MODULES = [
    *sorted(f"ricordo.values.{module.name}" for module in pkgutil.iter_modules(values.__path__)),
    *(place for place in PLACES if importlib.util.find_spec(place)),
]
MOMENT = datetime(2026, 1, 31, 12, 30, 15, 123456, tzinfo=UTC)


def classes() -> dict[str, type]:
    found: dict[str, type] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        own: list[type] = [value for value in vars(module).values() if isinstance(value, type)]
        for value in own:
            is_value = dataclasses.is_dataclass(value) and hasattr(value, "to_dict")
            if value.__module__ == module.__name__ and is_value:
                found[value.__name__] = value
    return found


def hints_of(cls: type) -> dict[str, Any]:
    every: dict[str, Any] = {}
    for name in MODULES:
        every |= vars(importlib.import_module(name))
    return get_type_hints(cls, globalns={**every, **vars(sys.modules[cls.__module__])})


def sample(kind: Any, name: str, depth: int = 0) -> Any:
    """A value of a type, the same every time."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return sample(next(one for one in inside if one is not type(None)), name, depth)
    if origin is tuple:
        if inside[-1] is Ellipsis:
            return (sample(inside[0], name, depth + 1),) if depth < 3 else ()
        return tuple(sample(one, f"{name}{at}", depth + 1) for at, one in enumerate(inside))
    if origin in (dict, Mapping) or kind is Mapping:
        return {f"{name}-key": sample(inside[1], name, depth + 1)} if inside else {}
    plain = {str: name, int: len(name), float: len(name) / 7, bool: True, bytes: b"x", datetime: MOMENT, Any: name}
    if kind in plain:
        return plain[kind]
    if kind is Ref:
        return Ref("note", f"/{name}")
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return full(kind, depth + 1)
    raise AssertionError(f"no sample for {kind}")


def full(cls: type, depth: int = 0) -> Any:
    hints = hints_of(cls)
    given = {one.name: sample(hints[one.name], one.name, depth) for one in dataclasses.fields(cls)}
    if cls is Fields:
        given |= {"valid_from": MOMENT.isoformat(), "valid_until": MOMENT.isoformat()}
    return cls(**given)


def bare(cls: type) -> Any:
    hints = hints_of(cls)
    needed = [
        one
        for one in dataclasses.fields(cls)
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    return cls(**{one.name: sample(hints[one.name], one.name, 9) for one in needed})


def shapes() -> dict[str, Any]:
    return {name: {"full": full(cls).to_dict(), "bare": bare(cls).to_dict()} for name, cls in classes().items()}


@pytest.mark.parametrize("name", sorted(classes()))
def test_the_json_of_a_value_is_the_one_that_was_recorded(name: str) -> None:
    cls = classes()[name]
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    assert json.loads(json.dumps(full(cls).to_dict())) == recorded["full"]
    assert json.loads(json.dumps(bare(cls).to_dict())) == recorded["bare"]


def test_every_recorded_value_still_exists() -> None:
    assert set(json.loads(RECORDED.read_text(encoding="utf-8"))) == set(classes())


def test_every_value_that_programs_are_handed_says_itself_as_json() -> None:
    import inspect

    import ricordo

    public = {name: getattr(ricordo, name) for name in dir(ricordo)}
    handed = [one for one in public.values() if inspect.isclass(one) and not issubclass(one, Exception)]
    silent = [one.__name__ for one in handed if not hasattr(one, "to_dict")]
    assert sorted(silent) == ["ConfigProvider", "Ref", "Ricordo"]  # a ref is a text in JSON
    assert ricordo.Filters(kinds=("note",)).to_dict()["kinds"] == ["note"]


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(shapes(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
