"""What every page shares: templates, navigation, drawings, how an error is shown, and the routes of a part of the page.

Charts are drawn by the server, so that they need no script and can be printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from ricordo._version import __version__
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.hosting.credentials import Caller
from ricordo.http_api.api import ScopedRoute, status_of
from ricordo.plugin import modules_of
from ricordo.plugins.page.formats import hit_html, inline_html
from ricordo.plugins.page.markup import item_address, lines_text, mark_words, passage_address
from ricordo.values.provenance import AGENT, PERSON, Provenance

if TYPE_CHECKING:
    from jinja2 import Environment


FOLDER = Path(__file__).parent
NAVIGATION = (
    ("/", "Search", "s", "search", "read"),
    ("/browse", "Browse", "b", "folder", "read"),
    ("/review", "Review", "r", "inbox", "admin"),
    ("/log", "Log", "l", "clock", "read"),
    ("/add", "Add", "a", "plus", "write"),
    ("/settings", "Settings", ",", "sliders", "read"),
)
"""Address, name, the key that leads there after ``g``, the icon, and who may go there."""
ENTRIES = {
    "/hits": "/", "/why": "/", "/item": "/browse", "/around": "/browse", "/edit": "/browse", "/tags": "/browse",
    "/graph": "/browse", "/bin": "/browse", "/session": "/log", "/lines": "/browse", "/profiles": "/settings",
    "/compare": "/settings", "/jobs": "/settings", "/api": "/settings",
}  # fmt: skip
"""Under which entry a page stands that is none itself."""
KEYS = (
    ("/", "search box"), ("j k", "next, previous"), ("↵", "open"), ("Space", "read on"), ("n p", "passages"),
    ("w", "why a hit has its rank"), ("x", "choose: then t, a, d, e, m"), ("e c a", "edit, correct, archive"),
    ("y n b", "in review: accept, refuse, keep both"), ("Y N", "in review: always, never such"),
    ("n", "at a question in the log: write its answer"), ("[ ]", "in the log: the day before and after"),
    ("u", "undo, again: the step before"), ("g", "then s b r l a , for the six pages"),
    ("Ctrl K", "go to, do, find a setting"), ("Ctrl ↵", "save"), ("Esc", "leave, close, none"), ("?", "all keys"),
)  # fmt: skip
PART = "X-Ricordo-Part"
"""The header by which a script asks for a part of a page, so that it takes in no whole page, no sign-in, no error."""


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
        "navigation": NAVIGATION,
        "keys": KEYS,
        "has_page": has_page,
        "version": __version__,
        "item_address": item_address,
        "hue_of": hue_of,
        "stacked": stacked,
        "lines_text": lines_text,
        "passage_address": passage_address,
        "mark_words": mark_words,
        "inline_html": inline_html,
        "hit_html": hit_html,
        "picture_of": picture_of,
        "trail_of": trail_of,
    }
    made.filters |= {
        "day": _day,
        "moment": _moment,
        "bytes": _bytes,
        "short": _short,
        "when": when,
        "who": who_is,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "below": _below,
        "ms": _ms,
    }
    return made


def page(request: Request, template: str, code: int = 200, /, **values: Any) -> HTMLResponse:
    """A whole page; or a part of one, which is framed as a page where no script asked for it."""
    caller: Caller | None = getattr(request.state, "caller", None)
    path = request.url.path
    shown = {
        "entry": ENTRIES.get(path, path),
        "caller": caller,
        "is_fragment": PART in request.headers,
        "waiting": request.app.state.waiting if caller else 0,
        "store_name": _store_name(request) if caller else "",
        **values,
    }
    if template.endswith("_part.html") and not shown["is_fragment"]:
        shown, template = shown | {"part": template}, "part.html"
    return HTMLResponse(environment().get_template(template).render(shown), code)


def failed(request: Request, error: Error) -> HTMLResponse:
    """The page for an error."""
    if PART in request.headers:  # what is wrong is shown in its place, and a browser need not log it as a fault
        return page(request, "failure_part.html", error=error)
    return page(request, "failure.html", status_of(error), error=error)


def _store_name(request: Request) -> str:
    """What the store is called: the folder that it belongs to; empty before it is open."""
    service = request.app.state.serving.service
    if not service.is_open or "://" in service.engine().location:
        return ""
    folder = Path(service.engine().location).parent
    return folder.parent.name if folder.name.startswith(".") else folder.name


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


def when(moment: datetime) -> str:
    """A moment as people say it in a list: 10:31, yesterday, 14 Nov, 14 Nov 2025."""
    local, today = moment.astimezone(), datetime.now().astimezone().date()
    if local.date() == today:
        return f"{local:%H:%M}"
    if local.date() == today - timedelta(days=1):
        return "yesterday"
    return f"{local.day} {local:%b}" + ("" if local.year == today.year else f" {local.year}")


def who_is(provenance: Provenance) -> str:
    """Who wrote or asked, as people say it: you, Ann, Claude Code; empty for a program that read a file, or nobody."""
    name = provenance.name.replace("-", " ").title()
    return {PERSON: provenance.name or "you", AGENT: name or "an agent"}.get(provenance.author, "")


def author_of(provenance: Provenance) -> tuple[str, str]:
    """The name by which a search finds what somebody wrote, and what people call them."""
    value = provenance.name or provenance.author
    called = {"loader": "files and pages", "import": "imports"}.get(provenance.author, value)
    return value, who_is(provenance) or called


def picture_of(kind: str, ref: str) -> str:
    """The icon of an item: of its kind, or of the drive of a document."""
    drive = ref.partition(":")[0]
    known = {"memory": "memory", "note": "note", "session": "session", "git": "commit"}
    return known.get(drive) or known.get(kind, "document")


MOST_TRAIL = 4


def trail_of(ref: str) -> list[tuple[str, str]]:
    """The folders above an item and its own name, with what is browsed there; of a deep one, the last few."""
    drive, _, path = ref.partition(":")
    parts = [drive, *filter(None, path.split("/"))]
    steps = [(part, f"{drive}:/" + "/".join(parts[1 : at + 1])) for at, part in enumerate(parts)]
    return [
        (part, item_address(ref) if at == ref else f"/browse?prefix={quote(at, safe='')}")
        for part, at in steps[-MOST_TRAIL:]
    ]


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


def _below(path: str, title: str) -> str:
    """A path of headings without the first, where that is the title of the item."""
    first, _, rest = path.partition(" › ")
    return rest if first.strip().casefold() == title.strip().casefold() else path


HUES = 8
"""The number of colours for signals: ``s0`` to ``s7`` in the style sheet."""
_PLAIN = {"vector": "meaning", "semantic": "meaning", "recency": "lately used"} | dict.fromkeys(
    ("lexical", "fts", "bm25", "text"), "words"
)
_KNOWN_HUES = {"vector": 0, "lexical": 1, "semantic": 1, "fts": 1, "bm25": 1, "text": 1, "recency": 2, "importance": 3}


@frozen
class Bar:
    """One part of a stacked bar, in units of a width of 100; ``words`` says what the signal is."""

    name: str
    words: str
    x: float
    width: float


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
        bars.append(Bar(one.name, _PLAIN.get(one.name, one.name), round(x, 2), round(width, 2)))
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
