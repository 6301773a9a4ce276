"""The verbs of a search engine beside a server: how its state is shown."""

from __future__ import annotations

from ricordo.cli.terminal import Screen
from ricordo.cli.verb_group import verb_group
from ricordo.values.reports import IndexReport

index = verb_group(
    "index",
    examples=["ricordo index status", "ricordo index rebuild"],
    details="Large stores in PostgreSQL can have Qdrant beside them, which finds the passages of a search. PostgreSQL"
    " remains the record, and feeds it.",
    alone="status",
)


def show_index(screen: Screen, report: IndexReport) -> None:
    """How many passages it knows, and how far it is behind."""
    held = "?" if report.held is None else f"{report.held:,}"
    screen.line(f"{report.engine}: {held} of {report.passages:,} passages")
    for model, count in report.vectors.items():
        screen.line(f"vectors of {model}: {count:,}")
    if report.waiting:
        screen.line(f"{report.waiting:,} changes wait, the oldest for {report.lag_seconds:,.1f} s")
    if report.feeding:
        screen.line(f"fed by process {report.feeding}")
    if report.problem:
        screen.warn(report.problem)
