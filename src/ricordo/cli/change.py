"""Verbs that change stored items: edit, mv, rm, restore (each keeps the old version), unlink."""

from __future__ import annotations

import sys
from typing import Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.generated import command
from ricordo.cli.present_reports import show_memory, show_removed
from ricordo.cli.removing import YES, confirm
from ricordo.cli.running import run
from ricordo.cli.terminal import Screen
from ricordo.errors import StaleVersion, UsageError
from ricordo.values.items import Saved
from ricordo.values.reports import AddReport
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call as call_verb


def _saved(call: Call, saved: Saved) -> int:
    plain = AddReport((saved,)).to_dict()
    return call.answer(plain, lambda screen: show_memory(screen, plain))


@command("edit")
def edit(call: Call, ref: str, **given: Any) -> int:
    """Without options, the text opens in your editor. An empty value clears a field: --set domain="""
    if given.get("content") == "-":
        given["content"] = sys.stdin.buffer.read().decode("utf-8", "replace")
    typed = given.keys().isdisjoint(("content", "fields"))
    with call.engine() as engine:
        if typed:
            item = engine.get(ref, track=False)
            given = {"base": item.version} | given | {"content": _edited(item.content)}
        try:
            return _saved(call, call_verb(engine, verb_named("edit"), {"ref": ref, **given}))
        except StaleVersion as error:
            if not typed:
                raise
            raise StaleVersion(error.message, hint=f"What you wrote is kept in {_kept(given['content'])}") from None


def _kept(text: str) -> str:
    """Write a text that could not be saved to a file, so that nobody has to type it again; returns its name."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".md", prefix="ricordo-", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


def _edited(text: str) -> str:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("nothing to change", hint="Give --title, --tag, --set or --content.")
    changed = click.edit(text, extension=".md")
    return text if changed is None else changed


@command("mv")
def mv(call: Call, **given: Any) -> int:
    """The item keeps its id and its history. A file on disk is not moved."""
    with call.engine() as engine:
        return _saved(call, call_verb(engine, verb_named("mv"), given))


@command("rm", extra=(YES,))
def rm(call: Call, yes: bool = False, **given: Any) -> int:
    """A ref that ends in / or /* removes everything below it. Files on disk are not deleted. With --older-than,
    --unused-since, --kind or --tag, only items that meet all of these are removed, and never those that are immutable
    or protected from decay. On a terminal, you are asked before more than one item is removed and before --purge.
    """
    row, purge, dry_run = verb_named("rm"), given.get("purge", False), given.get("dry_run", False)
    with call.engine() as engine:
        if not (dry_run or yes or call.json):
            what = "Erase for good" if purge else "Remove"
            confirm(what, len(call_verb(engine, row, {**given, "dry_run": True}).items), always=purge)
        report = call_verb(engine, row, given)
        if purge and not dry_run:
            from ricordo.cli.last_search import forget
            from ricordo.engine.lending import sealing_store

            forget([saved.ref for saved in report.items], sealing_store(engine))
    items = [saved.to_dict() for saved in report.items]
    return call.answer(
        {"removed": 0 if dry_run else len(items) - report.failed, "dry_run": dry_run, "items": items},
        lambda screen: show_removed(screen, items, report.notes),
        exit_code=1 if report.failed else 0,
        error=some_failed(report.failed, len(items)) if report.failed else None,
    )


@command("restore")
def restore(call: Call, **given: Any) -> int:
    """The restored text becomes the newest version, so no version is lost."""
    with call.engine() as engine:
        return _saved(call, call_verb(engine, verb_named("restore"), given))


@command("unlink")
def unlink(call: Call, **given: Any) -> int:
    """To remove a link that is written in a text, edit the text."""

    def show(screen: Screen, removed: int) -> None:
        screen.line(f"{removed} link{'' if removed == 1 else 's'} removed")

    return run(call, "unlink", given, show, plain=lambda removed: {"removed": removed})
