"""How a query becomes hits, step by step.

1. Take the query apart (words, phrases, exclusions, inline filters).
2. Turn filters and as-of into masks; both sides use them before they pick their best.
3. Ask both sides, by word and by meaning, for a pool of items with exact values of each.
4. Let the profile's signals weigh the pool into one order, ties by ref.
5. Cut to the page asked for, explain, and load what is shown.

Nothing is written here; remembering use is the engine's, after the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ricordo.config.settings import Config
from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.search import memories
from ricordo.search.diversity import diverse_order, similarity_of
from ricordo.search.matching import KeywordPlan, items_without, plan, substring_chunks
from ricordo.search.present import Ranked, present
from ricordo.search.profile import Profile, find_profile
from ricordo.search.query import ParsedQuery, both, parse_query
from ricordo.search.ranking import Ranker, Standing
from ricordo.search.refine import Refiner
from ricordo.search.request import Boosts, Request
from ricordo.search.rerank import rerank
from ricordo.search.sides import SUBSTRING_VALUE, Member, Pool, PoolMaker
from ricordo.store.base import Scoring, Store
from ricordo.text.words import Analyzer
from ricordo.values.hits import Answer, Explain, Filters, SearchMeta, SignalShare, TermShare
from ricordo.values.items import Item
from ricordo.values.kinds import CHECKPOINT

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, Reranker

Array = npt.NDArray[Any]
APART = ("archived",)
"""Points to fork from are in the archive from the start: no search sees them, and none is slower for them."""


@frozen
class Found:
    """A search before it is shown: the pool, its order, the items, and the weights that made it."""

    pool: Pool
    standings: Sequence[Standing]
    items: Mapping[int, Item]
    weights: Mapping[str, float]


class Searcher:
    """Answers searches of one store."""

    def __init__(
        self,
        store: Store,
        config: Callable[[], Config],
        embedder: Callable[[], Embedder | None],
        rerankers: Callable[[str], Reranker],
        fallback: Callable[[], Embedder | None] = lambda: None,
    ) -> None:
        self.store = store
        self.config = config
        self.rerankers = rerankers
        self.analyzer = Analyzer(store.language)
        self.pools = PoolMaker(store, embedder, fallback)
        self.ranker = Ranker(store, self.analyzer)
        self.refiner = Refiner(store)

    @property
    def scoring(self) -> Scoring:
        return scoring_of(self.config())

    def search(self, request: Request) -> Answer:
        """Answer a request, as the store is at this moment."""
        request.check()
        with self.store.index.snapshot():
            return self._search(request)

    def _search(self, request: Request) -> Answer:
        started = time.perf_counter()
        query = parse_query(request.query, literal=request.literal)
        filters = _kept_apart(both(request.filters, query.filters))
        words = plan(query, self.analyzer, self.store)
        profile = self._profile(request)
        found = self._find(query, words, filters, profile, request)
        page = self._page(found, profile, request, query.text)
        if request.explain:
            page = self._explained(page, words, found, request)
        hits = present(
            self.store,
            page,
            terms=frozenset(term for word in words.wanted for term in word.terms),
            analyzer=self.analyzer,
            full=request.mode == "full",
        )
        meta = SearchMeta(
            found.pool.candidates,
            len(hits),
            round((time.perf_counter() - started) * 1000, 3),
            request.profile,
            dict(found.weights),
            degraded=tuple(found.pool.degraded),
            notes=(*query.notes, *found.pool.notes, *_unheeded(profile, request.boosts)),
        )
        return Answer(hits, meta)

    def _profile(self, request: Request) -> Profile:
        config = self.config()
        profile = find_profile(config, request.profile)
        if request.memories:
            memories.score_of(profile)  # refuses a profile that has none
        if config.search.overfetch:
            profile = replace(profile, factor=1, minimum=config.search.overfetch)
        if request.weights:
            return profile.with_weights(request.weights)
        return profile if config.learning.enabled else replace(profile, learns=None)

    def similar(self, n: int, *, limit: int, filters: Filters) -> Answer:
        """Items whose passages are nearest to those of one item; the cosine is the score."""
        started = time.perf_counter()
        request = Request("", limit=limit, profile="vector")
        profile = self._profile(request)
        pool = self.pools.around(n, limit, self.store.index.allowed(filters))
        found = Found(pool, *self.ranker.rank(pool, profile, "", Boosts(), limit))
        page = self._page(found, profile, request, "")
        hits = present(self.store, page, terms=frozenset(), analyzer=self.analyzer, full=False)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        degraded = tuple(pool.degraded)
        return Answer(hits, SearchMeta(pool.candidates, len(hits), elapsed, "vector", found.weights, degraded=degraded))

    def _find(
        self, query: ParsedQuery, words: KeywordPlan, filters: Filters, profile: Profile, request: Request
    ) -> Found:
        if not query.asks_for_text():
            return self._browse(words, filters, request)
        if request.memories and request.backend != "grep":
            return self._find_apart(query, words, filters, profile, request)
        allowed, times = self._masks(filters, request.as_of)
        if request.backend == "grep":
            return self._grep(query, allowed, request)
        pool = self.pools.make(query, words, request.sides(profile), self.scoring, allowed, times)
        limit = request.limit + request.offset
        if profile.fusion == "spread":
            self.refiner.refine(pool, profile.refine, profile.signals["lexical"].weight)
        wanted = max(limit, profile.guard, self._window(request, limit))
        return Found(pool, *self.ranker.rank(pool, profile, query.text, request.boosts, limit, wanted))

    def _window(self, request: Request, limit: int) -> int:
        """How many of the best are looked at again before the page is cut."""
        settings = self.config().rerank
        judged = settings.top if (request.rerank or settings.kind) != "none" else 0
        return max(judged, max(3 * limit, 30) if request.diverse else 0)

    def _find_apart(
        self, query: ParsedQuery, words: KeywordPlan, filters: Filters, profile: Profile, request: Request
    ) -> Found:
        """Memories and sessions by words alone, with a fixed score; the rest as ever; merged by score."""
        score = memories.score_of(profile)
        rest, apart = memories.split(filters)
        found = self._find(query, words, rest, profile, replace(request, memories=False))
        sides = replace(request.sides(profile), lexical=True, vectors=False)
        pool = self.pools.make(query, words, sides, self.scoring, *self._masks(apart, request.as_of))
        items = self.store.items.get_many(list(pool.members))
        standings = memories.merged(found.standings, found.pool, pool, items, score)
        return replace(found, standings=standings, items={**found.items, **items})

    def _masks(self, filters: Filters, as_of: datetime | None) -> tuple[Array | None, Array | None]:
        if as_of is None:
            allowed = self.store.index.allowed(filters)
            if filters.states == APART and allowed is not None:
                return allowed, self.store.index.current_chunks(allowed)
            return allowed, None
        filters = replace(filters, states=("live", "archived"))
        return self.store.index.allowed(filters, as_of=True), self.store.index.chunks_at(as_of)

    def _grep(self, query: ParsedQuery, allowed: Array | None, request: Request) -> Found:
        """The backend ``grep``: texts that hold the query, newest first."""
        pool = Pool()
        limit = request.limit + request.offset
        for chunk, n in substring_chunks(self.store, query.text, limit=limit, allowed=allowed):
            pool.members[n] = Member(SUBSTRING_VALUE, lexical_chunk=chunk, chunks={chunk: (SUBSTRING_VALUE, 0.0)})
        return self._in_order(pool, SUBSTRING_VALUE)

    def _browse(self, words: KeywordPlan, filters: Filters, request: Request) -> Found:
        """No words to look for: everything that passes the filters, newest first."""
        pool = Pool(notes=["nothing to search for; these are the newest"])
        kept = None
        if words.excluded or words.excluded_phrases:
            kept = set(items_without(self.store, words, self.scoring, self.store.index.allowed(filters), None).tolist())
        wanted = request.limit + request.offset
        for n, _ in self.store.items.listing(filters, wanted if kept is None else 1 << 30, 0):
            if kept is None or n in kept:
                pool.members[n] = Member()
                if len(pool.members) >= wanted:
                    break
        return self._in_order(pool, 0.0)

    def _in_order(self, pool: Pool, value: float) -> Found:
        """The pool as it came, every item with the same value."""
        pool.candidates = len(pool.members)
        shares = (SignalShare("substring", value, 1.0, value),) if value else ()
        standings = [Standing(n, value, shares) for n in pool.members]
        return Found(
            pool, standings, self.store.items.get_many(list(pool.members)), {"substring": 1.0} if value else {}
        )

    def _page(self, found: Found, profile: Profile, request: Request, text: str) -> list[Ranked]:
        """Look again where asked to, leave out what is then below the asked score, and cut the page."""
        floor = max(request.min_score, profile.min_score) if found.weights else 0.0
        ranked = []
        for standing in found.standings:
            score = min(1.0, max(0.0, standing.value))
            item = self._as_it_was(found.items[standing.n], standing.n, request.as_of)
            if item is not None:
                member = found.pool.members[standing.n]
                explain = Explain(standing.value, standing.shares) if request.explain else None
                ranked.append(Ranked(standing.n, item, standing.value, score, _evidence(member), explain))
        limit = self._guarded(found, profile, request.limit)
        last = request.offset + limit
        ranked = [entry for entry in self._looked_again(ranked, found.pool, request, text) if entry.score >= floor]
        if request.diverse:
            ranked = self._diverse(ranked, last)
        return ranked[request.offset : last]

    def _diverse(self, ranked: list[Ranked], count: int) -> list[Ranked]:
        """The best and, among the next, those that say something new."""
        window = ranked[: max(3 * count, 30)]
        best = [entry.chunks[0][0] if entry.chunks else 0 for entry in window]
        vectors = self.store.vectors.of_chunks(self.store.vectors.active_fingerprint() or "", best)
        texts = self.store.index.chunk_texts(best)
        words = [frozenset(self.analyzer.counts(texts[c][2])) if c in texts else frozenset() for c in best]
        similarity = similarity_of([vectors.get(chunk) for chunk in best], words)
        order = diverse_order([entry.score for entry in window], similarity, count)
        return [window[position] for position in order]

    def _looked_again(self, ranked: list[Ranked], pool: Pool, request: Request, text: str) -> list[Ranked]:
        settings = self.config().rerank
        kind = settings.kind if request.rerank is None else request.rerank
        if kind == "none" or not text:
            return ranked
        try:
            reranker = self.rerankers(kind)
        except Unavailable as error:
            pool.degraded.append(f"rerank: {error.message}")
            return ranked
        budget_ms = settings.llm_budget_ms if kind == "llm" else settings.budget_ms
        judged = rerank(self.store, reranker, text, ranked, top=settings.top, budget_ms=budget_ms)
        if judged.problem:
            pool.degraded.append(judged.problem)
        return judged.page

    def _as_it_was(self, item: Item, n: int, when: datetime | None) -> Item | None:
        if when is None:
            return item
        number = self.store.items.version_at(n, when)
        return self.store.items.get(n, version=number) if number is not None else None

    def _guarded(self, found: Found, profile: Profile, limit: int) -> int:
        """A small store is not cut to less than half of what it found, where the profile says so."""
        count = sum(member.lexical > 0 for member in found.pool.members.values())
        return max(limit, count) if count < profile.guard and limit < count / 2 else limit

    def _explained(self, page: list[Ranked], words: KeywordPlan, found: Found, request: Request) -> list[Ranked]:
        """Give each matched word its share of the keyword signal."""
        times = self.store.index.chunks_at(request.as_of) if request.as_of is not None else None
        pool = found.pool
        best = [chunk for entry in page if (chunk := pool.members[entry.n].lexical_chunk) is not None]
        shares = self.store.index.keyword_shares(words.wanted, best, scoring=self.scoring, times=times)
        explained = []
        for entry in page:
            chunk = pool.members[entry.n].lexical_chunk
            rows = shares.get(chunk, ()) if chunk is not None else ()
            together = sum(share for *_, share in rows)
            part = found.weights.get("lexical", 1.0) * pool.members[entry.n].lexical
            terms = tuple(
                TermShare(label, frequencies, idf, share / together * part) for label, frequencies, idf, share in rows
            )
            explain = entry.explain or Explain(entry.value)
            explained.append(replace(entry, explain=replace(explain, terms=terms)))
        return explained


def _kept_apart(filters: Filters) -> Filters:
    """The same filters; those that ask for points to fork from look where these are kept."""
    return replace(filters, states=APART) if CHECKPOINT in filters.categories else filters


def _unheeded(profile: Profile, boosts: Boosts) -> list[str]:
    """What was asked to count and has no weight in this profile."""
    weighed = {term.signal for term in profile.signals.values() if term.weight}
    return [
        f"the profile '{profile.name}' does not weigh {what}; vault does"
        for what, asked, signal in (("tags", boosts.tags, "tags"), ("domains", boosts.domain, "domain"))
        if asked and signal not in weighed
    ]


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
