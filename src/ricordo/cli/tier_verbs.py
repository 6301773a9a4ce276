"""The verb for stores that are searched together: tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.cli.call import Call
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb import verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ricordo.values.reports import TierState


@verb("tiers", examples=["ricordo tiers", "ricordo config set tiers.team /srv/team/ricordo.db"])
def tiers(call: Call) -> int:
    """Scores of a tier are multiplied by its weight. New items go to the tier marked *. --tier uses only one."""
    with call.engine() as engine:
        states = engine.tiers()
    return call.answer({"tiers": [state.to_dict() for state in states]}, lambda screen: _show(screen, states))


def _show(screen: Screen, states: Sequence[TierState]) -> None:
    rows = [
        (
            f"{state.name}{' *' if state.is_written else ''}",
            f"{state.weight:g}",
            f"{state.items:,}" if state.items is not None else "–",
            one_line(state.location),
            "" if state.reachable else one_line(state.detail),
        )
        for state in states
    ]
    screen.table(("tier", "weight", "items", "store", "problem"), rows, right=(1, 2))
