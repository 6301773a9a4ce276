"""Pages to look around: by drive and folder, along links, the bin, the tags; and what is done with several items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, Query, Request, Response

from ricordo.errors import Error, NotFound, UsageError
from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.search_pages import POOL, Asked, AskedHere, authors_of
from ricordo.steps import one_step
from ricordo.values.hits import Filters
from ricordo.values.items import Listing, TreeNode, items_as_text
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.provenance import Provenance


pages = page_router()

MOST_CHILDREN = 300
MOST_NODES = 5000
MOST_LISTED = 200


@shows(pages, "/browse")
async def browse(
    request: Request,
    here: Here,
    prefix: Annotated[str, Query(max_length=4096)] = "",
    author: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Drives, folders and items below one place, or what an author wrote there; a folder that holds only one folder is
    skipped.
    """

    def work(engine: Ricordo) -> tuple[TreeNode, Listing, Sequence[Provenance]]:
        node = engine.tree(prefix or None, depth=1)
        while len(node.children) == 1 and node.children[0].ref is None and node.children[0].items == node.items:
            node = engine.tree(node.children[0].path, depth=1)
        drive, _, path = node.path.rstrip("/").partition(":")
        below = Filters(drives=(drive,), paths=(f"{path}/",)) if drive else Filters()
        theirs = engine.list(filters=replace(below, authors=(author,)), limit=MOST_CHILDREN) if author else Listing([])
        return node, theirs, [item.provenance for item in engine.list(filters=below, limit=POOL)]

    node, theirs, written = await here.ask(work)
    children = sorted(node.children, key=lambda one: (one.ref is not None, one.name.casefold()))
    if author:
        children = [TreeNode(one.ref.path.rpartition("/")[2], "", 1, str(one.ref), one.title) for one in theirs]
    return page(
        request,
        "browse.html",
        node=node,
        children=children[:MOST_CHILDREN],
        left_out=max(0, len(children) - MOST_CHILDREN, theirs.total - MOST_CHILDREN),
        authors=authors_of(author, written, written),
        author=author,
        is_all=len(written) < POOL,
        trail=_trail("" if node.path == "/" else node.path),
    )


def _trail(path: str) -> list[tuple[str, str]]:
    """The folders above a place, by name and address."""
    if not path:
        return []
    drive, _, rest = path.partition(":")
    trail = [(f"{drive}:", f"{drive}:/")]
    at = f"{drive}:"
    for part in filter(None, rest.split("/")):
        at += f"/{part}"
        trail.append((part, at))
    return trail


@shows(pages, "/graph")
async def graph(request: Request, here: Here, ref: Annotated[str, Query(max_length=4096)] = "") -> Response:
    """Items and their links: around one, or all that are linked. A script draws what the API answers."""

    def work(engine: Ricordo) -> Any:
        return engine.graph(ref=ref or None, limit=MOST_NODES), str(engine.resolve(ref)) if ref else ""

    found, centre = await here.ask(work)
    degrees = Counter(end for edge in found.edges for end in (edge.source, edge.target))
    listed = [(one, degrees[at]) for at, one in enumerate(found.nodes[:MOST_LISTED])]
    source = f"/api/v1/graph?{urlencode({'limit': MOST_NODES} | ({'item': centre} if centre else {}))}"
    return page(request, "graph.html", graph=found, listed=listed, centre=centre, source=source)


MOST_CHOSEN = 1000
MOST_EXPORTED = 1000
BIN_PAGE = 200
WRITTEN = tuple(kind for kind in KINDS if kind != "session")
"""The kinds of items that somebody wrote."""
STATES = {"deleted": "Bin", "archived": "Archive"}
FILES = {"markdown": ("text/markdown; charset=utf-8", "ricordo.md"), "json": ("application/json", "ricordo.json")}
Refs = Annotated[list[str], Form(min_length=1, max_length=MOST_CHOSEN)]
Word = Annotated[str, Form(max_length=1000)]


