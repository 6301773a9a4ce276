"""How a search engine beside a store looks to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.cli.show import shows
from ricordo.cli.terminal import Screen

if TYPE_CHECKING:
    from ricordo.plugins.qdrant.values import IndexReport


@shows
def _show_index(screen: Screen, report: IndexReport) -> None:
    screen.line(f"{report.engine}: beside {report.passages:,} passages")
    for model, count in report.vectors.items():
        screen.line(f"vectors of {model}: {count:,}")
    if report.waiting:
        screen.line(f"{report.waiting:,} changes wait, the oldest for {report.lag_seconds:,.1f} s")
    if report.feeding:
        screen.line(f"fed by process {report.feeding}")
    if report.problem:
        screen.warn(report.problem)
