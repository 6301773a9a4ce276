"""The protocols of a store's parts. Each is narrow; ``n`` is an item's number in its store, never used again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.errors import Error
from ricordo.store.asking import Aim, Ask, Candidates, Passages, Shown
from ricordo.store.values import EVERY_LANGUAGE, Backlog, ContentMark, Job, Languages, PreparedItem, StoredLink
from ricordo.values.hits import Filters
from ricordo.values.items import Draft, Item, Ref, Saved, Version

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from ricordo.exchange.records import ItemRecord, Record
    from ricordo.values.audit import AuditEntry
    from ricordo.values.provenance import Provenance
    from ricordo.values.reports import Damage, VacuumReport
    from ricordo.values.sessions import Happening, ThreadSpan
    from ricordo.values.use import Judged, Learned, Move, Retrieval, StatsReport, Use, WeightChange

    Array = npt.NDArray[Any]


class Items(Protocol):
    """Items and their versions, read only."""

    def number(self, ref: Ref) -> int | None: ...
    def require(self, ref: Ref) -> int: ...

    def numbers(self, refs: Sequence[Ref]) -> dict[Ref, int]:
        """The numbers of the items at these refs, live or archived, in one call; refs without any are left out."""
        ...

    def nearest(self, ref: Ref, count: int = 3) -> list[str]: ...

    def ending_with(self, name: str) -> list[Ref]:
        """The live items whose path ends with a name, after a slash."""
        ...

    def ref_by_id(self, identity: str) -> Ref | None: ...
    def number_by_id(self, identity: str) -> int | None: ...
    def known_ids(self, identities: Sequence[str]) -> set[str]:
        """Those of the ids that an item has, in the bin or not."""
        ...

    def get(self, n: int, *, version: int | None = None) -> Item: ...
    def get_many(self, numbers: Sequence[int]) -> dict[int, Item]: ...
    def listing(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Item]]: ...
    def count(self, filters: Filters) -> int: ...
    def refs_below(
        self, drive: str | None, prefix: str, states: Sequence[str] = ("live",)
    ) -> list[tuple[int, Ref, str]]: ...
    def history(self, n: int) -> list[Version]: ...
    def version_at(self, n: int, when: datetime) -> int | None: ...
    def draft(self, n: int, number: int) -> Draft: ...
    def live_keys(self, refs: Iterable[Ref]) -> dict[Ref, set[bytes]]: ...
    def content_marks(self, versions: Sequence[tuple[str, int]]) -> dict[str, ContentMark]: ...

    def texts(self, filters: Filters) -> Iterator[tuple[int, Ref, str, int]]:
        """Number, ref, whole text and first line of each item that passes the filters, newest first."""
        ...

    def passage_texts(self) -> Iterator[str]:
        """The text of every live passage."""
        ...

    def passes(self, n: int, filters: Filters) -> bool:
        """Whether an item passes the filters."""
        ...

    def same_text(self, text_hash: str, kind: str) -> list[int]:
        """Live items of a kind with exactly this text, by the hash of the content alone."""
        ...

    def paths_like(self, drive: str, path: str) -> set[str]:
        """The paths ``path`` and ``path-…`` that items have, live, archived or in the bin."""
        ...

    def entity_titles(self) -> Sequence[tuple[int, str]]:
        """Numbers and titles of all live entities."""
        ...


class Changes(Protocol):
    """Every change of items; each is one transaction, and the mirror is asked before it commits."""

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
    def check_removal(self, numbers: Sequence[int]) -> None: ...

    def succeed(self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None) -> Saved:
        """Write a new item, archive the one that it replaces, and link them, all in one transaction."""
        ...

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        """Take items out of normal search in one transaction; a ``successor`` is linked to each."""
        ...

    def save_archived(self, prepared: Sequence[PreparedItem], *, backlog: Backlog | None = None) -> list[Saved]:
        """Write items that are archived from the start, so that only searches that ask for archived items find them."""
        ...

    def withdraw_word(self, numbers: Sequence[int]) -> None:
        """No version of these items counts as the user's any more."""
        ...

    def set_times(self, n: int, created: datetime, updated: datetime) -> None:
        """Say when an item was made, and when its text last changed."""
        ...

    def touch(self, numbers: Sequence[int]) -> None:
        """Count items as changed, so that the mirror brings their copies up to date."""
        ...


