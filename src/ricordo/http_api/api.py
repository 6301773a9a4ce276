"""Makes routes from the declarations of verbs: their paths, who may call them, their parameters, shapes and failures.

A verb that only reads is ``GET`` with parameters; any other is ``POST`` with a JSON body. A verb that may only look is
both: ``GET`` looks. Long work is answered with a task. Every failure has one shape, ``{"error": {"code", "message",
"hint"}}``, with the status that fits.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, FastAPI, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, create_model

from ricordo.errors import (
    Conflict,
    ContractError,
    Error,
    Forbidden,
    MissingExtra,
    NotFound,
    StoreError,
    Unavailable,
    Unreadable,
    UsageError,
)
from ricordo.http_api import shapes
from ricordo.http_api.shapes import shape_of
from ricordo.http_api.state import Here
from ricordo.permissions import refuse_files
from ricordo.plugin import modules_of
from ricordo.verbs.index import all_verbs
from ricordo.verbs.rows import ParamRow, VerbRow, arguments, call, plain_answer

if TYPE_CHECKING:
    from fastapi.responses import JSONResponse

    from ricordo.engine.ricordo import Ricordo
    from ricordo.http_api.state import Tells


STATUSES: tuple[tuple[type[Error], int], ...] = (
    (UsageError, 400),
    (NotFound, 404),
    (Conflict, 409),
    (Forbidden, 403),
    (Unreadable, 422),
    (MissingExtra, 501),
    (Unavailable, 503),
    (StoreError, 503),
    (ContractError, 502),
)
STATUS_WORDS: Mapping[int, str] = {
    400: "The call is wrong.",
    401: "A token or a signed-in browser is needed.",
    403: "The caller may not do this.",
    404: "There is no such item.",
    405: "The path has no such method.",
    409: "The item was changed meanwhile, or is there already.",
    413: "The request is too large.",
    421: "The server does not answer to that host name.",
    422: "The call does not fit the schema.",
    501: "An optional part is not installed.",
    502: "A model or another service broke its contract.",
    503: "The store or a service cannot be reached now.",
    504: "It took too long.",
}
"""What each status means; every route may return them."""

log = logging.getLogger("ricordo.http")


def status_of(error: Error) -> int:
    """The HTTP status of an error of the tree."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def failure(code: str, message: str, hint: str = "", **more: Any) -> dict[str, Any]:
    """The one shape."""
    return {"error": {"code": code, "message": message, "hint": hint, **more}}


def install_failures(app: FastAPI, page: Callable[[Request, Error], Response] | None) -> None:
    """Make the application answer every failure in the one shape; a browser that asks for a page gets a ``page``, if
    there are pages.
    """
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    async def expected(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Error)
        return JSONResponse(printable({"error": error.to_dict("http")}), status_of(error))

    async def late(request: Request, error: Exception) -> JSONResponse:
        hint = "A write may still succeed: check before you repeat it."
        return JSONResponse(failure("timeout", "this took too long", hint), 504)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0] if error.errors() else {"loc": (), "msg": "the call does not fit"}
        where = ".".join(str(part) for part in first["loc"] if part not in ("query", "body"))
        if first.get("type") == "extra_forbidden":
            message = f"there is no parameter '{where}' here"
        elif first.get("type") == "json_invalid":  # where it breaks is a place in the body, and no parameter
            message = f"the body is not valid JSON, from character {where} on"
        else:
            message = f"{where}: {first['msg']}" if where else str(first["msg"])
        return JSONResponse(printable(failure("usage", message, "/api/v1/openapi.json says what fits.")), 422)

    async def by_status(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if page is not None and error.status_code == 404 and wants_page and not request.url.path.startswith("/api"):
            return page(request, NotFound("there is no such page", hint="Search for what you look for."))
        code = {404: "not_found", 405: "method"}.get(error.status_code, "usage")
        hint = "/api shows what there is." if error.status_code in (404, 405) else ""
        return JSONResponse(failure(code, str(error.detail), hint), error.status_code, error.headers)

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
        hint = "This is a fault of the server; its log has more."
        return JSONResponse(failure("unexpected", type(error).__name__, hint), 500)

    app.add_exception_handler(Error, expected)
    app.add_exception_handler(TimeoutError, late)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, by_status)
    app.add_exception_handler(Exception, unexpected)


def printable(plain: Any) -> Any:
    """The same text with lone surrogates, which UTF-8 cannot encode, as question marks."""
    if isinstance(plain, str):
        return plain.encode("utf-8", "replace").decode()
    if isinstance(plain, Mapping):
        return {key: printable(value) for key, value in plain.items()}
    return plain


FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Failure, "description": words} for status, words in STATUS_WORDS.items()
}

LOOKING = "_look"
"""How the name of a route ends that looks, where the verb has another that changes."""

RefParameter = Annotated[
    str, Query(min_length=1, max_length=4096, description="A ref, an item's id, or a URL.", examples=["note:/keys"])
]
WaitParameter = Annotated[
    float, Query(ge=0, le=25, description="Wait up to this many seconds for the task to end before answering.")
]


def operation_id(route: APIRoute) -> str:
    """``search``, ``tasks_events``: the path in words, so that generated clients read well."""
    words = route.path.removeprefix("/api/v1").strip("/").replace("{", "").replace("}", "").replace("-", "_")
    name = words.replace("/", "_") or "root"
    if route.name.endswith(LOOKING):
        return f"{name}{LOOKING}"
    method = next(iter(sorted(route.methods or {"GET"})))
    return name if method == "GET" else f"{name}_{method.lower()}" if name in ("config", "tokens") else name


