"""How a query becomes hits, step by step.

1. Take the query apart (words, phrases, exclusions, inline filters).
2. Turn filters and as-of into masks; both sides use them before they pick their best.
3. Ask both sides, by word and by meaning, for a pool of items with exact values of each.
4. Weigh the values into one, rank, ties by ref.
5. Cut to the page asked for, explain, and load what is shown.

Nothing is written here; remembering use is the engine's, after the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy.typing as npt

from recollect.errors import UsageError
from recollect.models.base import Embedder
from recollect.search.fusion import spread_weights
from recollect.search.matching import KeywordPlan, items_without, plan, substring_chunks
from recollect.search.present import Ranked, present
from recollect.search.query import ParsedQuery, both, parse_query
from recollect.search.sides import SUBSTRING_VALUE, Member, Pool, PoolMaker, Sides
from recollect.settings import Config
from recollect.store.base import Scoring, Store
from recollect.values import Answer, Explain, Filters, SearchMeta, SignalShare, TermShare
from recollect.words import Analyzer

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A search as the engine was asked for it."""

    query: str
    limit: int = 10
    offset: int = 0
    mode: str = "scan"
    filters: Filters = field(default_factory=Filters)
    min_score: float = 0.0
    lexical: bool = True
    vectors: bool = True
    profile: str = "default"
    weights: Mapping[str, float] = field(default_factory=dict)
    as_of: datetime | None = None
    explain: bool = False
    literal: bool = False
    backend: str = "hybrid"

    def check(self) -> None:
        """Refuse what cannot be answered."""
        if not self.lexical and not self.vectors:
            raise UsageError("both sides of the search are off", hint="Leave out --no-lexical or --no-vectors.")
        if self.limit < 1 or self.offset < 0:
            raise UsageError("the limit is at least 1 and the offset at least 0")
        if self.mode not in ("scan", "full"):
            raise UsageError(f"there is no mode '{self.mode}'", hint="One of: scan, full.")
        if self.backend not in ("hybrid", "lexical", "grep"):
            raise UsageError(f"there is no backend '{self.backend}'", hint="One of: hybrid, lexical, grep.")

    def sides(self) -> Sides:
        """Which sides are asked: the backend ``lexical`` and the profile ``bm25`` leave meaning out."""
        words_only = self.backend == "lexical" or self.profile == "bm25"
        return Sides(
            lexical=self.lexical and self.profile != "vector",
            vectors=self.vectors and not words_only,
            limit=max(3 * (self.limit + self.offset), 100),
        )


