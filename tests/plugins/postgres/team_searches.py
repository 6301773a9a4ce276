"""Searches of every kind in a team's store, and how many trips over the network each makes."""

from __future__ import annotations

from typing import Any

from ricordo import Ricordo
from ricordo.plugins.postgres.store import PostgresStore

TFIDF, MISSPELLED = "with links and TF-IDF", "misspelled"
TRIPS = {TFIDF: 8, "whole texts": 7}
"""How many trips a search makes at most, where not six."""
SUBJECTS = ("signing key", "access token", "client certificate", "backup tape", "root password", "session cookie")
SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("signing key rotation", {}),
    "explained": ("signing key rotation", {"explain": True}),
    "by words alone": ("signing key rotation", {"profile": "bm25"}),
    TFIDF: ("signing key rotation", {"profile": "vault"}),
    MISSPELLED: ("sigming key rotation", {}),
    "with a phrase": ('"signing key" rotation', {}),
    "without a phrase": ('rotation -"signing key of service 6"', {}),
    "with a prefix": ("rotat*", {}),
    "by substring, as no word was found": ("igning ke", {}),
    "grep": ("signing key", {"by": "text"}),
    "the newest": ("", {}),
    "filtered": ("signing key kind:note", {}),
    "of a moment": ("signing key rotation", {"as_of": "2100-01-01"}),
    "whole texts": ("signing key rotation", {"mode": "full"}),
}


def fill(engine: Ricordo) -> None:
    """Save more items than the ranking needs to ask for vectors once more, with links among them."""
    for number in range(90):
        subject = SUBJECTS[number % len(SUBJECTS)]
        due = f"The {subject} of service {number} is due for rotation in week {number % 52}."
        text = f"{due} See [[note-{number - 1}]]."
        engine.save(f"note:/note-{number}", text)
    engine.embed()


def trips_of(engine: Ricordo, name: str) -> int:
    """How many trips a whole search makes, once the process is warm."""
    query, options = SEARCHES[name]
    store = engine._context.unsynced_store
    assert isinstance(store, PostgresStore)
    engine.search("warm", track=False)
    before = store.database.trips
    answer = engine.search(query, track=False, **options)
    assert answer.hits
    assert answer.meta.degraded == ()
    return store.database.trips - before
