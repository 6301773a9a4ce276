"""Puts the page together: the pages of each part, static files, and signing in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from ricordo.errors import NotFound
from ricordo.hosting.credentials import SESSION_DAYS, Caller
from ricordo.http_api.api import install_routes
from ricordo.plugin import modules_of
from ricordo.plugins.page import (
    browse_pages,
    edit_pages,
    item_pages,
    log_pages,
    ranking_pages,
    review_pages,
    search_pages,
    settings_pages,
)  # fmt: skip
from ricordo.plugins.page.layout import FOLDER, failed, page
from ricordo.plugins.page.search_pages import RecentQueries

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["failed", "install", "sign_in_page"]
SCRIPTS = ("theme.js", "page.js", "palette.js", "lists.js", "graph.js", "graph_layout.js", "away.js")
STATIC = {
    "app.css": "text/css; charset=utf-8",
    **dict.fromkeys(SCRIPTS, "text/javascript; charset=utf-8"),
    "ricordo.webmanifest": "application/manifest+json",
    "away.html": "text/html; charset=utf-8",
    "icon.png": "image/png",
    **dict.fromkeys(("icon.svg", "icons.svg"), "image/svg+xml"),
}
MOVED = {"/timeline": "/log?view=changed", "/correct": "/edit?how=correct"}
"""Pages that were, and where what they showed is now."""


SERVICE_WORKER = "away.js"
"""It shows a page of its own while the server is away, for every page; so it may answer for all of them."""


def install(app: FastAPI) -> None:
    """Add the pages to the application."""
    for part in (
        search_pages, item_pages, edit_pages, browse_pages, log_pages, ranking_pages, review_pages, settings_pages,
        *modules_of("pages"),
    ):  # fmt: skip
        install_routes(app, part.pages)
    app.state.recent_queries = RecentQueries()
    app.state.waiting = app.state.findings = 0

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in STATIC:
            raise NotFound(f"there is no file {name[:100]}")
        headers = {"Cache-Control": "public, max-age=3600"}
        if name == SERVICE_WORKER:
            headers = {"Cache-Control": "no-cache", "Service-Worker-Allowed": "/"}
        return FileResponse(FOLDER / "static" / name, media_type=STATIC[name], headers=headers)

    async def moved(request: Request) -> Response:
        address = MOVED[request.url.path]
        more = f"{'&' if '?' in address else '?'}{request.url.query}" if request.url.query else ""
        return RedirectResponse(address + more, 308)

    for old in MOVED:
        app.get(old, include_in_schema=False)(moved)

    @app.get("/favicon.ico", include_in_schema=False)
    async def favicon() -> Response:
        return FileResponse(FOLDER / "static" / "icon.svg", media_type="image/svg+xml")

    @app.get("/sign-in", include_in_schema=False)
    async def sign_in(request: Request, code: str = "") -> Response:
        serving = app.state.serving
        scope = serving.codes.redeem(code) if code else ""
        if not scope:
            return page(request, "sign_in.html", 401, tried=bool(code))
        agent = request.headers.get("user-agent", "a browser")
        secret, _ = serving.credentials.add(_browser(agent), scope, way="session", days=SESSION_DAYS)
        answer = RedirectResponse("/", 303)
        name = f"ricordo_{serving.port}"
        secure = request.url.scheme == "https"
        lasts = int(SESSION_DAYS * 86_400)
        answer.set_cookie(name, secret, max_age=lasts, httponly=True, samesite="strict", secure=secure)
        return answer

    @app.post("/sign-out", include_in_schema=False)
    async def sign_out(request: Request) -> Response:
        caller: Caller = request.state.caller
        if caller.way == "session":
            app.state.serving.credentials.remove(caller.id)
        return page(request, "sign_in.html", tried=False)


async def sign_in_page(scope: Scope, receive: Receive, send: Send) -> None:
    """The page for a browser that has not signed in."""
    await page(Request(scope), "sign_in.html", 401, tried=False)(scope, receive, send)


def _browser(agent: str) -> str:
    for name in ("Firefox", "Edg", "Chrome", "Safari"):
        if name in agent:
            return {"Edg": "Edge"}.get(name, name)
    return "browser"
