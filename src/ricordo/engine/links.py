"""Verbs that connect items: link, unlink, links, tag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.engine.checks import texts
from ricordo.engine.context import OpenEngine
from ricordo.engine.items import ItemVerbs
from ricordo.engine.reading import ReadVerbs
from ricordo.engine.tiers import follows, follows_each
from ricordo.errors import UsageError
from ricordo.steps import undoable
from ricordo.values.hits import Link, LinkReport
from ricordo.values.items import Item, Saved
from ricordo.values.reports import AddReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, ItemName


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


class SelectVerbs(ReadVerbs, ItemVerbs):
    """Does the same to each of several items."""

    @verb(
        "write",
        "remember",
        "Give tags to items, or take them away.",
        examples=("ricordo tag note:/a note:/b --add security", "ricordo tag memory:/office --remove draft"),
    )
    @undoable
    @undoable
    @follows_each
    def tag(
        self,
        *refs: ItemName,
        add: Annotated[Sequence[str], Say("Give this tag.", longest=NAME_TEXT, shown="TAG")] = (),
        remove: Annotated[Sequence[str], Say("Take this tag away.", longest=NAME_TEXT, shown="TAG")] = (),
    ) -> AddReport:
        """An item that has them already is left as it is. Every name is looked up before the first item is changed."""
        given, taken = _clean(texts("add", add)), {tag.casefold() for tag in _clean(texts("remove", remove))}
        if not refs or not (given or taken):
            raise UsageError("say which items, and which tags", hint="‹:tag note:/a --add security›")
        numbers = [self._context.present_number(ref) for ref in refs]
        items = self._context.store.items.get_many(numbers)
        return AddReport(tuple(self._retagged(items[n], given, taken) for n in dict.fromkeys(numbers)))

    def _retagged(self, item: Item, given: Sequence[str], taken: set[str]) -> Saved:
        before = item.fields.tags
        has = {tag.casefold() for tag in before}
        after = (
            *(tag for tag in before if tag.casefold() not in taken),
            *(t for t in given if t.casefold() not in has),
        )
        if after == before:
            return Saved(str(item.ref), "skipped", item.id, item.version, reason="it has these tags")
        return self.edit(item.ref, None, {"tags": list(after)}, wait=False)


def _clean(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip().removeprefix("#").strip() for tag in tags if tag.strip()))
