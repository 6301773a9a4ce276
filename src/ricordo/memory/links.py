"""Makes links between items by hand, and shows the links around an item: types, directions, distances, suggestions.

Links in texts are found when an item is saved (by the store); here they are only shown.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ricordo.errors import Conflict, NotFound, UsageError
from ricordo.search.pipeline import Searcher
from ricordo.search.request import Request
from ricordo.store.base import Store
from ricordo.store.sql.links import FOUND
from ricordo.store.values import StoredLink
from ricordo.text.links import mentioned
from ricordo.values.hits import LINK_TYPES, Answer, Filters, Link, LinkReport
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import MENTIONING_KINDS

DEEPEST = 6
MAX_NAMING_ITEMS = 10_000
BY_HAND = ("manual", FOUND)
"""The origins of links that are in no text."""
_TYPE = re.compile(r"[a-z][a-z0-9_-]{1,40}")


def checked_type(text: str) -> str:
    """A type of link, built in or the user's own; anything else is a usage error."""
    if not _TYPE.fullmatch(text):
        raise UsageError(
            f"'{text}' is not a type of link",
            hint=f"One of: {', '.join(LINK_TYPES)}; or a word of your own in small letters, such as depends-on.",
        )
    return text


def link(store: Store, source: int, target: int, type_: str) -> Link:
    """Link one item to another; doing so again changes nothing."""
    checked_type(type_)
    if source == target:
        raise UsageError("an item cannot be linked to itself", hint="Name two different items.")
    store.links.add(source, target, type_)
    wanted = ("out", str(store.items.get(target).ref), type_)
    links = around(store, source, 1).links
    return next(row for row in links if (row.direction, row.ref, row.type) == wanted and row.origin in BY_HAND)


def naming_items(searcher: Searcher, title: str) -> tuple[int, ...]:
    """Find the items whose texts name an entity with this title."""
    phrase = title.replace('"', " ").strip()
    if not phrase:
        return ()
    filters = Filters(kinds=tuple(sorted(MENTIONING_KINDS)))
    request = Request(f'"{phrase}"', limit=MAX_NAMING_ITEMS, filters=filters, by="words", snippets=False)
    items = searcher.store.items
    numbers = items.numbers([Ref.parse(hit.ref) for hit in searcher.search(request).hits]).values()
    return tuple(n for n in numbers if mentioned(items.get(n).content, [(0, title)]))


def unlink(store: Store, source: int, target: int, type_: str | None) -> int:
    """Remove links that are not in a text, of one type or of all; returns how many there were."""
    if type_ is not None:
        checked_type(type_)
    removed = store.links.remove(source, target, type_)
    if removed:
        return removed
    left = [edge for edge in store.links.of([source]) if (edge.source, edge.target) == (source, target)]
    names = f"{store.items.get(source).ref} to {store.items.get(target).ref}"
    if any(edge.origin not in BY_HAND and type_ in (None, edge.type) for edge in left):
        raise Conflict(f"the link from {names} is part of the text", hint="Edit the text to remove it.")
    if left:
        others = ", ".join(sorted({edge.type for edge in left}))
        raise NotFound(f"there is no link '{type_}' from {names}", hint=f"There is: {others}.")
    raise NotFound(f"there is no link from {names}", hint="‹:links REF› shows the links of an item.")


def around(store: Store, n: int, depth: int) -> LinkReport:
    """The links of an item and of the items it is linked with, up to a distance; near ones first."""
    if not 1 <= depth <= DEEPEST:
        raise UsageError(f"the depth cannot be {depth}", hint=f"A number from 1 to {DEEPEST}.")
    distances = {n: 0}
    rows: list[tuple[StoredLink, int, bool]] = []
    seen: set[StoredLink] = set()
    frontier = {n}
    for distance in range(1, depth + 1):
        edges = [edge for edge in store.links.of(sorted(frontier)) if edge not in seen]
        seen.update(edges)
        written = {(edge.source, edge.target, edge.type) for edge in edges if edge.origin != "mention"}
        edges = [e for e in edges if e.origin != "mention" or (e.source, e.target, e.type) not in written]
        for edge in edges:
            if edge.target is not None:
                forward = edge.source in frontier
                distances.setdefault(edge.target if forward else edge.source, distance)
                rows.append((edge, distance, forward))
        frontier = {far for far, reached in distances.items() if reached == distance}
    items = store.items.get_many(list(distances))
    links = [_link(items, edge, distance, forward=forward) for edge, distance, forward in rows]
    links.sort(key=lambda link: (link.distance, link.direction != "out", link.type, link.ref, link.origin))
    unresolved = [edge.text for edge in seen if edge.source == n and edge.target is None and "://" not in edge.name]
    return LinkReport(str(items[n].ref), depth, tuple(links), tuple(sorted(unresolved)))


def _link(items: dict[int, Item], edge: StoredLink, distance: int, *, forward: bool) -> Link:
    assert edge.target is not None, "links without a target are not shown as links"
    far = edge.target if forward else edge.source
    return Link(
        source=str(items[edge.source].ref),
        target=str(items[edge.target].ref),
        type=edge.type,
        origin=edge.origin,
        created_at=edge.created_at,
        distance=distance,
        direction="out" if forward else "in",
        ref=str(items[far].ref),
        title=items[far].title,
        text=edge.text,
    )


def without_linked(store: Store, n: int, answer: Answer, limit: int) -> Answer:
    """An answer with similar items, without those that are linked already."""
    linked = {str(item.ref) for item in store.items.get_many(list(store.links.neighbours([n], 1))).values()}
    hits = tuple(hit for hit in answer.hits if hit.ref not in linked)[:limit]
    return replace(answer, hits=hits, meta=replace(answer.meta, returned=len(hits)))
