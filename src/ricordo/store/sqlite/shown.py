"""Reads what a page shows of its items, in a few statements: the items, the texts of passages, and their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ricordo.store.asking import Ask, Passages, PassageText, Shown, WordShare
from ricordo.store.index.matching import KeywordSide
from ricordo.store.sql import items
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.chunk_rows import chunk_texts
from ricordo.store.sql.replacing import contradicting, contradictions, replacements, replacing
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.gathering import masks
from ricordo.store.sqlite.nearness import vectors_of
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import SESSION


def passages(
    file: OpenFile,
    connection: Connection,
    shown: Sequence[Shown],
    ask: Ask | None,
    *,
    contents: bool,
    vectors: str,
) -> Passages:
    """Everything that is shown of some items; see ``SearchIndex.passages``."""
    known = items.by_numbers(connection, [entry.n for entry in shown])
    shown = [entry for entry in shown if entry.n in known]
    for entry in shown:
        if contents:
            known[entry.n] = items.at_version(connection, entry.n, entry.version)
        elif entry.version is not None:
            known[entry.n] = items.as_version(connection, entry.n, known[entry.n], entry.version)
    layouts = items.layouts_of(connection, [(entry.n, known[entry.n].version) for entry in shown])
    wanted = {entry.n: entry.chunks or tuple(layouts[entry.n][0][:1, 0].tolist()) for entry in shown}
    texts = chunk_texts(connection, [chunk for chunks in wanted.values() for chunk in chunks])
    found = {n: _placed(chunks, texts, layouts[n][0]) for n, chunks in wanted.items()}
    best = [entry.chunks[0] for entry in shown if entry.chunks]
    return Passages(
        known,
        found,
        {n: marks for n, (_, marks) in layouts.items()},
        _shares(file, connection, ask, shown) if ask is not None else {},
        vectors_of(file, connection, vectors, best) if vectors else {},
        _sessions(connection, list(known.values())),
        _replaced(connection, list(known)) if ask is not None and ask.as_of is not None else {},
        _contradicted(connection, list(known)),
    )


def _replaced(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
    marks = ",".join("?" * len(numbers))
    return replacements(connection.rows(replacing(f"IN ({marks})"), numbers))


def _contradicted(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[int, str]]:
    marks = ",".join("?" * len(numbers))
    return contradictions(connection.rows(contradicting(f"IN ({marks})"), numbers))


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
    file: OpenFile, connection: Connection, ask: Ask, shown: Sequence[Shown]
) -> Mapping[int, Sequence[WordShare]]:
    """What each word of the query added to the passage that matched best."""
    _, times = masks(file, connection, ask)
    keywords = KeywordSide(file.lexical, connection, ask, times)
    chunks = [entry.matched for entry in shown if entry.matched is not None]
    return {
        chunk: [WordShare(*row) for row in rows] for chunk, rows in keywords.shares(keywords.wanted, chunks).items()
    }


def _sessions(connection: Connection, shown: Sequence[Item]) -> dict[str, str]:
    """The titles of the sessions whose turns are shown."""
    threads = dict.fromkeys(item.fields.thread for item in shown if item.is_untitled_turn and item.fields.thread)
    numbers = {thread: items.number_of(connection, Ref(SESSION, f"/{thread}")) for thread in threads if thread}
    known = items.by_numbers(connection, [n for n in numbers.values() if n is not None])
    return {thread: known[n].title for thread, n in numbers.items() if n is not None}
