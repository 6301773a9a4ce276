"""The verb that collects all that is known about a topic: gather."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.program_notes import asking_program
from ricordo.engine.skills import SkillVerbs
from ricordo.errors import UsageError
from ricordo.values.hits import Filters
from ricordo.values.kinds import KINDS, SESSION
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.context.passages import ContextPassage
    from ricordo.store.base import Store
    from ricordo.values.context import Gathered
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, QUERY_TEXT, Since, Until

CANDIDATES = 100
"""How many hits are looked at: nearly all evidence is among them, where the first ten hold a quarter to a half."""
NEAR = 2
FAR = 20
"""Nothing is told if not even the best hit fits a half (``NEAR``) of what ``search.min_fit`` asks for. Otherwise hits
are left out that fit less than a twentieth (``FAR``) of it: evidence often shares few words with its topic.
"""
WEAK = 0.3
"""Passages are left out whose value is below this share of the best one's. It is lower than in a context: one message
that repeats the topic word for word is far ahead of all the others, which are the evidence.
"""
GATHERED_KINDS = tuple(kind for kind in KINDS if kind not in ("skill", "tool"))


class GatherVerbs(SkillVerbs):
    """Collects evidence; what it shows is not counted as use."""

    @verb(
        "read",
        "agents",
        "Tell all that is known about a topic, in order of time.",
        examples=(
            "ricordo gather the login timeout",
            "ricordo gather 'database migration' --budget 4000 --since 90d",
            "ricordo gather release plan --kind session --json",
        ),
        needs_model=True,
    )
    def gather(
        self,
        topic: Annotated[str, Say("What it is about.", longest=QUERY_TEXT, shown="TOPIC", example="the login timeout")],
        *,
        budget: Annotated[
            int, Say("The most tokens to spend, labels included.", 1, most=100_000, shown="TOKENS")
        ] = 2000,
        filters: Filters | None = None,
        since: Since | None = None,
        until: Until | None = None,
        session: Annotated[
            str, Say("The id of the session that asks; what was said in it is left out.", longest=NAME_TEXT)
        ] = "",
    ) -> Gathered:
        """Evidence from memories, documents and sessions, oldest first, each piece once, with its day and its ref.

        For "what happened with ...", "in which order" and "summarise what we know". ``search`` shows the best few; this
        shows many different pieces in a few words each, and more of each if there is room. Pieces are chosen because
        they fit the topic and differ from one another: other items, sessions and days. All of it is in one fence, as
        data.
        """
        from ricordo.context.gather import Gatherer

        if budget < 1:
            raise UsageError(
                f"a budget of {budget} tokens is too small for anything", hint="Give at least 1; 2000 is usual."
            )
        if not topic.strip():
            raise UsageError("there is no topic to gather evidence on", hint="Say what it is about in a few words.")
        warnings: list[str] = []
        stores = self._reachable_stores(warnings)
        passages = self._evidence(topic, stores, warnings, session=session, filters=filters, since=since, until=until)
        return Gatherer(passages, budget, registry.token_counter()).gather(topic, warnings)

    def _evidence(
        self,
        topic: str,
        stores: Mapping[str, Store],
        warnings: list[str],
        *,
        session: str = "",
        filters: Filters | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> list[ContextPassage]:
        """The passages that have to do with a topic, best first; each turn of a session counts for itself."""
        from ricordo.context.passages import EchoFilter, passages_of, strong
        from ricordo.search.fit import fitting

        wanted = filters or Filters()
        answer = self.search(
            topic, limit=CANDIDATES, filters=replace(wanted, kinds=wanted.kinds or GATHERED_KINDS), since=since,
            until=until, literal=True, track=False, turns=True,
        )  # fmt: skip
        warnings += answer.meta.degraded
        least = self._context.config.search.min_fit
        hits = fitting(answer.hits, least / FAR) if fitting(answer.hits, least / NEAR) else ()
        passages = EchoFilter(topic, session, asking_program()).without_echoes(passages_of(hits, stores))
        # The item of a session lists what was asked in it, which its turns say themselves.
        return strong([one for one in passages if one.item.kind != SESSION or one.item.fields.seq is not None], WEAK)
