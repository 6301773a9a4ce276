"""Several stores searched as one: asked in parallel, their scores weighted, duplicates left to the highest tier.

1. Pick the tiers the request asks for.
2. Ask each on its own, in threads; one that fails or is late is named in the answer, and the others answer.
3. Weigh each tier's scores, drop what a higher tier has already, merge, and cut the page.

A single store is searched directly; its hits only gain the name of its tier.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from ricordo.bounded import PendingCall, while_caller_waits, within_callers
from ricordo.config.files import read_json, write_json
from ricordo.errors import Error, Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.search.fit import NOTHING_FITS, best_fit, note_of
from ricordo.search.present import is_true_of
from ricordo.search.query import both, parse_query
from ricordo.search.request import SHOWS_ALL, Request, since
from ricordo.store.base import Store
from ricordo.store.values import ContentMark
from ricordo.text.words import folded_words
from ricordo.values.hits import Answer, Elsewhere, Explanation, Filters, Hit, SearchMeta
from ricordo.values.items import Ref
from ricordo.values.kinds import SESSION
from ricordo.values.reports import TierState

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, Vectors
    from ricordo.search.pipeline import Searcher


MOST_QUERIES = 32
"""How many texts are kept with their vectors: a query and the questions in it, of the last few searches."""


class SharedQueries:
    """The vectors of the last queries. Several tiers ask for the same at the same time: each is computed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[int, str], PendingCall[Vectors]] = {}

    def embed(self, embedder: Embedder, text: str) -> Vectors:
        """The vector of a text; who asks for it while it is computed waits for that. A failure is not kept."""
        key = id(embedder), text  # the call holds the embedder, so that no other one gets its id
        with self._lock:
            call = self._last.pop(key, None)
            is_first = call is None
            call = call or PendingCall(partial(embedder.embed_query, text))
            self._last[key] = call
            if len(self._last) > MOST_QUERIES:
                del self._last[next(iter(self._last))]
        if is_first:
            call.run()
            if call.error is not None:
                with self._lock:
                    self._last.pop(key, None)
        call.wait(threading.TIMEOUT_MAX)
        return call.result()


MOST_THREADS = 4
"""How many searches of one tier run at the same time. Each tier has its own, so one that hangs delays no other."""

SECONDS_AT_END = 2.0
"""How long a process that ends, or an engine that is closed, waits for searches that still run."""

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
"""A tier that did not answer is left alone for a while: 5 s, then twice as long each time, up to 5 minutes."""

_Result = TypeVar("_Result")
_WORKING: WeakSet[TierThreads] = WeakSet()


def wait_for_all(threads: list[TierThreads]) -> None:
    """Wait until no thread works any more, for a moment at most."""
    end = time.monotonic() + SECONDS_AT_END
    for tier_threads in threads:
        tier_threads.wait_until_idle(max(0.0, end - time.monotonic()))


atexit.register(lambda: wait_for_all(list(_WORKING)))


class TierThreads:
    """A few threads that are kept between searches, because a store has one connection for each thread.

    They are daemon threads, so that a tier on a network drive that does not answer cannot keep the process from ending.
    A process that ends waits a moment for those that still work: ending while a model computes would abort it.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Condition()
        self._started = 0
        self._idle = 0
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self, work: Callable[[], _Result]) -> PendingCall[_Result]:
        """Start the work in one of the threads; the caller waits for it as long as it likes."""
        call = PendingCall(work)
        with self._lock:
            if not self._idle and self._started < self.most:
                self._started += 1
                _WORKING.add(self)
                threading.Thread(target=self._serve, name="ricordo-tier", daemon=True).start()
            else:
                self._idle -= 1
            self._work.put(call.run)
        return call

    def _serve(self) -> None:
        while True:
            self._work.get()()
            with self._lock:
                self._idle += 1
                self._lock.notify_all()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until all work is done, for at most this long; returns whether it is."""
        with self._lock:
            return self._lock.wait_for(lambda: self._idle >= self._started, seconds)


