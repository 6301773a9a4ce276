"""What a store is given and what it answers: prepared items in, values out, no SQL outside ``store/``.

``prepare`` does all that needs no lock (hashing, counting terms, finding links), so that the write transaction stays
short.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.store.logs import FeedbackLog as FeedbackLog  # others know the parts of a store from here
from ricordo.store.logs import UsageLog as UsageLog
from ricordo.store.memories import LinkIndex, MemoryStore
from ricordo.store.movable import Movable
from ricordo.store.threads import ThreadStore
from ricordo.text.links import LinkTarget, targets_in
from ricordo.text.words import Analyzer
from ricordo.values.hits import Filters
from ricordo.values.items import Draft, Item, Ref, Saved, Version
from ricordo.values.reports import Check

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

TermCounts = tuple[Mapping[str, int], ...]


@frozen
class Scoring:
    """The constants of BM25F; ``weights`` for title, path, description, tags, context, body."""

    k1: float = 1.2
    b: float = 0.75
    weights: tuple[float, ...] = (3.3, 1.7, 1.0, 0.67, 0.33, 1.0)


@frozen
class Wanted:
    """One word of a query: the terms that stand for it (several for a prefix) and how much it counts.

    ``doubt`` is what is left of its weight because its stem may stand for another word; the maximum knows no doubt.
    """

    label: str
    terms: tuple[str, ...]
    weight: float = 1.0
    doubt: float = 1.0


@dataclass(slots=True)
class Matches:
    """Chunks that matched, best first; ``maximum`` is the score that no chunk can exceed."""

    chunks: Array
    items: Array
    scores: Array
    maximum: float
    total: int
    idf: dict[str, float] = field(default_factory=dict)
    coverage: Array | None = None
    """Per chunk: the idf of the words it holds over that of all words that stand anywhere."""
    share: float = 1.0
    """What of the maximum belongs to words that stand anywhere."""


@frozen
class Backlog:
    """Whose vectors new chunks wait for."""

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
class VectorMatches:
    """Chunks with their items and cosines to a query, the nearest first."""

    chunks: Array
    items: Array
    cosines: Array


@frozen
class ContentMark:
    """The hash of a version's content alone (empty for no content), and when the item last changed."""

    text_hash: str
    changed: int


@frozen
class StoredLink:
    """A link by its items' numbers. ``target`` is None while no item answers to ``name``."""

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
    """What a file looked like when it was read, to notice changes cheaply; ``fields`` is what it says of itself."""

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
    """How many secrets of each kind stand in the text."""
    times: tuple[datetime, datetime] | None = None
    id: str = ""
    """When a new item was made and last changed, and its id, if it had them before it came here."""


def text_hash(content: str, blob: bytes | None = None) -> str:
    """SHA-256 of the content alone."""
    return hashlib.sha256(blob if blob is not None else content.encode("utf-8", "surrogatepass")).hexdigest()


def version_hash(draft: Draft, content_hash: str) -> str:
    """SHA-256 of all that makes a version: content, kind, ref and every field."""
    identity: dict[str, Any] = {
        "ref": str(draft.ref),
        "kind": draft.kind,
        "content": content_hash,
        "fields": draft.fields.to_dict(),
    }
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def embedded_text(prefix: str, text: str) -> str:
    """Exactly what is embedded for a chunk: what it is about, a bar, what it says.

    A model's tokenizer does not see a line break; the bar keeps a name from running into the sentence behind it.
    """
    body = text.strip()
    return f"{prefix} | {body}" if prefix else body


def embed_hash(prefix: str, text: str) -> bytes:
    """The key of the embedding cache: SHA-256 of exactly what is embedded."""
    return hashlib.sha256(embedded_text(prefix, text).encode("utf-8", "surrogatepass")).digest()


def prepare(
    draft: Draft,
    analyzer: Analyzer,
    *,
    prefixes: Sequence[str],
    lines: list[tuple[int, int]],
    known: Collection[bytes] = (),
    file: FileState | None = None,
) -> PreparedItem:
    """Hash and analyse a draft. ``prefixes[i]`` is embedded in front of passage i; ``known`` keys need no analysis."""
    content_hash = text_hash(draft.content, draft.blob)
    fields = draft.fields
    shared_text = (fields.title, draft.ref.path, fields.description, "\n".join(fields.tags), fields.context)
    shared: tuple[dict[str, int], ...] | None = None
    base = _digest(analyzer.language, *shared_text)
    chunks = []
    for index, passage in enumerate(draft.passages):
        text = draft.content[passage.start : passage.end]
        key = _digest(passage.heading, text, after=base).digest()
        counts: TermCounts | None = None
        if key not in known:
            if shared is None:
                shared = tuple(analyzer.counts(part) for part in shared_text)
            context = shared[4]
            if passage.heading:
                context = analyzer.counts(f"{fields.context}\n{passage.heading}")
            counts = (*shared[:4], context, analyzer.counts(text))
        chunks.append(
            PreparedChunk(
                passage.start,
                lines[index],
                text,
                passage.heading,
                prefixes[index],
                key,
                embed_hash(prefixes[index], text),
                counts,
            )
        )
    return PreparedItem(
        draft,
        version_hash(draft, content_hash),
        content_hash,
        tuple(chunks),
        file,
        targets_in(draft.content, draft.ref, fields.mime_type),
    )


def _digest(*parts: str, after: hashlib.blake2b | None = None) -> hashlib.blake2b:
    """A hash in which ("ab", "c") and ("a", "bc") differ; ``after`` continues one that others share."""
    digest = after.copy() if after is not None else hashlib.blake2b(digest_size=16)
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    digest.update(b"".join(len(data).to_bytes(8, "little") + data for data in encoded))
    return digest


