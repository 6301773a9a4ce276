"""Verbs for what was used and learned: feedback, learn and its parts, stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from ricordo.cli.call import Call
from ricordo.cli.options import limited, query_from
from ricordo.cli.present_insight import (
    show_changes,
    show_feedback,
    show_learning,
    show_retrievals,
    show_stats,
)
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb, verb_group
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.values.choices import StatsBy


@verb(
    "feedback",
    cls=QueryVerb,
    examples=[
        "ricordo feedback how do I rotate the keys notes/keys.md accepted",
        "ricordo feedback login memory:/login-bug dismissed",
    ],
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY... REF VERDICT")
def feedback(call: Call, words: tuple[str, ...]) -> int:
    """The verdict is accepted, modified (useful after a change), dismissed, or failed (something else went wrong; this
    is not counted). From 30 verdicts on, the weights of the profiles that learn are adapted.
    """
    if len(words) < 3:
        raise UsageError(
            "feedback takes a query, a ref and a verdict", hint="ricordo feedback login notes/login.md accepted"
        )
    with call.engine() as engine:
        report = engine.feedback(query_from(words[:-2]), words[-2], cast("Any", words[-1]))
    return call.answer(report.to_dict(), lambda screen: show_feedback(screen, report))


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
@verb("status", line="Say what was learned, and from what.", examples=["ricordo learn status --json"])
def status(call: Call) -> int:
    """With --verbose, it shows every weight of each profile that learns."""
    with call.engine() as engine:
        learning = engine.learn.status()
    return call.answer(learning.to_dict(), lambda screen: show_learning(screen, learning))


@learn.add_command
@verb("freeze", line="Keep the weights as they are.", examples=["ricordo learn freeze"])
def freeze(call: Call) -> int:
    """Feedback is still recorded, but changes no weights until you unfreeze them, in any process."""
    return _frozen(call, True)


@learn.add_command
@verb("unfreeze", line="Let feedback move the weights again.", examples=["ricordo learn unfreeze"])
def unfreeze(call: Call) -> int:
    """Feedback given while the weights were frozen does not count."""
    return _frozen(call, False)


def _frozen(call: Call, frozen: bool) -> int:
    with call.engine() as engine:
        if frozen:
            engine.learn.freeze()
        else:
            engine.learn.unfreeze()
    text = "the weights stay as they are" if frozen else "feedback changes the weights"
    return call.answer({"frozen": frozen}, lambda screen: screen.line(text))


@learn.add_command
@verb(
    "rollback",
    line="Undo what was learned.",
    examples=["ricordo learn rollback", "ricordo learn rollback 12"],
)
@click.argument("change", required=False, type=click.IntRange(min=1), metavar="[ID]")
def rollback(call: Call, change: int | None) -> int:
    """Without a number, all profiles get their original weights back. With the number of a change (see learn history),
    its profile gets the weights it had before that change. After this, only new feedback counts.
    """
    with call.engine() as engine:
        made = engine.learn.rollback(change)
    plain = {"changes": [one.to_dict() for one in made]}
    return call.answer(plain, lambda screen: show_changes(screen, made))


@learn.add_command
@verb("history", line="List the changes of weights, newest first.", examples=["ricordo learn history --limit 5"])
@limited(50)
def history(call: Call, limit: int) -> int:
    """For each change, it shows the weight of the text signal before and after, and the number of verdicts."""
    with call.engine() as engine:
        changes = engine.learn.history(limit)
    plain = {"changes": [one.to_dict() for one in changes]}

    def draw(screen: Screen) -> None:
        show_changes(screen, changes)
        if not changes:
            screen.note("nothing was learned yet; ricordo learn status says how much feedback is missing")

    return call.answer(plain, draw)


@verb(
    "stats",
    examples=[
        "ricordo stats",
        "ricordo stats --days 7 --by tool",
        "ricordo stats --item notes/keys.md",
        "ricordo stats --query 'how do I rotate the keys'",
        "ricordo stats --clear",
    ],
)
@click.option(
    "--days", type=click.FloatRange(0, 36500, min_open=True), default=30, metavar="N", help="How far back (30)."
)
@click.option(
    "--by", type=click.Choice(["query", "tool", "day"]), default="query", help="Count queries by this (query)."
)
@limited(10, "How many lines of each table at most")
@click.option("--item", metavar="REF", help="Instead: which queries showed this item, and when it was opened.")
@click.option("--query", metavar="TEXT", help="Instead: what this query showed, each time it was asked.")
@click.option("--clear", is_flag=True, help="Erase the log of queries and of what they found.")
def stats(call: Call, days: float, by: StatsBy, limit: int, item: str | None, query: str | None, clear: bool) -> int:
    """It lists the queries that were most frequent, slowest, or without a result, and the items found most often or
    never. The log is kept in the store for usage.retention_days; the setting usage.log switches it off. --clear does
    not erase how often each item was used.
    """
    with call.engine() as engine:
        if clear:
            count = engine.clear_log()
            plain = {"cleared": count}
            return call.answer(
                plain, lambda screen: screen.line(f"{count:,} quer{'y' if count == 1 else 'ies'} erased from the log")
            )
        if item is not None or query is not None:
            found = engine.retrievals(ref=item, query=query, limit=limit)
            plain_log = {"retrievals": [one.to_dict() for one in found]}
            return call.answer(plain_log, lambda screen: show_retrievals(screen, found))
        report = engine.stats(days=days, by=by, limit=limit)
    return call.answer(report.to_dict(), lambda screen: show_stats(screen, report))