class Pauses:
    """Which tiers did not answer, and until when they are left alone. A file tells it to other processes, too."""

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._pauses: dict[str, tuple[int, float]] = {}

    def may_ask(self, location: str) -> bool:
        """Whether a tier may be asked now. After a pause one caller may try; the others wait for its result."""
        pause = self._read().get(location)
        if pause is None:
            return True
        times, until = pause
        now = self._clock()
        if now < until <= now + LONGEST_PAUSE:
            return False
        self._write({**self._read(), location: (times, now + FIRST_PAUSE)})
        return True

    def late(self, location: str) -> None:
        """The tier did not answer in time: leave it alone, longer each time."""
        pauses = self._read()
        times = pauses.get(location, (0, 0.0))[0]
        pause = min(FIRST_PAUSE * 2**times, LONGEST_PAUSE)
        self._write({**pauses, location: (min(times + 1, 10), self._clock() + pause)})

    def answered(self, location: str) -> None:
        """The tier answered: ask it every time again."""
        pauses = self._read()
        if location in pauses:
            self._write({name: pause for name, pause in pauses.items() if name != location})

    def _read(self) -> dict[str, tuple[int, float]]:
        if self._file is None:
            return self._pauses
        with suppress(ValueError, TypeError, AttributeError):
            rows = read_json(self._file) or {}
            return {str(name): (int(times), float(until)) for name, (times, until) in rows.items()}
        return {}

    def _write(self, pauses: dict[str, tuple[int, float]]) -> None:
        self._pauses = pauses
        if self._file is None:
            return
        with suppress(OSError, Unavailable):  # a pause that is not kept costs another wait, and nothing else
            if pauses:
                write_json(self._file, pauses)
            else:
                self._file.unlink(missing_ok=True)


TIER_SECONDS = 5.0
"""How long a tier may take before the others answer without it."""
DEEP = 1_000
"""How many hits are looked through for an item that is to be explained."""
MOST_DIFFERENCE = 4_000
"""This many characters of what differs between two tiers' versions are shown."""


