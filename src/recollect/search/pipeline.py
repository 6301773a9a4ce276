"""How a query becomes hits, step by step.

1. Take the query apart (words, phrases, exclusions, inline filters).
2. Turn filters and as-of into masks; both sides use them before they pick their best.
3. Find the best chunks by keyword; a substring scan stands in when no word is found.
4. Rank items by their best chunk, ties by ref.
5. Cut to the page asked for, explain, and load what is shown.

Nothing is written here; remembering use is the engine's, after the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy.typing as npt

from recollect.errors import UsageError
from recollect.search.matching import KeywordPlan, keyword_matches, plan, substring_chunks
from recollect.search.present import Ranked, present
from recollect.search.query import ParsedQuery, both, parse_query
from recollect.settings import Config
from recollect.store.base import Scoring, Store, Wanted
from recollect.values import Answer, Explain, Filters, SearchMeta, SignalShare, TermShare
from recollect.words import Analyzer

Array = npt.NDArray[Any]
SUBSTRING_VALUE = 0.5
"""What a substring match counts for when no word matched: it has no frequency to weigh."""


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


@dataclass(slots=True)
class Found:
    """What the sides brought: per item its value and best chunks."""

    values: dict[int, float] = field(default_factory=dict)
    chunks: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    candidates: int = 0
    maximum: float = 0.0
    notes: list[str] = field(default_factory=list)


class Searcher:
    """Answers searches of one store."""

    def __init__(self, store: Store, config: Callable[[], Config]) -> None:
        self.store = store
        self.config = config
        self.analyzer = Analyzer(store.language)

    @property
    def scoring(self) -> Scoring:
        return scoring_of(self.config())

    def search(self, request: Request) -> Answer:
        """Answer a request."""
        started = time.perf_counter()
        request.check()
        query = parse_query(request.query, literal=request.literal)
        filters = both(request.filters, query.filters)
        allowed, times = self._masks(filters, request.as_of)
        words = plan(query, self.analyzer, self.store)
        if not query.asks_for_text():
            found = self._browse(query, words, filters, request)
        elif request.backend == "grep":
            found = self._substring(query, allowed, request.limit + request.offset)
        else:
            found = self._by_keyword(query, words, request, allowed, times)
        ranked = self._rank(found, request)
        page = ranked[request.offset : request.offset + request.limit]
        if request.explain:
            page = self._explained(page, words, found, times)
        hits = present(
            self.store,
            page,
            terms=frozenset(term for word in words.wanted for term in word.terms),
            analyzer=self.analyzer,
            full=request.mode == "full",
        )
        elapsed = (time.perf_counter() - started) * 1000
        meta = SearchMeta(
            found.candidates,
            len(hits),
            round(elapsed, 3),
            request.profile,
            {"lexical": 1.0},
            notes=(*query.notes, *found.notes),
        )
        return Answer(hits, meta)

    def _masks(self, filters: Filters, as_of: datetime | None) -> tuple[Array | None, Array | None]:
        if as_of is None:
            return self.store.allowed(filters), None
        filters = replace(filters, states=("live", "archived"))
        return self.store.allowed(filters, as_of=True), self.store.chunks_at(as_of)

    def _by_keyword(
        self, query: ParsedQuery, words: KeywordPlan, request: Request, allowed: Array | None, times: Array | None
    ) -> Found:
        wanted = overfetch(request)
        matches = keyword_matches(self.store, words, scoring=self.scoring, limit=wanted, allowed=allowed, times=times)
        if not len(matches.chunks) and times is None and not words.excluded and not words.excluded_phrases:
            found = self._substring(query, allowed, wanted)
            if found.values:
                found.notes.append("no word was found; these texts hold the query as a substring")
            return found
        found = Found(candidates=matches.total, maximum=matches.maximum)
        for chunk, n, score in zip(
            matches.chunks.tolist(), matches.items.tolist(), matches.scores.tolist(), strict=True
        ):
            found.chunks.setdefault(n, []).append((chunk, score))
            found.values.setdefault(n, score / matches.maximum if matches.maximum else 0.0)
        return found

    def _substring(self, query: ParsedQuery, allowed: Array | None, limit: int) -> Found:
        found = Found()
        for chunk, n in substring_chunks(self.store, query.text, limit=limit, allowed=allowed):
            found.chunks[n] = [(chunk, SUBSTRING_VALUE)]
            found.values[n] = SUBSTRING_VALUE
        found.candidates = len(found.values)
        return found

    def _browse(self, query: ParsedQuery, words: KeywordPlan, filters: Filters, request: Request) -> Found:
        """No words to look for: everything that passes the filters, newest first."""
        found = Found(notes=["nothing to search for; these are the newest"])
        barred: set[int] = set()
        for group in words.excluded:
            barred.update(self._holders(group))
        wanted = request.limit + request.offset + len(barred)
        for n, _ in self.store.listing(filters, wanted, 0):
            if n not in barred:
                found.values[n] = 0.0
                found.chunks[n] = []
        found.candidates = len(found.values)
        return found

    def _holders(self, terms: tuple[str, ...]) -> list[int]:
        wanted = tuple(Wanted(term, (term,)) for term in terms)
        matches = self.store.keyword_search(wanted, scoring=self.scoring, limit=1 << 30, required=(terms,))
        return list(set(matches.items.tolist()))

    def _rank(self, found: Found, request: Request) -> list[Ranked]:
        items = self.store.items_by_number(list(found.values))
        keep_order = request.backend == "grep" or not any(found.values.values())
        ranked = []
        for n, value in found.values.items():
            item = items.get(n)
            if item is None or value < request.min_score:
                continue
            if request.as_of is not None:
                number = self.store.version_at(n, request.as_of)
                if number is None:
                    continue
                item = self.store.item(n, version=number)
            ranked.append(Ranked(n, item, value, min(1.0, value), tuple(found.chunks[n])))
        if not keep_order:
            ranked.sort(key=lambda entry: (-entry.value, str(entry.item.ref)))
        return ranked

    def _explained(self, page: list[Ranked], words: KeywordPlan, found: Found, times: Array | None) -> list[Ranked]:
        best = [entry.chunks[0][0] for entry in page if entry.chunks]
        shares = self.store.keyword_shares(words.wanted, best, scoring=self.scoring, times=times)
        explained = []
        for entry in page:
            terms = shares.get(entry.chunks[0][0], []) if entry.chunks else []
            scale = 1.0 / found.maximum if found.maximum else 0.0
            signals = (SignalShare("lexical", entry.value, 1.0, entry.value),)
            explain = Explain(
                entry.value,
                signals,
                tuple(TermShare(label, freq, idf, share * scale) for label, freq, idf, share in terms),
            )
            explained.append(replace(entry, explain=explain))
        return explained


def overfetch(request: Request) -> int:
    """How many items each side is asked for."""
    return max(3 * (request.limit + request.offset), 30)


def scoring_of(config: Config) -> Scoring:
    """BM25F's constants as they are set."""
    lexical = config.lexical
    weights = (
        lexical.title_weight, lexical.path_weight, lexical.description_weight,
        lexical.tags_weight, lexical.context_weight, lexical.body_weight,
    )  # fmt: skip
    return Scoring(lexical.k1, lexical.b, weights)
