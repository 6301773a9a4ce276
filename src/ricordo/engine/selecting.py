"""Verbs for several items at once: tag, bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.engine.checks import check_choice, texts
from ricordo.engine.following import follows_each
from ricordo.engine.items import ItemVerbs
from ricordo.engine.reading import ReadVerbs
from ricordo.errors import UsageError
from ricordo.steps import undoable
from ricordo.values.items import Item, Saved
from ricordo.values.reports import AddReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.kinds import BundleFormat
    from ricordo.values.reports import Bundle
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, ItemName

FORMATS = ("markdown", "json")


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

    @verb(
        "read",
        "find",
        "Write several items as one Markdown or JSON text.",
        examples=("ricordo bundle note:/a note:/b > both.md", "ricordo bundle memory:/office --format json"),
    )
    def bundle(
        self,
        *refs: ItemName,
        format: Annotated[BundleFormat, Say("Markdown, or JSON with all fields.")] = "markdown",  # noqa: A002
    ) -> Bundle:
        """In the order they are named, each with its title and ref. ``export`` writes a whole store instead."""
        import json

        from ricordo.values.reports import Bundle

        check_choice("format", format, FORMATS)
        if not refs:
            raise UsageError("say which items", hint="‹:bundle note:/a note:/b›")
        items = [self.get(ref, track=False) for ref in refs]
        if format == "json":
            text = json.dumps([item.to_dict() for item in items], ensure_ascii=False, indent=2) + "\n"
        else:
            text = "\n".join(map(_as_markdown, items))
        return Bundle(format, len(items), text)


def _clean(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip().removeprefix("#").strip() for tag in tags if tag.strip()))


def _as_markdown(item: Item) -> str:
    """An item as a section: its title, where it is kept and when it changed, and its text."""
    said = [f"`{item.ref}`", item.kind, f"version {item.version}", f"{item.updated_at:%Y-%m-%d}"]
    said += [f"#{tag}" for tag in item.fields.tags]
    body = item.content.strip()
    heading = f"# {item.title or item.ref}"
    if body.partition("\n")[0].strip() == heading:
        body = body.partition("\n")[2].strip()
    return f"{heading}\n\n<!-- {', '.join(said).replace('--', '- -')} -->\n\n{body}\n"
