"""What a tool is, and how tools are made from the declarations of verbs.

A tool is a function of the engine with a name, a schema for its arguments, and one for its answer. An agent reads the
description and those in the schema; arguments are checked before the function runs, so that a wrong one is answered
with what would be right. ``mapped`` makes a tool from a row: its name, the verb that it calls, the parameters that an
agent sees and what they are called there, and what is fixed. ``generated`` offers a verb as it is. Types, bounds and
choices are those of the verb; only what an agent reads is written here, in few words, because every word takes tokens
in every conversation.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.verbs.index import all_verbs, verb_named
from ricordo.verbs.rows import RARE_FILTERS, ParamRow, VerbRow, call, plain_answer

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo


Schema = dict[str, Any]
Run = Callable[..., dict[str, Any]]

BLOCKS = "_blocks"
"""Under this name a tool hands on images and other content, which stand beside its answer, not in it."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a text"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list,), "a list"),
    "object": ((dict,), "an object"),
}


@frozen
class Effects:
    """What a call changes; MCP calls this annotations."""

    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False
    """Making the same call again changes nothing more."""
    reaches_out: bool = False
    """It may read files or pages outside the store."""


READS = Effects(reads_only=True, repeatable=True)
WRITES = Effects()
WRITES_ONCE = Effects(repeatable=True)
REPLACES = Effects(destroys=True, repeatable=True)


@frozen
class Tool:
    """One tool, ready to be listed and called."""

    name: str
    description: str
    arguments: Mapping[str, Schema]
    required: tuple[str, ...]
    output: Schema
    effects: Effects
    run: Run
    """It takes the engine, what ``checked`` returns, and ``progress`` if it reports that."""
    reports_progress: bool = False
    more: Callable[[], str] | None = None
    """What the description says besides, asked for each time that tools are listed."""

    @property
    def whole_description(self) -> str:
        """The description as the list shows it."""
        return f"{self.description} {self.more()}".strip() if self.more is not None else self.description

    @property
    def input_schema(self) -> Schema:
        """The schema as the list shows it, without bounds and without the values in ``known``.

        Every agent pays for the list in tokens. A call that is out of bounds gets an error with the bounds, and the
        values in ``known`` stand in the tool's description.
        """
        properties = {
            name: {key: value for key, value in schema.items() if key not in ("minimum", "maximum", "known")}
            for name, schema in self.arguments.items()
        }
        schema: Schema = {"type": "object", "properties": properties}
        return schema | ({"required": list(self.required)} if self.required else {})


def tool(
    *, effects: Effects, output: Schema, more: Callable[[], str] | None = None, **arguments: Schema
) -> Callable[[Run], Tool]:
    """Make a tool of a function; arguments without a default are required, the docstring is the description."""

    def decorate(function: Run) -> Tool:
        parameters = inspect.signature(function).parameters
        required = tuple(
            name for name in arguments if name in parameters and parameters[name].default is inspect.Parameter.empty
        )
        words = " ".join(inspect.cleandoc(function.__doc__ or "").split())
        reports = "progress" in parameters
        return Tool(function.__name__, words, arguments, required, output, effects, function, reports, more)

    return decorate


def schema(description: str, kind: str = "string", choices: Sequence[str] = (), **more: Any) -> Schema:
    """What an argument takes: a text, a few texts to choose from, or a value of another type, which may be bounded."""
    lists = {"items": {"type": "string"}} if kind == "array" else {}
    return {"type": kind, "description": description, **lists, **more} | ({"enum": list(choices)} if choices else {})


def answer(*required: str, **properties: str | Schema) -> Schema:
    """The schema of an answer: which names it always has, and the types of some, ``answer("hits", hits="array")``."""
    plain = {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in properties.items()}
    schema: Schema = {"type": "object"} | ({"properties": plain} if plain else {})
    return schema | ({"required": list(required)} if required else {})


OBJECT = answer()


