"""Verbs for vectors that are still to be made: embed with its parts, and the old spellings jobs and reembed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.present_reports import show_facts
from ricordo.cli.running import Problem, run
from ricordo.cli.terminal import Screen
from ricordo.cli.verb_group import VerbGroup, verb_group
from ricordo.verbs.index import verb_named

if TYPE_CHECKING:
    from ricordo.values.reports import EmbedReport


@command("embed")
def _embed(call: Call, **given: Any) -> int:
    return run(call, "embed", given, _show, problem=_problem)


embed = verb_group(
    "embed",
    examples=["ricordo embed", "ricordo embed --workers 4 --kind document", "ricordo embed status"],
    details="Passages without a vector are found by their words only. Several processes may run this at the same time.",
    alone=_embed,
)


def _again(call: Call) -> int:
    """Searches use the old vectors until all new ones are made."""
    return run(call, "reembed", {}, _show, problem=_problem)


def _status(call: Call) -> int:
    return run(call, "jobs list", {})


def _retry(call: Call) -> int:
    """They are tried again when embed runs next, or by a server that works on the backlog."""

    def show(screen: Screen, count: int) -> None:
        screen.line(f"{count:,} job{'' if count == 1 else 's'} will be tried again")

    return run(call, "jobs retry", {}, show, plain=lambda count: {"retried": count})


reembed = command("reembed")(_again)
retry = command("jobs retry")(_retry)
jobs = VerbGroup("jobs", help="Show the backlog, and retry what failed.", examples=["ricordo jobs list"])
jobs.add_command(retry)
embed.add_command(
    command("embed status", row=verb_named("jobs list")._replace(examples=("ricordo embed status",)))(_status)
)
embed.add_command(
    command("embed retry", row=verb_named("jobs retry")._replace(examples=("ricordo embed retry",)))(_retry)
)
embed.add_command(command("embed again", row=verb_named("reembed")._replace(examples=("ricordo embed again",)))(_again))


def _problem(report: EmbedReport) -> Problem | None:
    """1 when some failed, 5 when it stopped before the end."""
    if report.stopped:
        hint = "What is left stays in the backlog."
        return 5, {"code": "unavailable", "message": report.stopped, "hint": hint}
    if report.failed:
        hint = "ricordo embed status shows why; ricordo embed retry tries again."
        return 1, {"code": "some_failed", "message": f"{report.failed} failed", "hint": hint}
    return None


def _show(screen: Screen, report: EmbedReport) -> None:
    show_facts(screen, report.to_dict())
    if problem := _problem(report):
        screen.error(problem[1]["message"], problem[1]["hint"])
