"""The parts of a store that each database has in its own way: search, vectors, and the texts that wait for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.store.asking import Aim, Ask, Candidates, Passages, Shown
from ricordo.store.values import EVERY_LANGUAGE, Backlog, Job, Languages

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


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
