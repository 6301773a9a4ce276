"""Verbs that show stored items: get, open, list, history, diff, grep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.generated import REF, command
from ricordo.cli.lines import Lines, lines_behind
from ricordo.cli.present_hits import replaced_text, short_ref
from ricordo.cli.present_items import (
    show_content,
    show_diff,
    show_fields,
    show_items,
    show_matches,
    show_several,
    show_stale_citations,
    show_versions,
)
from ricordo.cli.running import run, with_globals
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb
from ricordo.errors import Error, NotFound, UsageError
from ricordo.values.items import Item, Version
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import prepared

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.hits import GrepMatch


_SEVERAL = verb_named("get")._replace(
    params=tuple(
        param._replace(name="refs", many=True, shown="REF") if param.name == "ref" else param
        for param in verb_named("get").params
    )
)
"""A command line may name several items."""


@command(
    "get", row=_SEVERAL, extra=(click.Option(["--meta"], is_flag=True, help="Print the fields instead of the text."),)
)
def get(call: Call, refs: tuple[str, ...], meta: bool = False, lines: Lines | None = None, **given: Any) -> int:
    """One ref prints the text exactly as it is stored; several print each under its ref. With lines behind the ref, as
    search prints them (notes/keys.md:8-12), or with --lines, it prints these lines only. A file that is kept without
    text gives its bytes when the output goes to a file or a pipe.
    """
    items: list[Item] = []
    original: bytes | None = None
    missed: list[tuple[str, Error]] = []
    with call.engine() as engine:
        for ref in refs:
            try:
                items.append(_got(engine, ref, lines, **given))
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
            if item.apart:
                name, others = short_ref(str(item.ref)), ", ".join(map(str, item.apart[:-1]))
                screen.warn(f"{name} was changed on two machines, both versions are kept: see version {others}")
            show_stale_citations(screen, item)
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
def open_(call: Call, ref: str) -> int:
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


_PUT_AWAY = (
    click.Option(["--archived"], is_flag=True, help="List archived items instead: forgotten, superseded, corrected."),
    click.Option(["--removed"], is_flag=True, help="List what is in the bin instead; restore brings it back."),
)


@command("list", extra=_PUT_AWAY, defaults={"limit": 50, "offset": 0})
def list_(call: Call, limit: int, offset: int, archived: bool = False, removed: bool = False, **given: Any) -> int:
    """It shows titles and refs; get prints the texts."""
    states = (*(("archived",) if archived else ()), *(("deleted",) if removed else ()))
    given = with_globals(call, "list", given) | ({"states": states} if states else {})
    ask = prepared(verb_named("list"), {**given, "limit": limit, "offset": offset})
    count = prepared(verb_named("count"), given)
    with call.engine() as engine:
        items, total = ask(engine), count(engine)

    def draw(screen: Screen) -> None:
        show_items(screen, items)
        if offset or len(items) < total:
            last = offset + len(items)
            screen.note(f"{offset + 1 if items else 0}-{last} of {total:,}; --limit and --offset show others")
        elif not items:
            is_asked = any(value not in (None, (), False, "") for value in given.values())
            screen.note("nothing found" if is_asked else "nothing found; add something with: ricordo add PATH")

    plain = {
        "items": [item.to_dict(with_content=False) for item in items],
        "total": total,
        "limit": limit,
        "offset": offset,
    }
    return call.answer(plain, draw)


@command("history")
def history(call: Call, ref: str) -> int:
    """The current version is marked with a star."""
    with call.engine() as engine:
        versions = engine.history(ref)
        item = engine.get(ref, track=False) if _newest(versions).state == "archived" else None
    plain = {"ref": ref, "versions": [version.to_dict() for version in versions]}
    if item is not None:
        plain |= {name: by for name in ("corrected_by", "superseded_by") if (by := getattr(item, name))}

    def draw(screen: Screen) -> None:
        show_versions(screen, versions)
        if item is not None:
            screen.note(f"archived: {replaced_text(item) or 'restore brings it back'}")

    return call.answer(plain, draw)


def _newest(versions: Sequence[Version]) -> Version:
    """The newest version, which commits may precede."""
    return next(version for version in versions if not version.commit)


@command("diff")
def diff(call: Call, **given: Any) -> int:
    """Without numbers, it shows the last change; with one, the changes since that version."""

    def show(screen: Screen, text: str) -> None:
        show_diff(screen, text)
        if not text:
            screen.note("no difference")

    asked = {name: given.get(name) for name in ("ref", "old", "new")}
    return run(call, "diff", given, show, plain=lambda text: {**asked, "diff": text})


@command("grep", defaults={"context": 0, "limit": 100})
def grep(call: Call, context: int, limit: int, **given: Any) -> int:
    """It prints ref:line:text for each match. Without a match it prints nothing, and the exit code is 0."""

    def show(screen: Screen, matches: Sequence[GrepMatch]) -> None:
        show_matches(screen, matches, context=context)
        if len(matches) >= limit:
            screen.note(f"stopped at {limit} matches; --limit shows more")

    return run(call, "grep", {**given, "context": context, "limit": limit}, show)
