"""Makes routes from the declarations of verbs: their paths, who may call them, their parameters and their shapes.

A verb that only reads is ``GET`` with parameters; any other is ``POST`` with a JSON body. A verb that may only look is
both: ``GET`` looks. Long work is answered with a
task. A verb whose answer differs from what its method returns has a function in ``own_answers``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Body, Query, Response
from pydantic import BaseModel, ConfigDict, Field, create_model

from ricordo.http_api.own_answers import OWN_ANSWERS
from ricordo.http_api.routing import LOOKING, WaitParameter, begins, reads, router, writes
from ricordo.http_api.serving import Here
from ricordo.http_api.shapes import shape_of
from ricordo.permissions import refuse_files
from ricordo.verbs.index import all_verbs
from ricordo.verbs.rows import ParamRow, VerbRow, arguments, call, plain_answer

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.http_api.tasks import Tells

BY_HAND = ("export", "import", "learn rollback")
"""Verbs with a route of their own, because a file is sent or answered, or because of where a parameter stands."""
NETWORK_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "search": {"query": ""},
    "sessions show": {"limit": 200},
    "tree": {"depth": 2},
}
"""Defaults that differ over a network: answers stay small, and a search without a query lists the newest."""
MOST_VALUES = 1000
MOST_NUMBER = 2**31
LONGEST_TEXT = 1000
"""What counts where a declaration says nothing: values of a list, a whole number, characters of a text."""
LINES = r"^[0-9]{1,9}(-[0-9]{1,9})?$"
TYPES: Mapping[str, Any] = {
    "flag": bool,
    "integer": int,
    "number": float,
    "object": dict[str, Any],
    "fields": dict[str, Any],
    "pair": tuple[str, str],
}

Given = dict[str, Any]
Answers = Callable[["Ricordo", VerbRow, Given], Any]


class Parameters(BaseModel):
    """Unknown names are refused, because they are mostly misspelt."""

    model_config = ConfigDict(extra="forbid")


@functools.cache
def verb_routes() -> APIRouter:
    """A route for every verb that is on HTTP and has none of its own; made once, as that takes a second."""
    group = router()
    for row in all_verbs():
        if "http" not in row.not_on and row.path not in BY_HAND:
            _add_route(group, row)
    return group


def path_of(row: VerbRow) -> str:
    """``skills search`` is ``/skills/search``, and ``tools list`` is ``/tools``."""
    return "/" + row.path.removesuffix(" list").replace(" ", "/")


def parameters_of(row: VerbRow, **own: Any) -> type[Parameters]:
    """The parameters of a verb as a model; ``own`` are fields in place of those that would be made."""
    fields: dict[str, Any] = {param.http_name: _field(row, param) for param in row.on("http")} | own
    words = "".join(word.capitalize() for word in row.path.replace("-", " ").split())
    name = f"{words}{'Parameters' if row.scope == 'read' else 'Body'}"
    return create_model(name, __base__=Parameters, __doc__=row.line, **fields)


def given_by(row: VerbRow, asked: BaseModel) -> Given:
    """What a caller gave, by the parameters' names in Python."""
    names = {param.http_name: param.name for param in row.on("http")}
    return {names[name]: value for name, value in asked if value is not None and value != []}


def _field(row: VerbRow, param: ParamRow) -> tuple[Any, Any]:
    kind = Literal[param.choices] if param.choices else Annotated[TYPES.get(param.kind, str), Field(**_bounds(param))]
    default = NETWORK_DEFAULTS.get(row.path, {}).get(param.name, param.default)
    is_required = param.required and default is None
    if param.many:
        at_least = int(param.low or 0)
        kind = Annotated[list[kind], Field(min_length=at_least, max_length=MOST_VALUES)]  # type: ignore[valid-type]
        is_required, default = is_required or at_least > 0, list(default or ())
    elif default is None and not is_required:
        kind = kind | None
    example = [param.example] if param.many else param.example
    said: dict[str, Any] = {"description": param.line} | ({"examples": [example]} if param.example is not None else {})
    return (kind, Field(**said)) if is_required else (kind, Field(default, **said))


