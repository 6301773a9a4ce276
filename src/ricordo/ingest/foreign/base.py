"""What the readers of other programs' files return."""

from __future__ import annotations

from ricordo.frozen import frozen
from ricordo.values.items import Entry, Saved


@frozen
class Relation:
    """A link to make between two of the texts, by their refs."""

    source: str
    type: str
    target: str


@frozen
class Foreign:
    """Texts to save, links between them, files that could not be read, and notes for the user."""

    entries: tuple[Entry, ...]
    relations: tuple[Relation, ...] = ()
    failed: tuple[Saved, ...] = ()
    notes: tuple[str, ...] = ()
