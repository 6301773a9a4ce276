"""What the engine does for texts and questions in other languages than English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.errors import Error
from ricordo.search.abroad import SecondModel
from ricordo.store.values import EVERY_LANGUAGE

if TYPE_CHECKING:
    from ricordo.engine.models_in_use import ModelsInUse
    from ricordo.store.base import Store
    from ricordo.store.values import Backlog

MOST_AT_ONCE = 500
"""A store that lacks at most this many vectors gets them before a question in another language is answered."""


def second_model(models: ModelsInUse) -> SecondModel:
    """The model for other languages, as searches use it."""
    return SecondModel(models.second, lambda store, language: reach_out(models, store, language), models.offers_second)


def reach_out(models: ModelsInUse, store: Store, language: str) -> None:
    """Make the vectors that a question in a language needs, if few are missing; else the answer says how.

    So a small store answers a question in any language, and English questions need no second model for that.
    """
    from ricordo.ingest.embed import Worker
    from ricordo.models.fingerprint import fingerprint_of

    try:
        second = models.second()
        if second is None or language not in second.languages or not store.usage.can_record():
            return
        name = fingerprint_of(second)
        counts = store.vectors.counts(name)
        if not 0 < counts["chunks"] - counts["embedded"] <= MOST_AT_ONCE:
            return
        store.jobs.enqueue_missing(name, second.dimensions, languages=EVERY_LANGUAGE)
        Worker(store, second, registry.worker_name()).drain()
        settle(store, models.backlog())
    except Error:
        return  # the answer goes by words, and by the model that is set


def settle(store: Store, backlog: Backlog | None) -> None:
    """Drop what the first model made of passages that the second one embedded: it would count in its place."""
    if backlog is not None and backlog.second is not None:
        store.vectors.settle(backlog.fingerprint, backlog.second.fingerprint, backlog.languages.without)
