"""Reads sessions back: from stored items, and as the ones that may be gone on with for a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ricordo.plugins.sessions.values import Fork, Routes, Session, SessionFacets, Turn, TurnFacets
from ricordo.search.fit import fitting
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import Item, Ref
from ricordo.values.log import ThreadSpan


def session_of(item: Item, span: ThreadSpan, turns: tuple[Turn, ...] = ()) -> Session:
    """The session that an item holds."""
    metadata = item.fields.metadata
    return Session(
        item.fields.thread or item.ref.path[1:],
        str(item.ref),
        SessionFacets(
            item.title,
            item.fields.description,
            **{name: _texts(metadata.get(name)) for name in ("keywords", "entities", "topics", "tools", "files")},
        ),
        span.count,
        span.first or item.created_at,
        span.last or item.updated_at,
        item.fields.source_adapter or "",
        str(metadata.get("folder", "")),
        str(metadata.get("branch", "")),
        str(metadata.get("path", "")),
        turns,
    )


def turn_of(item: Item) -> Turn:
    """The turn that an item holds."""
    metadata = item.fields.metadata
    return Turn(
        str(item.ref),
        item.fields.seq or 0,
        str(metadata.get("role", "")),
        str(metadata.get("direction", "")),
        _time(metadata.get("at")) or item.created_at,
        item.content,
        str(metadata.get("tool", "")),
        _texts(metadata.get("files")),
        facets_in(metadata),
    )


def facets_in(metadata: Mapping[str, Any]) -> TurnFacets:
    """How a turn judges the answer before it; neutral if nothing is recorded."""
    facets = metadata.get("facets")
    if not isinstance(facets, Mapping):
        return TurnFacets()
    mood = facets.get("sentiment")
    return TurnFacets(
        float(mood) if isinstance(mood, (int, float)) else 0.0,
        **{name: facets.get(name) is True for name in ("correction", "frustration", "praise")},
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


HEARD = (1.0, 0.5, 0.25)
"""The weights of the first, second and third message of the user about a request after its checkpoint."""


def quality(reactions: Sequence[TurnFacets]) -> float:
    """From 0 to 1: praise raises it, corrections and frustration lower it; .5 when nothing of the kind was said.

    >>> quality([]), quality([TurnFacets(praise=True)]) > .8, quality([TurnFacets(correction=True)]) < .2
    (0.5, True, True)
    """
    value = 0.5
    for weight, facets in zip(HEARD, reactions, strict=False):
        value += weight * (0.4 * facets.praise - 0.35 * facets.correction - 0.4 * facets.frustration)
    return round(max(0.0, min(1.0, value)), 3)


QUALITY_SHARE = 0.8
"""The part of a score that quality can add or take away."""


def routes_from(task: str, answer: Answer, stores: Mapping[str, Store], limit: int, *, least: float) -> Routes:
    """The best checkpoints among the hits; those that fit less than ``least``, or whose session is gone, are left
    out.
    """
    forks = []
    for hit in fitting(answer.hits, least):
        store = stores.get(hit.tier) or next(iter(stores.values()))
        fork = _fork(hit, store)
        if fork is not None:
            forks.append(fork)
    forks.sort(key=lambda fork: (-fork.score, fork.ref))
    return Routes(task, tuple(forks[:limit]), (*answer.meta.degraded, *answer.meta.notes))


def reactions(said: Sequence[Mapping[str, Any]]) -> list[TurnFacets]:
    """How the messages after a checkpoint take it, given what is kept of them.

    Those after a correction, or after "go on", are about the same request; a message that asks for something else is
    the last one about this request, so that a correction counts against the request it corrects and no other.
    """
    heard = []
    for one in said:
        heard.append(facets_in(one))
        if not (heard[-1].correction or one.get("goes_on")):
            break
    return heard


def _fork(hit: Hit, store: Store) -> Fork | None:
    item = hit.item
    if item is None or not item.fields.thread:
        return None
    session, metadata = item.fields.thread, item.fields.metadata
    n = store.items.number(Ref("session", f"/{session}"))
    if n is None or store.items.get_many([n])[n].state != "live":
        return None
    turn, files = metadata.get("turn"), metadata.get("files")
    turn = turn if isinstance(turn, int) else 0
    worth = quality(reactions(store.threads.user_turns_after(session, turn, len(HEARD))))
    return Fork(
        session,
        turn,
        item.title,
        round(min(1.0, hit.score * (1 + QUALITY_SHARE * (worth - 0.5))), 6),
        worth,
        hit.ref,
        tuple(map(str, files)) if isinstance(files, list) else (),
        item.created_at,
        str(metadata.get("folder", "")),
        hit.snippet,
    )