class ScopedRoute(APIRoute):
    """A route for callers with the scope that it names; others are refused before the body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        scope = (self.openapi_extra or {})["x-scope"]

        async def handle_scoped(request: Request) -> Response:
            caller = request.state.caller
            if not caller.may(scope):
                raise Forbidden(
                    f"this needs the scope '{scope}', and the token has '{caller.scope}'",
                    hint=f"ricordo serve tokens add NAME --scope {scope}",
                )
            return await handle(request)

        return handle_scoped


def router(*tags: str) -> APIRouter:
    """A group of verbs below ``/api/v1``."""
    return APIRouter(prefix="/api/v1", tags=[*tags], generate_unique_id_function=operation_id, route_class=ScopedRoute)


def install_routes(app: FastAPI, *groups: APIRouter) -> None:
    """Add the routes of groups as they are; ``include_router`` would make each of them a second time."""
    for group in groups:
        app.router.routes.extend(group.routes)


def reads(
    group: APIRouter, path: str, shape: type[shapes.Shape], scope: str = "read", **more: Any
) -> Callable[[Any], Any]:
    """``GET``: changes nothing except the records of use."""
    return _route(group, "GET", path, shape, scope=scope, more=more)


def writes(
    group: APIRouter, path: str, shape: type[shapes.Shape], scope: str = "write", **more: Any
) -> Callable[[Any], Any]:
    """``POST``: changes the store."""
    return _route(group, "POST", path, shape, scope=scope, more=more)


def begins(group: APIRouter, path: str, scope: str = "write", **more: Any) -> Callable[[Any], Any]:
    """``POST``: long work, answered with a task."""
    started = {202: {"model": shapes.TaskShape, "description": "It goes on; look at the task."}}
    return _route(group, "POST", path, shapes.TaskShape, scope=scope, more={"responses": started, **more})


def only_known_parameters(request: Request) -> None:
    """Refuse a parameter that the route does not have, because it would be ignored silently."""
    route = request.scope.get("route")
    known = list(route.dependant.query_params) if isinstance(route, APIRoute) else []
    if any(isinstance(field.field_info.annotation, type) and issubclass(field.field_info.annotation, BaseModel)
           for field in known):  # fmt: skip
        return  # a model of parameters refuses unknown ones itself
    names = {field.alias for field in known}
    for name in request.query_params:
        if name not in names:
            listed = f"It has: {', '.join(sorted(names))}." if names else "It has none."
            raise UsageError(f"there is no parameter '{name}' here", hint=listed)


def _route(
    group: APIRouter, method: str, path: str, shape: type[shapes.Shape], *, scope: str, more: dict[str, Any]
) -> Callable[[Any], Any]:
    responses = {**FAILURES, 200: {"model": shape}, **more.pop("responses", {})}
    asked = {"x-scope": scope, "security": [{"token": []}]}
    decorate: Callable[[Any], Any] = group.api_route(
        path,
        methods=[method],
        responses=responses,
        dependencies=[Depends(only_known_parameters)],
        openapi_extra=asked,
        response_model=None,
        **more,
    )
    return decorate


def _sessions(engine: Ricordo, row: VerbRow, given: Given) -> Any:
    return {"sessions": [session.to_dict(with_turns=False) for session in call(engine, row, given)]}


def _profiles(engine: Ricordo, row: VerbRow, given: Given) -> Any:
    """The ways to rank, with the weights in force."""
    vectors = engine.config.embedding.provider != "none"
    return {
        "profiles": [
            {
                "name": one.name,
                "description": one.description,
                "weights": one.weights(vectors=vectors),
                "source": one.source,
            }
            for one in engine.profiles().values()
        ]
    }


OWN_ANSWERS: Mapping[str, Callable[[Any, VerbRow, Given], Any]] = {
    "profiles list": _profiles,
    "sessions list": _sessions,
}
"""By the path of the verb."""


BY_HAND = "learn rollback"
"""A verb with a route of its own, because of where a parameter stands; plugins may have further ones."""
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
    of_plugins = [route for module in modules_of("routes") for route in module.routes.routes]
    by_hand = {BY_HAND, *(route.path.rpartition("/")[2] for route in of_plugins)}
    for row in all_verbs():
        if "http" not in row.not_on and row.path not in by_hand:
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
    about: dict[str, Any] = {"description": param.line} | ({"examples": [example]} if param.example is not None else {})
    return (kind, Field(**about)) if is_required else (kind, Field(default, **about))


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
    about: dict[str, Any] = {"tags": [row.group], "name": row.path.replace(" ", "_"), "description": row.line}
    if row.is_long:
        begins(group, path_of(row), scope, **about)(_begins(row, model))
        return
    if row.scope == "read":
        reads(group, path_of(row), shape_of(row), **about)(_answers(row, Annotated[model, Query()], answer))
        return
    if row.looking:
        _add_look(group, row, row.looking, about)
    writes(group, path_of(row), shape_of(row), scope, **about)(_answers(row, _body(model), answer))


def _add_look(group: APIRouter, row: VerbRow, fixed: Mapping[str, Any], about: dict[str, Any]) -> None:
    """The route by which a verb only looks: who may change nothing may look, unless it is for administrators alone."""
    look = row._replace(scope="read", params=tuple(param for param in row.params if param.name not in fixed))
    given = {name: value for name, value in fixed.items() if value is not None}
    scope = "admin" if row.scope == "admin" else "read"
    named = about | {"name": f"{about['name']}{LOOKING}"}
    asked: Any = Annotated[parameters_of(look), Query()]
    looks = _answers(look, asked, lambda engine, _, asked_for: _answer(engine, row, asked_for | given))
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
        if answer is _answer and (answered := await here.by_worker(row.path, given)) is not None:
            return answered
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
