"""Verbs that show stored items: get, open, list, tree, history, diff."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.lines import Lines, lines_behind, lines_from
from ricordo.cli.options import FILTER_OPTIONS, REF, filters_from, paging
from ricordo.cli.present_hits import replaced_text, short_ref
from ricordo.cli.present_items import (
    show_content,
    show_diff,
    show_fields,
    show_items,
    show_several,
    show_tree,
    show_versions,
)
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb
from ricordo.errors import Error, NotFound, UsageError
from ricordo.values.items import Item

if TYPE_CHECKING:
    from ricordo.engine import Ricordo


@verb(
    "get",
    examples=[
        "ricordo get notes/keys.md",
        "ricordo get notes/keys.md:8-12",
        "ricordo get memory:/login-bug --meta",
        "ricordo get notes/keys.md --version 2 > old.md",
    ],
)
@click.argument("refs", nargs=-1, required=True, type=REF, metavar="REF...")
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="This version instead of the current one.")
@click.option("--as-of", metavar="DATE", help="The version that was current then.")
@click.option("--lines", metavar="N|N-M", help="Only these lines, as search counts them.")
@click.option("--meta", is_flag=True, help="Print the fields instead of the text.")
@click.option("--track/--no-track", default=None, help="Count this as opening the item (default) or not.")
def get(call: Call, refs: tuple[str, ...], meta: bool, lines: str | None, **given: Any) -> int:
    """One ref prints the text exactly as it is stored; several print each under its ref. With lines behind the ref, as
    search prints them (notes/keys.md:8-12), or with --lines, it prints these lines only. A file that is kept without
    text gives its bytes when the output goes to a file or a pipe.
    """
    wanted = lines_from(lines) if lines else None
    items: list[Item] = []
    original: bytes | None = None
    missed: list[tuple[str, Error]] = []
    with call.engine() as engine:
        for ref in refs:
            try:
                items.append(_got(engine, ref, wanted, **given))
            except Error as error:
                if len(refs) == 1:
                    raise
                missed.append((ref, error))
        if len(items) == len(refs) == 1 and not (items[0].fields.is_textual or meta or call.json):
            original = engine.original(refs[0], version=items[0].version)
    if missed and not items:
        raise missed[0][1]

    def draw(screen: Screen) -> None:
        if meta:
            for number, item in enumerate(items):
                if number:
                    screen.line()
                show_fields(screen, item)
        elif len(refs) == 1:
            show_content(screen, items[0], original)
        else:
            show_several(screen, items)
        for item in items:
            if replaced := replaced_text(item):
                screen.warn(f"{short_ref(str(item.ref))} is archived: {replaced}")
        for _, error in missed:
            screen.error(error.message, error.hint)

    plain: Any = items[0].to_dict(with_content=not meta)
    if len(refs) > 1:
        failed = [{"ref": ref, "status": "failed", "error": error.to_dict()} for ref, error in missed]
        plain = {"items": [item.to_dict(with_content=not meta) for item in items], "failed": failed}
    partly = some_failed(len(missed), len(refs)) if missed else None
    return call.answer(plain, draw, exit_code=1 if missed else 0, error=partly)


def _got(engine: Ricordo, ref: str, lines: Lines | None, **given: Any) -> Item:
    """An item, or some of its lines. An item whose own name ends like lines goes first."""
    behind = lines_behind(ref)
    if behind is None:
        return engine.get(ref, lines=lines, **given)
    try:
        return engine.get(ref, lines=lines, **given)
    except (NotFound, UsageError):
        return engine.get(behind[0], lines=lines or behind[1], **given)


@verb(
    "open",
    examples=["ricordo open notes/keys.md", "ricordo open notes/keys.md:12", "ricordo open memory:/login-bug"],
)
@click.argument("ref", type=REF)
def open_item(call: Call, ref: str) -> int:
    """A file opens in your editor ($VISUAL or $EDITOR), at the line behind the ref if there is one; a memory, note or
    article opens as its Markdown file, and what you save there is taken in by the next command. A page opens in the
    browser.
    """
    from ricordo.cli.editors import open_place

    with call.engine() as engine:
        behind = lines_behind(ref)
        try:
            item, line = engine.get(ref), 0
        except (NotFound, UsageError):
            if behind is None:
                raise
            item, line = engine.get(behind[0]), behind[1][0]
        place = engine.place_of(item.ref)
    open_place(place, line)
    return call.answer({"ref": str(item.ref), "place": place, "line": line or None}, lambda screen: None)


@verb(
    "list",
    examples=[
        "ricordo list",
        "ricordo list --kind memory --tag ops",
        "ricordo list --path '/home/me/notes/**' --json",
    ],
)
@paging(50)
@FILTER_OPTIONS
@click.option("--archived", is_flag=True, help="List archived items instead: forgotten, superseded, corrected.")
def list_items(call: Call, limit: int, offset: int, archived: bool, **given: Any) -> int:
    """It shows titles and refs; get prints the texts."""
    filters = filters_from(call, given)
    if archived:
        filters = replace(filters, states=("archived",))
    with call.engine() as engine:
        items = engine.list(filters=filters, limit=limit, offset=offset)
        total = engine.count(filters)

    def draw(screen: Screen) -> None:
        show_items(screen, items)
        if offset or len(items) < total:
            last = offset + len(items)
            screen.note(f"{offset + 1 if items else 0}-{last} of {total:,}; --limit and --offset show others")
        elif not items:
            screen.note("nothing found; add something with: ricordo add PATH")

    plain = {
        "items": [item.to_dict(with_content=False) for item in items],
        "total": total,
        "limit": limit,
        "offset": offset,
    }
    return call.answer(plain, draw)


@verb("tree", examples=["ricordo tree", "ricordo tree disk:/home/me/notes --depth 2"])
@click.argument("prefix", required=False, type=REF)
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="How many levels to show.")
def tree(call: Call, prefix: str | None, depth: int | None) -> int:
    """Each folder shows how many items it has."""
    with call.engine() as engine:
        root = engine.tree(prefix, depth=depth)
    return call.answer(root.to_dict(), lambda screen: show_tree(screen, root))


@verb("history", examples=["ricordo history notes/keys.md"])
@click.argument("ref", type=REF)
def history(call: Call, ref: str) -> int:
    """The current version is marked with a star."""
    with call.engine() as engine:
        versions = engine.history(ref)
        item = engine.get(ref, track=False) if versions[0].state == "archived" else None
    plain = {"ref": ref, "versions": [version.to_dict() for version in versions]}
    if item is not None:
        plain |= {name: by for name in ("corrected_by", "superseded_by") if (by := getattr(item, name))}

    def draw(screen: Screen) -> None:
        show_versions(screen, versions)
        if item is not None:
            screen.note(f"archived: {replaced_text(item) or 'restore brings it back'}")

    return call.answer(plain, draw)


@verb("diff", examples=["ricordo diff notes/keys.md", "ricordo diff notes/keys.md 1 3"])
@click.argument("ref", type=REF)
@click.argument("old", required=False, type=click.IntRange(min=1))
@click.argument("new", required=False, type=click.IntRange(min=1))
def diff(call: Call, ref: str, old: int | None, new: int | None) -> int:
    """Without numbers, it shows the last change; with one, the changes since that version."""
    with call.engine() as engine:
        text = engine.diff(ref, old, new)

    def draw(screen: Screen) -> None:
        show_diff(screen, text)
        if not text:
            screen.note("no difference")

    return call.answer({"ref": ref, "old": old, "new": new, "diff": text}, draw)
