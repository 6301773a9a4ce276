"""How a verb becomes a route: where it stands, who may ask, what it answers, and which failures it may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from ricordo.http_api import shapes
from ricordo.http_api.failures import WORDS
from ricordo.http_api.serving import needs

FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Failure, "description": words} for status, words in WORDS.items()
}


def router(tag: str) -> APIRouter:
    """A group of verbs below ``/api/v1``."""
    return APIRouter(prefix="/api/v1", tags=[tag])


def reads(group: APIRouter, path: str, shape: type[shapes.Shape], **more: Any) -> Callable[[Any], Any]:
    """``GET``: changes nothing but what is remembered of use."""
    return _route(group, "GET", path, shape, "read", more)


def writes(
    group: APIRouter, path: str, shape: type[shapes.Shape], scope: str = "write", **more: Any
) -> Callable[[Any], Any]:
    """``POST``: changes the store."""
    return _route(group, "POST", path, shape, scope, more)


def begins(group: APIRouter, path: str, scope: str = "write", **more: Any) -> Callable[[Any], Any]:
    """``POST``: long work, answered with a task."""
    started = {202: {"model": shapes.TaskShape, "description": "It goes on; look at the task."}}
    return _route(group, "POST", path, shapes.TaskShape, scope, {"responses": started, **more})


def _route(
    group: APIRouter, method: str, path: str, shape: type[shapes.Shape], scope: str, more: dict[str, Any]
) -> Callable[[Any], Any]:
    responses = {**FAILURES, 200: {"model": shape}, **more.pop("responses", {})}
    asked = {"x-scope": scope, "security": [{"token": []}]}
    decorate: Callable[[Any], Any] = group.api_route(
        path,
        methods=[method],
        responses=responses,
        dependencies=[needs(scope)],
        openapi_extra=asked,
        response_model=None,
        **more,
    )
    return decorate