class ItemStore(Protocol):
    """Items and their versions. ``n`` is an item's number in this store, never reused."""

    analyzer: Analyzer
    language: str

    def save(
        self,
        prepared: Sequence[PreparedItem],
        *,
        on_conflict: str = "overwrite",
        durable: bool = False,
        backlog: Backlog | None = None,
        still_wanted: Callable[[], None] | None = None,
    ) -> list[Saved]: ...
    def rewrite(
        self,
        n: int,
        item: PreparedItem,
        *,
        durable: bool = False,
        backlog: Backlog | None = None,
        base: int | None = None,
    ) -> Saved: ...
    def remove(self, n: int, *, purge: bool = False) -> None: ...
    def remove_many(self, numbers: Sequence[int]) -> dict[int, Error]: ...
    def number(self, ref: Ref) -> int | None: ...
    def require(self, ref: Ref) -> int: ...
    def ref_by_id(self, identity: str) -> Ref | None: ...
    def item(self, n: int, *, version: int | None = None) -> Item: ...
    def items_by_number(self, numbers: Sequence[int]) -> dict[int, Item]: ...
    def listing(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Item]]: ...
    def count(self, filters: Filters) -> int: ...
    def refs_below(self, drive: str | None, prefix: str) -> list[tuple[int, Ref, str]]: ...
    def history(self, n: int) -> list[Version]: ...
    def version_at(self, n: int, when: datetime) -> int | None: ...
    def draft(self, n: int, number: int) -> Draft: ...
    def live_keys(self, ref: Ref) -> set[bytes]: ...
    def known_files(self, drive: str, paths: Collection[str]) -> dict[str, FileState | None]: ...
    def thread_neighbours(self, numbers: Sequence[int], reach: int) -> dict[int, list[tuple[int, int]]]: ...
    def file_states(self, numbers: Collection[int]) -> dict[int, FileState]: ...
    def note_files(self, states: Mapping[int, FileState]) -> None: ...
    def content_marks(self, versions: Sequence[tuple[str, int]]) -> dict[str, ContentMark]: ...
    def texts(self) -> Iterator[tuple[int, Ref, str, int]]: ...


class LexicalIndex(Protocol):
    """Keyword search; filters and times are masks that apply before the best are picked."""

    analyzer: Analyzer
    language: str

    def snapshot(self) -> AbstractContextManager[object]: ...
    def allowed(self, filters: Filters, *, as_of: bool = False) -> Array | None: ...
    def live_items(self) -> Array: ...
    def chunks_at(self, when: datetime) -> Array: ...
    def keyword_search(
        self,
        wanted: Sequence[Wanted],
        *,
        scoring: Scoring,
        limit: int,
        allowed: Array | None = None,
        required: Sequence[Sequence[str]] = (),
        excluded: Sequence[Sequence[str]] = (),
        times: Array | None = None,
        also: Array | None = None,
        cover: bool = False,
    ) -> Matches: ...
    def keyword_shares(
        self, wanted: Sequence[Wanted], chunks: Sequence[int], *, scoring: Scoring, times: Array | None = None
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]: ...
    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]: ...
    def terms_starting_with(self, prefix: str) -> list[str]: ...
    def chunk_texts(self, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]: ...
    def live_chunks(self, allowed: Array | None = None) -> Iterator[tuple[int, int, str]]: ...
    def places(self, n: int, version: int | None = None) -> tuple[Array, list[tuple[int, str]]]: ...


class VectorIndex(Protocol):
    """Nearest neighbours among the vectors of one fingerprint."""

    def vector_search(
        self, fingerprint: str, query: Array, *, limit: int, allowed: Array | None = None, times: Array | None = None
    ) -> VectorMatches: ...
    def vector_scores(
        self, fingerprint: str, query: Array, items: Array, *, times: Array | None = None
    ) -> VectorMatches: ...
    def chunk_vectors(self, fingerprint: str, n: int) -> Array: ...
    def chunk_cosines(self, fingerprint: str, query: Array, chunks: Array) -> Array: ...
    def vectors_of(self, fingerprint: str, chunks: Sequence[int]) -> dict[int, Array]: ...
    def active_fingerprint(self) -> str | None: ...
    def vector_counts(self, fingerprint: str) -> dict[str, int]: ...
    def waiting_jobs(self, fingerprint: str) -> int: ...
    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None: ...


class JobQueue(Protocol):
    """Texts that wait to be embedded."""

    def enqueue_missing(self, fingerprint: str, dimensions: int, kind: str | None = None) -> int: ...
    def enqueue_waiting(self, fingerprint: str, other: str, dimensions: int) -> int: ...
    def drop_waiting(self, fingerprint: str) -> None: ...
    def claim_jobs(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None
    ) -> list[Job]: ...
    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> set[bytes]: ...
    def finish_jobs(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None: ...
    def fail_jobs(self, fingerprint: str, failed: Sequence[Job], error: str) -> None: ...
    def release_jobs(self, owner: str) -> None: ...
    def retry_jobs(self) -> int: ...
    def job_summary(self) -> dict[str, Any]: ...


class Store(
    ItemStore, LexicalIndex, VectorIndex, JobQueue, LinkIndex, UsageLog, FeedbackLog, MemoryStore, ThreadStore, Movable,
    Protocol,
):  # fmt: skip
    """All parts of a store, as the engine uses them."""

    def close(self) -> None: ...
    def maintain(self) -> None: ...
    def remember_root(self, path: str, globs: Sequence[str]) -> None: ...
    def roots(self) -> list[tuple[str, tuple[str, ...]]]: ...
    def empty_bin(self, days: float) -> int: ...
    def counts(self) -> dict[str, Any]: ...
    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]: ...
