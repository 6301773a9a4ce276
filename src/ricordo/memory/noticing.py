"""Notes which memories contradict each other after one was edited, or several were imported."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ricordo.memory.duplicates import CLAIMING, DuplicateFinder
from ricordo.store.base import Store
from ricordo.values.items import Ref

if TYPE_CHECKING:
    from ricordo.memory.duplicates import Judge
    from ricordo.store.values import PreparedItem

CONTRADICTS = "contradicts"
MOST_MEMORIES = 20_000
"""In a store with more memories, an import is not looked through; ``tidy`` finds what it brought."""


def note_after_edit(store: Store, n: int, edited: PreparedItem, judge: Judge | None = None) -> list[str]:
    """Link an item that got another text to what it contradicts now; returns the refs of that."""
    if edited.draft.kind not in CLAIMING:
        return []
    finder = DuplicateFinder(store, judge)
    against = [one.ref for one in finder.near(edited, finder.alike(edited)) if one.contradiction]
    for ref in against:
        _link(store, n, store.items.require(Ref.parse(ref)))
    return against


def note_after_import(store: Store, imported: Collection[str]) -> int:
    """Link memories that contradict each other, of which at least one was just imported; returns how many pairs."""
    from ricordo.memory.tidying import Look

    look = Look(store, lambda _: ())
    numbers = {n for n, item in look.memories.items() if str(item.ref) in imported}
    if not numbers or len(look.memories) > MOST_MEMORIES:
        return 0
    found = [pair for pair in look.pairs if pair.contradiction and (pair.older in numbers or pair.newer in numbers)]
    for pair in found:
        _link(store, pair.newer, pair.older)
    return len(found)


def _link(store: Store, newer: int, older: int) -> None:
    store.links.remove(newer, older, CONTRADICTS)  # one from before an edit says nothing any more
    store.links.add(newer, older, CONTRADICTS)