class Tier:
    """One store of a federation, opened when it is first asked; when that fails, the next search tries again."""

    def __init__(
        self,
        name: str,
        location: str,
        weight: float,
        *,
        opens: Callable[[], Store],
        searches: Callable[[Store], Searcher],
        is_own: bool = False,
    ) -> None:
        self.is_own = is_own
        """Whether it is the store that the engine was opened for; that one is always asked."""
        self.name = name
        self.location = location
        self.weight = weight
        self._opens = opens
        self._searches = searches
        self._lock = threading.RLock()
        self._store: Store | None = None
        self._searcher: Searcher | None = None
        self.threads = TierThreads(MOST_THREADS)

    @property
    def is_open(self) -> bool:
        return self._store is not None

    @property
    def store(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = self._opens()
            return self._store

    @property
    def searcher(self) -> Searcher:
        with self._lock:
            if self._searcher is None:
                self._searcher = self._searches(self.store)
            return self._searcher

    def state(self) -> TierState:
        """Where it is, and whether it can be reached now."""
        try:
            items = self.store.items.count(Filters())
        except (Error, OSError) as error:
            return TierState(self.name, self.location, self.weight, False, detail=reason(error))
        return TierState(self.name, self.location, self.weight, True, items)


@frozen
class Reply:
    """What one tier answered, with the hashes and times of its hits by item id."""

    tier: Tier
    answer: Answer
    marks: dict[str, ContentMark]


class Federation:
    """Tiers that are searched together, the highest first. Without ``weighted``, the scores stay as they are."""

    def __init__(self, tiers: Sequence[Tier], *, weighted: bool, seconds: float, pauses: Pauses | None = None) -> None:
        self.tiers = tuple(tiers)
        self.pauses = pauses or Pauses()
        self.weighted = weighted
        self.seconds = seconds

    def search(self, request: Request) -> Answer:
        """The merged answer of all tiers that the request asks for."""
        started = time.perf_counter()
        request.check()
        wanted = request.filters.tiers
        if "tier:" in request.query:
            wanted = both(request.filters, parse_query(request.query, literal=request.literal).filters).tiers
        if request.filters.tiers:
            request = replace(request, filters=replace(request.filters, tiers=()))
        chosen = [tier for tier in self.tiers if not wanted or tier.name in wanted]
        if not chosen:
            note = (
                f"there is no tier {' or '.join(wanted)} here"
                if "\x00nothing" not in wanted
                else "the filters name different tiers, and an item has only one"
            )
            return Answer((), SearchMeta(0, 0, since(started), request.profile, notes=(note,)))
        if not self.weighted:
            return chosen[0].searcher.search(replace(request, tier=chosen[0].name))
        # Each of a tier's first hits may end up on the page; some give way to a higher tier's version.
        depth = 2 * (request.limit + request.offset)
        asked = replace(request, offset=0, limit=depth, page=request.page or request.limit)
        replies, failures = self._ask(chosen, asked)
        unshadowed = [_unshadowed(reply, replies[:place]) for place, reply in enumerate(replies)]
        answer = with_other_versions(merged(unshadowed, request), replies)
        degraded = (*answer.meta.degraded, *(f"tier {tier.name}: {reason(error)}" for tier, error in failures))
        return replace(answer, meta=replace(answer.meta, milliseconds=since(started), degraded=degraded))

    def explain(self, request: Request, tier: Tier, n: int) -> Explanation:
        """Why an item of a tier is where it is in an answer, or why it is not in it.

        The same search is done with far more hits, and the item is looked for among them.
        """
        item = tier.store.items.get(n)
        ref, deep = str(item.ref), replace(request, limit=DEEP)
        if item.state == "deleted":
            return Explanation(request.query, ref, False, "it is in the bin; restoring it brings it back")
        answer = self.search(replace(deep, explain=True))
        for rank, hit in enumerate(answer.hits, start=1):
            if hit.ref == ref:
                where = f"rank {rank} of {answer.meta.candidates} candidates, score {hit.score:.3f}"
                where += f": beyond the first {request.limit}" if rank > request.limit else ""
                return Explanation(request.query, ref, True, where, rank, hit)
        reasons = (step.why_missing(ref, answer.hits) for step in tier.searcher.steps_for([ref], request))
        why = next(filter(None, reasons), "")
        if not why and tier.name not in answer.meta.tiers:
            why = f"its tier, {tier.name}, was not searched"
        elif not why and len(answer.meta.tiers) > 1 and ref in [hit.ref for hit in tier.searcher.search(deep).hits]:
            why = "a higher tier answers with the same ref or the same text"
        return Explanation(request.query, ref, False, why or tier.searcher.why_missing(deep, n))

    def _ask(self, chosen: Sequence[Tier], request: Request) -> tuple[list[Reply], list[tuple[Tier, Exception]]]:
        """Ask tiers at the same time. A wrong request is refused; other failures count when all tiers fail.

        A tier that did not answer of late is left alone for a while. What the tiers do has ended when this returns or
        raises, but for a tier that is late.
        """
        if len(chosen) == 1:
            return [ask(chosen[0], request)], []
        lately = Unavailable(f"did not answer within {self.seconds:g} s lately, so it was not asked")
        failures: list[tuple[Tier, Exception]] = [(tier, lately) for tier in chosen if not self._may_ask(tier)]
        paused = [tier for tier, _ in failures]
        asked = [
            (tier, tier.threads.run(partial(copy_context().run, ask, tier, request)))
            for tier in chosen
            if tier not in paused
        ]
        waited = self._wait([call for _, call in sorted(asked, key=lambda pair: not pair[0].is_own)])
        done = [(tier, call) for tier, call in asked if self._ended(tier, call, waited)]
        late = Unavailable(f"did not answer within {round(waited, 2):g} s", hint="Try again later.")
        failures += [(tier, late) for tier, call in asked if (tier, call) not in done]
        replies: list[Reply] = []
        for tier, call in done:
            if isinstance(call.error, Exception) and not isinstance(call.error, UsageError):
                failures.append((tier, call.error))  # whatever breaks in one tier must not cost the others' hits
            else:
                replies.append(call.result())
        if not replies:
            first = failures[0][1]
            if not isinstance(first, Error):
                raise first
            failed = "; ".join(f"tier {tier.name}: {reason(error)}" for tier, error in failures)
            raise Unavailable(f"no tier could be searched: {failed}", hint=first.hint)
        return replies, failures

    def _may_ask(self, tier: Tier) -> bool:
        return tier.is_own or self.pauses.may_ask(tier.location)

    def _wait(self, calls: Sequence[PendingCall[_Result]]) -> float:
        """Wait until the calls are done or the time is up; returns how long they were given.

        A caller in a hurry shortens the time. If no call is done by then, the first one gets as long as the caller
        waits, because an answer that comes late is worth more than none.
        """
        started = time.monotonic()
        limit = within_callers(self.seconds)
        done = [call.wait(max(0.0, started + limit - time.monotonic())) for call in calls]
        if calls and not any(done) and limit < self.seconds:
            calls[0].wait(while_caller_waits(self.seconds - limit))
            return max(limit, time.monotonic() - started)
        return limit

    def _ended(self, tier: Tier, call: PendingCall[_Result], waited: float) -> bool:
        """Whether a call of a tier has ended. If not, and it had all of ``TIER_SECONDS``, the tier is left alone for a
        while; that a caller was in a hurry says nothing about the tier.
        """
        if call.wait(0):
            if not tier.is_own:
                self.pauses.answered(tier.location)
            return True
        call.cancel()
        if not tier.is_own and waited >= self.seconds:
            self.pauses.late(tier.location)
        return False

    def first(self, find: Callable[[Store], _Result | None]) -> tuple[Tier, _Result] | None:
        """The highest tier in which something is found; tiers that cannot be reached, or are late, are passed over."""
        for tier in self.tiers:
            try:
                if tier.is_own:
                    result = find(tier.store)
                elif self._may_ask(tier):
                    call = tier.threads.run(lambda tier=tier: find(tier.store))  # type: ignore[misc]
                    call.wait(limit := within_callers(self.seconds))
                    result = call.result() if self._ended(tier, call, limit) else None
                else:
                    continue
            except (Error, OSError):
                continue
            if result is not None:
                return tier, result
        return None


def ask(tier: Tier, request: Request) -> Reply:
    """One tier's answer."""
    floor = request.min_score / tier.weight if tier.weight else request.min_score
    answer = tier.searcher.search(replace(request, min_score=min(1.0, floor * (1 - 1e-9))))
    marks = tier.store.items.content_marks([(hit.id, hit.version) for hit in answer.hits])
    return Reply(tier, answer, marks)


def _unshadowed(reply: Reply, higher: Sequence[Reply]) -> Reply:
    """A tier's answer without the refs that a higher tier holds, whether that one showed its version or not."""
    left = {hit.ref: Ref.parse(hit.ref) for hit in reply.answer.hits}
    for above in higher:
        with suppress(Error, OSError):  # it answered a moment ago; what it showed is left out by its ref all the same
            held = above.tier.store.items.numbers(list(left.values())) if left else {}
            left = {name: ref for name, ref in left.items() if ref not in held}
    hits = tuple(hit for hit in reply.answer.hits if hit.ref in left)
    return replace(reply, answer=replace(reply.answer, hits=hits))


def merged(replies: Sequence[Reply], request: Request) -> Answer:
    """One answer from those of several tiers, the highest first."""
    hits: list[tuple[Hit, ContentMark | None]] = []
    refs: set[str] = set()
    texts: set[str] = set()
    for reply in replies:
        fresh = []
        for hit in reply.answer.hits:
            mark = reply.marks.get(hit.id)
            if hit.ref not in refs and (mark is None or mark.text_hash not in texts):
                fresh.append((with_tier_weight(hit, reply.tier), mark))
        refs.update(hit.ref for hit, _ in fresh)
        texts.update(mark.text_hash for _, mark in fresh if mark is not None and mark.text_hash)
        hits += fresh
    weights = next((reply.answer.meta.weights for reply in replies if reply.answer.meta.weights), {})
    if weights:
        hits = [entry for entry in hits if entry[0].score >= request.min_score]
    if len(replies) > 1:
        if weights and "substring" not in weights:
            for step in replies[0].tier.searcher.steps_for([hit.ref for hit, _ in hits], request):
                scored = step.merged([hit for hit, _ in hits])
                hits = [(hit, mark) for hit, (_, mark) in zip(scored, hits, strict=True)]
            hits.sort(key=lambda entry: (-entry[0].score, entry[0].kind == SESSION, entry[0].ref))
            if request.diverse:
                hits = [hits[place] for place in _diverse_places([hit for hit, _ in hits])]
        else:
            hits.sort(key=lambda entry: (-(entry[1].changed if entry[1] else 0.0), entry[0].ref))
    # If the profile shows a small store whole on the first page, the merged answer does so as well.
    shows_all = any(note.startswith(SHOWS_ALL) for reply in replies for note in reply.answer.meta.notes)
    last = len(hits) if shows_all else request.offset + request.limit
    page = () if shows_all and request.offset else tuple(hit for hit, _ in hits[request.offset : last])
    return Answer(page, _meta(replies, request, page))


def with_other_versions(answer: Answer, replies: Sequence[Reply]) -> Answer:
    """An answer whose hits say where another tier that was searched found another version of them."""
    versions_of = {(reply.tier.name, hit.ref): (reply, hit) for reply in replies for hit in reply.answer.hits}
    hits = []
    for hit in answer.hits:
        own = versions_of.get((hit.tier, hit.ref))
        others = [pair for (tier, ref), pair in versions_of.items() if ref == hit.ref and tier != hit.tier]
        versions = [_elsewhere(*own, *other) for other in others] if own is not None else []
        hits.append(replace(hit, elsewhere=tuple(version for version in versions if version is not None)))
    return replace(answer, hits=tuple(hits))


def _elsewhere(reply: Reply, hit: Hit, other_reply: Reply, other: Hit) -> Elsewhere | None:
    """What another tier holds under the ref of a hit; None where both texts are the same."""
    mine, theirs = reply.marks.get(hit.id), other_reply.marks.get(other.id)
    if mine is None or theirs is None or mine.text_hash == theirs.text_hash:
        return None
    import difflib

    texts: list[list[str]] = []
    for tier, version in ((reply.tier, hit), (other_reply.tier, other)):
        ref = tier.store.items.ref_by_id(version.id)
        n = tier.store.items.number(ref) if ref is not None else None
        texts.append(tier.store.items.get(n).content.splitlines(keepends=True) if n is not None else [])
    lines = difflib.unified_diff(texts[0], texts[1], reply.tier.name, other_reply.tier.name, n=1)
    return Elsewhere(
        other_reply.tier.name, other.version, theirs.changed > mine.changed, "".join(lines)[:MOST_DIFFERENCE]
    )


def _diverse_places(hits: Sequence[Hit]) -> list[int]:
    """The diverse order of merged hits. Words are compared, not vectors, because tiers may have different models."""
    from ricordo.search.rerank import diverse_order, similarity_of

    words = [frozenset(folded_words(" ".join((hit.title, *(part.text for part in hit.evidence))))) for hit in hits]
    return diverse_order([hit.score for hit in hits], similarity_of([None] * len(hits), words), len(hits))


def with_tier_weight(hit: Hit, tier: Tier) -> Hit:
    """A hit with its tier's factor, shown as a step of its own."""
    score = min(1.0, hit.score * tier.weight)
    explain = hit.explain
    if explain is not None:
        explain = replace(explain, steps=(*explain.steps, (f"tier {tier.name} ×{tier.weight}", score)))
    item = replace(hit.item, tier=tier.name) if hit.item is not None else None
    return replace(hit, score=score, tier=tier.name, explain=explain, item=item)


def _meta(replies: Sequence[Reply], request: Request, page: tuple[Hit, ...]) -> SearchMeta:
    metas = [reply.answer.meta for reply in replies]
    shared = set(metas[0].degraded).intersection(*(meta.degraded for meta in metas[1:]))
    degraded = list(dict.fromkeys(text for text in metas[0].degraded if text in shared))
    for reply in replies:
        own = [text for text in reply.answer.meta.degraded if text not in shared]
        degraded += [f"tier {reply.tier.name}: {text}" for text in own]
    notes = dict.fromkeys(note for meta in metas for note in meta.notes if is_true_of(note, page))
    if NOTHING_FITS in notes and not note_of(page):
        del notes[NOTHING_FITS]  # it was true of one tier's hits; this one is about all of them
    return SearchMeta(
        sum(meta.candidates for meta in metas),
        len(page),
        0.0,
        request.profile,
        next((meta.weights for meta in metas if meta.weights), {}),
        tuple(reply.tier.name for reply in replies),
        tuple(degraded),
        tuple(notes),
        best_fit(page) if any(meta.fit is not None for meta in metas) else None,
    )


def reason(error: Exception) -> str:
    """What went wrong, in one line."""
    return error.message if isinstance(error, Error) else f"{type(error).__name__}: {error}"
