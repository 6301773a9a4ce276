"""Verbs for links between items: link, unlink, links, suggest_links, relink."""

from __future__ import annotations

from ricordo.engine.context import EngineContext
from ricordo.search.request import Request
from ricordo.values.hits import Answer, Filters
from ricordo.values.items import Ref
from ricordo.values.links import Link, LinkReport


class LinkVerbs:
    """Links items and shows what is linked."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def link(self, source: str | Ref, target: str | Ref, type: str = "mentions") -> Link:  # noqa: A002 - the domain's word
        from ricordo.memory.links import link

        return link(
            self._context.store, self._context.present_number(source), self._context.present_number(target), type
        )

    def unlink(self, source: str | Ref, target: str | Ref, type: str | None = None) -> int:  # noqa: A002
        from ricordo.memory.links import unlink

        return unlink(
            self._context.store, self._context.present_number(source), self._context.present_number(target), type
        )

    def links(self, ref: str | Ref, *, depth: int = 2) -> LinkReport:
        from ricordo.memory.links import around

        return around(self._context.store, self._context.present_number(ref), depth)

    def suggest_links(self, ref: str | Ref, *, limit: int = 10) -> Answer:
        n = self._context.present_number(ref)
        deep = limit + len(self._context.store.links.neighbours([n], 1))
        answer = self._context.tiers.own_searcher.similar(n, limit=deep, filters=Filters())
        if not answer.hits:
            title = self._context.store.items.get_many([n])[n].title
            answer = self._context.tiers.own_searcher.search(Request(title, limit=deep, vectors=False, literal=True))
        from ricordo.memory.links import without_linked

        return without_linked(self._context.store, n, answer, limit)

    def relink(self) -> int:
        return self._context.store.links.relink()
