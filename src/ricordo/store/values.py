"""What a store takes and returns besides the values of the whole package: prepared items, jobs, links by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen
from ricordo.text.links import LinkTarget
from ricordo.values.items import Draft

if TYPE_CHECKING:
    from ricordo.store.arrays import Array

TermCounts = tuple[Mapping[str, int], ...]


@frozen
class Scoring:
    """The constants of BM25F; ``weights`` for title, path, description, tags, context, body."""

    k1: float = 1.2
    b: float = 0.75
    weights: tuple[float, ...] = (3.3, 1.7, 1.0, 0.67, 0.33, 1.0)


@frozen
class Languages:
    """The languages of the passages that a model embeds, by their codes; "" is English, and what cannot be told."""

    only: tuple[str, ...] | None = None
    """None stands for all but ``without``."""
    without: tuple[str, ...] = ()

    def __contains__(self, code: object) -> bool:
        return code not in self.without if self.only is None else code in self.only


EVERY_LANGUAGE = Languages()


@frozen
class Backlog:
    """The fingerprint whose vectors new chunks wait for: those in some languages, and the others for a second one."""

    fingerprint: str
    dimensions: int
    languages: Languages = EVERY_LANGUAGE
    second: Backlog | None = None

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """That of each model."""
        return (self.fingerprint, *(self.second.fingerprints if self.second is not None else ()))


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
class Replacement:
    """The newest item in the place of an archived one."""

    how: str
    """How the first in the chain was replaced: ``corrected_by`` or ``superseded_by``."""
    n: int
    ref: str
    state: str

    def as_field(self) -> dict[str, Any]:
        """Return the field that says so in what is shown of the archived item."""
        return {self.how: self.ref}


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
    language: str = ""
    """The code of its language; empty for that of the store, and where it cannot be told."""


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
class MadeVector:
    """A vector that was made before the text is saved, by the hash of what was embedded."""

    fingerprint: str
    hash: bytes
    values: Array


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
    origin: str = ""
    """The file, address or session that a loader read the text from; empty for a text that somebody gave."""
    vouched: bool = False
    """Whether it has the user's word although a loader read it: its file is in a folder that the user trusts."""
    vector: MadeVector | None = None
    """The vector of its only chunk, if it was made already."""
    relations: tuple[tuple[str, int], ...] = ()
    """Links by hand that are written with it: their types, and the items to which they lead."""
    contradicts: tuple[int, ...] = ()
    """Items that it seems to contradict, which nobody confirmed."""
    named_by: tuple[int, ...] | None = None
    """Of an entity: the items whose texts name it; None leaves its mentions as they are."""
