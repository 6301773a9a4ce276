"""Computes the positions in drawings: bars of a hit and charts over days. Templates write the SVG.

Charts are drawn by the server, so that they need no script and can be printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from ricordo.frozen import frozen

HUES = 8
"""The number of colours for signals: ``s0`` to ``s7`` in the style sheet."""
_KNOWN_HUES = {"vector": 0, "lexical": 1, "semantic": 1, "fts": 1, "bm25": 1, "text": 1, "recency": 2, "importance": 3}


@frozen
class Bar:
    """One part of a stacked bar, in units of a width of 100."""

    name: str
    x: float
    width: float
    hue: int
    value: float
    weight: float
    contribution: float


def hue_of(name: str) -> int:
    """The colour of a signal: the same on every page."""
    return _KNOWN_HUES.get(name, 4 + sum(map(ord, name)) % (HUES - 4))


def stacked(signals: Sequence[Any], score: float) -> list[Bar]:
    """The contributions of a hit's signals, side by side; together they are as long as its score."""
    shown = [one for one in signals if one.contribution > 0]
    total = sum(one.contribution for one in shown)
    scale = 100 * max(0.0, min(1.0, score)) / total if total else 0.0
    bars, x = [], 0.0
    for one in shown:
        width = one.contribution * scale
        bars.append(
            Bar(one.name, round(x, 2), round(width, 2), hue_of(one.name), one.value, one.weight, one.contribution)
        )
        x += width
    return bars


@frozen
class Column:
    """One column of a chart over days."""

    label: str
    value: float
    x: float
    y: float
    width: float
    height: float


@frozen
class Chart:
    """Columns over the days of a span, with the highest value."""

    columns: tuple[Column, ...]
    top: float
    first: str
    last: str

    WIDTH = 600
    HEIGHT = 120


def by_day(values: Mapping[str, float], days: int, today: date) -> Chart:
    """A column for each of the last days; days without a value have an empty column."""
    names = [(today - timedelta(days=back)).isoformat() for back in range(days - 1, -1, -1)]
    top = max([values.get(name, 0.0) for name in names], default=0.0)
    step = Chart.WIDTH / len(names)
    columns = []
    for at, name in enumerate(names):
        value = values.get(name, 0.0)
        height = Chart.HEIGHT * value / top if top else 0.0
        columns.append(
            Column(
                name,
                value,
                round(at * step, 2),
                round(Chart.HEIGHT - height, 2),
                round(max(1.0, step - min(2.0, step / 4)), 2),
                round(height, 2),
            )
        )
    return Chart(tuple(columns), top, names[0], names[-1])
