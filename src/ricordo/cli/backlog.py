"""Verbs for vectors that are still to be made: embed, jobs, reembed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ricordo.cli.call import Call
from ricordo.cli.present_reports import show_facts
from ricordo.cli.progress import ProgressLine
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb, verb_group
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.values.reports import EmbedReport


@verb(
    "embed",
    examples=[
        "ricordo embed",
        "ricordo embed --workers 4 --kind document",
        "ricordo embed --limit 500",
    ],
)
@click.option("--workers", type=click.IntRange(min=1), default=1, metavar="N", help="Use N threads (1).")
@click.option("--kind", "-k", "kinds", multiple=True, type=click.Choice(KINDS), metavar="KIND", help="Only this kind.")
@click.option("--limit", "-n", type=click.IntRange(min=1), metavar="N", help="Stop after N passages.")
@click.option("--enqueue-only", is_flag=True, help="Only put passages without vectors into the backlog.")
def embed(call: Call, workers: int, kinds: tuple[str, ...], limit: int | None, enqueue_only: bool) -> int:
    """Passages without a vector are found by their words only. Several processes may run this at the same time."""
    with call.engine() as engine, ProgressLine.for_call(call) as progress:
        report = engine.embed(workers=workers, kinds=kinds, limit=limit, enqueue_only=enqueue_only, progress=progress)
    return _answer(call, report)


jobs = verb_group("jobs", examples=["ricordo jobs list", "ricordo jobs retry"])


@jobs.add_command
@verb(
    "list",
    line="Show how many jobs are pending, running, failed and done.",
    examples=["ricordo jobs list --json"],
)
def list_jobs(call: Call) -> int:
    """Below the counts, it shows which kinds of items the passages belong to, and why passages failed."""
    with call.engine() as engine:
        plain = engine.jobs().to_dict()

    def draw(screen: Screen) -> None:
        show_facts(screen, {name: value for name, value in plain.items() if name != "kinds"})
        if plain["kinds"]:
            screen.line()
            rows = [(row["state"], row["kind"], f"{row['count']:,}", row["error"] or "") for row in plain["kinds"]]
            screen.table(("state", "kind", "passages", "why"), rows, right=(2,))
        if plain["pending"]:
            screen.note("'ricordo embed' makes the vectors that are pending")

    return call.answer(plain, draw)


@jobs.add_command
@verb("retry", line="Put failed jobs back into the backlog.", examples=["ricordo jobs retry"])
def retry_jobs(call: Call) -> int:
    """They are tried again when embed runs next, or by a server that works on the backlog."""
    with call.engine() as engine:
        count = engine.retry_jobs()

    def draw(screen: Screen) -> None:
        screen.line(f"{count:,} job{'' if count == 1 else 's'} will be tried again")

    return call.answer({"retried": count}, draw)


@verb("reembed", examples=["ricordo reembed"])
def reembed(call: Call) -> int:
    """Searches use the old vectors until all new ones are made."""
    with call.engine() as engine, ProgressLine.for_call(call) as progress:
        report = engine.reembed(progress=progress)
    return _answer(call, report)


def _answer(call: Call, report: EmbedReport) -> int:
    """The counts; 1 when some failed, 5 when it stopped before the end."""
    plain = report.to_dict()
    problem, code = None, 0
    if report.stopped:
        problem = {"code": "unavailable", "message": report.stopped, "hint": "What is left stays in the backlog."}
        code = 5
    elif report.failed:
        problem = {
            "code": "some_failed",
            "message": f"{report.failed} failed",
            "hint": "ricordo jobs shows why; ricordo jobs retry tries again.",
        }
        code = 1

    def draw(screen: Screen) -> None:
        show_facts(screen, plain)
        if problem:
            screen.error(problem["message"], problem["hint"])

    return call.answer(plain, draw, exit_code=code, error=problem)
