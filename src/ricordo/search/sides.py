"""The two sides of a search, by word and by meaning, brought together: a pool of items with both exact values.

Every item of the pool gets its keyword score and its cosine, whichever side found it: a missing value is a true zero,
never an unasked question. Ranking the pool happens elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ricordo.errors import ContractError, Unavailable
from ricordo.models.fingerprint import fingerprint_of
from ricordo.search.matching import KeywordPlan, false_stems, items_without, keyword_matches, substring_chunks
from ricordo.search.query import ParsedQuery
from ricordo.search.request import Sides
from ricordo.store.arrays import distinct
from ricordo.store.base import Matches, Scoring, Store, VectorMatches

if TYPE_CHECKING:
    from ricordo.models.base import Embedder

Array = npt.NDArray[Any]
CHUNKS_KEPT = 5
SUBSTRING_VALUE = 0.5
"""What a substring match counts for when no word matched: it has no frequency to weigh."""
SWITCHED_OFF = "vectors: switched off; 'ricordo config set embedding.provider local' switches them on"


@dataclass(slots=True)
class Member:
    """An item of the pool: its best keyword score (of at most 1) and cosine, and the chunks that gave them."""

    lexical: float = 0.0
    cosine: float = 0.0
    lexical_chunk: int | None = None
    vector_chunk: int | None = None
    chunks: dict[int, tuple[float, float]] = field(default_factory=dict)


@dataclass(slots=True)
class Pool:
    """What both sides brought, by item number."""

    members: dict[int, Member] = field(default_factory=dict)
    candidates: int = 0
    maximum: float = 0.0
    coverage: dict[int, float] = field(default_factory=dict)
    """By chunk: how much of what was asked for it holds, by rarity."""
    share: float = 1.0
    belief: float = 1.0
    """How much of its share in the ranking the keyword side has earned, of at most 1."""
    vector: tuple[str, Array] | None = None
    times: Array | None = None
    has_lexical: bool = False
    has_vectors: bool = False
    allowed: Array | None = None
    notes: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    join: Callable[[Collection[int]], None] | None = None
    """Takes in items that no side brought, with their values, if the query does not leave them out."""

    def best_coverage(self) -> float:
        """How much of the query the best chunk covers; all of it where that was not measured."""
        return max(self.coverage.values(), default=1.0)

    def member(self, n: int) -> Member:
        found = self.members.get(n)
        if found is None:
            found = self.members[n] = Member()
        return found


class PoolMaker:
    """Asks both sides of one store."""

    def __init__(
        self,
        store: Store,
        embedder: Callable[[], Embedder | None],
        fallback: Callable[[], Embedder | None] = lambda: None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.fallback = fallback

    def make(
        self,
        query: ParsedQuery,
        plan: KeywordPlan,
        sides: Sides,
        scoring: Scoring,
        allowed: Array | None,
        times: Array | None,
    ) -> Pool:
        """The pool for a query. Exclusions and phrases bind both sides; only the keyword side can check them."""
        pool = Pool(allowed=allowed, times=times)
        vector = pool.vector = self._query_vector(query.text, pool) if sides.vectors else None
        if vector is None and sides.vectors and not sides.lexical and not pool.degraded and self.embedder() is None:
            pool.degraded.append(SWITCHED_OFF)
        if vector is not None and (plan.excluded or plan.excluded_phrases):
            pool.allowed = allowed = items_without(self.store, plan, scoring, allowed, times)
        near = None
        if vector is not None and not plan.phrases:
            near = self._near(vector, sides.limit, allowed, times)
            _take_cosines(pool, near)
        if sides.lexical or plan.phrases:
            also = distinct(near.items) if near is not None else None
            matches = keyword_matches(
                self.store, plan, scoring=scoring, limit=sides.limit, allowed=allowed, times=times, also=also
            )
            _take_scores(pool, matches)
            if plan.doubtful:
                self._drop_false_stems(pool, plan, scoring, times)
            if not len(matches.chunks) and times is None and not plan.excluded:
                self._take_substrings(pool, query, sides.limit, allowed)
        if vector is not None:
            self._complete(pool, vector, near, times)
        pool.candidates = max(pool.candidates, len(pool.members))
        pool.join = lambda items: self._join(pool, items, plan, sides, scoring, vector, times)
        return pool

    def _drop_false_stems(self, pool: Pool, plan: KeywordPlan, scoring: Scoring, times: Array | None) -> None:
        """Take back what passages got for a word that is not the one asked for but shares its stem."""
        chunks = [c for m in pool.members.values() for c, (score, _) in m.chunks.items() if score > 0]
        false = false_stems(self.store, plan, chunks)
        doubted = {label for labels in false.values() for label in labels}
        words = [word for word in plan.wanted if word.label in doubted]
        shares = self.store.index.keyword_shares(words, list(false), scoring=scoring, times=times) if false else {}
        lost = {
            chunk: sum(share for label, _, _, share in rows if label in false[chunk]) / pool.maximum
            for chunk, rows in shares.items()
        }
        for member in pool.members.values():
            if not lost.keys().isdisjoint(member.chunks):
                member.chunks = {
                    chunk: (max(0.0, score - lost[chunk]) if chunk in lost else score, cosine)
                    for chunk, (score, cosine) in member.chunks.items()
                }
                best = max(member.chunks, key=lambda chunk: member.chunks[chunk][0])
                member.lexical = member.chunks[best][0]
                member.lexical_chunk = best if member.lexical > 1e-12 else None
                member.lexical = member.lexical if member.lexical_chunk is not None else 0.0

    def _join(
        self,
        pool: Pool,
        items: Collection[int],
        plan: KeywordPlan,
        sides: Sides,
        scoring: Scoring,
        vector: tuple[str, Array] | None,
        times: Array | None,
    ) -> None:
        numbers = np.array([n for n in items if n not in pool.members], np.int64)
        if pool.allowed is not None:
            numbers = numbers[np.isin(numbers, pool.allowed)]
        if len(numbers) and (plan.excluded or plan.excluded_phrases):
            numbers = items_without(self.store, plan, scoring, numbers, times)
        if len(numbers) and (sides.lexical or plan.phrases):
            matches = keyword_matches(
                self.store, plan, scoring=scoring, limit=len(numbers), allowed=numbers, times=times
            )
            _add_scores(pool, matches)
            numbers = distinct(matches.items) if plan.phrases else numbers
        for n in numbers.tolist():
            pool.member(n)
        if vector is not None and len(numbers):
            _take_cosines(pool, self.store.vectors.scores(*vector, numbers, times=times))
            _stand_in(pool)

    def around(self, n: int, limit: int, allowed: Array | None) -> Pool:
        """The items nearest to one item: to the middle of its passages, then by its nearest passage."""
        pool = Pool()
        embedder = self.embedder()
        fingerprint = fingerprint_of(embedder) if embedder is not None else ""
        own = self.store.vectors.of_item(fingerprint, n)
        if not len(own):
            none_yet = "vectors: this item has none yet; run 'ricordo embed'"
            pool.degraded.append(none_yet if embedder is not None else SWITCHED_OFF)
            return pool
        for vector in (own.mean(axis=0), *own[:8]):
            unit = vector / max(float(np.linalg.norm(vector)), 1e-12)
            _take_cosines(pool, self._near((fingerprint, unit), limit + 1, allowed, None))
        pool.members.pop(n, None)
        pool.candidates = len(pool.members)
        pool.has_vectors = True
        return pool

    def _query_vector(self, text: str, pool: Pool) -> tuple[str, Array] | None:
        """The query's vector and its fingerprint, or None with the reason noted."""
        try:
            embedder = self.embedder()
            if embedder is None:
                return None
            fingerprint = fingerprint_of(embedder)
            active = self.store.vectors.active_fingerprint()
            if active is None:
                return None  # nothing was ever embedded: nothing to compare with, and no model to load
            if active != fingerprint:
                pool.degraded.append(f"vectors: made by another model ({active}); run 'ricordo reembed'")
            waiting = self.store.jobs.waiting(fingerprint)
            if waiting:
                told = "1 passage is" if waiting == 1 else f"{waiting:,} passages are"
                pool.degraded.append(f"vectors: {told} not embedded yet; run 'ricordo embed'")
            return fingerprint, _asked_vector(embedder, text)
        except (Unavailable, ContractError) as error:
            pool.degraded.append(f"vectors: {error.message}")
            return self._fallback_vector(text, pool)

    def _fallback_vector(self, text: str, pool: Pool) -> tuple[str, Array] | None:
        """The query's vector by the second embedder, to be compared with that one's alone."""
        try:
            second = self.fallback()
            if second is None:
                return None
            fingerprint = fingerprint_of(second)
            counts = self.store.vectors.counts(fingerprint)
            if not counts["embedded"]:
                pool.degraded.append(f"vectors: the fallback {second.fingerprint} has none yet")
                return None
            vector = _asked_vector(second, text)
        except (Unavailable, ContractError) as error:
            pool.degraded.append(f"vectors: the fallback fails too: {error.message}")
            return None
        share = f"{counts['embedded']:,} of {counts['chunks']:,} passages"
        pool.degraded.append(f"vectors: the fallback {second.fingerprint} stands in, for {share}")
        return fingerprint, vector

    def _near(self, vector: tuple[str, Array], limit: int, allowed: Array | None, times: Array | None) -> VectorMatches:
        fingerprint, query = vector
        return self.store.vectors.nearest(fingerprint, query, limit=limit, allowed=allowed, times=times)

    def _complete(self, pool: Pool, vector: tuple[str, Array], near: VectorMatches | None, times: Array | None) -> None:
        """Cosines for the items that only the keyword side found, and for their other chunks."""
        fingerprint, query = vector
        known = set(near.items.tolist()) if near is not None else set()
        missing = np.array([n for n in pool.members if n not in known], np.int64)
        _take_cosines(pool, self.store.vectors.scores(fingerprint, query, missing, times=times))
        pool.has_vectors = any(member.vector_chunk is not None for member in pool.members.values())
        _stand_in(pool)

    def _take_substrings(self, pool: Pool, query: ParsedQuery, limit: int, allowed: Array | None) -> None:
        found = substring_chunks(self.store, query.text, limit=limit, allowed=allowed)
        for chunk, n in found:
            member = pool.member(n)
            member.lexical, member.lexical_chunk = SUBSTRING_VALUE, chunk
            member.chunks[chunk] = (SUBSTRING_VALUE, 0.0)
        if found:
            pool.has_lexical = True
            pool.notes.append("no word was found; texts that hold the query as a substring stand in")