class Searcher:
    """Answers searches of one store."""

    def __init__(self, store: Store, config: Callable[[], Config], embedder: Callable[[], Embedder | None]) -> None:
        self.store = store
        self.config = config
        self.analyzer = Analyzer(store.language)
        self.pools = PoolMaker(store, embedder)

    @property
    def scoring(self) -> Scoring:
        return scoring_of(self.config())

    def search(self, request: Request) -> Answer:
        """Answer a request."""
        started = time.perf_counter()
        request.check()
        query = parse_query(request.query, literal=request.literal)
        filters = both(request.filters, query.filters)
        words = plan(query, self.analyzer, self.store)
        pool, ordered, weights = self._ranked(query, words, filters, request)
        page = self._page(pool, ordered, request)
        if request.explain:
            page = self._explained(page, words, pool, weights, request)
        hits = present(
            self.store,
            page,
            terms=frozenset(term for word in words.wanted for term in word.terms),
            analyzer=self.analyzer,
            full=request.mode == "full",
        )
        meta = SearchMeta(
            pool.candidates,
            len(hits),
            round((time.perf_counter() - started) * 1000, 3),
            request.profile,
            weights,
            degraded=tuple(pool.degraded),
            notes=(*query.notes, *pool.notes),
        )
        return Answer(hits, meta)

    def similar(self, n: int, *, limit: int, filters: Filters) -> Answer:
        """Items whose passages are nearest to those of one item; the cosine is the score."""
        started = time.perf_counter()
        pool = self.pools.around(n, limit, self.store.allowed(filters))
        values = [(other, max(member.cosine, 0.0)) for other, member in pool.members.items()]
        page = self._page(pool, values, Request("", limit=limit))
        hits = present(self.store, page, terms=frozenset(), analyzer=self.analyzer, full=False)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        meta = SearchMeta(pool.candidates, len(hits), elapsed, "vector", {"vector": 1.0}, degraded=tuple(pool.degraded))
        return Answer(hits, meta)

    def _ranked(
        self, query: ParsedQuery, words: KeywordPlan, filters: Filters, request: Request
    ) -> tuple[Pool, list[tuple[int, float]], dict[str, float]]:
        """The pool, its items with their values (in order where the order is not by value), and the weights."""
        if not query.asks_for_text():
            return self._browse(words, filters, request)
        allowed, times = self._masks(filters, request.as_of)
        if request.backend == "grep":
            return self._grep(query, allowed, request)
        pool = self.pools.make(query, words, request.sides(), self.scoring, allowed, times)
        members = list(pool.members.items())
        lexical, vector = spread_weights([m.lexical for _, m in members], [m.cosine for _, m in members])
        values = [(n, lexical * member.lexical + vector * max(member.cosine, 0.0)) for n, member in members]
        return pool, values, {"lexical": lexical, "vector": vector}

    def _masks(self, filters: Filters, as_of: datetime | None) -> tuple[Array | None, Array | None]:
        if as_of is None:
            return self.store.allowed(filters), None
        filters = replace(filters, states=("live", "archived"))
        return self.store.allowed(filters, as_of=True), self.store.chunks_at(as_of)

    def _grep(
        self, query: ParsedQuery, allowed: Array | None, request: Request
    ) -> tuple[Pool, list[tuple[int, float]], dict[str, float]]:
        """The backend ``grep``: texts that hold the query, newest first."""
        pool = Pool()
        limit = request.limit + request.offset
        for chunk, n in substring_chunks(self.store, query.text, limit=limit, allowed=allowed):
            pool.members[n] = Member(SUBSTRING_VALUE, lexical_chunk=chunk, chunks={chunk: (SUBSTRING_VALUE, 0.0)})
        pool.candidates = len(pool.members)
        return pool, [(n, SUBSTRING_VALUE) for n in pool.members], {"substring": 1.0}

    def _browse(
        self, words: KeywordPlan, filters: Filters, request: Request
    ) -> tuple[Pool, list[tuple[int, float]], dict[str, float]]:
        """No words to look for: everything that passes the filters, newest first."""
        pool = Pool(notes=["nothing to search for; these are the newest"])
        kept = None
        if words.excluded or words.excluded_phrases:
            kept = set(items_without(self.store, words, self.scoring, self.store.allowed(filters), None).tolist())
        wanted = request.limit + request.offset
        for n, _ in self.store.listing(filters, wanted if kept is None else 1 << 30, 0):
            if kept is None or n in kept:
                pool.members[n] = Member()
                if len(pool.members) >= wanted:
                    break
        pool.candidates = len(pool.members)
        return pool, [(n, 0.0) for n in pool.members], {}

    def _page(self, pool: Pool, values: Sequence[tuple[int, float]], request: Request) -> list[Ranked]:
        """Rank, drop what is below the asked score, and cut the page."""
        items = self.store.items_by_number([n for n, _ in values])
        ranked = []
        for n, value in values:
            item = items.get(n)
            score = min(1.0, max(0.0, value))
            if item is None or (score < request.min_score and pool.maximum):
                continue
            if request.as_of is not None:
                number = self.store.version_at(n, request.as_of)
                if number is None:
                    continue
                item = self.store.item(n, version=number)
            ranked.append(Ranked(n, item, value, score, _evidence(pool.members[n])))
        if request.backend != "grep" and any(value for _, value in values):
            ranked.sort(key=lambda entry: (-entry.value, str(entry.item.ref)))
        return ranked[request.offset : request.offset + request.limit]

    def _explained(
        self,
        page: list[Ranked],
        words: KeywordPlan,
        pool: Pool,
        weights: Mapping[str, float],
        request: Request,
    ) -> list[Ranked]:
        """Give each hit its signals, and each matched word its share of the keyword signal."""
        times = self.store.chunks_at(request.as_of) if request.as_of is not None else None
        best = [chunk for entry in page if (chunk := pool.members[entry.n].lexical_chunk) is not None]
        shares = self.store.keyword_shares(words.wanted, best, scoring=self.scoring, times=times)
        return [replace(entry, explain=_explain(entry, pool, weights, shares)) for entry in page]


def _explain(
    entry: Ranked,
    pool: Pool,
    weights: Mapping[str, float],
    shares: Mapping[int, Sequence[tuple[str, Mapping[str, int], float, float]]],
) -> Explain:
    member = pool.members[entry.n]
    raw = {"lexical": member.lexical, "vector": max(member.cosine, 0.0), "substring": member.lexical}
    signals = tuple(SignalShare(name, raw[name], weight, raw[name] * weight) for name, weight in weights.items())
    terms: Sequence[tuple[str, Mapping[str, int], float, float]] = ()
    if member.lexical_chunk is not None:
        terms = shares.get(member.lexical_chunk, ())
    scale = weights.get("lexical", 0.0) / pool.maximum if pool.maximum else 0.0
    return Explain(
        entry.value,
        signals,
        tuple(TermShare(label, frequencies, idf, share * scale) for label, frequencies, idf, share in terms),
    )


def _evidence(member: Member) -> tuple[tuple[int, float], ...]:
    """The chunks of an item, the most convincing first."""
    ranked = sorted(member.chunks.items(), key=lambda entry: (-(entry[1][0] + max(entry[1][1], 0.0)), entry[0]))
    return tuple((chunk, lexical + max(cosine, 0.0)) for chunk, (lexical, cosine) in ranked)


def scoring_of(config: Config) -> Scoring:
    """BM25F's constants as they are set."""
    lexical = config.lexical
    weights = (
        lexical.title_weight, lexical.path_weight, lexical.description_weight,
        lexical.tags_weight, lexical.context_weight, lexical.body_weight,
    )  # fmt: skip
    return Scoring(lexical.k1, lexical.b, weights)
