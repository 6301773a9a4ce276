"""Checks arguments against a tool's input schema before anything is sent, with a limit on the work.

The server wrote the schema, so it may be hostile. Regular expressions in it are ignored, because one may take for ever;
references to other schemas are not fetched; and a schema that takes too many steps to check is an error.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from ricordo.errors import ContractError, UsageError
from ricordo.trust.fence import quoted

MOST_STEPS = 20_000
MOST_ERRORS = 3
_LONGEST_HINT = 1_500


class _TooMuch(Exception):  # noqa: N818 - never leaves this module
    pass


def given_arguments(given: object) -> dict[str, Any]:
    """The arguments as an object; some models write the object as a text."""
    if given is None:
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            given = None
    if not isinstance(given, dict):
        raise UsageError("arguments must be an object", hint='Such as {"path": "notes.md"}; describe_tool shows them.')
    return given


def check_arguments(name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse arguments that do not fit the tool's schema, with a hint that shows what it takes."""
    from jsonschema.exceptions import SchemaError, relevance
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        plain = _without_patterns(schema)
        validator = _counting()(plain, registry=Registry())
        validator.check_schema(plain)
        _WORK.steps = 0
        found = sorted(validator.iter_errors(dict(arguments)), key=relevance)[-MOST_ERRORS:]
    except (_TooMuch, RecursionError, Unresolvable, SchemaError, TypeError, ValueError, AttributeError) as problem:
        why = quoted(str(problem), 200) if str(problem).strip() else "it takes too many steps to check"
        raise ContractError(
            f"{quoted(name)} was not called: its input schema cannot be used ({why})",
            hint="This is a fault of the tool's server. Use another tool.",
        ) from None
    if found:
        said = quoted("; ".join(_error_line(error) for error in reversed(found)), _LONGEST_HINT)
        takes = quoted(summary(schema), _LONGEST_HINT)
        raise UsageError(f"{quoted(name)} was not called: {said}", hint=f"It takes: {takes}")


_WORK = threading.local()
"""How many steps the check of this thread has taken."""


@cache
def _counting() -> Any:
    """The validator of JSON Schema 2020-12, with every step counted."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    def counted(check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def step(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            _WORK.steps = getattr(_WORK, "steps", 0) + 1
            if _WORK.steps > MOST_STEPS:
                raise _TooMuch
            yield from check(validator, value, instance, schema) or ()

        return step

    checks = Draft202012Validator.VALIDATORS
    every = {name: counted(check) for name, check in checks.items()}
    return extend(Draft202012Validator, every)  # type: ignore[no-untyped-call]


def _without_patterns(schema: Any, depth: int = 0) -> Any:
    if depth > 100:
        raise _TooMuch
    if isinstance(schema, Mapping):
        dropped = {"pattern"} if isinstance(schema.get("pattern"), str) else set()
        if isinstance(schema.get("patternProperties"), Mapping):
            dropped |= {"patternProperties", "additionalProperties", "unevaluatedProperties"}
        dropped.add("$schema")  # it would select another draft of JSON Schema, whose steps are not counted
        return {key: _without_patterns(value, depth + 1) for key, value in schema.items() if key not in dropped}
    if isinstance(schema, list):
        return [_without_patterns(value, depth + 1) for value in schema]
    return schema


def _error_line(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path))
    said = " ".join(str(error.message).split())
    said = said if len(said) <= 200 else f"{said[:199]}…"
    return f"{where}: {said}" if where else said


def summary(schema: Mapping[str, Any], longest: int = _LONGEST_HINT) -> str:
    """The parameters on one line: name, type, and whether it is required."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "no arguments."
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    parts = []
    for name, about in properties.items():
        kind = about.get("type", "anything") if isinstance(about, Mapping) else "anything"
        mark = ", required" if name in (required or ()) else ""
        parts.append(f"{name} ({kind if isinstance(kind, str) else '/'.join(map(str, kind))}{mark})")
    said = ", ".join(parts)
    return f"{said[:longest]}…" if len(said) > longest else f"{said}."
