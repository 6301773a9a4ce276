"""What a store does for memories: links, putting items away, finding the same text, naming, entities, secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from ricordo.values.items import Item, KnownFile, Ref, Saved

if TYPE_CHECKING:
    from ricordo.store.base import Backlog, PreparedItem, StoredLink


class LinkIndex(Protocol):
    """Links between items, by their numbers."""

    def add_link(self, source: int, target: int, type: str) -> bool: ...  # noqa: A002 - the domain's word
    def remove_links(self, source: int, target: int, type: str | None = None) -> int: ...  # noqa: A002
    def links_of(self, numbers: Sequence[int]) -> list[StoredLink]: ...
    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]: ...
    def relink(self) -> int: ...


class KnowledgeIndex(Protocol):
    """What a store knows of the files that its memories, notes and articles live in."""

    def transaction(self, *, durable: bool = False, wait: float | None = None) -> AbstractContextManager[None]:
        """Let several writes be one: all that this thread writes in the block is committed at its end, or nothing.

        ``wait`` is how many seconds to wait for others, if not the usual.
        """
        ...

    def changes_seen(self) -> int:
        """A number that differs after every write of items, by any process."""
        ...

    def settle_knowledge(self, place: str) -> None:
        """Say where the files are; what was known of those in another place is forgotten."""
        ...

    def knowledge_looks(self) -> dict[str, tuple[int, int]]:
        """The times and sizes that files were last seen with, by name."""
        ...

    def knowledge_files(self, names: Collection[str] | None = None) -> dict[str, KnownFile]:
        """The files as they were last seen, by name: all of them, or some."""
        ...

    def knowledge_files_of(self, numbers: Collection[int]) -> dict[int, KnownFile]:
        """The files of some items, by their numbers."""
        ...

    def has_knowledge_file(self, name: str) -> bool:
        """Whether a file of this name is known, in capital letters or small."""
        ...

    def note_knowledge(self, seen: Sequence[KnownFile], gone: Collection[str] = ()) -> None:
        """Remember what files look like now, and forget others; an item has one file."""
        ...

    def standing(self, numbers: Collection[int], ids: Collection[str] = ()) -> dict[int, Item]:
        """Items with their content, in the bin or not, as they stand in the transaction that is open."""
        ...

    def adrift(self, kinds: Collection[str], drives: Collection[str]) -> list[int]:
        """Items of these kinds and drives that have no file, and items whose file has another version."""
        ...

    def set_times(self, n: int, created: datetime, updated: datetime) -> None:
        """Say when an item was made, and when its text last changed."""
        ...


class MemoryStore(KnowledgeIndex, Protocol):
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
