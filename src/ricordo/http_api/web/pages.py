"""The frame of the page: templates, static files, signing in, and the pages of each part."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse

from ricordo._version import __version__
from ricordo.errors import Error, NotFound
from ricordo.hosting.credentials import SESSION_DAYS, Caller
from ricordo.http_api.failures import status_of
from ricordo.http_api.web import drawing
from ricordo.http_api.web.markdown import item_address
from ricordo.http_api.web.marking import mark_words

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.types import ASGIApp

FOLDER = Path(__file__).parent
STATIC = {
    "app.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
NAVIGATION = (
    ("/", "Search"),
    ("/browse", "Browse"),
    ("/add", "Add"),
    ("/timeline", "Timeline"),
    ("/graph", "Graph"),
    ("/insight", "Insight"),
    ("/profiles", "Ranking"),
    ("/jobs", "Health"),
    ("/settings", "Settings"),
)


@cache
def environment() -> Environment:
    """The templates; everything that is put into them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "navigation": NAVIGATION,
        "version": __version__,
        "item_address": item_address,
        "drawing": drawing,
        "mark_words": mark_words,
    }
    made.filters |= {"day": _day, "moment": _moment, "bytes": _bytes, "short": _short, "ms": _ms}
    return made


def page(request: Request, template: str, code: int = 200, /, **values: Any) -> HTMLResponse:
    """A whole page."""
    caller: Caller | None = getattr(request.state, "caller", None)
    shown = {"here": request.url.path, "caller": caller, "is_fragment": "HX-Request" in request.headers, **values}
    return HTMLResponse(environment().get_template(template).render(shown), code)


def failed(request: Request, error: Error) -> HTMLResponse:
    """The page for an error."""
    template = "failure_part.html" if "HX-Request" in request.headers else "failure.html"
    # htmx does not show an answer with an error status, so a part of a page is sent with status 200.
    status = 200 if "HX-Request" in request.headers else status_of(error)
    return page(request, template, status, error=error)


def shows(group: APIRouter, path: str, method: str = "GET") -> Callable[[Any], Any]:
    """A route of the page; errors of the engine become a page that shows them."""
    from functools import wraps

    def decorate(function: Any) -> Any:
        @wraps(function)
        async def shown(*args: Any, **options: Any) -> Any:
            try:
                return await function(*args, **options)
            except Error as error:
                return failed(options["request"], error)
            except TimeoutError:
                late = Error("this took too long", hint="Ask for less, or try again in a moment.")
                return failed(options["request"], late)

        return group.api_route(path, methods=[method], include_in_schema=False, response_model=None)(shown)

    return decorate


def page_router(scope: str = "read") -> APIRouter:
    """A group of pages for callers with a scope."""
    from ricordo.http_api.serving import needs

    return APIRouter(dependencies=[needs(scope)])


def install_page(app: FastAPI) -> None:
    """Add the pages to the application."""
    from ricordo.http_api.web.add_pages import adding
    from ricordo.http_api.web.browse_pages import browsing
    from ricordo.http_api.web.change_pages import changing
    from ricordo.http_api.web.health_pages import health, operating
    from ricordo.http_api.web.insight_pages import insight
    from ricordo.http_api.web.item_pages import items
    from ricordo.http_api.web.ranking_pages import ranking
    from ricordo.http_api.web.search_pages import searching
    from ricordo.http_api.web.setting_pages import settings

    groups = (searching, items, changing, browsing, adding, insight, ranking, health, operating, settings)
    for group in groups:
        app.include_router(group)
    _install_frame(app)
    app.state.sign_in_page = sign_in_page()


def _install_frame(app: FastAPI) -> None:
    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in STATIC:
            raise NotFound(f"there is no file {name[:100]}")
        headers = {"Cache-Control": "public, max-age=3600"}
        return FileResponse(FOLDER / "static" / name, media_type=STATIC[name], headers=headers)

    @app.get("/favicon.ico", include_in_schema=False)
    async def favicon() -> Response:
        return FileResponse(FOLDER / "static" / "icon.svg", media_type="image/svg+xml")

    @app.get("/sign-in", include_in_schema=False)
    async def sign_in(request: Request, code: str = "") -> Response:
        serving = app.state.serving
        if not code or not serving.codes.redeem(code):
            return page(request, "sign_in.html", 401, tried=bool(code))
        agent = request.headers.get("user-agent", "a browser")
        secret, _ = serving.credentials.add(_browser(agent), "admin", way="session", days=SESSION_DAYS)
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


def sign_in_page() -> ASGIApp:
    """The page for a browser that has not signed in."""

    async def shown(scope: Any, receive: Any, send: Any) -> None:
        await page(Request(scope), "sign_in.html", 401, tried=False)(scope, receive, send)

    return shown


def _browser(agent: str) -> str:
    for name in ("Firefox", "Edg", "Chrome", "Safari"):
        if name in agent:
            return {"Edg": "Edge"}.get(name, name)
    return "browser"


def _day(moment: datetime) -> str:
    local = moment.astimezone()
    return f"{local.day} {local:%B %Y}"


def _moment(moment: datetime | None) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else "never"


def _bytes(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return ""


def _short(ref: str, most: int = 60) -> str:
    """A ref shortened so that its end is visible, because names are at the end."""
    return ref if len(ref) <= most else f"{ref[: ref.find(':') + 1]}…{ref[-(most - 10) :]}"


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"