def checked(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, if they fit the tool; otherwise a usage error that says what would fit."""
    for name in given:
        if name not in tool.arguments:
            raise UsageError(f"{tool.name} has no argument '{name}'", hint=_known(tool, name))
    # Null means "not given": many clients send every argument they know of.
    present = {name: value for name, value in given.items() if value is not None}
    missing = [name for name in tool.required if name not in present]
    if missing:
        raise UsageError(f"{tool.name} needs the argument '{missing[0]}'", hint=_known(tool, ""))
    return {name: _fitting(f"argument '{name}'", value, tool.arguments[name]) for name, value in present.items()}


def _known(tool: Tool, name: str) -> str:
    from ricordo.config.declare import nearest

    near = nearest(name, tuple(tool.arguments)) if name else []
    listed = ", ".join(
        f"{argument} (required)" if argument in tool.required else argument for argument in tool.arguments
    )
    accepted = f"{tool.name} takes: {listed}." if listed else f"{tool.name} takes no arguments."
    return f"Did you mean '{near[0]}'? {accepted}" if near else accepted


def _fitting(where: str, value: Any, schema: Schema) -> Any:
    """The value in the type that the schema asks for."""
    value = _converted(value, schema["type"])
    allowed, words = _TYPES[schema["type"]]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise UsageError(f"{where} must be {words}, not {_shown(value)}", hint=_expected(schema))
    choices = schema.get("enum") or schema.get("known")
    if choices and value not in choices:
        raise UsageError(f"{where} cannot be {_shown(value)}", hint=_expected(schema))
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        raise UsageError(f"{where} cannot be {_shown(value)}", hint=_expected(schema))
    if isinstance(value, list):
        return [_fitting(f"{where}, part {at}", part, schema["items"]) for at, part in enumerate(value, 1)]
    return value


def _converted(value: Any, wanted: str) -> Any:
    """A value that clearly means another type, as that type.

    Models send ``"limit": "1"``, ``"recent": "true"``, or a list as JSON in a text; a single text stands for a list.
    """
    if isinstance(value, float) and wanted == "integer" and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if wanted == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if wanted == "number" and _NUMBER.fullmatch(text):
        return float(text)
    if wanted == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if wanted in ("array", "object"):
        read = _read_json(text) if text[:1] in ("[", "{") else None
        if isinstance(read, list if wanted == "array" else dict):
            return read
        return [value] if wanted == "array" else value
    return value


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _expected(schema: Schema) -> str:
    if choices := schema.get("enum") or schema.get("known"):
        return f"One of: {', '.join(choices)}."
    parts = [_TYPES[schema["type"]][1]]
    if schema["type"] == "array":
        parts = [f"a list, each {_expected(schema['items']).rstrip('.').lower()}"]
    if "minimum" in schema:
        parts.append(f"at least {schema['minimum']}")
    if "maximum" in schema:
        parts.append(f"at most {schema['maximum']}")
    return f"It is {', '.join(parts)}."


Shaper = Callable[["Ricordo", Any], dict[str, Any]]
_JSON_TYPES = {"integer": "integer", "number": "number", "flag": "boolean", "object": "object", "fields": "object",
          "weights": "object"}  # fmt: skip
FOR_USERS = "agents read and write items; files and the store as a whole are the user's"


REFUSING_ITSELF = frozenset({"review"})
"""Verbs of the user's that agents may call, too: these refuse agents what only the user decides."""


class Arg(NamedTuple):
    """An argument of a tool: the parameter of the verb that it is, and what an agent reads about it."""

    param: str
    says: str = ""
    one: bool = False
    """One value for a parameter that takes several."""
    high: int | None = None
    """A lower bound than the verb's, where an agent should not get more."""
    choices: tuple[str, ...] = ()
    known: bool = False
    """The choices stand in the description and are not listed in the schema."""
    required: bool = False
    reads: Callable[[Any], Any] | None = None
    """What the verb takes for a value that was given."""
    schema: Schema | None = None
    """What replaces parts of the verb's schema."""
    repeated: bool = False
    """The answer names it."""


def mapped(
    name: str,
    verb: str,
    description: str,
    arguments: Mapping[str, Arg],
    *,
    shows: Shaper,
    effects: Effects = READS,
    output: Schema = OBJECT,
    fixed: Mapping[str, Any] = {},
    adds: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda given: {},
) -> Tool:
    """A tool that calls a verb with other names for its parameters. What is ``fixed`` holds unless it was given;
    ``adds`` makes parameters of what was given. A parameter that the verb does not have is a field of the item.
    """
    row = verb_named(verb)
    own = {name: ParamRow(name, "text", many=True) for name in RARE_FILTERS} | {
        param.name: param for param in row.params
    }
    params = {param.name: param for param in verb_named("remember").params} | own
    schemas = {argument: _schema(params[arg.param], arg) for argument, arg in arguments.items()}
    required = tuple(argument for argument, arg in arguments.items() if arg.required or params[arg.param].required)

    def run(engine: Ricordo, **given: Any) -> dict[str, Any]:
        values = dict(fixed)
        for argument, value in given.items():
            arg = arguments[argument]
            if params[arg.param].kind == "pair":
                value = links_of(value)
            elif params[arg.param].kind == "fields":
                value = {**value, "source": "agent"}
            elif arg.reads is not None:
                value = arg.reads(value)
            elif arg.one:
                value = (value,)
            if arg.param in own:
                values[arg.param] = value
            else:
                values["fields"] = {**values["fields"], arg.param: value}
        repeated = {
            argument: given.get(argument, params[arg.param].default)
            for argument, arg in arguments.items()
            if arg.repeated
        }
        return shows(engine, call(engine, row, values | adds(given))) | repeated

    return Tool(name, description, schemas, required, output, effects, run)


def links_of(given: Sequence[str]) -> list[tuple[str, str]]:
    """Links as an agent writes them: a type, a space and a ref; a ref alone is an extension of it."""
    pairs = []
    for text in given:
        words = text.split(None, 1)
        if not words:
            raise UsageError("an empty link", hint="Write each as 'supports memory:/x'.")
        pairs.append((words[0], words[1].strip()) if len(words) == 2 else ("extends", words[0]))
    return pairs


def generated() -> tuple[Tool, ...]:
    """Every verb that agents may call, under its own name and with all its parameters."""
    return tuple(_as_it_is(row) for row in all_verbs() if not why_not(row))


def why_not(row: VerbRow) -> str:
    """Why agents do not get a verb; empty if they do."""
    is_users = row.scope in ("files", "admin") and row.name not in REFUSING_ITSELF
    return row.not_on.get("mcp", "") or (FOR_USERS if is_users else "")


def _as_it_is(row: VerbRow) -> Tool:
    """A tool with the parameters of its verb. What an agent writes is the agent's, whatever it says."""
    arguments = {param.face_name: Arg(param.name) for param in row.on("mcp")}
    fixed = {"source": "agent", "wait": False}
    return mapped(
        row.name.replace(".", "_"),
        row.path,
        row.line,
        arguments,
        effects=READS if row.scope == "read" else WRITES,
        shows=lambda engine, result: plain_answer(row, result),
        fixed={param.name: fixed[param.name] for param in row.params if param.name in fixed},
    )


def _schema(param: ParamRow, arg: Arg) -> Schema:
    schema: Schema = {"type": _JSON_TYPES.get(param.kind, "string"), "description": arg.says or param.line}
    choices = arg.choices or param.choices
    if choices:
        schema["known" if arg.known else "enum"] = list(choices)
    if param.low is not None:
        schema["minimum"] = int(param.low) if param.kind == "integer" else param.low
    bounds = [bound for bound in (arg.high, param.high, param.most) if bound is not None]
    if bounds:
        schema["maximum"] = int(min(bounds)) if param.kind == "integer" else min(bounds)
    schema |= arg.schema or {}
    if not param.many or arg.one:
        return schema
    items = {name: value for name, value in schema.items() if name != "description"}
    return {"type": "array", "description": schema["description"], "items": items}
