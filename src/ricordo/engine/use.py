"""Verbs about use: feedback, learn, stats, clear_log."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.engine.checks import check_choice
from ricordo.engine.context import EngineContext
from ricordo.errors import UsageError
from ricordo.search.profile import Profile, built_in, find_profile
from ricordo.values.items import Ref

if TYPE_CHECKING:
    from ricordo.memory.feedback import Learner, Learning
    from ricordo.values.use import FeedbackReport, Retrieval, StatsReport

STATS_BY = ("query", "tool", "day")


class UseVerbs:
    """Learns from feedback, and counts what was asked and found."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    @cached_property
    def learn(self) -> Learning:
        from ricordo.memory.feedback import Learning

        return Learning(self._context.store, self._context.provider, self._learners)

    def _learners(self) -> dict[str, Learner]:
        from ricordo.memory.feedback import Learner

        config = self._context.config
        vectors = config.embedding.provider != "none"
        known = (find_profile(config, name) for name, one in built_in().items() if one.learns)
        return {one.name: Learner(one.learns, _own_weights(one, vectors=vectors)) for one in known if one.learns}

    def feedback(self, query: str, ref: str | Ref, verdict: str) -> FeedbackReport:
        found = self._context.resolve(ref)
        return self.learn.take(query, self._context.store.items.require(found), str(found), verdict)

    def stats(self, *, days: float = 30, by: str = "query", limit: int = 10) -> StatsReport:
        check_choice("by", by, STATS_BY)
        if not 0 < days <= 36500 or limit < 1:
            raise UsageError("the limit is at least 1, and days are more than 0", hint="At most 36500 days.")
        self._context.flush_use()
        return self._context.store.usage.stats(days=days, by=by, limit=limit)

    def retrievals(
        self, *, ref: str | Ref | None = None, query: str | None = None, limit: int = 50
    ) -> tuple[Retrieval, ...]:
        if (ref is None) == (query is None) or limit < 1:
            raise UsageError("say one item or one query", hint="Name a ref, or give the text of the query as asked.")
        self._context.flush_use()
        n = self._context.number(ref) if ref is not None else None
        return tuple(self._context.store.usage.retrievals(item=n, query=query, limit=limit))

    def clear_log(self) -> int:
        self._context.flush_use()
        return self._context.store.usage.clear()


def _own_weights(profile: Profile, *, vectors: bool) -> dict[str, float]:
    """The weights that learning changes; if the text signal would be the only one, those for searches with vectors."""
    weights = profile.weights(vectors=vectors)
    return profile.weights() if weights.get(profile.learns or "") == 1.0 else weights
