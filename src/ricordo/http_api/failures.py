"""One shape for every failure: ``{"error": {"code", "message", "hint"}}``, with the status that fits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response
    from fastapi.responses import JSONResponse

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
WORDS: Mapping[int, str] = {
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


def shape(code: str, message: str, hint: str = "", **more: Any) -> dict[str, Any]:
    """The one shape."""
    return {"error": {"code": code, "message": message, "hint": hint, **more}}


def install(app: FastAPI, page: Callable[[Request, Error], Response]) -> None:
    """Make the application answer every failure in the one shape; a browser that asks for a page gets a ``page``."""
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    async def known(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Error)
        return JSONResponse(printable({"error": error.to_dict("http")}), status_of(error))

    async def late(request: Request, error: Exception) -> JSONResponse:
        hint = "A write may still succeed: check before you repeat it."
        return JSONResponse(shape("timeout", "this took too long", hint), 504)

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
        return JSONResponse(printable(shape("usage", message, "/api/v1/openapi.json says what fits.")), 422)

    async def by_status(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        is_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if error.status_code == 404 and is_page and not request.url.path.startswith("/api"):
            return page(request, NotFound("there is no such page", hint="Search for what you look for."))
        code = {404: "not_found", 405: "method"}.get(error.status_code, "usage")
        hint = "/api shows what there is." if error.status_code in (404, 405) else ""
        return JSONResponse(shape(code, str(error.detail), hint), error.status_code, error.headers)

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
        hint = "This is a fault of the server; its log has more."
        return JSONResponse(shape("unexpected", type(error).__name__, hint), 500)

    app.add_exception_handler(Error, known)
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