def _bounds(param: ParamRow) -> dict[str, Any]:
    if param.kind in ("integer", "number"):
        highest = [bound for bound in (param.high, param.most) if bound is not None] or [MOST_NUMBER]
        lowest = -MOST_NUMBER if param.low is None else param.low
        return {"ge": lowest, "le": min(highest)}
    if param.kind in TYPES:
        return {}
    if param.kind == "lines":
        return {"pattern": LINES}
    least = 1 if param.required and param.kind in ("ref", "path") else 0
    return {"min_length": least, "max_length": param.longest or LONGEST_TEXT}


def _add_route(group: APIRouter, row: VerbRow) -> None:
    model = parameters_of(row)
    answer = OWN_ANSWERS.get(row.path, _answer)
    scope = "admin" if row.scope == "files" else row.scope
    said: dict[str, Any] = {"tags": [row.group], "name": row.path.replace(" ", "_"), "description": row.line}
    if row.is_long:
        begins(group, path_of(row), scope, **said)(_begins(row, model))
        return
    if row.scope == "read":
        reads(group, path_of(row), shape_of(row), **said)(_answers(row, Annotated[model, Query()], answer))
        return
    if row.looking is not None:
        _add_look(group, row, answer, said)
    if row.looking is None or row.looking:
        writes(group, path_of(row), shape_of(row), scope, **said)(_answers(row, _body(model), answer))


def _add_look(group: APIRouter, row: VerbRow, answer: Answers, said: dict[str, Any]) -> None:
    """The route by which a verb only looks: who may change nothing may look, unless it is for administrators alone."""
    fixed = row.looking or {}
    look = row._replace(scope="read", params=tuple(param for param in row.params if param.name not in fixed))
    given = {name: value for name, value in fixed.items() if value is not None}
    scope = "admin" if row.scope == "admin" else "read"
    named = said | ({"name": f"{said['name']}{LOOKING}"} if fixed else {})
    asked: Any = Annotated[parameters_of(look), Query()]
    looks = _answers(look, asked, lambda engine, _, asked_for: answer(engine, row, asked_for | given))
    reads(group, path_of(row), shape_of(row), scope, **named)(looks)


def _body(model: type[Parameters]) -> Any:
    """A body that may be left out if nothing in it is required."""
    needed = any(field.is_required() for field in model.model_fields.values())
    return Annotated[model, Body() if needed else Body(default_factory=model)]


def _answer(engine: Ricordo, row: VerbRow, given: Given) -> Any:
    return plain_answer(row, call(engine, row, given))


def _answers(row: VerbRow, asked_as: Any, answer: Answers) -> Callable[..., Any]:
    async def answers(here: Here, asked: Any) -> Response:
        given = given_by(row, asked) | _said_by_server(row)
        return await here.answer(lambda engine: answer(engine, row, given), writes=row.scope != "read")

    answers.__annotations__["asked"] = asked_as
    return answers


def _begins(row: VerbRow, model: type[Parameters]) -> Callable[..., Any]:
    reports = any(param.name == "progress" for param in row.params)

    async def begins(here: Here, asked: Any, wait: WaitParameter = 0) -> Response:
        given = given_by(row, asked)
        arguments(row, given)  # a mistake is answered at once, not by a task
        for param in row.params:
            if row.scope == "write" and param.kind == "path":
                refuse_files(given.get(param.name, []))

        def work(engine: Ricordo, tell: Tells) -> Any:
            told = {"progress": tell} if reports else {}
            return _answer(engine, row, given | told)

        return await here.begin(row.path, work, about=_about(row, given), wait=wait)

    begins.__annotations__["asked"] = _body(model)
    return begins


def _said_by_server(row: VerbRow) -> Given:
    """What the caller does not say: vectors are made afterwards, and the log names the API."""
    names = {param.name for param in row.params}
    return ({"wait": False} if "wait" in names else {}) | ({"tool": "api"} if row.path == "search" else {})


def _about(row: VerbRow, given: Given) -> str:
    """What a task is about: its arguments, or the flags that were set."""
    values = [given[param.name] for param in row.params if param.argument and param.name in given]
    named = [str(one) for value in values for one in (value if isinstance(value, list) else [value])]
    flags = [param.http_name for param in row.params if param.kind == "flag" and given.get(param.name) is True]
    return ", ".join(named or flags)
