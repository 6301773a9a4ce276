"""A store, as others see it: a record of narrow parts, of which callers take the one they need.

It takes prepared items and returns values; there is no SQL outside ``store/``. The protocols of the parts are in
``parts``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.text.words import Analyzer
from ricordo.values.items import Saved

if TYPE_CHECKING:
    from ricordo.store import capture_parts, file_parts, overview_parts, parts, step_parts
    from ricordo.store.feed_part import Feed
    from ricordo.store.team_part import Team
    from ricordo.store.values import PreparedItem
    from ricordo.values.reports import Check, Damage


class Mirror(Protocol):
    """Keeps a copy of some items outside the store, such as the Markdown files of memories."""

    def placed(self, item: PreparedItem) -> PreparedItem:
        """The item as it will be written, with the line numbers of its copy."""
        ...

    def committing(self, touched: frozenset[int], *, durable: bool) -> AbstractContextManager[None]:
        """Bring the copies of these items up to date; the transaction commits inside the block.

        The copies are put back if the block fails.
        """
        ...

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        """Do a write. If somebody else changed a copy meanwhile, take in that change and do the write again."""
        ...


class Store(Protocol):
    """An open store, as a record of its parts."""

    @property
    def items(self) -> parts.Items: ...
    @property
    def changes(self) -> parts.Changes: ...
    @property
    def index(self) -> parts.SearchIndex: ...
    @property
    def vectors(self) -> parts.Vectors: ...
    @property
    def jobs(self) -> parts.Jobs: ...
    @property
    def links(self) -> parts.Links: ...
    @property
    def usage(self) -> parts.UsageLog: ...
    @property
    def lessons(self) -> parts.Lessons: ...
    @property
    def threads(self) -> parts.Threads: ...
    @property
    def files(self) -> file_parts.Files: ...
    @property
    def machines(self) -> file_parts.Machines: ...
    @property
    def secrets(self) -> parts.Secrets: ...
    @property
    def knowledge(self) -> file_parts.KnowledgeRows: ...
    @property
    def audit(self) -> parts.Audit: ...
    @property
    def proposals(self) -> capture_parts.Proposals: ...
    @property
    def overview(self) -> overview_parts.Overview: ...
    @property
    def steps(self) -> step_parts.Steps: ...
    @property
    def transfer(self) -> parts.Transfer: ...
    @property
    def syncs(self) -> bool:
        """Whether it syncs through a folder."""
        ...

    @property
    def sync(self) -> file_parts.SyncLog | None:
        """What is known about sync through folders; None for a store that many share."""
        ...

    @property
    def team(self) -> Team | None:
        """Who shares it; None for a store in a file."""
        ...

    @property
    def feed(self) -> Feed | None:
        """What feeds a search engine beside it; None if it has none."""
        ...

    @property
    def language(self) -> str: ...
    @property
    def analyzer(self) -> Analyzer: ...
    @property
    def store_id(self) -> str:
        """What tells this store from all others, wherever its file is; a copy has the same."""
        ...

    def adopt_id(self, identity: str) -> None:
        """Take the id of a store that was here before."""
        ...

    foreign: bool
    """Whether it came with a project that the user does not trust; items that are read from it say so."""

    def close(self) -> None: ...
    def maintain(self) -> None:
        """Do small maintenance work that is due, such as merging parts of an index."""
        ...

    def mirror_to(self, mirror: Mirror) -> None:
        """Let ``mirror`` copy every changed item, before each commit."""
        ...

    def transaction(
        self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True
    ) -> AbstractContextManager[None]:
        """Let several writes be one: all that this thread writes in the block is committed at its end, or nothing.

        ``wait`` is how many seconds to wait for other writers, if not the usual. Without ``mirrored`` the mirror is
        not asked: for changes that came from there.
        """
        ...

    def changes_seen(self) -> int:
        """A number that differs after every write of items, by any process."""
        ...

    def counts(self) -> dict[str, Any]:
        """How much there is: items, chunks, versions, by kind and by drive."""
        ...

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        ...

    def damage(self) -> Sequence[Damage]:
        """The versions that are no longer what was saved."""
        ...

    def mend(self, n: int, number: int, content: str) -> bool:
        """Put the text of a damaged version back, if its hash shows that it is the right text."""
        ...
