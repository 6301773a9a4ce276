"""Turns hits into checkpoints to fork from, each with its quality, which follows from what was said after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ricordo.context.checkpoints import HEARD, quality
from ricordo.context.session_list import facets_in
from ricordo.search.fit import fitting
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import Ref
from ricordo.values.sessions import Fork, Routes, TurnFacets

QUALITY_SHARE = 0.8
"""The part of a score that quality can add or take away."""


def routes_from(task: str, answer: Answer, stores: Mapping[str, Store], limit: int, least: float) -> Routes:
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
    worth = quality(reactions(store.threads.said_after(session, turn, len(HEARD))))
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
