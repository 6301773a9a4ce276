"""The engine's verbs about use and relations: feedback, learning, stats, links."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.engine.core import Core, check_choice, refuse_binned
from ricordo.errors import UsageError
from ricordo.search.profile import built_in, find_profile
from ricordo.search.request import Request
from ricordo.values.hits import Answer, Filters
from ricordo.values.items import Ref
from ricordo.values.links import Link, LinkReport

if TYPE_CHECKING:
    from ricordo.memory.feedback import Learner, Learning
    from ricordo.values.use import FeedbackReport, StatsReport

STATS_BY = ("query", "tool", "day")


class Remembering(Core):
    """Learns from use, and knows what belongs together."""

    @cached_property
    def learn(self) -> Learning:
        """What profiles learned from feedback: ``learn.status()``, ``freeze()``, ``rollback()``, ``history()``."""
        from ricordo.memory.feedback import Learning

        return Learning(self.store, self._config, self._learners)

    def _learners(self) -> dict[str, Learner]:
        from ricordo.memory.feedback import Learner

        config = self.config
        vectors = config.embedding.provider != "none"
        known = (find_profile(config, name) for name, one in built_in().items() if one.learns)
        return {one.name: Learner(one.learns, one.weights(vectors=vectors)) for one in known if one.learns}

    def feedback(self, query: str, ref: str | Ref, verdict: str) -> FeedbackReport:
        """Say what became of an item that a query found: accepted, modified, dismissed or failed."""
        found = self.resolve(ref)
        return self.learn.take(query, self.store.items.require(found), str(found), verdict)

    def stats(self, *, days: float = 30, by: str = "query", limit: int = 10) -> StatsReport:
        """What was asked and found in the last days, by query, tool or day."""
        check_choice("by", by, STATS_BY)
        if not 0 < days <= 36500 or limit < 1:
            raise UsageError("the limit is at least 1, and days are more than 0", hint="At most 36500 days.")
        self._tracker.flush()
        return self.store.usage.stats(days=days, by=by, limit=limit)

    def clear_log(self) -> int:
        """Erase the log of queries and of what they found; answers how many queries it held."""
        self._tracker.flush()
        return self.store.usage.clear()

    def link(self, source: str | Ref, target: str | Ref, type: str = "mentions") -> Link:  # noqa: A002 - the domain's word
        """Link one item to another; doing so again changes nothing."""
        from ricordo.memory.links import link

        return link(self.store, self._present(source), self._present(target), type)

    def unlink(self, source: str | Ref, target: str | Ref, type: str | None = None) -> int:  # noqa: A002
        """Take a link made by ``link`` away, of one type or of all; how many there were."""
        from ricordo.memory.links import unlink

        return unlink(self.store, self._present(source), self._present(target), type)

    def links(self, ref: str | Ref, *, depth: int = 2) -> LinkReport:
        """The links around an item, both ways, by hand and from texts."""
        from ricordo.memory.links import around

        return around(self.store, self._present(ref), depth)

    def suggest_links(self, ref: str | Ref, *, limit: int = 10) -> Answer:
        """Items that are like one but not linked with it: by meaning or, without vectors, by the words of its title."""
        n = self._present(ref)
        deep = limit + len(self.store.links.neighbours([n], 1))
        answer = self._searcher.similar(n, limit=deep, filters=Filters())
        if not answer.hits:
            title = self.store.items.get_many([n])[n].title
            answer = self._searcher.search(Request(title, limit=deep, vectors=False, literal=True))
        from ricordo.memory.links import without_linked

        return without_linked(self.store, n, answer, limit)

    def relink(self) -> int:
        """Find the links in all texts anew; how many items were looked at."""
        return self.store.links.relink()

    def _present(self, name: str | Ref) -> int:
        n = self._number(name)
        refuse_binned(self.store.items.get_many([n])[n])
        return n
