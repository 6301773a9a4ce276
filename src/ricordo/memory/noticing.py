"""Notes what memories cite and which contradict each other after one was edited, or several were taken in."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ricordo.memory.duplicates import CLAIMING, DuplicateFinder
from ricordo.store.base import Store
from ricordo.values.items import Item, Ref

if TYPE_CHECKING:
    from ricordo.memory.citations.stored import Names
    from ricordo.memory.knowledge_files import KnowledgeFile
    from ricordo.store.values import PreparedItem

CONTRADICTS = "contradicts"
MOST_MEMORIES = 20_000
"""In a store with more memories, an import is not looked through; ``tidy`` finds what it brought."""
SECONDS = 2.0
"""How long it is looked for what files cite that are taken in together; they are taken in all the same."""
MOST_FILES = 100
"""If more files than this were taken in at once, only the first ones are compared; ``tidy`` finds the rest."""


class FileNoticing:
    """What is noticed when a person wrote or edited files of memories: the same as when a verb did it.

    No language model is asked, and the time is limited, because files are taken in while a search waits.
    """

    def __init__(self, store: Store, names: Names) -> None:
        self.store = store
        self._names = names
        self._until = time.monotonic() + SECONDS

    def fields(self, says: KnowledgeFile, item: Item | None) -> Mapping[str, Any]:
        """The fields that a file gives its item. What Ricordo wrote into it about citations holds for the text that it
        wrote; a text by hand cites what it names, and as long as that text stays, what it cites stays.
        """
        from ricordo.memory.citations import CITING_KINDS, NAME, cited_again

        if not says.is_by_hand or says.kind not in CITING_KINDS:
            return says.fields
        about = {**says.fields.get("metadata", {})}
        if item is not None and item.content == says.text:
            about.pop(NAME, None)
            about |= {name: value for name, value in item.fields.metadata.items() if name == NAME}
        elif time.monotonic() < self._until:
            about = cited_again(self.store, self._names, says.kind, says.text, about)
        return {**says.fields, "metadata": about}

    def contradictions(self, written: Mapping[int, PreparedItem]) -> list[str]:
        """Link what was taken in and what contradicts it, the newer to the older; says which."""
        said = []
        for n, prepared in list(written.items())[:MOST_FILES]:
            item = self.store.items.get_many([n]).get(n)
            if item is not None and item.state == "live":
                against = note_after_edit(self.store, n, prepared)
                said += [f"{item.ref} contradicts {', '.join(against)}"] if against else []
        return said


def note_after_edit(store: Store, n: int, edited: PreparedItem) -> list[str]:
    """Link an item that got another text to what it contradicts now; returns the refs of that."""
    if edited.draft.kind not in CLAIMING:
        return []
    finder = DuplicateFinder(store)
    against = [one.ref for one in finder.near(edited, finder.alike(edited)) if one.contradiction]
    for ref in against:
        _link_by_age(store, n, store.items.require(Ref.parse(ref)))
    return against


def note_after_import(store: Store, imported: Collection[str]) -> int:
    """Link memories that contradict each other, of which at least one was just imported; returns how many pairs."""
    from ricordo.memory.tidying import Look

    look = Look(store)
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


def _link_by_age(store: Store, n: int, other: int) -> None:
    """Link two memories; a file may have been written long before it was taken in."""
    items = store.items.get_many([n, other])
    newer, older = (n, other) if items[n].updated_at >= items[other].updated_at else (other, n)
    _link(store, newer, older)
