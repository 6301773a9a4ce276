"""How a person reads which steps can be undone, and what undoing one did."""

from __future__ import annotations

from ricordo.cli.present_items import local_time
from ricordo.cli.terminal import Screen, one_line
from ricordo.values.log import Step, UndoReport


def show_undo(screen: Screen, report: UndoReport) -> None:
    """What was undone, item by item; or the list of steps."""
    if report.undone is None:
        _show_steps(screen, report)
        return
    screen.line(f"undone: {one_line(report.undone.words)}")
    for one in report.items:
        reason = f": {one_line(one.reason)}" if one.reason else ""
        screen.line(f"  {one.status} {one_line(one.ref)}{reason}")
    for note in report.notes:
        screen.note(note)


def _show_steps(screen: Screen, report: UndoReport) -> None:
    if not report.steps:
        screen.note("there is no step that could be undone")
        return
    rows = [
        (one.id, local_time(one.at), one_line(one.words), _state(one), one.provenance.short) for one in report.steps
    ]
    screen.table(("step", "when", "what", "changes", "by"), rows, paths=(2,))


def _state(step: Step) -> str:
    if step.is_undone:
        return "undone"
    if not step.can_be_undone:
        return "cannot be undone"
    return f"{step.changes} change{'' if step.changes == 1 else 's'}"
