"""Values that give an overview of a store: what was asked of it, its tags, and its items and links as a graph."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain, rounded
from ricordo.values.provenance import Provenance


@frozen
class ShownHit(Plain):
    """An item that a question was answered with, and what became of it."""

    ref: str
    title: str
    opened: bool = False
    """Whether it was opened soon after it was shown."""
    verdict: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What was said of it for this question: accepted, modified, dismissed or failed."""


@frozen
class AskedQuestion(Plain):
    """Something that was asked: by whom and when, how much was found, what was shown, and whether it fitted."""

    at: datetime
    text: str
    tool: str
    asker: Provenance
    results: int
    milliseconds: float = field(metadata=rounded(3))
    shown: tuple[ShownHit, ...] = ()
    """The best hits that are still kept in this store."""
    fit: float | None = field(default=None, metadata=rounded(3))
    """How well the best hit fitted when it was asked; None where that was not judged or not recorded yet."""
    fit_now: float | None = field(default=None, metadata=rounded(3))
    """How well the best hit fits now, where the question was asked again for this report."""


@frozen
class AskedReport(Plain):
    """Questions, the latest first; ``more`` says that the limit left some out."""

    questions: tuple[AskedQuestion, ...]
    more: bool = False


@frozen
class TagCount(Plain):
    """A tag, and how many live items have it."""

    tag: str
    count: int


@frozen
class GraphNode(Plain):
    """An item in a graph."""

    ref: str
    title: str
    kind: str
    at: datetime
    """When the item was made."""


@frozen
class GraphEdge(Plain):
    """A link in a graph, between two nodes by their places in the list of nodes."""

    source: int
    target: int
    type: str


@frozen
class LinkGraph(Plain):
    """Items and the links between them, those with the most links first; ``more`` says how many were left out."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    more: int = 0


@frozen
class Bundle(Plain):
    """The texts of several items as one text, in Markdown or JSON."""

    format: str
    count: int
    text: str
