"""How a person reads what should be tidied, and what was done."""

from __future__ import annotations

from ricordo.cli.terminal import Screen, one_line
from ricordo.values.review import TIDY_KINDS, Finding, TidyReport


def show_tidy(screen: Screen, report: TidyReport) -> None:
    """What was done, then the findings by kind."""
    for one in report.done:
        reason = f": {one_line(one.reason)}" if one.reason else ""
        screen.line(f"{one.status} {one_line(one.ref)}{reason}")
    if any(one.status != "skipped" for one in report.done):
        screen.note("'ricordo undo' takes all of it back")
    for kind, count in report.counts.items():
        screen.line(screen.bold(f"{kind}: {count:,} {TIDY_KINDS[kind]}"))
        shown = [one for one in report.findings if one.kind == kind]
        for found in shown:
            show_finding(screen, found)
        if len(shown) < count:
            screen.note(f"{count - len(shown):,} more; --limit shows them")
    if report.counts:
        screen.note("'ricordo tidy --do KIND' does what is suggested about all of a kind, '--do ID' about one")
    elif not report.done:
        screen.note("there is nothing to tidy")


def show_finding(screen: Screen, one: Finding) -> None:
    """Its id, its items, why, and what is suggested."""
    screen.line(f"  {one.id}  {', '.join(map(one_line, one.refs))}")
    screen.line(f"            {one_line(one.why)}  Suggested: {one.action}.")
