"""Makes tools from the declarations of verbs.

``mapped`` is a row of a table: a tool under a name of its own, the parameters of the verb that an agent sees and what
they are called there, and what is fixed. ``generated`` offers a verb as it is. The types, bounds and choices of
arguments are those of the verb; only what an agent reads is written here, in few words, because every word takes tokens
in every conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ricordo.mcp_server.shapes import links_of
from ricordo.mcp_server.tool import READS, WRITES, Effects, Schema, Tool
from ricordo.verbs.index import all_verbs, verb_named
from ricordo.verbs.rows import ParamRow, VerbRow, call, plain_answer

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

Shaper = Callable[["Ricordo", Any], dict[str, Any]]
_TYPES = {"integer": "integer", "number": "number", "flag": "boolean", "object": "object", "fields": "object",
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
    default: Any = None


def mapped(
    name: str,
    verb: str,
    description: str,
    arguments: Mapping[str, Arg],
    *,
    effects: Effects,
    output: Schema,
    shows: Shaper,
    fixed: Mapping[str, Any] = {},
) -> Tool:
    """A tool that calls a verb with other names for its parameters."""
    row = verb_named(verb)
    params = {param.name: param for param in row.params}
    schemas = {told: _schema(params[arg.param], arg) for told, arg in arguments.items()}
    required = tuple(told for told, arg in arguments.items() if arg.required or params[arg.param].required)

    def run(engine: Ricordo, **given: Any) -> dict[str, Any]:
        asked = dict(fixed)
        for told, arg in arguments.items():
            value = given.get(told, arg.default)
            if value is not None and params[arg.param].kind == "pair":
                asked[arg.param] = links_of(value)
            elif value is not None and params[arg.param].kind == "fields":
                asked[arg.param] = {**value, "source": "agent"}
            elif value is not None:
                asked[arg.param] = (value,) if arg.one else value
        return shows(engine, call(engine, row, asked))

    return Tool(name, description, schemas, required, output, effects, run)


def generated() -> tuple[Tool, ...]:
    """Every verb that agents may call, under its own name and with all its parameters."""
    return tuple(_as_it_is(row) for row in all_verbs() if not why_not(row) and not row.short_for)


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
        output={"type": "object"},
        shows=lambda engine, result: plain_answer(row, result),
        fixed={param.name: fixed[param.name] for param in row.params if param.name in fixed},
    )


def _schema(param: ParamRow, arg: Arg) -> Schema:
    schema: Schema = {"type": _TYPES.get(param.kind, "string"), "description": arg.says or param.line}
    choices = arg.choices or param.choices
    if choices:
        schema["known" if arg.known else "enum"] = list(choices)
    if param.low is not None:
        schema["minimum"] = int(param.low) if param.kind == "integer" else param.low
    bounds = [bound for bound in (arg.high, param.high, param.most) if bound is not None]
    if bounds:
        schema["maximum"] = int(min(bounds)) if param.kind == "integer" else min(bounds)
    if not param.many or arg.one:
        return schema
    items = {name: value for name, value in schema.items() if name != "description"}
    return {"type": "array", "description": schema["description"], "items": items}
