"""Verbs that give an overview: what was asked, which tags there are, and what is linked with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.finding import FindVerbs
from ricordo.engine.following import follows
from ricordo.values.items import Ref
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.reports import AskedQuestion, AskedReport, LinkGraph, TagCount
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, REF_TEXT, Limit, Since, Until

SOON = 30 * 60.0
"""An item that is opened within this many seconds was opened because of the question."""
LOOKED_THROUGH = 500
"""How many of the latest questions are looked through for those without an answer."""
MOST_ASKED_AGAIN = 40
"""How many different ones of these are asked again."""
AROUND = 2
"""How many links far the graph around an item goes."""


class OverviewVerbs(FindVerbs):
    """Shows a store from above."""

    @verb(
        "read",
        "look after",
        "Show what was asked, by whom, what was shown, and what was opened.",
        examples=("ricordo asked", "ricordo asked --by claude --since 7d", "ricordo asked --unanswered"),
    )
    def asked(
        self,
        *,
        since: Since | None = None,
        until: Until | None = None,
        by: Annotated[
            str, Say("Only what this author, program, session, token, door or machine asked.", longest=NAME_TEXT)
        ] = "",
        unanswered: Annotated[bool, Say("Only those that nothing fitted or fits now; they are asked again.")] = False,
        limit: Limit = 50,
    ) -> AskedReport:
        """The latest first. Each question is in the log once, in the store that was asked, whichever tiers it searched;
        of its hits, those that this store keeps are listed. ``fit`` is that of the moment, as the store that answered
        judged it. For ``unanswered``, those that nothing fitted are asked again, each once, because what was missing
        may have been written down since; ``fit_now`` is that of now.
        """
        from ricordo.values.reports import AskedReport
        from ricordo.values.times import moment_since

        context = self._context
        context.flush_use()
        found = context.store.overview.questions(
            since=moment_since(since) if since is not None else None,
            until=moment_since(until) if until is not None else None,
            by=by,
            opened_within=SOON,
            limit=LOOKED_THROUGH if unanswered else limit + 1,
        )
        if unanswered:
            found = self._unfit(found)
        return AskedReport(tuple(found[:limit]), more=len(found) > limit)

    def _unfit(self, questions: Sequence[AskedQuestion]) -> list[AskedQuestion]:
        """Of the latest questions, each once, those that nothing fitted then, and nothing fits now."""
        least = self._context.config.search.min_fit
        latest: dict[str, AskedQuestion] = {}
        for one in questions:
            latest.setdefault(one.text.strip().casefold(), one)
        doubtful = [one for one in latest.values() if one.fit is None or one.fit < least]
        unfit = []
        for one in doubtful[:MOST_ASKED_AGAIN]:
            fit = self.search(one.text, limit=3, track=False, rerank="none", snippets=False).meta.fit
            if fit is not None and fit < least:
                unfit.append(replace(one, fit_now=fit))
        return unfit

    @verb("read", "find", "Show the tags, and how many items have each.", answers="tags", examples=("ricordo tags",))
    def tags(self) -> tuple[TagCount, ...]:
        """The most frequent first. Tags that differ in upper and lower case alone are one."""
        return tuple(self._context.store.overview.tags())

    @verb(
        "read",
        "find",
        "Show items and the links between them as a graph.",
        examples=("ricordo graph --json", "ricordo graph --item note:/plan"),
    )
    @follows("ref")
    def graph(
        self,
        *,
        ref: Annotated[
            str | Ref, Say("Only what is at most two links away from this item.", name="item", longest=REF_TEXT)
        ]
        | None = None,
        limit: Annotated[int, Say("How many items at most.", 1, most=10_000, short="-n", shown="N")] = 1000,
    ) -> LinkGraph:
        """Those with the most links come first, and stay if there are more than the limit. Links lead from one place
        in the list of items to another.
        """
        store = self._context.store
        among = None
        if ref is not None:
            among = store.links.neighbours([self._context.present_number(ref)], AROUND)
        return store.overview.graph(limit, among)
