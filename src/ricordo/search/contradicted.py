"""Puts what is newer before what it contradicts. Which items contradict each other was found when they were saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ricordo.search.present import HitReader, Ranked


def newer_first(page: Sequence[Ranked], reader: HitReader) -> list[Ranked]:
    """The page, on which an item that stands above a newer one that contradicts it changes places with it.

    They change their scores as well, so that the order of all others stays as it is.
    """
    order = list(page)
    for _ in page:  # a pair that changed places may do so to another pair, but each at most once a round
        places = {entry.n: place for place, entry in enumerate(order)}
        pairs = ((places.get(reader.contradicted(entry)[0]), place) for place, entry in enumerate(order))
        above = next(((newer, older) for newer, older in pairs if newer is not None and newer > older), None)
        if above is None:
            break
        newer, older = above
        order[newer], order[older] = (
            _placed(order[older], order[newer].score, f"contradicted by {order[newer].member.ref}, which is newer"),
            _placed(order[newer], order[older].score, f"newer than {order[older].member.ref}, which it contradicts"),
        )
    return order


def _placed(entry: Ranked, score: float, why: str) -> Ranked:
    explain = entry.explain
    if explain is not None:
        explain = replace(explain, steps=(*explain.steps, (f"{why}: they change places", score)))
    return replace(entry, score=score, explain=explain)
