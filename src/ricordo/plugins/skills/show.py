"""How skills look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.show import scored_table, shows
from ricordo.cli.terminal import Screen

if TYPE_CHECKING:
    from ricordo.plugins.skills.values import Skill


@shows
def _show_skills(screen: Screen, skills: Sequence[Skill]) -> None:
    head = ("skill", *(("from",) if screen.verbose else ()), "what it is for")
    rows = [
        (skill.name, *((skill.location or skill.scope,) if screen.verbose else ()), skill.description)
        for skill in skills
    ]
    scored_table(screen, head, rows, [skill.score for skill in skills])
