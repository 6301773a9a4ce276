"""What the first page shows before anything is asked: where one was, what waits, and how the store is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ricordo.told_log import answers_of_hooks
from ricordo.values.provenance import PERSON

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.hosting.credentials import Caller
    from ricordo.values.reports import AskedQuestion

MOST_LATEST = 6
MOST_QUESTIONS = 5
LOOKED_THROUGH = 60
"""How many of the latest questions are looked through for the person's own."""
EXAMPLES = ("What did we decide last week?", "How do I set this up?", "kind:memory")
"""Searches for somebody who has just begun."""


def home_of(engine: Ricordo, caller: Caller) -> dict[str, Any]:
    """The parts of the first page. A store that holds nothing is told apart, because there is only one thing to do."""
    status = engine.status()
    if not status["items"]:
        return {"home": {"is_first": True, "examples": EXAMPLES}}
    recent = engine.log(since="30d", limit=LOOKED_THROUGH).questions
    told, _ = answers_of_hooks(engine.location, days=1)
    today = datetime.now(UTC).astimezone().date()
    told = [one for one in told if one.at.astimezone().date() == today]
    return {
        "home": {
            "is_first": False,
            "latest": engine.list(limit=MOST_LATEST),
            "searches": _own(recent),
            "review": engine.review(kinds=("proposals", "versions")) if caller.may("admin") else None,
            "told": told,
            "told_tokens": sum(one.tokens for one in told),
            "health": _health(engine, status),
        }
    }


def _own(questions: tuple[AskedQuestion, ...]) -> list[AskedQuestion]:
    """The latest searches of a person, each text once."""
    return _once([one for one in questions if one.asker.author == PERSON])


def _once(questions: Any) -> list[AskedQuestion]:
    latest: dict[str, AskedQuestion] = {}
    for one in questions:
        latest.setdefault(one.text.casefold(), one)
    return list(latest.values())[:MOST_QUESTIONS]


def _health(engine: Ricordo, status: Any) -> dict[str, Any]:
    """The state of the store in one line: figures, and what is wrong."""
    jobs = engine.embed(status=True).to_dict()
    away = [one.name for one in engine.tiers() if not one.reachable]
    wrong = [f"the tier {name} cannot be reached" for name in away]
    if jobs["failed"]:
        wrong.append(f"{jobs['failed']:,} passages could not be embedded")
    return {
        "items": status["items"],
        "passages": status["chunks"],
        "waiting": jobs["pending"] + jobs["running"],
        "in_bin": status["in_bin"],
        "wrong": wrong,
    }
