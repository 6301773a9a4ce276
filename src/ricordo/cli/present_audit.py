"""How a person reads who did what, and what waits for a decision."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.cli.present_items import local_time, show_diff
from ricordo.cli.terminal import Screen, one_line
from ricordo.values.log import AuditReport, ReviewReport, Waiting
from ricordo.values.review import Proposal


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
    if one.yours is None:
        return "it is not told to every agent before you agree"
    if one.is_always:
        return f"every agent gets your version {one.yours}"
    return f"agents find the new version, as the agent's words; yours is version {one.yours}"


def _show_proposals(screen: Screen, proposals: Sequence[Proposal]) -> None:
    """What sessions seem to teach, each with the words that it comes from."""
    for one in proposals:
        about = f"about {one_line(one.file)}" if one.file else f"for this {one.scope}"
        screen.line(f"{screen.bold(one.ref)}  {one_line(one.text)}")
        screen.note(
            f"{one.kind} by {one.way}, {about}, from session:/{one_line(one.session)}/{one.turn}"
            f" ({local_time(one.at)}): “{one_line(one.quote)}”"
        )
    if proposals:
        screen.line("  ricordo review PROPOSAL accept|refuse|always|never, or accept --text 'in other words'")


def show_review(screen: Screen, report: ReviewReport) -> None:
    """What was decided, and each version that waits with what it changes."""
    if report.decided:
        screen.line(one_line(report.decided))
    if not report.waiting and not report.proposals:
        screen.note("nothing waits for you")
    _show_proposals(screen, report.proposals)
    for rule in report.rules:
        screen.line(f"{screen.bold(rule.ref)}  {rule.rule}  (ricordo review {rule.ref} ask takes it back)")
    for one in report.waiting:
        always = ", for every agent" if one.is_always else ""
        screen.line(f"{screen.bold(one_line(one.ref))}  version {one.version} by {one.provenance.in_words()}{always}")
        screen.note(_what_agents_get(one))
        show_diff(screen, f"{one.diff}\n" if one.diff else "")
        screen.line(f"  ricordo review {one_line(one.ref)} accept|refuse")
