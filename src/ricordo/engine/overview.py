"""Verbs that give an overview: what was asked, which tags there are, and what is linked with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.context import EngineContext
from ricordo.engine.following import follows
from ricordo.values.items import Ref
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.overview import AskedReport, LinkGraph, TagCount
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, REF_TEXT, Limit, Since, Until

SOON = 30 * 60.0
"""An item that is opened within this many seconds was opened because of the question."""
AROUND = 2
"""How many links far the graph around an item goes."""


class OverviewVerbs:
    """Shows a store from above."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

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
        unanswered: Annotated[bool, Say("Only questions that nothing fitted.")] = False,
        limit: Limit = 50,
    ) -> AskedReport:
        """The latest first. Each question is in the log once, in the store that was asked, whichever tiers it searched;
        of its hits, those that this store keeps are listed.
        """
        from ricordo.text.durations import moment_since
        from ricordo.values.overview import AskedReport

        context = self._context
        context.flush_use()
        found = context.store.overview.questions(
            since=moment_since(since) if since is not None else None,
            until=moment_since(until) if until is not None else None,
            by=by,
            unanswered=unanswered,
            opened_within=SOON,
            limit=limit + 1,
        )
        return AskedReport(tuple(found[:limit]), more=len(found) > limit)

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