def _asked_vector(embedder: Embedder, text: str) -> Array:
    vector = embedder.embed_query(text)
    if vector.shape != (embedder.dimensions,) or not np.isfinite(vector).all():
        raise ContractError(f"{embedder.fingerprint} gave an unusable vector for the query")
    return vector


def _stand_in(pool: Pool) -> None:
    """An item that waits for its vector is neither near nor far: it gets the middle of what the others have."""
    known = sorted(m.cosine for m in pool.members.values() if m.vector_chunk is not None)
    for member in pool.members.values():
        if member.vector_chunk is None and known:
            member.cosine = known[len(known) // 2]


def few_per_item(items: Array, scores: Array, few: int = CHUNKS_KEPT) -> Array:
    """Positions of the best chunks of each item: more than these are never shown."""
    if not len(items):
        return np.zeros(0, np.int64)
    order = np.lexsort((-scores, items))
    owners = items[order]
    starts = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    place = np.arange(len(owners)) - np.repeat(starts, np.diff(np.append(starts, len(owners))))
    kept: Array = order[place < few]
    return kept


def _take_scores(pool: Pool, matches: Matches) -> None:
    pool.candidates = matches.total
    pool.maximum = matches.maximum
    pool.share = matches.share
    pool.has_lexical = len(matches.chunks) > 0
    _add_scores(pool, matches)


def _add_scores(pool: Pool, matches: Matches) -> None:
    scale = 1.0 / matches.maximum if matches.maximum else 0.0
    few = few_per_item(matches.items, matches.scores)
    if matches.coverage is not None:
        pool.coverage.update(zip(matches.chunks[few].tolist(), matches.coverage[few].tolist(), strict=True))
    for chunk, n, score in zip(
        matches.chunks[few].tolist(), matches.items[few].tolist(), matches.scores[few].tolist(), strict=True
    ):
        member = pool.member(n)
        value = score * scale
        member.chunks[chunk] = (value, member.chunks.get(chunk, (0.0, 0.0))[1])
        if member.lexical_chunk is None or value > member.lexical:
            member.lexical, member.lexical_chunk = value, chunk


def _take_cosines(pool: Pool, near: VectorMatches) -> None:
    few = few_per_item(near.items, near.cosines)
    for chunk, n, cosine in zip(
        near.chunks[few].tolist(), near.items[few].tolist(), near.cosines[few].tolist(), strict=True
    ):
        member = pool.member(n)
        member.chunks[chunk] = (member.chunks.get(chunk, (0.0, 0.0))[0], cosine)
        if member.vector_chunk is None or cosine > member.cosine:
            member.cosine, member.vector_chunk = cosine, chunk
