"""What a store takes and returns: prepared items in, values out; there is no SQL outside ``store/``.

``Store`` is a record of narrow parts; callers take the part they need. The protocols of the parts are in ``parts``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.frozen import frozen
from ricordo.text.links import LinkTarget
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Saved

if TYPE_CHECKING:
    import numpy.typing as npt

    from ricordo.store import parts
    from ricordo.values.reports import Check, Damage

    Array = npt.NDArray[Any]

TermCounts = tuple[Mapping[str, int], ...]


@frozen
class Scoring:
    """The constants of BM25F; ``weights`` for title, path, description, tags, context, body."""

    k1: float = 1.2
    b: float = 0.75
    weights: tuple[float, ...] = (3.3, 1.7, 1.0, 0.67, 0.33, 1.0)


@frozen
class Backlog:
    """The fingerprint whose vectors new chunks wait for."""

    fingerprint: str
    dimensions: int


@frozen
class Job:
    """A text to embed, for one chunk of one item."""

    chunk: int
    item: int
    hash: bytes
    text: str


@frozen
class ContentMark:
    """The hash of a version's content alone (empty for no content), and when the item last changed."""

    text_hash: str
    changed: int


@frozen
class StoredLink:
    """A link by its items' numbers. ``target`` is None while no item has the name ``name``."""

    source: int
    target: int | None
    type: str
    origin: str
    text: str
    name: str
    created_at: datetime


@frozen
class PreparedChunk:
    """A chunk ready to be written. ``counts`` is None when the store already holds a chunk with this key."""

    start: int
    lines: tuple[int, int]
    text: str
    heading: str
    prefix: str
    key: bytes
    embed_hash: bytes
    counts: TermCounts | None


@frozen
class FileState:
    """What a file looked like when it was read, to notice changes cheaply; ``fields`` are those that the file itself
    sets.
    """

    mtime: int
    size: int
    hash: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    def looks_like(self, mtime: int, size: int) -> bool:
        """Whether a file with this time and size need not be opened."""
        return (self.mtime, self.size) == (mtime, size)


@frozen
class PreparedItem:
    """An item ready to be written: its draft, the hashes that tell versions apart, and its chunks."""

    draft: Draft
    hash: str
    text_hash: str
    chunks: tuple[PreparedChunk, ...]
    file: FileState | None = None
    links: tuple[LinkTarget, ...] = ()
    mentions: tuple[tuple[int, str], ...] = ()
    """Entities that the text names: their numbers and titles."""
    secrets: Mapping[str, int] = field(default_factory=dict)
    """How many secrets of each kind the text contains."""
    times: tuple[datetime, datetime] | None = None
    id: str = ""
    """When a new item was made and last changed, and its id, if it had them before it came here."""


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
    def files(self) -> parts.Files: ...
    @property
    def secrets(self) -> parts.Secrets: ...
    @property
    def knowledge(self) -> parts.KnowledgeRows: ...
    @property
    def transfer(self) -> parts.Transfer: ...
    @property
    def language(self) -> str: ...
    @property
    def analyzer(self) -> Analyzer: ...

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