class SearchIndex(Protocol):
    """All that a search asks of a store: at most three calls for a plain search.

    How a store finds candidates is its own business: no mask, posting list, document frequency or text of an item
    that is not shown leaves it.
    """

    def snapshot(self) -> AbstractContextManager[object]:
        """While it is open, all answers to this thread show the store at one moment. A store on a server begins it with
        the first call, so that it needs no call of its own.
        """
        ...

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use, as the last ``Candidates`` had it if a network is in between."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of passages that are not in the store's own, likewise."""
        ...

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have vectors, or texts that wait for theirs, likewise; empty in the store of a file."""
        ...

    def has_vectors_of(self, fingerprint: str) -> bool:
        """Whether there may be vectors of a model, as far as the store knows without a call over a network."""
        ...

    def candidates(self, ask: Ask) -> Candidates:
        """The items that an ask finds, with both exact values and whatever else the ask needs to know about them."""
        ...

    def cosines(self, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> Sequence[float] | None:
        """The cosine of each passage with a moved query and its parts, -1 without a vector.

        None where the query does not move and has no parts.
        """
        ...

    def passages(
        self, shown: Sequence[Shown], ask: Ask | None = None, *, contents: bool = False, vectors: str = ""
    ) -> Passages:
        """What a page shows: items (``contents`` adds their whole texts), passages, places, titles of sessions.

        With ``ask``, it also says what its words added to the passages that matched. ``vectors`` is the fingerprint of
        which the vectors of the first passages are wanted.
        """
        ...

    def similar(self, n: int, ask: Ask) -> Candidates:
        """The items whose passages are nearest to those of one item, by the vectors of the ask's ``model``."""
        ...

    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many live passages there are, and in how many of them each term occurs: for keywords, not for search."""
        ...


class Vectors(Protocol):
    """Which vectors there are, and which fingerprint searches use."""

    def active_fingerprint(self) -> str | None: ...
    def counts(self, fingerprint: str, languages: Languages = EVERY_LANGUAGE) -> dict[str, int]:
        """How many live passages in some languages there are, and how many have a vector, wait for one, or failed."""
        ...

    def settle(self, first: str, second: str, languages: Sequence[str]) -> None:
        """Drop the vectors of one model of passages in some languages that have one of a second model."""
        ...

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Switch all searches to another fingerprint at once.

        The vectors of the one before are kept until ``vacuum``, so that switching back is cheap; those of ``keep``
        too. All others go.
        """
        ...


class Jobs(Protocol):
    """Texts that wait to be embedded."""

    def waiting(self, fingerprint: str, state: str = "") -> int: ...
    def enqueue_missing(
        self, fingerprint: str, dimensions: int, kind: str | None = None, languages: Languages = EVERY_LANGUAGE
    ) -> int: ...
    def enqueue_waiting(
        self, fingerprint: str, other: str, dimensions: int, languages: Languages = EVERY_LANGUAGE
    ) -> int: ...
    def drop_waiting(self, fingerprint: str) -> None: ...
    def adopt(self, backlog: Backlog) -> None:
        """Let texts that wait for other models, or for none because none could be used, wait for these."""
        ...

    def claim(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None
    ) -> list[Job] | None:
        """Lease texts to embed, at least one; None says that there are none."""
        ...

    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, Array]:
        """The known vectors of these texts, by their hashes, even if their items are gone."""
        ...

    def finish(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
        """Store what was computed; a vector of a text without a job is kept for later."""
        ...

    def fail(self, fingerprint: str, failed: Sequence[Job], error: str) -> None: ...
    def release(self, owner: str) -> None: ...
    def retry(self) -> int: ...
    def summary(self) -> dict[str, Any]: ...


class Links(Protocol):
    """Links between items, by their numbers."""

    def add(self, source: int, target: int, type: str) -> bool: ...  # noqa: A002 - the domain's word
    def remove(self, source: int, target: int, type: str | None = None) -> int: ...  # noqa: A002
    def of(self, numbers: Sequence[int]) -> list[StoredLink]: ...
    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]: ...
    def relink(self) -> int: ...

    def set_mentions(self, entity: int, sources: Sequence[int]) -> None:
        """Note which items name an entity; those that were noted before and are not among them no longer do."""
        ...


