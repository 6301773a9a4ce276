"""The command palette: places to go, things to do, settings, tags and items, found by a few letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Query, Request, Response

from ricordo.config.loading import SETTINGS
from ricordo.frozen import frozen
from ricordo.hosting.credentials import Caller
from ricordo.http_api.serving import Here, Who
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.markdown import item_address

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

palette = page_router()

MOST_SETTINGS = 8
MOST_TAGS = 4
MOST_ITEMS = 6


@frozen
class Choice:
    """A line of the palette: what it is, and where it leads. With ``key``, the palette presses a key of the page."""

    group: str
    words: str
    address: str = ""
    more: str = ""
    key: str = ""


PLACES = (
    ("/", "Home"), ("/browse", "Browse"), ("/add", "Add"), ("/timeline", "Timeline"), ("/graph", "Graph"),
    ("/asked", "What was asked"), ("/asked?view=unanswered", "Questions without an answer"),
    ("/asked?view=told", "What hooks told agents"), ("/insight", "Insight"), ("/review", "Review"),
    ("/tidy", "Tidy"), ("/tags", "Tags"),
    ("/bin", "Bin"), ("/bin?state=archived", "Archive"), ("/profiles", "Ranking"), ("/compare", "Compare two rankings"),
    ("/why", "Why is something not found"), ("/jobs", "Health"), ("/settings", "Settings"), ("/api", "API"),
)  # fmt: skip
DEEDS = (
    ("Write a note", "/add#write", "write"),
    ("Upload files", "/add#drop", "write"),
    ("Check the store", "/jobs", "write"),
    ("Make a token", "/settings#tokens", "admin"),
)


@shows(palette, "/palette")
async def palette_part(
    request: Request,
    here: Here,
    who: Who,
    q: Annotated[str, Query(max_length=200)] = "",
    ref: Annotated[str, Query(max_length=4096)] = "",
) -> Response:
    """What fits the letters; on the page of an item, also what can be done with it."""
    wanted = q.strip()
    fixed = [one for one in (*_of_item(ref, who), *_places(), *_deeds(who)) if _fits(one.words, wanted)]

    def work(engine: Ricordo) -> list[Choice]:
        return [*_tags(engine, wanted), *_items(engine, wanted)] if wanted else []

    found = [*_settings(wanted), *fixed, *await here.ask(work)]
    if wanted:
        found.append(Choice("Search", f"Search for “{wanted}”", f"/?{urlencode({'q': wanted})}"))
    return page(request, "palette_part.html", choices=found, q=wanted)


@shows(palette, "/pick")
async def pick_part(request: Request, here: Here, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Items to choose one from, for a field that holds a ref."""
    found = await here.ask(lambda engine: _items(engine, q.strip(), most=8) if q.strip() else [])
    return page(request, "pick_part.html", choices=found)


def _fits(words: str, wanted: str) -> bool:
    """Whether every word that is wanted begins a word of the line, or all of it stands in the line."""
    line = words.casefold()
    begins = line.replace(".", " ").replace("_", " ").split()
    return wanted.casefold() in line or all(
        any(one.startswith(part) for one in begins) for part in wanted.casefold().split()
    )


def _places() -> list[Choice]:
    return [Choice("Go to", words, address) for address, words in PLACES]


def _deeds(who: Caller) -> list[Choice]:
    return [Choice("Do", words, address) for words, address, scope in DEEDS if who.may(scope)]


def _of_item(ref: str, who: Caller) -> list[Choice]:
    if not ref:
        return []
    name = quote(ref, safe="")
    found = [
        Choice("This item", "Show its links", f"/item?ref={name}&view=links"),
        Choice("This item", "Show its versions", f"/item?ref={name}&view=versions"),
        Choice("This item", "Show it in the graph", f"/graph?ref={name}"),
        Choice("This item", "Export it as Markdown", f"/export?format=markdown&ref={name}"),
        Choice("This item", "Export it as JSON", f"/export?format=json&ref={name}"),
        Choice("This item", "Why is it not found", f"/why?ref={name}"),
    ]
    if who.may("write"):
        found[:0] = [
            Choice("This item", "Edit it", f"/edit?ref={name}"),
            Choice("This item", "Correct it", f"/correct?ref={name}"),
            Choice("This item", "Tag, archive, remove or move it", key="x"),
        ]
    return found


def _settings(wanted: str) -> list[Choice]:
    """Settings by their names, whole or in parts; the one of that very name comes first."""
    if not wanted:
        return []
    folded = wanted.casefold()
    named = [name for name in SETTINGS if _fits(name, wanted)]
    named.sort(key=lambda name: (name.casefold() != folded, not name.casefold().startswith(folded), name))
    return [Choice("Settings", name, f"/settings#set-{name}", SETTINGS[name].doc) for name in named[:MOST_SETTINGS]]


def _tags(engine: Ricordo, wanted: str) -> list[Choice]:
    tag = wanted.removeprefix("#").casefold()
    found = [one for one in engine.tags() if tag and one.tag.casefold().startswith(tag)]
    return [
        Choice("Tags", f"#{one.tag}", f"/?{urlencode({'tag': one.tag})}", f"{one.count:,}") for one in found[:MOST_TAGS]
    ]


def _items(engine: Ricordo, wanted: str, most: int = MOST_ITEMS) -> list[Choice]:
    """The items that a search for the letters finds; the palette's own questions are not recorded."""
    options: dict[str, Any] = {"limit": most, "track": False, "rerank": "none", "evidence": False, "tool": "page"}
    hits = engine.search(wanted, literal=True, **options).hits
    return [Choice("Items", hit.title or hit.ref, item_address(hit.ref), hit.ref) for hit in hits]
