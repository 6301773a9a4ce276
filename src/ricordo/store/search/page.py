"""Reads what a page shows of its items, in a few statements: the items, the texts of passages, and their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ricordo.store.arrays import Array
from ricordo.store.query import Ask, Passages, PassageText, Shown, WordShare
from ricordo.store.search.caches import SearchedStore
from ricordo.store.search.candidates import masks
from ricordo.store.search.vectors import vectors_of
from ricordo.store.search.words import KeywordSide
from ricordo.store.sql import items
from ricordo.store.sql.database import Connection
from ricordo.store.sql.items import chunk_texts
from ricordo.store.sql.links import contradictions, replacements
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import SESSION


def passages(
    opened: SearchedStore,
    connection: Connection,
    shown: Sequence[Shown],
    ask: Ask | None,
    *,
    contents: bool,
    vectors: str,
) -> Passages:
    """Everything that is shown of some items; see ``SearchIndex.passages``."""
    numbers = [entry.n for entry in shown]
    now = [entry.n for entry in shown if entry.version is None]
    asked = [chunk for entry in shown for chunk in entry.chunks]
    best = [entry.chunks[0] for entry in shown if entry.chunks]
    connection.prefetch(
        lambda: items.by_numbers(connection, numbers),
        lambda: items.current_layouts(connection, now),
        lambda: chunk_texts(connection, asked),
        lambda: contradictions(connection, numbers),
        lambda: replacements(connection, numbers) if ask is not None and ask.as_of is not None else {},
        lambda: _shares(opened, connection, ask, shown) if ask is not None else {},
        lambda: vectors_of(opened, connection, vectors, best) if vectors else {},
    )
    known = items.by_numbers(connection, numbers)
    shown = [entry for entry in shown if entry.n in known]
    versions = [(entry.n, entry.version) for entry in shown if entry.version is not None]
    connection.prefetch(
        *(partial(_as_asked, connection, entry, known[entry.n], contents) for entry in shown),
        lambda: items.layouts_of(connection, versions),
        lambda: _sessions(connection, list(known.values())),
    )
    known = {entry.n: _as_asked(connection, entry, known[entry.n], contents) for entry in shown}
    layouts = items.current_layouts(connection, now) | items.layouts_of(connection, versions)
    wanted = {entry.n: entry.chunks or tuple(layouts[entry.n][0][:1, 0].tolist()) for entry in shown}
    first = [chunk for entry in shown if not entry.chunks for chunk in wanted[entry.n]]
    texts = chunk_texts(connection, asked) | chunk_texts(connection, first)
    return Passages(
        known,
        {n: _placed(chunks, texts, layouts[n][0]) for n, chunks in wanted.items()},
        {n: labels for n, (_, labels) in layouts.items()},
        _shares(opened, connection, ask, shown) if ask is not None else {},
        vectors_of(opened, connection, vectors, best) if vectors else {},
        _sessions(connection, list(known.values())),
        replacements(connection, numbers) if ask is not None and ask.as_of is not None else {},
        contradictions(connection, numbers),
    )


def _as_asked(connection: Connection, entry: Shown, item: Item, contents: bool) -> Item:
    """An item in the version that is shown, with its whole text if that is asked for."""
    if contents:
        return items.at_version(connection, entry.n, entry.version)
    return item if entry.version is None else items.as_version(connection, entry.n, item, entry.version)


def _placed(chunks: Sequence[int], texts: Mapping[int, tuple[int, str, str]], layout: Array) -> tuple[PassageText, ...]:
    """Some passages of an item with their places in it; those that its version does not hold are left out."""
    order = layout[:, 0].tolist()
    found = []
    for chunk in chunks:
        if chunk in texts and chunk in order:
            at = order.index(chunk)
            _, heading, text = texts[chunk]
            _, start, first, last = layout[at].tolist()
            found.append(PassageText(chunk, heading, text, start, (first, last), at, len(order)))
    return tuple(found)


def _shares(
    opened: SearchedStore, connection: Connection, ask: Ask, shown: Sequence[Shown]
) -> Mapping[int, Sequence[WordShare]]:
    """What each word of the query added to the passage that matched best."""
    _, times = masks(opened, connection, ask)
    keywords = KeywordSide(opened.lexical, connection, ask, times)
    chunks = [entry.matched for entry in shown if entry.matched is not None]
    return {
        chunk: [WordShare(*row) for row in rows] for chunk, rows in keywords.shares(keywords.wanted, chunks).items()
    }


def _sessions(connection: Connection, shown: Sequence[Item]) -> dict[str, str]:
    """The titles of the sessions whose turns are shown."""
    threads = dict.fromkeys(item.fields.thread for item in shown if item.is_untitled_turn and item.fields.thread)
    refs = [Ref(SESSION, f"/{thread}") for thread in threads if thread]
    numbers = connection.gather(*(partial(items.number_of, connection, ref) for ref in refs))
    known = items.by_numbers(connection, [n for n in numbers if n is not None])
    return {ref.path[1:]: known[n].title for ref, n in zip(refs, numbers, strict=True) if n is not None}
