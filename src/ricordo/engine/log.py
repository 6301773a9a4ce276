"""Verbs about use: what happened; the log of what was asked, changed and told; feedback and what is learned from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from ricordo import told_log
from ricordo.engine.checks import check_choice, check_type, kinds_of
from ricordo.engine.finding import FindVerbs
from ricordo.engine.items import replacement
from ricordo.engine.tiers import follows
from ricordo.errors import Forbidden, UsageError
from ricordo.permissions import is_admin, is_agent
from ricordo.search.profiles import built_in, find_profile
from ricordo.values import provenance
from ricordo.values.items import Ref
from ricordo.values.kinds import REMEMBERED_KINDS
from ricordo.values.log import AuditEntry, Timeline
from ricordo.values.times import moment_since
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.memory.use import Learner, Learning
    from ricordo.values.kinds import LogSummary, LogWhat, Verdict
    from ricordo.values.reports import AskedQuestion, LinkGraph, LogReport, TagCount
    from ricordo.values.use import FeedbackReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, QUERY_TEXT, ItemName, ManyLimit, OnlyKinds, Since, ThreadName, Until

LOGS = ("asked", "changed", "told")
SUMMARIES = ("query", "tool", "day")
SUMMARY_DAYS = 30
SOON = 30 * 60.0
"""An item that is opened within this many seconds was opened because of the question."""
LOOKED_THROUGH = 500
"""How many of the latest questions are looked through for those without an answer."""
MOST_ASKED_AGAIN = 40
"""How many different ones of these are asked again."""
MOST_EVENTS = 10_000
AROUND = 2
"""How many links far the graph around an item goes."""


class LogVerbs(FindVerbs):
    """Says what was asked of a store and done to it, and learns from feedback."""

    @verb(
        "write",
        "look after",
        "Show what was asked, what was changed by whom, or what agents were told.",
        examples=(
            "ricordo log",
            "ricordo log asked --unanswered",
            "ricordo log asked --summary query --since 7d",
            "ricordo log changed memory:/office",
            "ricordo log told --by claude --since 7d",
        ),
        looking={"clear": None},
    )
    @follows("ref")
    def log(
        self,
        what: Annotated[LogWhat, Say("What was asked, changed, or told to agents.")] = "asked",
        ref: ItemName | None = None,
        *,
        since: Since | None = None,
        until: Until | None = None,
        by: Annotated[
            str, Say("Only what this author, program, session, token, door or machine did.", longest=NAME_TEXT)
        ] = "",
        unanswered: Annotated[
            bool, Say("Only questions that nothing fitted or fits now; they are asked again.")
        ] = False,
        summary: Annotated[LogSummary, Say("Count the questions by this; the last 30 days, or since when.")]
        | None = None,
        clear: Annotated[bool, Say("Erase the log of questions; how often each item was used stays.")] = False,
        limit: ManyLimit = 50,
    ) -> LogReport:
        """The latest first. ``asked`` lists questions with their best hits, and with a ref the questions that showed
        it; ``unanswered`` asks those again that nothing fitted. ``changed`` lists who changed what, when, and through
        which door, ``told`` what was found, opened and told; both are for administrators. A summary lists the
        questions that were most frequent, slowest or without a result, and the items found most often or never.
        """
        from ricordo.values.reports import LogReport

        check_choice("what", what, LOGS)
        if limit < 1:
            raise UsageError("the limit is at least 1")
        if what != "asked" and (unanswered or summary or clear):
            raise UsageError(f"that is said of what was asked, not of what was {what}", hint="‹:log asked›")
        if (what != "asked" or clear) and (is_agent() or not is_admin()):
            raise Forbidden(
                "only administrators see who did what, and erase the log", hint="‹:log asked› shows questions."
            )
        context = self._context
        context.flush_use()
        if clear:
            return LogReport(what, erased=context.store.usage.clear())
        start = moment_since(since) if since is not None else None
        end = moment_since(until) if until is not None else None
        n = context.number(ref) if ref is not None else None
        if summary is not None:
            check_choice("summary", summary, SUMMARIES)
            days = (datetime.now(UTC) - start) / timedelta(days=1) if start is not None else SUMMARY_DAYS
            return LogReport(what, summary=context.store.usage.stats(days=max(days, 1e-5), by=summary, limit=limit))
        if what != "asked":
            return self._changes(what, n, ref, start=start, end=end, by=by, limit=limit)
        if n is not None:
            return LogReport(what, retrievals=tuple(context.store.usage.retrievals(n, limit)))
        most = LOOKED_THROUGH if unanswered else limit + 1
        questions = context.store.overview.questions(since=start, until=end, by=by, opened_within=SOON, limit=most)
        if unanswered:
            questions = self._unfit(questions)
        return LogReport(what, tuple(questions[:limit]), more=len(questions) > limit)

    def _changes(
        self, what: str, n: int | None, ref: ItemName | None, *, start: datetime | None, end: datetime | None, by: str,
        limit: int,
    ) -> LogReport:  # fmt: skip
        from ricordo.values.reports import LogReport

        store, told = self._context.store, what == "told"
        item = store.items.get_many([n])[n].id if n is not None else None
        entries = store.audit.entries(item=item, since=start, until=end, by=by, told=told, limit=limit + 1)
        if told:
            entries = sorted(
                (*entries, *self._told_by_hooks(ref, start, end, by)), key=lambda entry: entry.at, reverse=True
            )
        return LogReport(what, entries=tuple(entries[:limit]), more=len(entries) > limit)

    def _told_by_hooks(
        self, ref: ItemName | None, start: datetime | None, end: datetime | None, by: str
    ) -> Iterator[AuditEntry]:
        """What hooks told agents; only the refs of it are known."""
        wanted = str(self._context.resolve(ref)) if ref is not None else None
        for line in told_log.lines(start.timestamp() if start is not None else 0.0):
            at, asker = datetime.fromtimestamp(line["at"], UTC), line.get("asker") or ""
            if line["store"] != self._context.location or (end is not None and at >= end):
                continue
            for told in line["refs"]:
                if wanted in (None, told) and by.lower() in asker.lower():
                    yield AuditEntry(at, "told", told, 0, provenance.read(asker), line["event"])

    def _unfit(self, questions: Sequence[AskedQuestion]) -> list[AskedQuestion]:
        """Of the latest questions, each once, those that nothing fitted then, and nothing fits now."""
        least = self._context.config.search.min_fit
        latest: dict[str, AskedQuestion] = {}
        for question in questions:
            latest.setdefault(question.text.strip().casefold(), question)
        doubtful = [question for question in latest.values() if question.fit is None or question.fit < least]
        unfit = []
        for question in doubtful[:MOST_ASKED_AGAIN]:
            fit = self.search(question.text, limit=3, track=False, rerank="none", snippets=False).meta.fit
            if fit is not None and fit < least:
                unfit.append(replace(question, fit_now=fit))
        return unfit

    @verb(
        "read",
        "agents",
        "Show what happened, in order.",
        examples=(
            "ricordo timeline --since 7d",
            "ricordo timeline --since 2026-11-01 --kind memory",
            "ricordo timeline --newest-first --limit 5",
        ),
    )
    def timeline(
        self,
        *,
        since: Since | None = None,
        thread: ThreadName | None = None,
        kinds: OnlyKinds = (),
        limit: ManyLimit = 50,
        newest_first: Annotated[bool, Say("The newest first.")] = False,
    ) -> Timeline:
        """What happened since a time or for a span (``7d``), in order: said, made, changed, remembered, put away.

        The use of tools is listed only for a ``thread``.
        """
        check_type("limit", limit, int)
        if not 1 <= limit <= MOST_EVENTS:
            raise UsageError("the limit is at least 1", hint=f"And at most {MOST_EVENTS:,}.")
        moment, store = moment_since(since), self._context.store
        happenings = store.threads.happenings(since=moment, thread=thread, kinds=kinds_of(kinds), limit=limit + 1)
        refs = {event.ref: Ref.parse(event.ref) for event in happenings[:limit] if event.kind in REMEMBERED_KINDS}
        numbers = store.items.numbers(list(refs.values()))
        items = store.items.get_many(list(numbers.values()))
        replaced = {text: replacement(store, n, items[n]) for text, ref in refs.items() if (n := numbers.get(ref))}
        # With the items that replaced those that are archived by now.
        events = [replace(event, **replaced.get(event.ref, {})) for event in happenings[:limit]]
        return Timeline(tuple(events if newest_first else reversed(events)), moment, more=len(happenings) > limit)

    @verb(
        "write",
        "find",
        "Say whether a hit was useful.",
        examples=(
            "ricordo feedback how do I rotate the keys notes/keys.md accepted",
            "ricordo feedback login memory:/login-bug dismissed",
        ),
    )
    @follows("ref")
    def feedback(
        self,
        query: Annotated[str, Say("The query that found it.", longest=QUERY_TEXT, example="how are keys rotated?")],
        ref: ItemName,
        verdict: Annotated[Verdict, Say("What became of the hit.")],
    ) -> FeedbackReport:
        """Enough verdicts change the weights of profiles that learn."""
        resolved = self._context.resolve(ref)
        return self.learn.take(query, self._context.store.items.require(resolved), str(resolved), verdict)

    @cached_property
    def learn(self) -> Learning:
        """What profiles learned from feedback: ``learn.status()``, ``freeze()``, ``rollback()``, ``history()``."""
        from ricordo.memory.use import Learning

        return Learning(self._context.store, self._context.provider, self._learners)

    def _learners(self) -> dict[str, Learner]:
        from ricordo.memory.use import Learner

        config = self._context.config
        learners = {}
        for profile in (
            find_profile(config, name) for name, built_in_profile in built_in().items() if built_in_profile.learns
        ):
            weights = profile.weights(vectors=config.embedding.provider != "none")
            if profile.learns:
                # If the text signal would be the only one, learning changes the weights for searches with vectors.
                weights = profile.weights() if weights.get(profile.learns) == 1.0 else weights
                learners[profile.name] = Learner(profile.learns, weights)
        return learners

    def tags(self) -> tuple[TagCount, ...]:
        """The tags and how many items have each, the most frequent first. Tags that differ in upper and lower case
        alone are one.
        """
        return tuple(self._context.store.overview.tags())

    @follows("ref")
    def graph(self, *, ref: str | Ref | None = None, limit: int = 1000) -> LinkGraph:
        """Items and the links between them: all, or what is at most two links away from one item. Those with the most
        links come first, and stay if there are more than the limit.
        """
        store = self._context.store
        among = None
        if ref is not None:
            among = store.links.neighbours([self._context.present_number(ref)], AROUND)
        return store.overview.graph(limit, among)
