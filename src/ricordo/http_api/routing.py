"""Makes routes of verbs: their paths, who may call them, what they return, and how they may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from ricordo.errors import UsageError
from ricordo.http_api import shapes
from ricordo.http_api.failures import WORDS
from ricordo.http_api.serving import needs

FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Failure, "description": words} for status, words in WORDS.items()
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


def router(*tags: str) -> APIRouter:
    """A group of verbs below ``/api/v1``."""
    return APIRouter(prefix="/api/v1", tags=[*tags], generate_unique_id_function=operation_id)


def install_routes(app: FastAPI, *groups: APIRouter) -> None:
    """Add the routes of groups as they are; ``include_router`` would make each of them a second time."""
    for group in groups:
        app.router.routes.extend(group.routes)


def reads(
    group: APIRouter, path: str, shape: type[shapes.Shape], scope: str = "read", **more: Any
) -> Callable[[Any], Any]:
    """``GET``: changes nothing except the records of use."""
    return _route(group, "GET", path, shape, scope, more)


def writes(
    group: APIRouter, path: str, shape: type[shapes.Shape], scope: str = "write", **more: Any
) -> Callable[[Any], Any]:
    """``POST``: changes the store."""
    return _route(group, "POST", path, shape, scope, more)


def begins(group: APIRouter, path: str, scope: str = "write", **more: Any) -> Callable[[Any], Any]:
    """``POST``: long work, answered with a task."""
    started = {202: {"model": shapes.TaskShape, "description": "It goes on; look at the task."}}
    return _route(group, "POST", path, shapes.TaskShape, scope, {"responses": started, **more})


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
    group: APIRouter, method: str, path: str, shape: type[shapes.Shape], scope: str, more: dict[str, Any]
) -> Callable[[Any], Any]:
    responses = {**FAILURES, 200: {"model": shape}, **more.pop("responses", {})}
    asked = {"x-scope": scope, "security": [{"token": []}]}
    decorate: Callable[[Any], Any] = group.api_route(
        path,
        methods=[method],
        responses=responses,
        dependencies=[needs(scope), Depends(only_known_parameters)],
        openapi_extra=asked,
        response_model=None,
        **more,
    )
    return decorate
