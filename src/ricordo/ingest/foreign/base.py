"""What a reader of another program's files hands over."""

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
    """Texts to save, links to make between them, what could not be read, and what is worth knowing."""

    entries: tuple[Entry, ...]
    relations: tuple[Relation, ...] = ()
    failed: tuple[Saved, ...] = ()
    notes: tuple[str, ...] = ()
