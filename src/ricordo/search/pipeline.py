"""How a query becomes hits, step by step.

1. Take the query apart (words, phrases, exclusions, inline filters), and make its vector.
2. Ask the store once for the candidates, by word and by meaning, with both exact values of each.
3. Where the candidates hold items of their drives, let plugins set some apart (``PluginStep.apart``).
4. Refine the values, and let the profile's signals weigh the candidates into one order, ties by ref; what was set apart
   is put into it by the same weights.
5. Let each of ``STEPS`` that this search needs look at the best again, and cut out the page that was asked for.
6. Ask the store once for what the page shows, and explain.

Nothing is written here; the engine records use after the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from ricordo.config.settings import Config
from ricordo.errors import Unavailable
from ricordo.models.base import Budget
from ricordo.plugin import search_steps
from ricordo.search.candidates import Pool
from ricordo.search.exact import ExactNames, QuestionTime
from ricordo.search.fit import best_fit, note_of, with_fits
from ricordo.search.meaning import NONE_YET, SWITCHED_OFF, QueryMeaning, QueryVectors
from ricordo.search.present import HitReader, Marker, newer_first, present, spelling_notes
from ricordo.search.profiles import Profile, find_profile
from ricordo.search.query import both, parse_query, with_archive
from ricordo.search.ranking import (
    Ranked,
    Ranking,
    memories_apart,
    memory_score_of,
    merged,
    needs_of,
    rank,
    ranked,
    with_memories,
)
from ricordo.search.refine import MOST_OF_A_TEXT, MOST_QUESTIONS, questions_in, refine
from ricordo.search.request import SHOWS_ALL, Boosts, CoreStep, PluginStep, Request, since
from ricordo.search.rerank import DIVERSE_WINDOW, SECONDS, diverse_order, rerank, similarity_of
from ricordo.search.words import SCORING, ask_for_words, essence, with_parts, without_manner, words_that_carry
from ricordo.store.base import Store
from ricordo.store.query import NEWEST, SUBSTRING, Ask, Candidates
from ricordo.text.words import Analyzer, fold, holds_phrase
from ricordo.values.hits import Answer, Explain, Filters, SearchMeta, SignalShare, TermShare
from ricordo.values.kinds import DRIVES_APART

if TYPE_CHECKING:
    from ricordo.models.base import Reranker

EMBEDDED_FIRST = 16
"""If at most this many texts wait for their vectors, a search makes some before it answers."""
EMBED_SECONDS = 0.2
"""How long a search makes vectors of texts before it answers; what is left waits, and the answer says so."""
STEPS_THAT_ASK_AGAIN = frozenset({"neighbours", "feedback", "questions"})


class Searcher:
    """Answers searches of one store."""

    def __init__(
        self,
        store: Store,
        config: Callable[[], Config],
        vectors: QueryVectors,
        rerankers: Callable[[str], Reranker],
        *,
        catch_up: Callable[[Store, int, Budget], bool],
    ) -> None:
        """``catch_up`` makes vectors of few texts that wait, and says whether that changes the answer."""
        self.catch_up = catch_up
        self.store = store
        self.config = config
        self.vectors = vectors
        self.rerankers = rerankers
        self.analyzer = Analyzer(store.language)

    def search(self, request: Request) -> Answer:
        """Answer a request, as the store is at this moment."""
        request.check()
        index = self.store.index
        spoken = self._spoken(request)
        budget = Budget(EMBED_SECONDS)
        if spoken and request.catch_up:
            self.vectors.second.prepare(self.store, spoken, budget)
        with index.snapshot():
            before = index.languages, index.models
            answer, candidates = Search(self, request, spoken).answer()
            if (candidates.languages, candidates.models) != before:  # a server's store did not know of these yet
                answer, candidates = Search(self, request, self._spoken(request)).answer()
        may_catch_up = candidates.strays or 0 < candidates.waiting <= EMBEDDED_FIRST
        may_catch_up = may_catch_up and request.by_meaning and request.catch_up
        if may_catch_up and self.catch_up(self.store, candidates.waiting, budget):
            with index.snapshot():
                return Search(self, request, spoken).answer()[0]
        return answer

    def _spoken(self, request: Request) -> str:
        return self.vectors.second.language_of(request.query, self.store) if request.by_meaning else ""

    def profile(self, request: Request) -> Profile:
        """How a request is ranked."""
        profile = find_profile(self.config(), request.profile)
        if request.memories:
            memory_score_of(profile)  # an error if the profile has no such score
        return profile.with_weights(request.weights) if request.weights else profile

    def steps_for(self, refs: Iterable[str], request: Request) -> list[PluginStep]:
        """The steps that plugins add for items of these refs."""
        drives = {ref.partition(":")[0] for ref in refs}
        if not (steps := search_steps(drives.__contains__)):
            return []
        query = parse_query(request.query, literal=request.literal)
        filters = both(request.filters, query.filters)
        return [step(self.store, request, self.profile(request), filters=filters, text=query.text) for step in steps]

    def similar(self, n: int, *, limit: int, filters: Filters, tier: str = "") -> Answer:
        """Items whose passages are nearest to those of one item; the cosine is the score.

        They are compared by the model that is set or, of an item in another language, by the second.
        """
        started = time.perf_counter()
        index, model = self.store.index, self.vectors.model()
        with index.snapshot():
            ask = Ask(filters=filters, model=model, per_side=limit)
            answer = index.similar(n, ask)
            if not answer.has_vectors and answer.languages and (second := self.vectors.second_model()):
                answer = index.similar(n, replace(ask, model=second))
            ranking = rank(Pool.of(answer), self.profile(Request("", profile="vector")), Boosts())
            page = list(islice(ranking.order, limit))
            marker = Marker(frozenset(), self.analyzer)
            hits = present(HitReader(index), page, marker, self.store.machines, full=False, tier=tier)
        degraded = () if answer.has_vectors else (NONE_YET if model else SWITCHED_OFF,)
        tiers = (tier,) if tier else ()
        meta = SearchMeta(answer.total, len(hits), since(started), "vector", ranking.weights, tiers, degraded)
        return Answer(hits, meta)

    def why_missing(self, request: Request, n: int) -> str:
        """Why an item is not among the hits of a request."""
        item = self.store.items.get(n)
        if item.state == "archived" and request.as_of is None:
            return (
                "it is archived (superseded or forgotten); its history and a search as of an earlier time still show it"
            )
        query = parse_query(request.query, literal=request.literal)
        filters = replace(both(request.filters, query.filters), states=("live", "archived"))
        if not self.store.items.passes(n, filters):
            return "a filter leaves it out"
        ask = ask_for_words(query, self.analyzer, self.store.index.languages, respell=request.respell)
        terms = set(self.reading.terms(" ".join((item.title, item.ref.path, item.fields.description, item.content))))
        for word in query.excluded:
            if (excluded_terms := self.analyzer.terms(word)) and terms.issuperset(excluded_terms):
                return f"it contains the excluded word '{word}'"
        for phrase in query.phrases:
            if not holds_phrase((item.content, item.title, item.fields.description), phrase):
                return f'it does not contain the phrase "{phrase}"'
        wanted = {term for word in ask.words for term in word.terms}
        begun = any(term.startswith(fold(prefix)) for prefix in ask.prefixes for term in terms)
        if (wanted or ask.prefixes) and not begun and not wanted & terms:
            labels = sorted((*wanted, *(f"{prefix}*" for prefix in ask.prefixes)))
            return f"it contains none of the words of the query ({', '.join(labels[:8])})"
        if request.min_score:
            return f"its score is below the least that was asked for, {request.min_score}"
        return f"it is not among the best {request.limit}"

    @property
    def reading(self) -> Analyzer:
        """The analyzer that finds the terms of words in whatever language of the store."""
        return self.analyzer.across(self.store.index.languages)


class Search:
    """One search of one store: what was asked, what the store found, and the steps from there to the page."""

    def __init__(self, searcher: Searcher, request: Request, spoken: str) -> None:
        self.started = time.perf_counter()
        self.searcher = searcher
        self.request = request
        self.spoken = spoken
        self.analyzer = searcher.analyzer
        self.index = index = searcher.store.index
        self.query = parse_query(request.query, literal=request.literal)
        self.text = self.query.text
        self.profile = searcher.profile(request)
        words = ask_for_words(self.query, self.analyzer, index.languages, respell=request.respell)
        words = words_that_carry(words, self.query, index, self.analyzer)
        self.ask = replace(
            with_parts(words, index, self.analyzer),
            filters=with_archive(both(request.filters, self.query.filters)),
            as_of=request.as_of,
            scoring=SCORING,
        )
        self._plugin_steps: dict[type[PluginStep], PluginStep] = {}

    def answer(self) -> tuple[Answer, Candidates]:
        """The answer, and what the store found for it."""
        request = self.request
        self.ranking = self._ranked()
        self.pool = pool = self.ranking.pool
        asks = request.explain or request.as_of is not None
        vectors = pool.answer.active or "" if request.diverse else ""
        self.reader = reader = HitReader(self.index, ask=self.ask if asks else None, vectors=vectors)
        self.steps_of_plugins = self._steps_of_plugins(pool)
        entries = self._placed()
        for step in STEPS:
            if step.is_needed(self):
                entries = step.order(self, entries)
        page = self._page(entries)
        full = request.mode == "full"
        reader.read(page, contents=full)
        fits: list[float] | None = None
        if self.ranking.weights:
            page, fits = with_fits(newer_first(page, reader))
        if request.explain:
            page = [self._explained(entry) for entry in page]
        respelled, reading = pool.answer.respelled, self.searcher.reading
        words = chain.from_iterable(respelled.get(word.written, word.terms) for word in self.ask.words)
        marker = Marker(frozenset((*words, *pool.answer.prefix_terms)), reading, self.text)
        wanted = {"full": full, "snippets": request.snippets, "evidence": request.evidence}
        hits = present(reader, page, marker, self.searcher.store.machines, tier=request.tier, fits=fits, **wanted)
        boosts = self.request.boosts
        used = {term.signal for term in self.profile.signals.values() if term.weight}
        meta = SearchMeta(
            max(pool.total, request.offset + len(hits)),
            len(hits),
            since(self.started),
            request.profile,
            dict(self.ranking.weights),
            (request.tier,) if request.tier else (),
            degraded=tuple(pool.degraded),
            notes=(
                *self.query.notes,
                *pool.notes,
                *spelling_notes(reader, page, pool.answer, reading),
                *(note_of(hits) if pool.has_vectors else ()),  # words alone cannot decide it
                *(
                    f"the profile '{self.profile.name}' does not weigh {what}; vault does"
                    for what, asked, signal in (("tags", boosts.tags, "tags"), ("domains", boosts.domain, "domain"))
                    if asked and signal not in used
                ),
            ),
            fit=best_fit(hits) if self.ranking.weights else None,
        )
        return Answer(hits, meta), pool.answer

    # The candidates, in order.

    def _ranked(self) -> Ranking:
        request, ask = self.request, self.ask
        wanted = request.limit + request.offset
        if not self.query.asks_for_text():
            pool = self._candidates(replace(ask, find=NEWEST, per_side=wanted))
            if ask.filters.is_empty():
                pool.notes.append("nothing to search for; these are the newest")
            return Ranking(pool, [ranked(member, 0.0, explain=request.explain) for member in pool.members()], {})
        if request.by == "text":
            pool = self._candidates(replace(ask, find=SUBSTRING, per_side=wanted))
            shares = [(m, (SignalShare("substring", m.lexical, 1.0, m.lexical),)) for m in pool.members()]
            order = [ranked(m, m.lexical, share, explain=request.explain) for m, share in shares]
            return Ranking(pool, order, {"substring": 1.0})
        if not request.memories:
            return self._ranked_matches(ask)
        others, own = memories_apart(ask.filters)
        ranking = self._ranked_matches(replace(ask, filters=others))
        memories = self._candidates(replace(ask, filters=own, per_side=self.profile.per_side))
        score = memory_score_of(self.profile)
        return with_memories(ranking, memories, score, explain=request.explain, as_of=request.as_of)

    def _candidates(self, ask: Ask) -> Pool:
        return Pool.of(self.index.candidates(ask))

    def _ranked_matches(self, ask: Ask) -> Ranking:
        """The matches by word and by meaning, refined and in order; what is set apart, by the weights of the others."""
        pool, ask = self._pool(replace(ask, needs=needs_of(self.profile)))
        vector, pools_apart = pool.vector, []
        for step in self._steps_of_plugins(pool):
            pool, other = step.apart(pool, ask, lambda again: Pool.of(self.index.candidates(again), vector))
            pools_apart += [other] if other is not None else []
        self._refine(pool, self.profile.refine)
        ranking = self._continued(self._rank(pool), ask)
        for other in pools_apart:
            other.has_vectors = pool.has_vectors
            self._refine(other, set(self.profile.refine) - STEPS_THAT_ASK_AGAIN)
            pool.others.append(other)
            ranking = merged(ranking, self._rank(other, ranking).order)
        return ranking

    def _steps_of_plugins(self, pool: Pool) -> list[PluginStep]:
        """What plugins do in this search: nothing where no candidate is on a drive of theirs, and none is apart."""
        made, store = self._plugin_steps, self.searcher.store
        apart = DRIVES_APART if pool.answer.has_apart else ()
        for step in search_steps(lambda drive: drive in apart or pool.holds(drive)):
            if step not in made:
                made[step] = step(store, self.request, self.profile, filters=self.ask.filters, text=self.text)
        return list(made.values())

    def _rank(self, pool: Pool, like: Ranking | None = None) -> Ranking:
        """A pool in order; with the weights of another ranking, if it is put into that."""
        request, weights = self.request, like.weights if like is not None else None
        return rank(pool, self.profile, request.boosts, explain=request.explain, weights=weights, as_of=request.as_of)

    def _refine(self, pool: Pool, steps: Collection[str]) -> None:
        if self.profile.fusion == "spread":
            refine(self.index, pool, steps, self.profile.signals["lexical"].weight)

    def _continued(self, ranking: Ranking, ask: Ask) -> Ranking:
        """The ranking, continued if a page asks for more hits than the pool holds.

        The pool is the same for every page, so that no page changes the order of another. Further hits are ranked with
        the weights of the pool, and stay below it.
        """
        wanted, pool = self.request.limit + self.request.offset, ranking.pool
        if len(pool) >= wanted or len(pool) < ask.per_side:
            return ranking
        needs = replace(ask.needs, thread_reach=0, link_seeds=0, vectors=False)
        more = self._candidates(replace(ask, per_side=wanted, needs=needs)).without(set(pool.found.numbers))
        more.has_vectors = pool.has_vectors
        pool.others.append(more)
        order = list(ranking.order)
        lowest = min((entry.score for entry in order), default=0.0)
        for entry in self._rank(more, ranking).order:
            above = entry.score > lowest
            order.append(entry.scored(lowest, "found beyond the pool, so it stays below it") if above else entry)
        return replace(ranking, order=order)

    def _pool(self, ask: Ask) -> tuple[Pool, Ask]:
        """The candidates of both sides, what a reader should know about how they were found, and what was asked."""
        profile, vectors = self.profile, self.searcher.vectors
        by_word = self.request.by != "meaning" and "lexical" in profile.sides
        by_meaning = self.request.by_meaning and "vector" in profile.sides
        active = self.index.fingerprint if by_meaning else None
        whole = without_manner(ask.text)
        topic = essence(whole)
        most = MOST_QUESTIONS if topic == whole else MOST_OF_A_TEXT
        questions = questions_in(topic, most) if "questions" in profile.refine else ()
        meaning = vectors.meaning(topic, active, self.spoken, questions) if by_meaning else QueryMeaning()
        ask = meaning.asked(replace(ask, by_word=by_word, per_side=profile.per_side))
        answer = self.index.candidates(ask)
        if meaning.model and active is None and answer.active is not None:
            # Another process gave the store its first vectors since it was last asked.
            meaning = vectors.meaning(topic, answer.active, self.spoken, questions)
            ask = meaning.asked(ask)
            answer = self.index.candidates(ask)
        pool = Pool.of(answer, meaning.vector)
        pool.degraded += [*meaning.degraded(answer), *answer.problems]
        pool.notes += meaning.notes
        if by_meaning and not by_word and meaning.vector is None and not pool.degraded and not meaning.model:
            pool.degraded.append(SWITCHED_OFF)
        if answer.by_substring:
            pool.notes.append("no word was found; texts that contain the query as a substring are shown instead")
        return pool, ask

    # The steps from the order to the page.

    def _placed(self) -> Iterable[Ranked]:
        """The order. The passages of an item are compared by the weights of the ranking, or words and meaning alike."""
        weights = self.ranking.weights
        words, meaning = weights.get("lexical", 0.0), weights.get("vector", 0.0)
        if words and meaning:
            for pool in (self.pool, *self.pool.others):
                pool.comparing = words * self.pool.scale, meaning
        if self.request.as_of is None:
            return self.ranking.order
        return (entry for entry in self.ranking.order if entry.version is not None)

    @property
    def last(self) -> int:
        """How many hits there are up to the end of the page."""
        return self.request.offset + self.request.limit

    @cached_property
    def reranker(self) -> str:
        """The kind of the judge who ranks the best again."""
        kind = self.searcher.config().rerank.kind if self.request.rerank is None else self.request.rerank
        return kind if self.text else "none"

    @property
    def least_score(self) -> float:
        """The lowest score that is wanted; 0 where hits are listed and not ranked."""
        return max(self.request.min_score, self.profile.min_score) if self.ranking.weights else 0.0

    def exact_names(self, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """What is called as the query says comes first."""
        ahead = self.request.diverse or bool(self.steps_of_plugins) or self.reranker != "none"
        names = ExactNames(self.analyzer, self.text)
        return names.first(entries, self.reader, self.last, full=self.request.mode == "full", ahead=ahead)

    def question_time(self, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """What is of the time that the question names is raised."""
        return QuestionTime(essence(self.text)).first(entries, self.reader, full=self.request.mode == "full")

    def judge_again(self, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """The best are judged again by a slower, better judge."""
        try:
            reranker = self.searcher.rerankers(self.reranker)
        except Unavailable as error:
            self.pool.degraded.append(f"rerank: {error.message}")
            return entries
        seconds = getattr(reranker, "seconds", SECONDS)
        order, problem = rerank(self.reader, reranker, self.text, list(entries), seconds=seconds)
        self.pool.degraded += [problem] if problem else []
        return order

    def leave_out_low_scores(self, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """Hits below the lowest score that is wanted are left out."""
        least = self.least_score
        return (entry for entry in entries if entry.score >= least)

    def order_of_plugins(self, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """Plugins give the hits of their drives their places."""
        for step in self.steps_of_plugins:
            entries = step.order(self, entries)
        return entries

    def diversify(self, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """The best and, among the next, those that say something new; the same for every page."""
        every = list(entries)
        window = every[:DIVERSE_WINDOW]
        self.reader.read(window)
        words = [frozenset(self.analyzer.counts(self.reader.best_text(entry))) for entry in window]
        similarity = similarity_of([self.reader.vector(entry) for entry in window], words)
        order = diverse_order([entry.score for entry in window], similarity, len(window))
        return [*(window[position] for position in order), *every[DIVERSE_WINDOW:]]

    def _page(self, entries: Iterable[Ranked]) -> list[Ranked]:
        """The page that was asked for.

        The profile's guard shows everything on the first page, if the page would show less than half of what the words
        found in a small store.
        """
        limit, guard = self.request.page or self.request.limit, self.profile.guard
        count = self.pool.count_by_word() if guard else 0
        if count >= guard or limit >= count / 2:
            return list(islice(entries, self.request.offset, self.last))
        self.pool.notes.append(f"{SHOWS_ALL} of {limit}, because fewer than {guard} items do")
        if self.request.offset:
            return []
        return [entry for place, entry in enumerate(entries) if place < self.last or entry.member.lexical > 0]

    def _explained(self, entry: Ranked) -> Ranked:
        """Give each matched word its share of the keyword signal."""
        rows = self.reader.shares(entry)
        together = sum(row.share for row in rows)
        part = self.ranking.weights.get("lexical", 1.0) * entry.member.lexical
        terms = tuple(TermShare(row.label, row.frequencies, row.idf, row.share / together * part) for row in rows)
        return replace(entry, explain=replace(entry.explain or Explain(entry.value), terms=terms))


STEPS = (
    CoreStep(lambda search: "exact" in search.profile.refine and bool(search.text), Search.exact_names),
    CoreStep(lambda search: "times" in search.profile.refine, Search.question_time),
    CoreStep(lambda search: search.reranker != "none", Search.judge_again),
    CoreStep(lambda search: search.least_score > 0, Search.leave_out_low_scores),
    CoreStep(lambda search: bool(search.steps_of_plugins), Search.order_of_plugins),
    CoreStep(lambda search: search.least_score > 0, Search.leave_out_low_scores),
    CoreStep(lambda search: search.request.diverse, Search.diversify),
)
"""The steps from the order of the candidates to the page, and when each of them is needed. Low scores are left out
twice, because what a plugin moves may get one.
"""
