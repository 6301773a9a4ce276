"""How a person reads who did what, and what waits for a decision."""

from __future__ import annotations

from ricordo.cli.present_items import local_time, show_diff
from ricordo.cli.terminal import Screen, one_line
from ricordo.values.audit import AuditReport, ReviewReport, Waiting


def show_audit(screen: Screen, report: AuditReport) -> None:
    """When, what, which version of which item, and who."""
    if not report.entries:
        screen.note("nothing was done that this asks for")
        return
    rows = [
        (
            local_time(one.at),
            one.what,
            one_line(one.ref) or "-",
            str(one.version or ""),
            one.provenance.in_words(),
        )
        for one in report.entries
    ]
    screen.table(("when", "what", "ref", "version", "by"), rows, paths=(2,))
    if report.more:
        screen.note("there is more before that; --limit shows it")


def _what_agents_get(one: Waiting) -> str:
    """What agents are told of an item until the user decides."""
    if one.branch:
        return f"its branch {one_line(one.branch)} was deleted before it was merged"
    if one.yours is None:
        return "it is not told to every agent before you agree"
    if one.is_always:
        return f"every agent gets your version {one.yours}"
    return f"agents find the new version, as the agent's words; yours is version {one.yours}"


def show_review(screen: Screen, report: ReviewReport) -> None:
    """What was decided, and each version that waits with what it changes."""
    if report.decided:
        screen.line(one_line(report.decided))
    if not report.waiting:
        screen.note("nothing waits for you")
    for one in report.waiting:
        always = ", for every agent" if one.is_always else ""
        screen.line(f"{screen.bold(one_line(one.ref))}  version {one.version} by {one.provenance.in_words()}{always}")
        screen.note(_what_agents_get(one))
        show_diff(screen, f"{one.diff}\n" if one.diff else "")
        screen.line(f"  ricordo review {one_line(one.ref)} accept|refuse")
