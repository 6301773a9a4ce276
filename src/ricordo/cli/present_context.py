"""How the context of a task, and skills, look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.terminal import Screen, one_line

if TYPE_CHECKING:
    from ricordo.values.context import ContextReport, Gathered, Skill

LONGEST_LIST = 20
"""How many names of what was left out are shown without ``--verbose``."""


def show_context(screen: Screen, report: ContextReport) -> None:
    """Print the text; its cost and what was left out go to standard error."""
    if report.text:
        screen.line(report.text)
    for warning in report.warnings:
        screen.warn(one_line(warning))
    shown = report.left_out if screen.verbose else report.left_out[:LONGEST_LIST]
    for one in shown:
        screen.note(f"left out {one_line(one.ref)}: {one_line(one.reason)}")
    if len(report.left_out) > len(shown):
        screen.note(f"{len(report.left_out) - len(shown):,} more left out; --verbose lists them")
    parts = "1 part" if len(report.parts) == 1 else f"{len(report.parts):,} parts"
    screen.note(f"{report.tokens:,} of {report.budget:,} tokens, {parts}")


def show_gathered(screen: Screen, found: Gathered) -> None:
    """Print the text; its cost and how much found no room go to standard error."""
    if found.text:
        screen.line(found.text)
    for warning in found.warnings:
        screen.warn(one_line(warning))
    if not found.pieces and not found.more:
        screen.note("nothing is known about that")
        return
    pieces = "1 piece" if len(found.pieces) == 1 else f"{len(found.pieces):,} pieces"
    more = f"; {found.more:,} more found no room (--budget)" if found.more else ""
    screen.note(f"{found.tokens:,} of {found.budget:,} tokens, {pieces}{more}")


def show_skills(screen: Screen, skills: Sequence[Skill]) -> None:
    """A line each: score if there is one, name, what it is for."""
    scored = any(skill.score is not None for skill in skills)
    head = (*(("score",) if scored else ()), "skill", *(("from",) if screen.verbose else ()), "what it is for")
    screen.table(
        head,
        [
            (
                *((f"{skill.score or 0.0:.3f}",) if scored else ()),
                skill.name,
                *((skill.location or skill.scope,) if screen.verbose else ()),
                skill.description,
            )
            for skill in skills
        ],
    )
