"""Computes the positions in drawings: bars of a hit, charts over days, and a graph of links. Templates write the SVG.

Charts are drawn by the server, so that they need no script and can be printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from ricordo.frozen import frozen

HUES = 8
"""The number of colours for signals: ``s0`` to ``s7`` in the style sheet."""
LABEL_WIDTH, LABEL_HEIGHT = 150.0, 34.0
"""The space that the name of a point in a graph takes."""
MOST_IN_SMALL_FIELD = 12
"""A graph of at most this many items is drawn in the small field, which can be read on a telephone."""
SMALL_FIELD, LARGE_FIELD = (480, 400), (960, 640)
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


@frozen
class Node:
    """An item in a graph."""

    ref: str
    title: str
    x: float
    y: float
    links: int
    is_centre: bool = False
    kind: str = ""

    @property
    def radius(self) -> float:
        return round(5 + 2.2 * math.sqrt(self.links), 1)


@frozen
class Edge:
    """A link in a graph."""

    x1: float
    y1: float
    x2: float
    y2: float
    type: str
    words: str


@frozen
class Graph:
    """Items and links, laid out in a field."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int = 960
    height: int = 640

    @property
    def is_small(self) -> bool:
        """Few enough items to be read on a telephone without moving the picture."""
        return self.width < 960


def laid_out(titles: Mapping[str, str], links: Sequence[tuple[str, str, str]], centre: str = "") -> Graph:
    """Place items so that linked ones are near each other and none overlap; the same input gives the same picture."""
    refs = list(titles)
    place = {ref: at for at, ref in enumerate(refs)}
    pairs = [(place[a], place[b]) for a, b, _ in links if a in place and b in place and a != b]
    width, height = SMALL_FIELD if len(refs) <= MOST_IN_SMALL_FIELD else LARGE_FIELD
    spots = _settled(len(refs), pairs, place.get(centre), (width, height))
    degrees = np.bincount(np.array(pairs, int).reshape(-1), minlength=len(refs)) if pairs else np.zeros(len(refs), int)
    nodes = tuple(
        Node(ref, titles[ref], float(spots[at, 0]), float(spots[at, 1]), int(degrees[at]), ref == centre)
        for at, ref in enumerate(refs)
    )
    edges = tuple(
        Edge(nodes[place[a]].x, nodes[place[a]].y, nodes[place[b]].x, nodes[place[b]].y, kind, f"{a} {kind} {b}")
        for a, b, kind in links
        if a in place and b in place and a != b
    )
    return Graph(nodes, edges, width, height)


def _settled(count: int, pairs: Sequence[tuple[int, int]], centre: int | None, size: tuple[int, int]) -> Any:
    """Positions found by pulling linked points together and pushing all others away, in ever smaller steps."""
    if not count:
        return np.zeros((0, 2))
    turns = np.arange(count) * 2.399963  # the golden angle spreads the start evenly
    spots = np.stack([np.cos(turns), np.sin(turns)], 1) * np.sqrt(np.arange(count) + 1)[:, None] / math.sqrt(count)
    wanted = 1.3 / math.sqrt(count)
    ends = np.array(pairs, int).reshape(-1, 2)
    for round_ in range(160):
        offsets = spots[:, None, :] - spots[None, :, :]
        distance = np.maximum(np.sqrt((offsets**2).sum(-1)), 1e-3)
        force = (offsets / distance[..., None] ** 2 * wanted**2).sum(1)
        force -= spots * 0.9  # a pull to the centre, so that nothing drifts away
        if len(ends):
            pull = spots[ends[:, 0]] - spots[ends[:, 1]]
            strength = np.sqrt((pull**2).sum(-1, keepdims=True)) / wanted
            np.add.at(force, ends[:, 0], -pull * strength * 0.5)
            np.add.at(force, ends[:, 1], pull * strength * 0.5)
        length = np.maximum(np.sqrt((force**2).sum(-1, keepdims=True)), 1e-9)
        spots = spots + force / length * np.minimum(length, 0.12 * (1 - round_ / 160) + 0.002)
        if centre is not None:
            spots = spots - spots[centre]
    return _fitted(spots, np.array(size, float))


def _fitted(spots: Any, size: Any) -> Any:
    """The positions scaled to the field, with a border for the names."""
    low, high = spots.min(0), spots.max(0)
    span = np.maximum(high - low, 1e-6)
    border = np.array([90.0, 40.0])
    if len(spots) == 1:
        return np.array([size / 2])
    return np.round(_readable((spots - low) / span * (size - 2 * border) + border, border, size), 1)


def _readable(spots: Any, border: Any, size: Any) -> Any:
    """The same, with points that are side by side moved up and down until their names can be read."""
    room = np.array([LABEL_WIDTH, LABEL_HEIGHT])
    for _ in range(40):
        offsets = spots[:, None, :] - spots[None, :, :]
        close = np.clip(1 - np.abs(offsets) / room, 0, None)
        overlap = close[..., 0] * close[..., 1] > 0
        np.fill_diagonal(overlap, False)
        if not overlap.any():
            break
        order = np.where(offsets[..., 1] == 0, np.arange(len(spots))[:, None] - np.arange(len(spots)), offsets[..., 1])
        push = np.where(overlap, np.sign(order) * close[..., 1] * LABEL_HEIGHT * 0.3, 0.0).sum(1)
        spots[:, 1] = np.clip(spots[:, 1] + push, border[1], size[1] - border[1])
    return spots
