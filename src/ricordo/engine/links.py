"""Verbs for links between items: link, unlink, links, suggest_links, relink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.following import follows
from ricordo.engine.opening import OpenEngine
from ricordo.search.request import Request
from ricordo.steps import undoable
from ricordo.values.hits import Answer, Filters, Link, LinkReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import ItemName, Limit


class LinkVerbs(OpenEngine):
    """Links items and shows what is linked."""

    @verb(
        "write",
        "remember",
        "Link one item to another.",
        examples=("ricordo link memory:/keys note:/security", "ricordo link note:/a note:/b --type contradicts"),
    )
    @undoable
    @follows("source", "target")
    def link(
        self,
        source: ItemName,
        target: ItemName,
        type: Annotated[str, Say("What the link says.", longest=100, shown="TYPE", argument=False)] = "mentions",  # noqa: A002
    ) -> Link:
        """Linking again changes nothing."""
        from ricordo.memory.links import link

        return link(
            self._context.store, self._context.present_number(source), self._context.present_number(target), type
        )

    @verb(
        "write", "remember", "Remove a link.", answers="count", examples=("ricordo unlink memory:/keys note:/security",)
    )
    @undoable
    @follows("source", "target")
    def unlink(
        self,
        source: ItemName,
        target: ItemName,
        type: Annotated[str, Say("Only links of this type.", longest=100, shown="TYPE", argument=False)]  # noqa: A002
        | None = None,
    ) -> int:
        """Links made by ``link``, of one type or of all; returns how many there were."""
        from ricordo.memory.links import unlink

        return unlink(
            self._context.store, self._context.present_number(source), self._context.present_number(target), type
        )

    @verb(
        "read",
        "find",
        "Show what an item links to, and what links to it.",
        examples=("ricordo links note:/plan --depth 1",),
    )
    @follows("ref")
    def links(
        self, ref: ItemName, *, depth: Annotated[int, Say("How many steps to follow.", 1, most=5, shown="N")] = 2
    ) -> LinkReport:
        """Links by hand and from texts, both ways."""
        from ricordo.memory.links import around

        return around(self._context.store, self._context.present_number(ref), depth)

    @verb("read", "find", "Find items that may be related to one.", examples=("ricordo suggest-links note:/plan",))
    @follows("ref")
    def suggest_links(self, ref: ItemName, *, limit: Limit = 10) -> Answer:
        """Items that are like one but not linked with it: by meaning or, without vectors, by the words of its title."""
        n = self._context.present_number(ref)
        deep = limit + len(self._context.store.links.neighbours([n], 1))
        answer = self._context.tiers.own_searcher.similar(n, limit=deep, filters=Filters())
        if not answer.hits:
            title = self._context.store.items.get_many([n])[n].title
            answer = self._context.tiers.own_searcher.search(Request(title, limit=deep, by="words", literal=True))
        from ricordo.memory.links import without_linked

        return without_linked(self._context.store, n, answer, limit)

    @verb(
        "admin", "look after", "Find the links in all texts again.", answers="count", is_long=True,
        examples=("ricordo relink",),
    )  # fmt: skip
    def relink(self) -> int:
        """Returns how many items were looked at."""
        return self._context.store.links.relink()
