"""The verb doctor: whether the store is sound."""

from __future__ import annotations

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.present_reports import show_checks
from ricordo.cli.terminal import Screen


@command("doctor")
def doctor(call: Call, repair: bool = False) -> int:
    """It checks the database, indexes, vectors, permissions and free space, and says how often hooks ran out of
    time. The exit code is 1 when a check fails and was not repaired.
    """
    from dataclasses import replace

    from ricordo.hooks import runs
    from ricordo.values.reports import Check

    with call.engine() as engine:
        report = engine.doctor(repair=repair)
    report = replace(report, checks=(*report.checks, Check("hooks", True, runs.summary())))
    bad = [check.name for check in report.checks if not (check.ok or check.repaired)]
    error = {
        "code": "unhealthy",
        "message": f"these checks failed: {', '.join(bad)}",
        "hint": "Read the details above, or try: ricordo doctor --repair",
    }

    def draw(screen: Screen) -> None:
        show_checks(screen, report)
        if bad:
            screen.error(error["message"], "" if repair else error["hint"])

    return call.answer(report.to_dict(), draw, exit_code=1 if bad else 0, error=error if bad else None)
