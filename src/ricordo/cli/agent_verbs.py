"""Verbs that give agents what they need: context, and skills with its parts add, list, search, show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.options import limited, query_from
from ricordo.cli.present_reports import show_saved
from ricordo.cli.progress import ProgressLine
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.cli.verb import verb, verb_group
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.values.context import ContextReport, Skill

LONGEST_LIST = 20
"""How many names of what was left out are shown without ``--verbose``."""


@verb(
    "context",
    cls=QueryVerb,
    examples=[
        "ricordo context fix the login timeout --budget 1500",
        "ricordo context write the release notes --recent --json",
        "ricordo context - --no-skills < task.txt",
    ],
)
@click.argument("words", nargs=-1, metavar="TASK...")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    metavar="N",
    help="The most tokens to spend, labels included.",
)
@click.option("--recent/--no-recent", default=False, help="Also tell what happened lately, or not (default).")
@click.option("--skills/--no-skills", default=True, help="Also name the skills that fit (default), or not.")
def context(call: Call, words: tuple[str, ...], budget: int, recent: bool, skills: bool) -> int:
    """It prints a text for an agent: the items that every agent gets, notes and passages that fit the task with their
    refs and lines, and the names of skills. Text from pages and sessions is marked as data. Without a task, it prints
    only what every agent gets. Standard error shows what was left out, and why.
    """
    task = query_from(words)
    with call.engine() as engine:
        report = engine.context(task, budget=budget, recent=recent, skills=skills)
    return call.answer(report.to_dict(), lambda screen: show_context(screen, report))


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


skills = verb_group(
    "skills",
    examples=[
        "ricordo skills add",
        "ricordo skills search fill in a PDF form",
        "ricordo skills show pdf",
    ],
    details=(
        "A skill is a folder with a file SKILL.md, which has a name, a description, and instructions. Skills are "
        "searched in the workspace, then in your home folder, then in system folders; if two have the same name, the "
        "first is used."
    ),
)


@skills.add_command
@verb(
    "add",
    line="Index skills, and changes in them.",
    examples=["ricordo skills add", "ricordo skills add ~/team/skills --prune"],
)
@click.argument("roots", nargs=-1, type=click.Path(), metavar="ROOT...")
@click.option("--prune", is_flag=True, help="Remove skills whose file is gone.")
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or later with embed.")
def add(call: Call, roots: tuple[str, ...], prune: bool, wait: bool) -> int:
    """Without a ROOT, it searches the folders of the settings skills.workspace, skills.user and skills.system, and
    asks skills.command.
    """
    with call.engine(create=True) as engine, ProgressLine.for_call(call) as progress:
        report = engine.skills_add(*roots, prune=prune, wait=wait, progress=progress)
    plain = report.to_dict()

    def draw(screen: Screen) -> None:
        show_saved(screen, plain)
        if not report.items:
            screen.note("no skills found; name a folder: ricordo skills add DIR")

    failed = some_failed(report.failed, len(report.items)) if report.failed else None
    return call.answer(plain, draw, exit_code=1 if failed else 0, error=failed)


@skills.add_command
@verb("list", line="List the skills by name.", examples=["ricordo skills list", "ricordo skills list --json"])
def list_skills(call: Call) -> int:
    """With --verbose, it shows the folder of each."""
    with call.engine() as engine:
        found = engine.skills()

    def draw(screen: Screen) -> None:
        show_skills(screen, found)
        if not found:
            screen.note("no skills yet; take some in with: ricordo skills add")

    return call.answer({"skills": [skill.to_dict() for skill in found]}, draw)


@skills.add_command
@verb(
    "search",
    cls=QueryVerb,
    line="Find the skills that fit a task.",
    examples=["ricordo skills search fill in a PDF form", "ricordo skills search deploy to Fly -n 3 --json"],
)
@click.argument("words", nargs=-1, metavar="TASK...")
@limited(5)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="SCORE", help="Leave out skills that score less.")
@click.option("--track/--no-track", default=None, help="Record what was found (default) or not.")
def search(call: Call, words: tuple[str, ...], limit: int, min_score: float | None, track: bool | None) -> int:
    """Skills are ranked by name, description and text. 'ricordo skills show NAME' prints one."""
    task = query_from(words)
    if not task.strip():
        raise UsageError("say what the task is", hint="ricordo skills search fill in a PDF form")
    with call.engine() as engine:
        found = engine.skills_search(task, limit, min_score=min_score, profile=call.profile, track=track)

    def draw(screen: Screen) -> None:
        show_skills(screen, found)
        if not found:
            screen.note("no skill fits; 'ricordo skills list' shows what there is")

    return call.answer({"skills": [skill.to_dict() for skill in found]}, draw)


@skills.add_command
@verb("show", line="Print one skill.", examples=["ricordo skills show pdf", "ricordo skills show pdf --json"])
@click.argument("name", metavar="NAME")
def show(call: Call, name: str) -> int:
    """Paths in a skill are relative to its folder, which is printed to standard error."""
    with call.engine() as engine:
        item = engine.skill(name)
    location = str(item.fields.metadata.get("location") or "")

    def draw(screen: Screen) -> None:
        screen.line(clean(item.content).rstrip("\n"))
        if location:
            screen.note(f"from {one_line(location)}")

    return call.answer(item.to_dict() | {"name": item.title, "location": location}, draw)


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
