"""What every page shares: templates, navigation, drawings, how an error is shown, and the routes of a part of the page.

Charts are drawn by the server, so that they need no script and can be printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from ricordo._version import __version__
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.hosting.credentials import Caller
from ricordo.http_api.api import ScopedRoute, status_of
from ricordo.plugin import modules_of
from ricordo.plugins.page.markup import item_address, lines_text, mark_snippet, mark_words, passage_address

if TYPE_CHECKING:
    from jinja2 import Environment


FOLDER = Path(__file__).parent
NAVIGATION = (
    ("/", "Search", "s"),
    ("/browse", "Browse", "b"),
    ("/add", "Add", "a"),
    ("/graph", "Graph", "g"),
    ("/log", "Log", "l"),
    ("/review", "Review", "r"),
    ("/profiles", "Ranking", "p"),
    ("/jobs", "Health", "h"),
    ("/settings", "Settings", "c"),
)
"""Address, name, and the key that leads there after ``g``."""


def with_plugin_pages(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows that begin with an address and a name, and those of plugins where they want to stand."""
    added = {after: row for module in modules_of("pages") for after, row in getattr(module, "NAVIGATION", {}).items()}
    return [row for own in rows for row in (own, added.get(own[0], ())[: len(own)]) if row]


def has_page(address: str) -> bool:
    """Whether a plugin brings a page with this address."""
    return any(route.path == address for module in modules_of("pages") for route in module.pages.routes)


@cache
def environment() -> Environment:
    """The templates; everything that is put into them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    folders = [FOLDER, *(Path(module.__file__).parent for module in modules_of("pages"))]
    made = Environment(
        loader=FileSystemLoader([folder / "templates" for folder in folders]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "navigation": with_plugin_pages(NAVIGATION),
        "has_page": has_page,
        "version": __version__,
        "item_address": item_address,
        "hue_of": hue_of,
        "stacked": stacked,
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


def shows(group: APIRouter, path: str, method: str = "GET", scope: str = "read") -> Callable[[Any], Any]:
    """A route of the page for callers with a scope; errors of the engine become a page that shows them."""
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

        extra = {"x-scope": scope}
        route = group.api_route(
            path, methods=[method], openapi_extra=extra, include_in_schema=False, response_model=None
        )
        return route(shown)

    return decorate


def page_router() -> APIRouter:
    """A group of pages."""
    return APIRouter(route_class=ScopedRoute)


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


HUES = 8
"""The number of colours for signals: ``s0`` to ``s7`` in the style sheet."""
_KNOWN_HUES = {"vector": 0, "lexical": 1, "semantic": 1, "fts": 1, "bm25": 1, "text": 1, "recency": 2, "importance": 3}


@frozen
class Bar:
    """One part of a stacked bar, in units of a width of 100."""

    name: str
    x: float
    width: float
    hue: int
    value: float
    weight: float
    contribution: float


def hue_of(name: str) -> int:
    """The colour of a signal: the same on every page."""
    return _KNOWN_HUES.get(name, 4 + sum(map(ord, name)) % (HUES - 4))


def stacked(signals: Sequence[Any], score: float) -> list[Bar]:
    """The contributions of a hit's signals, side by side; together they are as long as its score."""
    shown = [one for one in signals if one.contribution > 0]
    total = sum(one.contribution for one in shown)
    scale = 100 * max(0.0, min(1.0, score)) / total if total else 0.0
    bars, x = [], 0.0
    for one in shown:
        width = one.contribution * scale
        bars.append(
            Bar(one.name, round(x, 2), round(width, 2), hue_of(one.name), one.value, one.weight, one.contribution)
        )
        x += width
    return bars


@frozen
class Column:
    """One column of a chart over days."""

    label: str
    value: float
    x: float
    y: float
    width: float
    height: float


@frozen
class Chart:
    """Columns over the days of a span, with the highest value."""

    columns: tuple[Column, ...]
    top: float
    first: str
    last: str

    WIDTH = 600
    HEIGHT = 120


def by_day(values: Mapping[str, float], days: int, today: date) -> Chart:
    """A column for each of the last days; days without a value have an empty column."""
    names = [(today - timedelta(days=back)).isoformat() for back in range(days - 1, -1, -1)]
    top = max([values.get(name, 0.0) for name in names], default=0.0)
    step = Chart.WIDTH / len(names)
    columns = []
    for at, name in enumerate(names):
        value = values.get(name, 0.0)
        height = Chart.HEIGHT * value / top if top else 0.0
        columns.append(
            Column(
                name,
                value,
                round(at * step, 2),
                round(Chart.HEIGHT - height, 2),
                round(max(1.0, step - min(2.0, step / 4)), 2),
                round(height, 2),
            )
        )
    return Chart(tuple(columns), top, names[0], names[-1])
