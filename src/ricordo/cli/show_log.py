"""How a person reads what was asked, changed and learned, and what waits for a decision."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.show import local_time, short_ref, show_diff, shows
from ricordo.cli.terminal import Screen, counted, one_line

if TYPE_CHECKING:
    from ricordo.values.log import ReviewReport, SessionStart, Step, UndoReport, Waiting
    from ricordo.values.reports import LogReport
    from ricordo.values.review import Proposal
    from ricordo.values.use import FeedbackReport, LearningStatus, QueryStats, Retrieval, StatsReport, WeightChange

SHOWN_HITS = 3
"""How many of the hits of a question are named."""


@shows
def _show_feedback(screen: Screen, report: FeedbackReport) -> None:
    screen.line(f"noted: {one_line(report.verdict)} {short_ref(report.ref)}")
    if not report.counted:
        screen.note("it does not count for learning")
    _show_changes(screen, report.changes)


@shows
def _show_changes(screen: Screen, changes: Sequence[WeightChange]) -> None:
    screen.table(
        ("id", "when", "profile", "moved by", "verdicts", "why"),
        (
            (
                str(change.id),
                local_time(change.at),
                change.profile,
                f"{change.shift_before:+.4f} → {change.shift_after:+.4f}",
                str(change.counted),
                change.reason,
            )
            for change in changes
        ),
        right=(0, 4),
    )


@shows
def _show_learning(screen: Screen, status: LearningStatus) -> None:
    state = "off" if not status.enabled else "frozen" if status.frozen else "on"
    given = ", ".join(f"{count:,} {verdict}" for verdict, count in status.verdicts.items()) or "none yet"
    screen.line(f"learning is {state}; feedback: {given}")
    screen.table(
        ("profile", "signal", "own", "now", "moved by", "counted", "acceptance"),
        (
            (
                one.profile,
                one.text_signal,
                f"{one.own.get(one.text_signal, 0.0):.4f}",
                f"{one.weights.get(one.text_signal, 0.0):.4f}",
                f"{one.shift:+.4f}",
                f"{one.counted}" if one.counted >= one.needed else f"{one.counted} of {one.needed}",
                "" if one.acceptance is None else f"{one.acceptance:.3f}",
            )
            for one in status.profiles
        ),
        right=(2, 3, 4, 5, 6),
    )
    if screen.verbose:
        for one in status.profiles:
            weights = ", ".join(f"{name} {weight:.4f}" for name, weight in one.weights.items())
            screen.line(f"{one.profile}: {weights}")
    if status.changes:
        _show_changes(screen, status.changes)


def _show_stats(screen: Screen, report: StatsReport) -> None:
    screen.line(
        f"{report.queries:,} quer{'y' if report.queries == 1 else 'ies'} in {report.days:g} days, "
        f"{report.average_results:.1f} results and {report.average_ms:.1f} ms on average, "
        f"{report.zero_results:,} without result"
    )
    _queries(screen, "by day" if report.by == "day" else f"most frequent, by {report.by}", report.by, report.rows)
    _queries(screen, "without result", "query", report.zero_result)
    _queries(screen, "slowest", "query", report.slowest)
    if report.most_retrieved:
        _head(screen, "most retrieved")
        screen.table(
            ("times", "last", "item"),
            ((f"{item.count:,}", local_time(item.last_at), short_ref(item.ref)) for item in report.most_retrieved),
            right=(0,),
        )
    if report.never_retrieved:
        _head(screen, f"never retrieved: {report.never_retrieved_count:,}")
        for ref in report.never_retrieved:
            screen.line(short_ref(ref))
        left = report.never_retrieved_count - len(report.never_retrieved)
        if left > 0:
            screen.note(f"and {left:,} more; --limit shows others")


def _queries(screen: Screen, title: str, kind: str, rows: Sequence[QueryStats]) -> None:
    if not rows:
        return
    _head(screen, title)
    screen.table(
        ("times", "results", "ms", "slowest", "last", kind),
        (
            (
                f"{row.count:,}",
                f"{row.average_results:.1f}",
                f"{row.average_ms:.1f}",
                f"{row.slowest_ms:.1f}",
                local_time(row.last_at),
                row.name or "(no words)",
            )
            for row in rows
        ),
        right=(0, 1, 2, 3),
    )


def _head(screen: Screen, title: str) -> None:
    screen.line()
    screen.line(screen.bold(title))


def _show_retrievals(screen: Screen, found: Sequence[Retrieval]) -> None:
    rows = [
        (
            local_time(one.at), short_ref(one.ref), f"v{one.version}", "" if one.score is None else f"{one.score:.3f}",
            one.query if one.query is not None else "(opened)", one.tool or "",
        )
        for one in found
    ]  # fmt: skip
    empty = "the log has nothing about that; the setting usage.log says whether it is kept"
    screen.table(("when", "item", "version", "score", "query", "by"), rows, paths=(1,), empty=empty)


def _show_changed(screen: Screen, report: LogReport) -> None:
    """When, what, which version of which item, and who."""
    rows = [
        (local_time(one.at), one.what, one.ref or "-", str(one.version or ""), one.provenance.in_words())
        for one in report.entries
    ]
    empty = "nothing was done that this asks for"
    screen.table(("when", "what", "ref", "version", "by"), rows, paths=(2,), empty=empty)
    if report.more:
        screen.note("there is more before that; --limit shows it")


def _what_agents_get(one: Waiting) -> str:
    """What agents are told of an item until the user decides."""
    if one.gone:
        return f"its file {one.gone} is gone: ‘accept’ puts it into the bin, ‘refuse’ writes the file again"
    if one.yours is None:
        return "it is not told to every agent before you agree"
    if one.is_always:
        return f"every agent gets your version {one.yours}"
    return f"agents find the new version, as the agent's words; yours is version {one.yours}"


def _show_proposals(screen: Screen, proposals: Sequence[Proposal]) -> None:
    """What sessions seem to teach, each with the words that it comes from."""
    for one in proposals:
        about = f"about {one_line(one.file)}" if one.file else f"for this {one.scope}"
        about += f", instead of {one_line(one.corrects)}" if one.corrects else ""
        screen.line(f"{screen.bold(one.ref)}  {one_line(one.text)}")
        origin = f"{one.kind} by {one.way}, {about}, from session:/{one_line(one.session)}/{one.turn}"
        screen.line(screen.dim(f"  {origin} ({local_time(one.at)}): “{one_line(one.quote)}”"))
    if proposals:
        screen.line("  ricordo review PROPOSAL accept|refuse|always|never, or accept --text 'in other words'")


def _show_start(screen: Screen, start: SessionStart) -> None:
    """What a session is told when it starts, and what that costs."""
    adds = f"; what is proposed would add {start.proposed:,}" if start.proposed else ""
    screen.line(f"a session's start tells {start.tokens:,} of {start.budget:,} tokens of yours{adds}")
    for what, refs in (("told", start.told), ("no room for", start.left_out)):
        if refs:
            screen.note(f"{what}: {', '.join(map(one_line, refs))}")


@shows
def _show_review(screen: Screen, report: ReviewReport) -> None:
    if report.decided:
        screen.line(one_line(report.decided))
    for done in report.done:
        reason = f": {one_line(done.reason)}" if done.reason else ""
        screen.line(f"{done.status} {one_line(done.ref)}{reason}")
    if any(done.status != "skipped" for done in report.done):
        screen.note("'ricordo undo' takes all of it back")
    if not (report.waiting or report.proposals or report.findings or report.done):
        screen.note("nothing waits for you")
    _show_proposals(screen, report.proposals)
    for rule in report.rules:
        screen.line(f"{screen.bold(rule.ref)}  {rule.rule}  (ricordo review {rule.ref} ask takes it back)")
    for one in report.waiting:
        always = ", for every agent" if one.is_always else ""
        screen.line(f"{screen.bold(one_line(one.ref))}  version {one.version} by {one.provenance.in_words()}{always}")
        screen.line(screen.dim(f"  {_what_agents_get(one)}"))
        if one.diff:
            show_diff(screen, f"{one.diff}\n")
        screen.line(f"  ricordo review {shlex.quote(one_line(one.ref))} accept|refuse")
    _show_findings(screen, report)
    if report.start is not None:
        _show_start(screen, report.start)


@shows
def _show_log(screen: Screen, report: LogReport) -> None:
    if report.erased is not None:
        screen.line(f"{report.erased:,} quer{'y' if report.erased == 1 else 'ies'} erased from the log")
    elif report.summary is not None:
        _show_stats(screen, report.summary)
    elif report.retrievals:
        _show_retrievals(screen, report.retrievals)
    elif report.what == "asked":
        _show_asked(screen, report)
    else:
        _show_changed(screen, report)


def _show_asked(screen: Screen, report: LogReport) -> None:
    """When, what, by whom, how many hits, and which of the first were opened."""
    if not report.questions:
        screen.note("nothing was asked that this asks for")
        return
    for one in report.questions:
        fits = [f"{words} {fit:.2f}" for fit, words in ((one.fit, "fit"), (one.fit_now, "now")) if fit is not None]
        outcome = ", ".join([counted(one.results, "hit"), *fits])
        screen.line(f"{local_time(one.at)}  {screen.bold(one_line(one.text))}  {outcome}")
        screen.note(f"{one.asker.short or 'unknown'}, {one.tool}")
        for hit in one.shown[:SHOWN_HITS]:
            became = ", ".join(filter(None, ("opened" if hit.opened else "", hit.verdict)))
            screen.line(f"  {one_line(hit.ref)}{f'  ({became})' if became else ''}")
    if report.more:
        screen.note("there is more before that; --limit shows it")


@shows
def _show_undo(screen: Screen, report: UndoReport) -> None:
    if report.undone is None:
        rows = [(one.id, local_time(one.at), one.words, _state(one), one.provenance.short) for one in report.steps]
        empty = "there is no step that could be undone"
        screen.table(("step", "when", "what", "changes", "by"), rows, paths=(2,), empty=empty)
        return
    screen.line(f"undone: {one_line(report.undone.words)}")
    for one in report.items:
        reason = f": {one_line(one.reason)}" if one.reason else ""
        screen.line(f"  {one.status} {one_line(one.ref)}{reason}")
    for note in report.notes:
        screen.note(note)


def _state(step: Step) -> str:
    if step.is_undone:
        return "undone"
    if not step.can_be_undone:
        return "cannot be undone"
    return counted(step.changes, "change")


def _show_findings(screen: Screen, report: ReviewReport) -> None:
    """What should be done about memories, by kind, each with its id, its items, why, and what is suggested."""
    from ricordo.values.review import finding_kinds

    words = finding_kinds()
    for kind, count in report.counts.items():
        screen.line(screen.bold(f"{kind} ({count:,}): {words[kind]}"))
        shown = [one for one in report.findings if one.kind == kind]
        for one in shown:
            screen.line(f"  {one.id}  {', '.join(map(one_line, one.refs))}")
            screen.line(f"            {one_line(one.why)}  Suggested: {one.action}.")
        if len(shown) < count:
            screen.note(f"{count - len(shown):,} more; --limit shows them")
    if report.counts:
        screen.note("'ricordo review KIND accept' does what is suggested about all of a kind, 'ID accept' about one")
