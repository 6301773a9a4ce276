"""What a page shows of its items, in one trip: statements that do not depend on each other are sent together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ricordo.store.asking import Ask, Passages, PassageText, Shown, WordShare
from ricordo.store.index.matching import KeywordSide
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.loading import load
from ricordo.store.postgres.nearness import asked_vectors, decoded
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.postgres.picking import passages_asked
from ricordo.store.sql import items
from ricordo.store.sql.protocols import Row, Values
from ricordo.store.sql.replacing import contradicting, contradictions, replacements, replacing
from ricordo.values.items import Item
from ricordo.values.kinds import SESSION

_VERSION = ", ".join(f"v.{name}" for name in items.VERSION_COLUMNS.split(", "))
_LAYOUT = (
    f"SELECT i.n, v.layout, v.marks, {_VERSION} FROM unnest(?::bigint[], ?::bigint[]) w(n, number)"
    " JOIN items i ON i.n = w.n JOIN versions v ON v.item = i.n AND v.number = coalesce(w.number, i.version)"
)
_TEXTS = "SELECT id, item, heading, text FROM chunks WHERE id = ANY(?)"
_FIRST_TEXTS = (
    "SELECT c.id, c.item, c.heading, c.text FROM unnest(?::bigint[], ?::bigint[]) w(n, number)"
    " JOIN items i ON i.n = w.n JOIN versions v ON v.item = i.n AND v.number = coalesce(w.number, i.version)"
    " JOIN chunks c ON c.id = (SELECT layout_chunks(v.layout) LIMIT 1)"
)
_ALL_TEXTS = "SELECT id, text FROM chunks WHERE item = ANY(?)"
_EMBEDDED = (
    "SELECT c.item FROM chunks c WHERE c.item = ANY(?) AND c.state = 0 GROUP BY c.item HAVING bool_and(EXISTS (SELECT 1"
    " FROM vectors v JOIN fingerprints f ON f.id = v.fingerprint WHERE f.active AND v.hash = c.embed_hash))"
)
_SESSIONS = (
    "SELECT s.path, s.title FROM items s WHERE s.drive = ? AND s.state <> 'deleted' AND s.path IN"
    " (SELECT '/' || i.thread FROM items i WHERE i.n = ANY(?) AND i.thread IS NOT NULL)"
)


def passages(
    opened: OpenWorkspace,
    connection: Connection,
    shown: Sequence[Shown],
    ask: Ask | None,
    *,
    contents: bool,
    vectors: str,
) -> Passages:
    """Everything that is shown of some items; see ``SearchIndex.passages``."""
    numbers, versions = [entry.n for entry in shown], [entry.version for entry in shown]
    without = [entry for entry in shown if not entry.chunks]
    matched = [entry.matched for entry in shown if entry.matched is not None]
    best = [entry.chunks[0] for entry in shown if entry.chunks]
    asked: dict[str, tuple[str, Values]] = {
        "items": (f"SELECT {items.ITEM_COLUMNS} {items.ITEM_TABLES} WHERE i.n = ANY(?)", (numbers,)),
        "layouts": (_LAYOUT, (numbers, versions)),
        "texts": (_TEXTS, ([chunk for entry in shown for chunk in entry.chunks],)),
        "sessions": (_SESSIONS, (SESSION, numbers)),
        "contradicted": (contradicting("= ANY(?)"), (numbers,)),
    }
    if without:
        asked["first"] = (_FIRST_TEXTS, ([one.n for one in without], [one.version for one in without]))
    if ask is not None and ask.as_of is not None:
        asked["replaced"] = (replacing("= ANY(?)"), (numbers,))
    if vectors and best:
        asked["vectors"] = asked_vectors(vectors, best)
    if contents:
        asked["contents"] = (_ALL_TEXTS, (numbers,))
        asked["embedded"] = (_EMBEDDED, (numbers,))
    keywords, answers = _asked(opened, connection, ask if matched else None, list(asked.values()), matched)
    found = dict(zip(asked, answers, strict=True))
    known = {row[0]: items.item_of(row) for row in found["items"]}
    layouts = {
        n: (np.frombuffer(layout, np.int64).reshape(-1, 4).tolist(), json.loads(marks))
        for n, layout, marks, *_ in found["layouts"]
    }
    texts = {row[0]: row[1:] for row in (*found["texts"], *found.get("first", ()))}
    shown = [entry for entry in shown if entry.n in known and entry.n in layouts]
    versions_of = {row[0]: row[3:] for row in found["layouts"]}
    _put_versions(known, shown, versions_of)
    if contents:
        embedded = {n for (n,) in found["embedded"]}
        texts_of: dict[int, str] = dict(found["contents"])
        for entry in shown:
            known[entry.n] = replace(
                known[entry.n], content="".join(texts_of[row[0]] for row in layouts[entry.n][0]),
                first_line=versions_of[entry.n][-1], has_embedding=entry.n in embedded,
            )  # fmt: skip
    return Passages(
        known,
        {entry.n: _placed(entry, texts, layouts[entry.n][0]) for entry in shown},
        {n: [(at, label) for at, label in marks] for n, (_, marks) in layouts.items()},
        _shares(keywords, matched) if keywords is not None else {},
        {chunk: decoded(data) for chunk, data in found.get("vectors", ())},
        _sessions(found["sessions"], list(known.values())),
        replacements(found.get("replaced", ())),
        contradictions(found["contradicted"]),
    )


def _asked(
    opened: OpenWorkspace,
    connection: Connection,
    ask: Ask | None,
    asked: Sequence[tuple[str, Values]],
    matched: Sequence[int],
) -> tuple[KeywordSide | None, list[list[Row]]]:
    """Send statements together; if there is an ask, with what its keyword side needs of the passages that matched."""
    if ask is None:
        return None, connection.together(asked, binary=True)
    if opened.outside is not None:
        begun = opened.outside.begun(connection, ask, [passages_asked(matched), *asked])
        if begun.picking is not None:
            begun.picking.take(begun.rest[0])
            return begun.picking.keywords, begun.rest[1:]
    loaded = load(opened.words, opened.passing, connection, ask, asked)
    return loaded.keywords, loaded.rest


def _shares(keywords: KeywordSide, chunks: Sequence[int]) -> Mapping[int, Sequence[WordShare]]:
    """What each word of the query gave to the passages that matched best."""
    return {
        chunk: [WordShare(*row) for row in rows] for chunk, rows in keywords.shares(keywords.wanted, chunks).items()
    }


def _put_versions(known: dict[int, Item], shown: Sequence[Shown], rows: Mapping[int, Sequence[Any]]) -> None:
    """Let items that are shown in a former version say what that one says."""
    for entry in shown:
        if entry.version is not None and entry.version != known[entry.n].version:
            known[entry.n] = items.with_version(known[entry.n], entry.version, tuple(rows[entry.n]))


def _placed(entry: Shown, texts: Mapping[int, Sequence[Any]], rows: list[list[int]]) -> tuple[PassageText, ...]:
    """Some passages of an item with their places in it; those that its version does not hold are left out."""
    places: dict[int, int] = {}
    for at, row in enumerate(rows):
        places.setdefault(row[0], at)
    found = []
    for chunk in entry.chunks or tuple(row[0] for row in rows[:1]):
        if chunk in places and chunk in texts:
            at = places[chunk]
            _, heading, text = texts[chunk]
            _, start, first, last = rows[at]
            found.append(PassageText(chunk, heading, text, start, (first, last), at, len(rows)))
    return tuple(found)


def _sessions(rows: Sequence[Sequence[str]], shown: Sequence[Item]) -> dict[str, str]:
    """The titles of the sessions whose turns are shown."""
    titles = {path[1:]: title for path, title in rows}
    threads = {item.fields.thread for item in shown if item.is_untitled_turn}
    return {thread: titles[thread] for thread in threads if thread is not None and thread in titles}
