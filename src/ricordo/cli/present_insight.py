"""How use and learning look to a person: tables of queries and items, weights before and after."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo.cli.present_hits import short_ref
from ricordo.cli.terminal import Screen, one_line

if TYPE_CHECKING:
    from ricordo.values.use import FeedbackReport, LearningStatus, QueryStats, Retrieval, StatsReport, WeightChange


def _when(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def show_feedback(screen: Screen, report: FeedbackReport) -> None:
    """What was noted, and the weights it moved."""
    screen.line(f"noted: {one_line(report.verdict)} {short_ref(report.ref)}")
    if not report.counted:
        screen.note("it does not count for learning")
    show_changes(screen, report.changes)


def show_changes(screen: Screen, changes: Sequence[WeightChange]) -> None:
    """One line per change: its number, when, which profile, from where to where, and why."""
    screen.table(
        ("id", "when", "profile", "moved by", "verdicts", "why"),
        (
            (
                str(change.id),
                _when(change.at),
                change.profile,
                f"{change.shift_before:+.4f} → {change.shift_after:+.4f}",
                str(change.counted),
                change.reason,
            )
            for change in changes
        ),
        right=(0, 4),
    )


def show_learning(screen: Screen, status: LearningStatus) -> None:
    """Whether learning is on, and the weight of each text signal; ``--verbose`` shows all weights."""
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


def show_stats(screen: Screen, report: StatsReport) -> None:
    """The sums in one line, then a table for each question the log can answer."""
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
            ((f"{item.count:,}", _when(item.last_at), short_ref(item.ref)) for item in report.most_retrieved),
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
                _when(row.last_at),
                row.name or "(no words)",
            )
            for row in rows
        ),
        right=(0, 1, 2, 3),
    )


def _head(screen: Screen, title: str) -> None:
    screen.line()
    screen.line(screen.bold(title))


def show_retrievals(screen: Screen, found: Sequence[Retrieval]) -> None:
    """The lines of the retrieval log: when, which item, by which query and with which score."""
    rows = [
        (
            _when(one.at), short_ref(one.ref), f"v{one.version}", "" if one.score is None else f"{one.score:.3f}",
            one.query if one.query is not None else "(opened)", one.tool or "",
        )
        for one in found
    ]  # fmt: skip
    screen.table(("when", "item", "version", "score", "query", "by"), rows, paths=(1,))
    if not found:
        screen.note("the log has nothing about that; the setting usage.log says whether it is kept")


def show_changes_or_none(screen: Screen, changes: Sequence[WeightChange]) -> None:
    """The changes, or how to learn why there are none."""
    show_changes(screen, changes)
    if not changes:
        screen.note("nothing was learned yet; ricordo learn status says how much feedback is missing")
