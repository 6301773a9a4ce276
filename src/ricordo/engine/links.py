"""Verbs for links between items: link, unlink, links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.following import follows
from ricordo.engine.opening import OpenEngine
from ricordo.steps import undoable
from ricordo.values.hits import Link, LinkReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import ItemName


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
