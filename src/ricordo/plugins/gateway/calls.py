"""Calls of tools: arguments are checked before anything is sent, and every call is recorded.

The server wrote the schema, so it may be hostile. Regular expressions in it are ignored, because one may take for ever;
references to other schemas are not fetched; and a schema that takes too many steps to check is an error.

The log of calls and the whole text of long results are files in the user's folder of logs. One older log is kept, and
the newest results. If the store of the tools is encrypted, what was asked and answered is sealed with its key.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.config.files import state_home
from ricordo.config.state import open_log
from ricordo.errors import ContractError, NotFound, UsageError
from ricordo.trust.fence import quoted
from ricordo.vault import Seal

MOST_STEPS = 20_000
MOST_ERRORS = 3
_LONGEST_HINT = 1_500


class _TooMuch(Exception):  # noqa: N818 - never leaves this module
    pass


def given_arguments(given: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as an object; some models write the object as a text, and people write ``name=value``."""
    if given is None:
        return {}
    if isinstance(given, tuple):
        if len(given) > 1 or not given[0].lstrip().startswith("{"):
            return dict(_pair(part, schema) for part in given)
        given = given[0]
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            given = None
    if not isinstance(given, dict):
        raise UsageError("arguments must be an object", hint='Such as {"path": "notes.md"}; describe_tool shows them.')
    return given


def _pair(part: str, schema: Mapping[str, Any]) -> tuple[str, Any]:
    """A name and its value, which is read as JSON where it is, unless the schema says text."""
    name, sign, value = part.partition("=")
    if not sign or not name:
        raise UsageError(f"'{part}' is not NAME=VALUE", hint="Such as timezone=Asia/Tokyo, or one JSON object.")
    properties = schema.get("properties")
    said = properties.get(name) if isinstance(properties, Mapping) else None
    if not (isinstance(said, Mapping) and said.get("type") == "string"):
        with suppress(ValueError):
            return name, json.loads(value)
    return name, value


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
        lines = []
        for error in reversed(found):
            where, text = ".".join(map(str, error.absolute_path)), " ".join(str(error.message).split())
            text = text if len(text) <= 200 else f"{text[:199]}…"
            lines.append(f"{where}: {text}" if where else text)
        said = quoted("; ".join(lines), _LONGEST_HINT)
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


LOG = "tool-calls.jsonl"
LARGEST_LOG = 5_000_000
LONGEST_ARGUMENTS = 2_000
RESULTS = "tool-results"
MOST_RESULTS = 200
LARGEST_RESULT = 20_000_000
_SEALED = "sealed:"
_ID = re.compile(r"[0-9a-f]{12}")


class CallRecords:
    """The log and the results."""

    def __init__(self, seal: Seal | None) -> None:
        self.folder: Path = state_home(os.environ)
        self._seal = seal

    @property
    def log(self) -> Path:
        return self.folder / LOG

    def note(self, name: str, arguments: Mapping[str, Any], outcome: str, ms: float, **more: Any) -> None:
        """Write one line; a log that cannot be written never stops a call."""
        from ricordo.secrets.find import redact, redact_values

        name, (clean, _) = redact(name)[0], redact_values(arguments)
        shortened = json.dumps(clean, ensure_ascii=False, default=str)[:LONGEST_ARGUMENTS]
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self._seal is not None:
            shortened = _SEALED + self._seal.sealed(shortened)
        line = {"at": now, "tool": name, "arguments": shortened, "outcome": outcome, "ms": round(ms, 1), **more}
        with suppress(OSError):
            written = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            with open_log(str(self.log), LARGEST_LOG) as log:
                log.write(written)

    def calls(self, limit: int) -> list[dict[str, Any]]:
        """The last calls, newest first."""
        try:
            with self.log.open("rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - 1_000_000))
                lines = log.read().decode("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []
        found: list[dict[str, Any]] = []
        for line in reversed(lines):
            with suppress(ValueError):  # the first line may be cut
                call = json.loads(line)
                opened = self._opened(str(call.get("arguments", "")))
                found.append(call | {"arguments": "(sealed by the key of another store)" if opened is None else opened})
            if len(found) == limit:
                break
        return found

    def _opened(self, text: str) -> str | None:
        """A text, unsealed if it is sealed; None if another store's key seals it."""
        if not text.startswith(_SEALED):
            return text
        return self._seal.opened(text.removeprefix(_SEALED)) if self._seal is not None else None

    def keep(self, text: str) -> str:
        """Keep a whole result; returns its id."""
        if self._seal is not None:
            text = _SEALED + self._seal.sealed(text)
        folder = self.folder / RESULTS
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = secrets.token_hex(6)
        path = folder / f"{name}.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        kept = sorted(folder.glob("*.txt"), key=lambda one: one.stat().st_mtime_ns)
        for old in kept[: max(0, len(kept) - MOST_RESULTS)]:
            old.unlink(missing_ok=True)
        return name

    def result(self, name: str) -> str:
        """A result that was kept, whole."""
        if not _ID.fullmatch(name):
            raise UsageError(f"'{name[:40]}' is not the id of a result", hint="call_tool returns the id, 12 letters.")
        try:
            text = (self.folder / RESULTS / f"{name}.txt").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise NotFound(
                f"there is no result {name} any more", hint=f"The last {MOST_RESULTS} are kept; call the tool again."
            ) from None
        if (opened := self._opened(text)) is None:
            raise NotFound(f"the result {name} is sealed by the key of another store", hint="Call the tool again.")
        return opened
