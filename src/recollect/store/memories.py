"""What a store does for memories: links, putting items away, finding the same text, naming, entities, secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.values import Ref, Saved

if TYPE_CHECKING:
    from recollect.store.base import Backlog, PreparedItem, StoredLink


class LinkIndex(Protocol):
    """Links between items, by their numbers."""

    def add_link(self, source: int, target: int, type: str) -> bool: ...  # noqa: A002 - the domain's word
    def remove_links(self, source: int, target: int, type: str | None = None) -> int: ...  # noqa: A002
    def links_of(self, numbers: Sequence[int]) -> list[StoredLink]: ...
    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]: ...
    def relink(self) -> int: ...


class MemoryStore(Protocol):
    """The part of a store behind remember, correct, supersede and forget. ``n`` is an item's number."""

    def succeed(self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None) -> Saved:
        """Write a new item and archive the one whose place it takes, linked; all of it or nothing."""
        ...

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        """Take items out of normal search in one transaction; a ``successor`` is linked to each."""
        ...

    def same_text(self, text_hash: str, kind: str) -> list[int]:
        """Live items of a kind with exactly this text, by the hash of the content alone."""
        ...

    def paths_like(self, drive: str, path: str) -> set[str]:
        """The paths ``path`` and ``path-…`` that items hold, live, archived or in the bin."""
        ...

    def entity_titles(self) -> Sequence[tuple[int, str]]:
        """Numbers and titles of all live entities."""
        ...

    def set_mentions(self, entity: int, sources: Sequence[int]) -> None:
        """Note which items name an entity; those that were noted before and are not among them no longer do."""
        ...

    def secret_counts(self) -> dict[str, int]:
        """How many secrets stand in the texts, by kind."""
        ...

    def secret_refs(self) -> list[tuple[Ref, dict[str, int]]]:
        """The items that hold some, with how many of each kind."""
        ...

    def note_secrets(self, found: Mapping[int, Mapping[str, int]]) -> None:
        """Replace what is known of some items."""
        ...
