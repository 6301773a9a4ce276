"""Verbs for what was used and learned: feedback, learn and its parts, stats."""

from __future__ import annotations

from typing import Any

from ricordo.cli.call import Call
from ricordo.cli.generated import command, generated
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.running import run
from ricordo.cli.terminal import Screen
from ricordo.cli.verb_group import verb_group


@command("feedback", cls=QueryVerb)
def feedback(call: Call, **given: Any) -> int:
    """The verdict is accepted, modified (useful after a change), dismissed, or failed (something else went wrong; this
    is not counted). From 30 verdicts on, the weights of the profiles that learn are adapted.
    """
    return run(call, "feedback", given)


learn = verb_group(
    "learn",
    alone="status",
    examples=["ricordo learn status", "ricordo learn freeze", "ricordo learn rollback"],
    details=(
        "With 30 verdicts or more, the weight of the text signal in the profiles default and vault is their own plus "
        "(acceptance - 0.5) x 0.30, so at most 0.15 away from it; the other weights keep their proportions."
    ),
)


@learn.add_command
@command("learn freeze")
def freeze(call: Call) -> int:
    """Feedback is still recorded, but changes no weights until you unfreeze them, in any process."""
    return _frozen(call, "learn freeze", True, "the weights stay as they are")


@learn.add_command
@command("learn unfreeze")
def unfreeze(call: Call) -> int:
    """Feedback given while the weights were frozen does not count."""
    return _frozen(call, "learn unfreeze", False, "feedback changes the weights")


def _frozen(call: Call, path: str, frozen: bool, text: str) -> int:
    return run(call, path, {}, lambda screen, _: screen.line(text), plain=lambda _: {"frozen": frozen})


@command("stats")
def _stats(call: Call, **given: Any) -> int:
    """It lists the queries that were most frequent, slowest, or without a result, and the items found most often or
    never. The log is kept in the store for 90 days; the setting usage.log switches it off. stats clear
    does not erase how often each item was used.
    """
    return run(call, "stats", given)


def _clear(call: Call) -> int:
    """How often each item was used stays."""

    def show(screen: Screen, count: int) -> None:
        screen.line(f"{count:,} quer{'y' if count == 1 else 'ies'} erased from the log")

    return run(call, "stats clear", {}, show, plain=lambda count: {"cleared": count})


stats = verb_group(
    "stats",
    examples=["ricordo stats", "ricordo stats --days 7 --by tool", "ricordo stats log --item notes/keys.md"],
    details=_stats.details,
    alone=_stats,
)
stats.add_command(generated("stats log"))
stats.add_command(command("stats clear")(_clear))