@shows(pages, "/bin")
async def bin_page(
    request: Request,
    here: Here,
    state: Annotated[str, Query(max_length=20)] = "deleted",
    sessions: bool = False,
    *,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """What was removed or archived, the latest first, to bring it back. Pieces of sessions that are kept in the archive
    for good would bury the rest, so they are listed apart.
    """
    shown = state if state in STATES else "deleted"

    def work(engine: Ricordo) -> dict[str, Any]:
        archived = Filters(states=("archived",), kinds=("session",) if sessions else WRITTEN)
        filters = archived if shown == "archived" else Filters(states=("deleted",))
        return {
            "items": engine.list(filters=filters, limit=BIN_PAGE, offset=offset),
            "total": {"deleted": engine.status()["in_bin"], "archived": engine.count(archived)},
            "pieces": engine.count(Filters(states=("archived",), kinds=("session",))) if shown == "archived" else 0,
            "days": engine.config.store.bin_days,
        }

    found = await here.ask(work)
    return page(
        request, "bin.html", state=shown, states=STATES, sessions=sessions, offset=offset, page_size=BIN_PAGE, **found
    )


@shows(pages, "/tags")
async def tags_page(request: Request, here: Here) -> Response:
    """Every tag, and how many items have it."""
    return page(request, "tags.html", tags=await here.ask(lambda engine: engine.tags()))


@shows(pages, "/export")
async def export(
    request: Request,
    here: Here,
    asked: AskedHere,
    format: Annotated[str, Query(max_length=20)] = "markdown",  # noqa: A002 - the name in the address
    *,
    ref: Annotated[list[str] | None, Query(max_length=MOST_EXPORTED)] = None,
) -> Response:
    """Items as a file: those that are named, or all that a search finds."""
    return await _file(here, format, lambda engine: ref or _found(engine, asked))


@shows(pages, "/export", "POST")
async def export_chosen(
    request: Request,
    here: Here,
    ref: Refs,
    format: Word = "markdown",  # noqa: A002 - the field's name
) -> Response:
    """Items that were chosen, as a file; there may be more than an address can name."""
    return await _file(here, format, lambda engine: ref)


async def _file(here: Here, format: str, chosen: Callable[[Ricordo], Sequence[str]]) -> Response:  # noqa: A002
    """The items that are chosen, as a file to download."""
    if format not in FILES:
        raise UsageError(f"there is no format '{format}'", hint="Markdown or JSON.")

    def work(engine: Ricordo) -> str:
        refs = chosen(engine)
        if not refs:
            raise NotFound("there is nothing to export", hint="Choose items, or search for something that is kept.")
        return items_as_text([engine.get(ref, track=False) for ref in refs], format)

    media, name = FILES[format]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(await here.ask(work), media_type=media, headers=headers)


def _found(engine: Ricordo, asked: Asked) -> list[str]:
    """The refs of all that a search finds, each once."""
    if not asked.parameters():
        return []
    options: dict[str, Any] = {"filters": asked.filters(), "profile": asked.profile or None, "track": False}
    hits = engine.search(asked.q, limit=MOST_EXPORTED, evidence=False, tool="page", **options).hits
    return list(dict.fromkeys(hit.ref for hit in hits))


@shows(pages, "/selection/tag", "POST", scope="write")
async def tag_chosen(request: Request, here: Here, ref: Refs, tags: Word, *, how: Word = "add") -> Response:
    """Give tags to items, or take them away."""
    named = [tag.strip() for tag in tags.split(",") if tag.strip()]

    def work(engine: Ricordo) -> Any:
        return engine.tag(*ref, add=named) if how == "add" else engine.tag(*ref, remove=named)

    return await _done(request, here, work, "tagged" if how == "add" else "untagged")


@shows(pages, "/selection/archive", "POST", scope="write")
async def archive_chosen(request: Request, here: Here, ref: Refs) -> Response:
    """Take items out of normal search."""
    return await _done(request, here, lambda engine: engine.forget(*ref), "archived")


@shows(pages, "/selection/remove", "POST", scope="write")
async def remove_chosen(request: Request, here: Here, ref: Refs) -> Response:
    """Put items into the bin."""
    return await _done(request, here, lambda engine: engine.rm(*ref), "in the bin")


@shows(pages, "/selection/restore", "POST", scope="write")
async def restore_chosen(request: Request, here: Here, ref: Refs) -> Response:
    """Bring items back from the bin or the archive."""
    return await _done(request, here, _each("restore", ref, lambda engine, one: engine.restore(one)), "back")


@shows(pages, "/selection/move", "POST", scope="write")
async def move_chosen(request: Request, here: Here, ref: Refs, tier: Word, *, keep: Word = "") -> Response:
    """Copy items with their histories to another tier, and put those of this one into the bin unless both are kept."""

    def move(engine: Ricordo, one: str) -> Any:
        before = engine.get(one, track=False).tier
        saved = engine.promote(one, tier)
        if not keep and before != tier:
            engine.tier(before).rm(one)
        return saved

    return await _done(request, here, _each("promote", ref, move), f"copied to {tier}" if keep else f"moved to {tier}")


def _each(verb: str, refs: Sequence[str], do: Callable[[Ricordo, str], Any]) -> Callable[[Ricordo], Any]:
    """Does something to each item, as one step. One that fails does not stop the rest; the first problem is told."""

    def work(engine: Ricordo) -> list[Any]:
        done, problem = [], None
        with one_step(verb):
            for one in refs:
                try:
                    done.append(do(engine, one))
                except Error as error:
                    problem = problem or error
        if problem is not None and not done:
            raise problem
        return done

    return work


async def _done(request: Request, here: Here, work: Callable[[Ricordo], Any], words: str) -> Response:
    """Says how many items were changed, and what went wrong with the others."""
    report = await here.ask(work)
    here.service.wake()
    items = list(getattr(report, "items", report))
    failed = [one for one in items if getattr(one, "error", None)]
    count = len(items) - len(failed)
    said = f"{count:,} item{'' if count == 1 else 's'} {words}"
    problems = [f"{one.ref}: {one.error['message']}" for one in failed[:3]]
    return page(request, "done_part.html", said=said, problems=problems)