class UsageLog(Protocol):
    """What was asked, found and opened."""

    def can_record(self) -> bool: ...
    def record(self, uses: Sequence[Use], *, keep_days: float, wait: float | None = None) -> None: ...
    def stats(self, *, days: float, by: str, limit: int) -> StatsReport: ...

    def retrievals(self, *, item: int | None = None, query: str | None = None, limit: int = 50) -> list[Retrieval]:
        """The log of one item, or of one query (its exact text), the latest first."""
        ...

    def judged(self, *, within_seconds: float) -> list[Judged]:
        """Queries and items that belong together: by a verdict, or opened so soon after the query had shown them."""
        ...

    def clear(self) -> int: ...


class Lessons(Protocol):
    """Verdicts on items, and what profiles learned from them."""

    def add_feedback(self, query: str, n: int, verdict: str, *, counted: bool) -> None: ...
    def feedback_counts(self) -> dict[str, int]: ...
    def learned(self, profile: str) -> Learned: ...
    def move_weights(self, profile: str, decide: Callable[[Learned], Move | None]) -> WeightChange | None: ...
    def weight_changes(self, *, limit: int = 50) -> list[WeightChange]: ...
    def weight_change(self, identity: int) -> WeightChange | None: ...
    def learning_frozen(self) -> bool: ...
    def freeze_learning(self, frozen: bool) -> None: ...


class Threads(Protocol):
    """Items by their place in a conversation, and what happened when."""

    def keys(self, thread: str) -> dict[str, int]:
        """The ``key`` in the metadata of each item of a thread, with its position, in whatever state the item is."""
        ...

    def items(self, thread: str, first: int, last: int) -> list[Item]:
        """The live items of a thread between two places, in order, with their content."""
        ...

    def said_after(self, thread: str, place: int, count: int) -> list[Mapping[str, Any]]:
        """The metadata of the next things that a person said in a thread after a place."""
        ...

    def spans(self, threads: Sequence[str]) -> dict[str, ThreadSpan]:
        """How many live items with a place each thread has, and from when to when."""
        ...

    def happenings(
        self, *, since: datetime | None, thread: str | None, kinds: Sequence[str], limit: int
    ) -> list[Happening]:
        """What was said, made, changed, archived and removed, the latest first."""
        ...


class Secrets(Protocol):
    """What was found that looks like a secret, by item."""

    def counts(self) -> dict[str, int]:
        """How many secrets the texts contain, by kind."""
        ...

    def refs(self) -> list[tuple[Ref, dict[str, int]]]:
        """The items that hold some, with how many of each kind."""
        ...

    def note(self, found: Mapping[int, Mapping[str, int]]) -> None:
        """Replace what is known about some items."""
        ...


class Importer(Protocol):
    """Takes the records of an export into a store, items before what refers to them."""

    def items(self, batch: Sequence[ItemRecord], left_alone: Collection[str] = ()) -> list[Saved]: ...
    def others(self, batch: Sequence[Record]) -> Mapping[str, int]: ...


class Audit(Protocol):
    """Who did what, and what waits for the user."""

    def entries(
        self, *, item: str | None, since: datetime | None, until: datetime | None, by: str, told: bool, limit: int
    ) -> list[AuditEntry]:
        """What was done, or with ``told`` what was found and opened; newest first. ``item`` is an item's id."""
        ...

    def waiting(self) -> list[int]:
        """Live items whose current version is not the user's: there is an older one that is, or every agent would get
        it.
        """
        ...

    def decide(self, n: int, what: str) -> None:
        """Write down that the user accepted or refused the current version."""
        ...

    def on_branches(self) -> dict[int, Provenance]:
        """Live items whose current version was saved on a branch, with who wrote it."""
        ...

    def accept_from_branch(self, n: int) -> None:
        """Write down that the user wants an item although its branch is gone: it belongs to none any more."""
        ...


class Transfer(Protocol):
    """Export, import, backup and vacuum."""

    def records(self, *, log: bool = True) -> Generator[Record]: ...
    def item(self, n: int) -> ItemRecord:
        """One item with all its versions."""
        ...

    def salvage(self, left_out: list[str], *, log: bool = True) -> Generator[Record]: ...
    def importer(self, on_conflict: str, backlog: Backlog | None) -> Importer: ...
    def adopt_language(self, language: str, *, rebuild: bool = False) -> bool: ...
    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]: ...
    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Erase what is no longer needed, also vectors of fingerprints that are neither in use nor in ``keep``."""
        ...

    def empty_bin(self, days: float) -> int: ...
