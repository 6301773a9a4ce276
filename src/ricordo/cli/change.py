"""Verbs that change stored items: edit, mv, rm, restore. Each keeps the old version."""

from __future__ import annotations

import sys
from typing import Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.generated import command
from ricordo.cli.options import REF, fields_from
from ricordo.cli.present_reports import show_memory, show_removed
from ricordo.cli.removing import YES, confirm
from ricordo.cli.verb import verb
from ricordo.errors import StaleVersion, UsageError
from ricordo.values.items import Saved
from ricordo.values.reports import AddReport
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call as call_verb


def _saved(call: Call, saved: Saved) -> int:
    plain = AddReport((saved,)).to_dict()
    return call.answer(plain, lambda screen: show_memory(screen, plain))


@verb(
    "edit",
    examples=[
        "ricordo edit memory:/login-bug --title 'The login bug' --set severity=warning",
        "ricordo edit note:/plan --content - < plan.md",
        "ricordo edit note:/plan",
    ],
)
@click.argument("ref", type=REF)
@click.option("--title", help="A new title.")
@click.option(
    "--tag", "-t", "tags", multiple=True, metavar="TAG", help="New tags (repeatable); they replace the old ones."
)
@click.option("--set", "pairs", multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable).")
@click.option("--content", metavar="TEXT|-", help="New text; - reads standard input.")
@click.option("--base", type=click.IntRange(1), metavar="N", help="Refuse if the item is no longer at version N.")
@click.option("--allow-secrets", is_flag=True, help="Keep keys, tokens and passwords instead of redacting them.")
def edit(call: Call, ref: str, title: str | None, tags: tuple[str, ...], pairs: tuple[str, ...], **given: Any) -> int:
    """Without options, the text opens in your editor. An empty value clears a field: --set domain="""
    content: str | None = given["content"]
    fields = fields_from(pairs, title=title, tags=tags)
    if content == "-":
        content = sys.stdin.buffer.read().decode("utf-8", "replace")
    with call.engine() as engine:
        base: int | None = given["base"]
        typed = False
        if content is None and not fields:
            item = engine.get(ref, track=False)
            content, base, typed = _edited(item.content), base or item.version, True
        try:
            return _saved(call, engine.edit(ref, content, fields, allow_secrets=given["allow_secrets"], base=base))
        except StaleVersion as error:
            if not typed:
                raise
            raise StaleVersion(error.message, hint=f"What you wrote is kept in {_kept(content or '')}") from None


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


@verb("mv", examples=["ricordo mv note:/plan note:/plans/2026", "ricordo mv old.md new.md"])
@click.argument("ref", type=REF)
@click.argument("new_ref", type=REF)
def mv(call: Call, ref: str, new_ref: str) -> int:
    """The item keeps its id and its history. A file on disk is not moved."""
    with call.engine() as engine:
        return _saved(call, engine.mv(ref, new_ref))


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
    items = [saved.to_dict() for saved in report.items]
    return call.answer(
        {"removed": 0 if dry_run else len(items) - report.failed, "dry_run": dry_run, "items": items},
        lambda screen: show_removed(screen, items, report.notes),
        exit_code=1 if report.failed else 0,
        error=some_failed(report.failed, len(items)) if report.failed else None,
    )


@verb("restore", examples=["ricordo restore notes/old.md", "ricordo restore note:/plan --version 2"])
@click.argument("ref", type=REF)
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="The version to bring back.")
def restore(call: Call, ref: str, version: int | None) -> int:
    """The restored text becomes the newest version, so no version is lost."""
    with call.engine() as engine:
        return _saved(call, engine.restore(ref, version))
