"""Verbs about use: feedback, learn, stats, clear_log."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.engine.checks import check_choice
from ricordo.engine.following import follows
from ricordo.engine.opening import OpenEngine
from ricordo.errors import UsageError
from ricordo.search.profiles import Profile, built_in, find_profile
from ricordo.values.items import Ref
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.memory.use import Learner, Learning
    from ricordo.values.kinds import StatsBy, Verdict
    from ricordo.values.use import FeedbackReport, Retrieval, StatsReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import QUERY_TEXT, REF_TEXT, ItemName, Limit

STATS_BY = ("query", "tool", "day")


class UseVerbs(OpenEngine):
    """Learns from feedback, and counts what was asked and found."""

    @cached_property
    def learn(self) -> Learning:
        """What profiles learned from feedback: ``learn.status()``, ``freeze()``, ``rollback()``, ``history()``."""
        from ricordo.memory.use import Learning

        return Learning(self._context.store, self._context.provider, self._learners)

    def _learners(self) -> dict[str, Learner]:
        from ricordo.memory.use import Learner

        config = self._context.config
        vectors = config.embedding.provider != "none"
        known = (find_profile(config, name) for name, one in built_in().items() if one.learns)
        return {one.name: Learner(one.learns, _own_weights(one, vectors=vectors)) for one in known if one.learns}

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
        found = self._context.resolve(ref)
        return self.learn.take(query, self._context.store.items.require(found), str(found), verdict)

    @verb(
        "read",
        "look after",
        "Show which queries were asked, and what they found.",
        examples=("ricordo stats", "ricordo stats --days 7 --by tool"),
    )
    def stats(
        self,
        *,
        days: Annotated[float, Say("How far back.", 0.000_01, 36_500, shown="N")] = 30,
        by: Annotated[StatsBy, Say("Count queries by this.")] = "query",
        limit: Limit = 10,
    ) -> StatsReport:
        """What was asked and found in the last days, by query, tool or day."""
        check_choice("by", by, STATS_BY)
        if not 0 < days <= 36500 or limit < 1:
            raise UsageError("the limit is at least 1, and days are more than 0", hint="At most 36500 days.")
        self._context.flush_use()
        return self._context.store.usage.stats(days=days, by=by, limit=limit)

    @verb(
        "read",
        "look after",
        "Show when an item was found and opened.",
        path="stats log",
        answers="retrievals",
        examples=("ricordo stats log --item notes/keys.md", "ricordo stats log --query 'rotate keys'"),
    )
    @follows("ref")
    def retrievals(
        self,
        *,
        ref: Annotated[str | Ref, Say("Which queries showed this item.", name="item", longest=REF_TEXT)] | None = None,
        query: Annotated[str, Say("What this query showed, each time it was asked.", longest=QUERY_TEXT)] | None = None,
        limit: Limit = 50,
    ) -> tuple[Retrieval, ...]:
        """The retrieval log of one item (which queries showed it, when it was opened) or of one query, latest first."""
        if (ref is None) == (query is None) or limit < 1:
            raise UsageError("say one item or one query", hint="Name a ref, or give the text of the query as asked.")
        self._context.flush_use()
        n = self._context.number(ref) if ref is not None else None
        return tuple(self._context.store.usage.retrievals(item=n, query=query, limit=limit))

    @verb(
        "admin",
        "look after",
        "Erase the log of queries and of what they found.",
        path="stats clear",
        answers="count",
        examples=("ricordo stats clear",),
    )
    def clear_log(self) -> int:
        """Returns how many queries it held."""
        self._context.flush_use()
        return self._context.store.usage.clear()


def _own_weights(profile: Profile, *, vectors: bool) -> dict[str, float]:
    """The weights that learning changes; if the text signal would be the only one, those for searches with vectors."""
    weights = profile.weights(vectors=vectors)
    return profile.weights() if weights.get(profile.learns or "") == 1.0 else weights
