"""Collects all that is known about a topic, for ``context(gather=True)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo.engine.program_notes import asking_program
from ricordo.engine.skills import SkillVerbs
from ricordo.values.hits import Filters
from ricordo.values.kinds import KINDS, SESSION

if TYPE_CHECKING:
    from ricordo.context.passages import ContextPassage
    from ricordo.store.base import Store

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
