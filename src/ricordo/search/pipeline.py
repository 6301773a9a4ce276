"""How a query becomes hits, step by step.

1. Take the query apart (words, phrases, exclusions, inline filters), and make its vector.
2. Ask the store once for the candidates, by word and by meaning, with both exact values of each.
3. Refine the values, and let the profile's signals weigh the candidates into one order, ties by ref.
4. If asked to, rank the best again (with a reranker, or so that hits differ), and cut out the page that was asked for.
5. Ask the store once for what the page shows, and explain.

Nothing is written here; the engine records use after the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from ricordo.config.settings import Config
from ricordo.errors import Unavailable
from ricordo.search.candidates import Pool
from ricordo.search.exact import ExactNames, SaidTimes
from ricordo.search.fit import best_fit, fitted, note_of
from ricordo.search.meaning import NO_SECOND, NONE_YET, SWITCHED_OFF, QueryMeaning, QueryVectors, SecondModel
from ricordo.search.present import HitReader, Marker, Ranked, newer_first, present, spelling_notes, with_machines
from ricordo.search.profiles import Profile, find_profile
from ricordo.search.query import ParsedQuery, both, parse_query, with_archive
from ricordo.search.ranking import Ranking, Weighed, memories_apart, memory_score_of, needs_of, rank, with_memories
from ricordo.search.refine import questions_in, refine
from ricordo.search.request import Boosts, Request, is_guarded, shows_all, unheeded
from ricordo.search.rerank import LLM_SECONDS, SECONDS, diverse_order, rerank, similarity_of
from ricordo.search.session_ranking import (
    Later,
    SessionPlaces,
    apart,
    holds_records,
    is_about_turns,
    later_than_sources,
)
from ricordo.search.words import SCORING, ask_for_words, with_parts, without_manner
from ricordo.store.base import Store
from ricordo.store.query import NEWEST, SUBSTRING, Ask, Candidates
from ricordo.text.words import Analyzer
from ricordo.values.hits import Answer, Explain, Filters, SearchMeta, SignalShare, TermShare

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, Reranker

EMBEDDED_FIRST = 16
"""If at most this many texts wait for their vectors, they get them before a search answers."""
DIVERSE_WINDOW = 60
"""How many of the best hits are reordered so that they differ."""


class Searcher:
    """Answers searches of one store."""

    def __init__(
        self,
        store: Store,
        config: Callable[[], Config],
        embedder: Callable[[], Embedder | None],
        rerankers: Callable[[str], Reranker],
        fallback: Callable[[], Embedder | None] = lambda: None,
        catch_up: Callable[[Store, int], bool] = lambda store, waiting: False,
        second: SecondModel = NO_SECOND,
    ) -> None:
        """``catch_up`` makes the vectors of few texts that wait, and says whether that changes the answer."""
        self.catch_up = catch_up
        self.store = store
        self.config = config
        self.rerankers = rerankers
        self.analyzer = Analyzer(store.language)
        self.vectors = QueryVectors(store, embedder, fallback, second, self.analyzer)

    def search(self, request: Request) -> Answer:
        """Answer a request, as the store is at this moment."""
        request.check()
        spoken = self._spoken(request)
        if spoken:
            self.vectors.second.reach_out(self.store, spoken)
        with self.store.index.snapshot():
            known = self.store.index.languages, self.store.index.models
            answer, found = self._search(request, spoken)
            if (found.languages, found.models) != known:  # a server's store did not know of these yet
                answer, found = self._search(request, self._spoken(request))
        may_catch_up = request.by_meaning and (found.strays or 0 < found.waiting <= EMBEDDED_FIRST)
        if may_catch_up and self.catch_up(self.store, found.waiting):
            with self.store.index.snapshot():
                return self._search(request, spoken)[0]
        return answer

    def _spoken(self, request: Request) -> str:
        return self.vectors.language(request.query) if request.by_meaning else ""

    def _search(self, request: Request, spoken: str) -> tuple[Answer, Candidates]:
        """The answer, and what the store found for it."""
        started = time.perf_counter()
        query = parse_query(request.query, literal=request.literal)
        profile = self._profile(request)
        asked = ask_for_words(query, self.analyzer, self.store.index.languages, respell=request.respell)
        ask = replace(
            with_parts(asked, self.store.index, self.analyzer),
            filters=with_archive(both(request.filters, query.filters)),
            as_of=request.as_of,
            scoring=SCORING,
            spoken=spoken,
        )
        ranking = self._ranked(ask, query, profile, request)
        pool = ranking.pool
        vectors = pool.answer.active or "" if request.diverse else ""
        asks = request.explain or request.as_of is not None
        reader = HitReader(self.store.index, ask=ask if asks else None, vectors=vectors)
        page = self._page(ranking, reader, profile, request, query.text, ask.filters)
        reader.read(page, contents=request.mode == "full")
        if ranking.weights:
            page = [fitted(entry) for entry in newer_first(page, reader)]
        if request.explain:
            page = [_explained(entry, ranking, reader) for entry in page]
        respelled = pool.answer.respelled
        words = chain.from_iterable(respelled.get(word.written, word.terms) for word in ask.words)
        marker = Marker(frozenset((*words, *pool.answer.prefix_terms)), self.reading)
        wanted = {"full": request.mode == "full", "snippets": request.snippets, "evidence": request.evidence}
        hits = present(reader, page, marker, tier=request.tier, **wanted)
        hits = with_machines(hits, self.store.machines)
        meta = SearchMeta(
            max(pool.total, request.offset + len(hits)),
            len(hits),
            round((time.perf_counter() - started) * 1000, 3),
            request.profile,
            dict(ranking.weights),
            (request.tier,) if request.tier else (),
            degraded=tuple(pool.degraded),
            notes=(
                *query.notes,
                *pool.notes,
                *spelling_notes(reader, page, pool.answer, self.reading),
                *(note_of(hits) if pool.has_vectors else ()),  # words alone cannot decide it
                *unheeded(profile, request.boosts),
            ),
            fit=best_fit(hits) if ranking.weights else None,
        )
        return Answer(hits, meta), pool.answer

    def _profile(self, request: Request) -> Profile:
        config = self.config()
        profile = find_profile(config, request.profile)
        if request.memories:
            memory_score_of(profile)  # an error if the profile has no such score
        if request.weights:
            return profile.with_weights(request.weights)
        return profile

    def later(self, request: Request) -> Later:
        """What comes after the sources that fit in the answer to a request."""
        return self._later(request, self._profile(request))

    @staticmethod
    def _later(request: Request, profile: Profile) -> Later:
        if not profile.sessions_last:
            return Later()
        query = parse_query(request.query, literal=request.literal)
        return later_than_sources(request, both(request.filters, query.filters), query.text)

    def similar(self, n: int, *, limit: int, filters: Filters, tier: str = "") -> Answer:
        """Items whose passages are nearest to those of one item; the cosine is the score."""
        started = time.perf_counter()
        request = Request("", limit=limit, profile="vector")
        profile = self._profile(request)
        model = self.vectors.model()
        with self.store.index.snapshot():
            ask = Ask(filters=filters, model=model, per_side=limit)
            pool = Pool.of(self._similar(n, ask))
            if not pool.answer.has_vectors:
                pool.degraded.append(NONE_YET if model else SWITCHED_OFF)
            ranking = rank(pool, profile, Boosts())
            reader = HitReader(self.store.index)
            page = self._page(ranking, reader, profile, request, "", filters)
            hits = present(reader, page, Marker(frozenset(), self.analyzer), full=False, tier=tier)
            hits = with_machines(hits, self.store.machines)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        tiers = (tier,) if tier else ()
        meta = SearchMeta(pool.total, len(hits), elapsed, "vector", ranking.weights, tiers, tuple(pool.degraded))
        return Answer(hits, meta)

    @property
    def reading(self) -> Analyzer:
        """The analyzer that finds the terms of words in whatever language of the store."""
        return self.analyzer.across(self.store.index.languages)

    def _similar(self, n: int, ask: Ask) -> Candidates:
        """The items nearest to one: by the model that is set or, of one in another language, by the second."""
        found = self.store.index.similar(n, ask)
        if found.has_vectors or not found.languages or (second := self.vectors.second_model()) == "":
            return found
        return self.store.index.similar(n, replace(ask, model=second))

    def _ranked(self, ask: Ask, query: ParsedQuery, profile: Profile, request: Request) -> Ranking:
        wanted = request.limit + request.offset
        if not query.asks_for_text():
            pool = Pool.of(self.store.index.candidates(replace(ask, find=NEWEST, per_side=wanted)))
            if ask.filters.is_empty():
                pool.notes.append("nothing to search for; these are the newest")
            return Ranking(pool, [Weighed(member, 0.0) for member in pool.members()], {})
        if request.by == "text":
            pool = Pool.of(self.store.index.candidates(replace(ask, find=SUBSTRING, per_side=wanted)))
            held = ((m, m.lexical) for m in pool.members())
            order = [Weighed(m, value, (SignalShare("substring", value, 1.0, value),)) for m, value in held]
            return Ranking(pool, order, {"substring": 1.0})
        if not request.memories:
            return self._ranked_matches(ask, profile, request)
        others, own = memories_apart(ask.filters)
        ranking = self._ranked_matches(replace(ask, filters=others), profile, request)
        per_side = request.sides(profile).limit
        found = Pool.of(self.store.index.candidates(replace(ask, filters=own, per_side=per_side)))
        return with_memories(ranking, found, memory_score_of(profile), request.as_of)

    def _ranked_matches(self, ask: Ask, profile: Profile, request: Request) -> Ranking:
        """The matches by word and by meaning, refined and in order."""
        pool, ask = self._pool(replace(ask, needs=needs_of(profile)), profile, request)
        turns = None
        if holds_records(pool) and (later := self._later(request, profile)) != Later():
            vector = pool.vector
            pool, turns = apart(pool, ask, lambda one: Pool.of(self.store.index.candidates(one), vector), later)
        self._refine(pool, profile, profile.refine)
        ranking = rank(pool, profile, request.boosts, explain=request.explain, as_of=request.as_of)
        ranking = self._continued(ranking, ask, profile, request)
        return ranking if turns is None else self._followed(ranking, turns, profile, request)

    def _refine(self, pool: Pool, profile: Profile, steps: Collection[str]) -> None:
        if profile.fusion == "spread":
            refine(self.store.index, pool, steps, profile.signals["lexical"].weight)

    def _followed(self, ranking: Ranking, turns: Pool, profile: Profile, request: Request) -> Ranking:
        """The ranking of the sources, with the turns of sessions by the same weights."""
        turns.has_vectors = ranking.pool.has_vectors
        self._refine(turns, profile, set(profile.refine) - {"neighbours", "feedback", "questions"})  # these ask again
        ranked = rank(
            turns, profile, request.boosts, explain=request.explain, weights=ranking.weights, as_of=request.as_of
        )
        ranking.pool.others.append(turns)
        return replace(ranking, order=sorted([*ranking.order, *ranked.order], key=lambda entry: -entry.counted))

    def _continued(self, ranking: Ranking, ask: Ask, profile: Profile, request: Request) -> Ranking:
        """The ranking, continued if a page asks for more hits than the pool holds.

        The pool is the same for every page, so that no page changes the order of another. Further hits are ranked with
        the weights of the pool, and stay below it.
        """
        wanted, pool = request.limit + request.offset, ranking.pool
        if len(ranking.order) >= wanted or len(pool) < ask.per_side:
            return ranking
        needs = replace(ask.needs, thread_reach=0, link_seeds=0, vectors=False)
        more = Pool.of(self.store.index.candidates(replace(ask, per_side=wanted, needs=needs)))
        more = more.without(set(pool.found.numbers))
        more.has_vectors = pool.has_vectors
        behind = rank(
            more, profile, request.boosts, explain=request.explain, weights=ranking.weights, as_of=request.as_of
        )
        lowest = min((entry.counted for entry in ranking.order), default=0.0)
        pool.others.append(more)
        return replace(ranking, order=[*ranking.order, *(replace(entry, ceiling=lowest) for entry in behind.order)])

    def _pool(self, ask: Ask, profile: Profile, request: Request) -> tuple[Pool, Ask]:
        """The candidates of both sides, what a reader should know about how they were found, and what was asked."""
        index, sides = self.store.index, request.sides(profile)
        known = index.fingerprint if sides.vectors else None
        topic = without_manner(ask.text)
        questions = questions_in(topic) if "questions" in profile.refine else ()
        meaning = self.vectors.meaning(topic, known, ask.spoken, questions) if sides.vectors else QueryMeaning()
        ask = meaning.asked(replace(ask, by_word=sides.lexical, per_side=sides.limit))
        answer = index.candidates(ask)
        if meaning.model and known is None and answer.active is not None:
            # Another process gave the store its first vectors since it was last asked.
            meaning = self.vectors.meaning(topic, answer.active, ask.spoken, questions)
            ask = meaning.asked(ask)
            answer = index.candidates(ask)
        pool = Pool.of(answer, meaning.vector)
        pool.degraded += [*meaning.degraded(answer), *answer.problems]
        pool.notes += meaning.notes
        words_off = sides.vectors and not sides.lexical
        if words_off and meaning.vector is None and not pool.degraded and not meaning.model:
            pool.degraded.append(SWITCHED_OFF)
        if answer.by_substring:
            pool.notes.append("no word was found; texts that contain the query as a substring are shown instead")
        return pool, ask

    def _page(
        self, ranking: Ranking, reader: HitReader, profile: Profile, request: Request, text: str, filters: Filters
    ) -> list[Ranked]:
        """Rank again if asked to, leave out hits below the lowest score, and cut out the page."""
        floor = max(request.min_score, profile.min_score) if ranking.weights else 0.0
        comparing = _comparing(ranking)
        placed = (
            _placed(entry, comparing, explain=request.explain)
            for entry in ranking.order
            if request.as_of is None or entry.member.version is not None
        )
        last, full = request.offset + request.limit, request.mode == "full"
        records = holds_records(ranking.pool)
        named: Iterable[Ranked] = placed
        if "exact" in profile.refine and text:
            ahead = request.diverse or records or self._reranker(request) != "none"
            named = ExactNames(self.analyzer, text).first(placed, reader, last, full=full, ahead=ahead)
        if "times" in profile.refine:
            named = SaidTimes(text).first(named, reader, full=full)
        looked_again = self._looked_again(named, ranking.pool, reader, request, text)
        ranked: Iterator[Ranked] = (entry for entry in looked_again if entry.score >= floor)
        each = request.turns or is_about_turns(filters)
        if profile.sessions_last and text and not each and records:
            places = SessionPlaces(self.analyzer, text, self._later(request, profile))
            settled = places.settled(list(ranked), reader, DIVERSE_WINDOW if request.diverse else last)
            ranked = (entry for entry in settled if entry.score >= floor)
        if request.diverse:
            ranked = iter(self._diverse(list(ranked), reader))
        if is_guarded(ranking.pool, profile, request.page or request.limit):
            ranking.pool.notes.append(shows_all(request.page or request.limit, profile.guard))
            if request.offset:
                return []  # the first page showed everything
            return [one for place, one in enumerate(ranked) if place < last or one.member.lexical > 0]
        return list(islice(ranked, request.offset, last))

    def _diverse(self, ranked: list[Ranked], reader: HitReader) -> list[Ranked]:
        """The best and, among the next, those that say something new; the same for every page."""
        window = ranked[:DIVERSE_WINDOW]
        reader.read(window)
        words = [frozenset(self.analyzer.counts(reader.best_text(entry))) for entry in window]
        similarity = similarity_of([reader.vector(entry) for entry in window], words)
        order = diverse_order([entry.score for entry in window], similarity, len(window))
        return [*(window[position] for position in order), *ranked[DIVERSE_WINDOW:]]

    def _reranker(self, request: Request) -> str:
        return self.config().rerank.kind if request.rerank is None else request.rerank

    def _looked_again(
        self, ranked: Iterable[Ranked], pool: Pool, reader: HitReader, request: Request, text: str
    ) -> Iterable[Ranked]:
        kind = self._reranker(request)
        if kind == "none" or not text:
            return ranked
        try:
            reranker = self.rerankers(kind)
        except Unavailable as error:
            pool.degraded.append(f"rerank: {error.message}")
            return ranked
        seconds = LLM_SECONDS if kind == "llm" else SECONDS
        judged = rerank(reader, reranker, text, list(ranked), seconds=seconds)
        if judged.problem:
            pool.degraded.append(judged.problem)
        return judged.page


def _comparing(ranking: Ranking) -> tuple[float, float]:
    """How the passages of an item are compared: by the weights of the ranking, or words and meaning alike."""
    words, meaning = (ranking.weights.get(side, 0.0) for side in ("lexical", "vector"))
    return (words * ranking.pool.scale, meaning) if words and meaning else (1.0, 1.0)


def _placed(entry: Weighed, comparing: tuple[float, float], *, explain: bool) -> Ranked:
    member = entry.member
    member.comparing = comparing
    score = min(1.0, max(0.0, entry.value))
    steps: tuple[tuple[str, float], ...] = ()
    for why, part in entry.lowered:
        score *= part
        steps = (*steps, (f"{why} ×{part}", score))
    if entry.ceiling is not None and score > entry.ceiling:
        score = max(0.0, entry.ceiling)
        steps = (*steps, ("found beyond the pool, so it stays below it", score))
    return Ranked(
        member.n,
        entry.value,
        score,
        member,
        member.version,
        member.lexical_chunk,
        Explain(entry.value, entry.shares, steps=steps) if explain else None,
    )


def _explained(entry: Ranked, ranking: Ranking, reader: HitReader) -> Ranked:
    """Give each matched word its share of the keyword signal."""
    rows = reader.shares(entry)
    together = sum(row.share for row in rows)
    part = ranking.weights.get("lexical", 1.0) * entry.member.lexical
    terms = tuple(TermShare(row.label, row.frequencies, row.idf, row.share / together * part) for row in rows)
    explain = entry.explain or Explain(entry.value)
    return replace(entry, explain=replace(explain, terms=terms))
