"""What the engine does for texts and questions in other languages than English."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricordo.errors import Error
from ricordo.models.multilingual import FOREIGN
from ricordo.search.language_routing import INSTALL, SecondModel
from ricordo.store.backlog import worker_name
from ricordo.store.values import EVERY_LANGUAGE
from ricordo.values.reports import Check

if TYPE_CHECKING:
    from ricordo.engine.models_in_use import ModelsInUse
    from ricordo.store.base import Store
    from ricordo.store.values import Backlog


MOST_AT_ONCE = 500
"""A store that lacks at most this many vectors gets them before a question in another language is answered."""


def second_model(models: ModelsInUse) -> SecondModel:
    """The model for other languages, as searches use it."""
    left: dict[int, int] = {}  # how many vectors there were when a store was first asked: counting takes time

    def left_behind(store: Store) -> int:
        if not models.offers_second():
            return 0
        if id(store) not in left:
            left[id(store)] = store.vectors.counts(models.second_fingerprint())["embedded"]
        return left[id(store)]

    return SecondModel(
        models.second,
        lambda store, language: reach_out(models, store, language),
        models.offers_second,
        models.spoken,
        lambda: FOREIGN,
        left_behind,
    )


def second_counts(models: ModelsInUse, store: Store) -> dict[str, Any] | None:
    """How many passages have a vector of the model for other languages, and how many lack one; None where no passage is
    in any, and none has one.
    """
    name = models.second_fingerprint()
    if not name:
        return None
    backlog = models.backlog()
    second = backlog.second if backlog is not None else None
    made = store.vectors.counts(name, second.languages if second is not None else EVERY_LANGUAGE)
    if second is None and not made["embedded"]:
        return None
    if second is not None and not made["chunks"] and not store.index.languages:
        return None
    wanted = made["chunks"] if second is not None else made["embedded"]
    return {"made_by": name, "made": made["embedded"], "missing": wanted - made["embedded"]}


def check_second(models: ModelsInUse, store: Store, *, repair: bool) -> Check | None:
    """Whether passages in other languages have the vectors that they should; with ``repair`` the others wait for them.

    Without the package that embeds them they are found by their words, which is no fault.
    """
    counts = second_counts(models, store)
    if counts is None:
        return None
    backlog = models.backlog()
    second = backlog.second if backlog is not None else None
    made, missing, name = counts["made"], counts["missing"], counts["made_by"]
    if second is None:
        return Check(
            "other languages", True, f"{made:,} vectors are left of a model that is not installed ({name}): {INSTALL}"
        )
    if not missing:
        return Check("other languages", True, f"whole ({name})")
    found = f"{made:,} of {made + missing:,} passages have their vector"
    if repair:
        store.jobs.enqueue_missing(second.fingerprint, second.dimensions, None, second.languages)
        found += ", the others wait for it"
    return Check("other languages", True, f"{found}: 'ricordo embed' makes them ({name})")


def reach_out(models: ModelsInUse, store: Store, language: str) -> None:
    """Make the vectors that a question in a language needs, if few are missing; else the answer says how.

    So a small store answers a question in any language, and English questions need no second model for that.
    """
    from ricordo.ingest.embed import Worker
    from ricordo.models.base import fingerprint_of

    try:
        second = models.second()
        if second is None or language not in second.languages or not store.usage.can_record():
            return
        name = fingerprint_of(second)
        counts = store.vectors.counts(name)
        if not 0 < counts["chunks"] - counts["embedded"] <= MOST_AT_ONCE:
            return
        store.jobs.enqueue_missing(name, second.dimensions, languages=EVERY_LANGUAGE)
        Worker(store, second, worker_name()).drain()
        settle(store, models.backlog())
    except Error:
        return  # the answer goes by words, and by the model that is set


def settle(store: Store, backlog: Backlog | None) -> None:
    """Drop what the first model made of passages that the second one embedded: it would count in its place."""
    if backlog is not None and backlog.second is not None:
        store.vectors.settle(backlog.fingerprint, backlog.second.fingerprint, backlog.languages.without)
