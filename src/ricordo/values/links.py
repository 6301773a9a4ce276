"""Links between items: their types, one link, and the links around an item."""

from __future__ import annotations

from datetime import datetime

from ricordo.frozen import frozen
from ricordo.values.plain import Plain

LINK_TYPES: tuple[str, ...] = (
    "supports", "contradicts", "extends", "sequences", "supersedes", "corrects", "mentions",
)  # fmt: skip


@frozen
class Link(Plain):
    """A link between two items, seen from one: ``ref`` is the far end, ``distance`` the number of this step.

    A link between two neighbours of the item is a second step, although the item is linked with both its ends.

    ``origin`` is ``manual``, ``text`` or ``mention`` (an entity's title in the text); ``text`` is the target as the
    source's text has it.
    """

    source: str
    target: str
    type: str
    origin: str
    created_at: datetime
    distance: int = 1
    direction: str = "out"
    ref: str = ""
    title: str = ""
    text: str = ""


@frozen
class LinkReport(Plain):
    """The links around an item; ``unresolved`` are targets in its text for which there is no item yet."""

    ref: str
    depth: int
    links: tuple[Link, ...]
    unresolved: tuple[str, ...] = ()
