"""What every page shares: templates, navigation, how an error is shown, and the routes of a part of the page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from ricordo._version import __version__
from ricordo.errors import Error
from ricordo.hosting.credentials import Caller
from ricordo.http_api.failures import status_of
from ricordo.http_api.web import drawing
from ricordo.http_api.web.markdown import item_address
from ricordo.http_api.web.marking import mark_snippet, mark_words
from ricordo.http_api.web.reading.places import lines_text, passage_address

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
NAVIGATION = (
    ("/", "Search", "s"),
    ("/browse", "Browse", "b"),
    ("/add", "Add", "a"),
    ("/timeline", "Timeline", "t"),
    ("/graph", "Graph", "g"),
    ("/asked", "Asked", "q"),
    ("/insight", "Insight", "i"),
    ("/review", "Review", "r"),
    ("/profiles", "Ranking", "p"),
    ("/jobs", "Health", "h"),
    ("/settings", "Settings", "c"),
)
"""Address, name, and the key that leads there after ``g``."""


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
        "lines_text": lines_text,
        "passage_address": passage_address,
        "mark_words": mark_words,
        "mark_snippet": mark_snippet,
    }
    made.filters |= {
        "day": _day,
        "moment": _moment,
        "bytes": _bytes,
        "short": _short,
        "few_lines": _few_lines,
        "below": _below,
        "ms": _ms,
    }
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


def _few_lines(text: str) -> str:
    """A piece of a text with its lines, without empty ones and the fences of code."""
    lines = (line.rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line.strip("`~ …") and not line.lstrip("… ").startswith("```"))


def _below(path: str, title: str) -> str:
    """A path of headings without the first, where that is the title of the item."""
    first, _, rest = path.partition(" › ")
    return rest if first.strip().casefold() == title.strip().casefold() else path
