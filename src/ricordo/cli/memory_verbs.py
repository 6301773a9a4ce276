"""Verbs for what agents learn: remember, note, entity, resource, entry, save, correct, supersede, forget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.options import REF, fields_from, together
from ricordo.cli.present_reports import show_memory, show_removed
from ricordo.cli.removing import CRITERIA, confirm, criteria_from
from ricordo.cli.verb import verb
from ricordo.errors import Conflict, UsageError
from ricordo.values.choices import ON_DUPLICATE
from ricordo.values.items import LOADINGS, SEVERITIES, Ref, Saved
from ricordo.values.kinds import KINDS
from ricordo.values.links import LINK_TYPES
from ricordo.values.reports import AddReport

_LINK = f"Link it to an item (repeatable); types: {', '.join(LINK_TYPES)}, or a word of your own."
_WRITING = together(
    click.option("--title", help="Its title; a ref is made of it."),
    click.option("--description", help="What it is about, in a line."),
    click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="A tag (repeatable)."),
    click.option("--category", metavar="NAME", help="Its category."),
    click.option("--domain", metavar="NAME", help="The field of knowledge it belongs to."),
    click.option("--severity", type=click.Choice(SEVERITIES), help="How grave it is."),
    click.option("--importance", type=click.IntRange(1, 5), metavar="1-5", help="How much it matters."),
    click.option("--context", help="What one must know to understand it; searched too."),
    click.option("--valid-from", metavar="DATE", help="True from this day or time on (local)."),
    click.option("--valid-until", metavar="DATE", help="True until this day or time (local)."),
    click.option("--loading", type=click.Choice(LOADINGS), help="Whether agents are always told it."),
    click.option("--immutable", is_flag=True, default=None, help="Refuse every later change."),
    click.option("--decay-protected", is_flag=True, default=None, help="Never fades, never forgotten in bulk."),
    click.option("--thread", metavar="ID", help="The conversation or series it belongs to."),
    click.option("--seq", type=int, metavar="N", help="Its place in that."),
    click.option("--source-url", metavar="URL", help="Where it comes from."),
    click.option("--set", "pairs", multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable)."),
    click.option("--source", type=click.Choice(["user", "agent"]), default="user", help="Who says so (user)."),
    click.option("--allow-secrets", is_flag=True, help="Keep keys, tokens and passwords instead of redacting them."),
    click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or leave them to the backlog."),
)
_KEEPING = together(
    click.option("--as", "ref", metavar="REF", help="Its ref; otherwise one is made of the title or first words."),
    click.option("--link", "links", nargs=2, multiple=True, metavar="TYPE REF", help=_LINK),
    click.option(
        "--on-duplicate",
        type=click.Choice(ON_DUPLICATE),
        help="What to do when nearly the same is known.",
    ),
    _WRITING,
)
_TEXT = click.argument("words", nargs=-1, metavar="TEXT|-")


@verb(
    "remember",
    examples=[
        "ricordo remember 'The signing keys rotate every quarter.' --tag ops",
        "ricordo remember - --title 'Release checklist' --importance 4 < checklist.md",
        "ricordo remember 'The keys rotate monthly now.' --on-duplicate supersede",
    ],
)
@_TEXT
@_KEEPING
def remember(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """The same text is skipped. When nearly the same is known, nothing is written and the exit code is 4, until
    --on-duplicate says what to do. Secrets are redacted.
    """
    return _keep(call, "memory", words, given)


@verb(
    "note",
    examples=[
        "ricordo note 'Ask Ada about the rollout.' --tag todo",
        "ricordo note - --title 'Meeting' < meeting.md",
    ],
)
@_TEXT
@_KEEPING
def note(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """As remember, for what is written down by and by."""
    return _keep(call, "note", words, given)


@verb(
    "entity",
    examples=[
        "ricordo entity 'Ada Lovelace'",
        "ricordo entity 'Runs the search team; prefers mail.' --title 'Ada Lovelace' --category person",
    ],
)
@_TEXT
@_KEEPING
def entity(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """A person, place, project or thing. Texts that name it by its title are linked to it, and counted."""
    return _keep(call, "entity", words, given)


@verb("resource", examples=["ricordo resource 'Dashboard of the search cluster' --source-url https://example.org/dash"])
@_TEXT
@_KEEPING
def resource(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """Something to go back to: a page, a tool, a document elsewhere."""
    return _keep(call, "resource", words, given)


@verb("entry", examples=["ricordo entry 'Deployed 2.1 to production.' --thread deployments --seq 14"])
@_TEXT
@_KEEPING
def entry(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """One of a series: what happened, in order."""
    return _keep(call, "entry", words, given)


@verb(
    "save",
    examples=[
        "ricordo save --kind note note:/plan 'Ship on Friday.'",
        "ricordo save --kind article - --title 'How we deploy' < deploy.md",
        "ricordo save --kind memory memory:/keys < keys.md",
    ],
)
@click.argument("words", nargs=-1, metavar="[REF] TEXT|-")
@click.option("--kind", "-k", type=click.Choice(KINDS), default="memory", metavar="KIND", help="What it is (memory).")
@_KEEPING
def save(call: Call, words: tuple[str, ...], kind: str, **given: Any) -> int:
    """As remember, for any kind, and under a ref of your choice. With a ref alone, the text is read from standard
    input. A ref that is taken is refused: edit changes it.
    """
    if words and given["ref"] is None and Ref.looks_like(words[0]):
        given["ref"] = words[0]
        words = words[1:] or ("-",)
    return _keep(call, kind, words, given)


@verb(
    "correct",
    examples=[
        "ricordo correct memory:/office 'The office moved to Porto.'",
        "ricordo correct memory:/office - < office.md",
    ],
)
@click.argument("ref", type=REF)
@_TEXT
@_WRITING
def correct(call: Call, ref: str, words: tuple[str, ...], **given: Any) -> int:
    """The old item is archived: out of normal search, but kept in history and in searches as of then. The new one
    is linked to it, and takes over the fields that are not given.
    """
    text = text_from(words)
    source, allow_secrets, wait = (given.pop(name) for name in ("source", "allow_secrets", "wait"))
    fields = _fields(given)
    with call.engine() as engine:
        saved = engine.correct(ref, text, **{"source": source, **fields}, allow_secrets=allow_secrets, wait=wait)
    return _answer(call, saved)


@verb("supersede", examples=["ricordo supersede memory:/keys-quarterly memory:/keys-monthly"])
@click.argument("old", type=REF)
@click.argument("new", type=REF)
def supersede(call: Call, old: str, new: str) -> int:
    """The old item is archived, and the new one linked to it."""
    with call.engine() as engine:
        saved = engine.supersede(old, new)
    return _put_away(call, AddReport((saved,)), dry_run=False)


@verb(
    "forget",
    examples=[
        "ricordo forget memory:/old-office",
        "ricordo forget --unused-since 6m --kind memory --dry-run",
        "ricordo forget note:/ --older-than 1y --tag scratch",
    ],
)
@click.argument("refs", nargs=-1, type=REF, metavar="REF...")
@CRITERIA
@click.option("--dry-run", is_flag=True, help="Only say what would be archived.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(call: Call, refs: tuple[str, ...], dry_run: bool, yes: bool, **given: Any) -> int:
    """Forgotten items are archived: out of normal search, kept in history and in searches as of then; restore
    brings them back. With criteria, the refs (or all items) that meet every one; items that are immutable or
    protected from decay are then left alone. On a terminal, more than one item asks first.
    """
    criteria = criteria_from(given)
    with call.engine() as engine:
        if not (dry_run or yes or call.json):
            confirm("Archive", len(engine.forget(*refs, **criteria, dry_run=True).items))
        report = engine.forget(*refs, **criteria, dry_run=dry_run)
    return _put_away(call, report, dry_run=dry_run)


def _keep(call: Call, kind: str, words: Sequence[str], given: dict[str, Any]) -> int:
    text = text_from(words)
    ways = {name: given.pop(name) for name in ("ref", "links", "on_duplicate", "source", "allow_secrets", "wait")}
    fields = _fields(given)
    with call.engine(create=True) as engine:
        saved = engine.remember(text, kind=kind, **{**ways, **fields})
    return _answer(call, saved)


def text_from(words: Sequence[str]) -> str:
    """The text of the words given; ``-`` alone reads it from standard input."""
    if list(words) == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    if not words:
        raise UsageError("there is no text", hint="Give it as an argument, or - to read standard input.")
    return " ".join(words)


def _fields(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that were given, by options of their own or by ``--set``."""
    fields = fields_from(given.pop("pairs"), title=given.pop("title"), tags=given.pop("tags"))
    return fields | {name: value for name, value in given.items() if value is not None}


def _answer(call: Call, saved: Saved) -> int:
    plain = AddReport((saved,)).to_dict()
    if saved.status != "needs_decision":
        return call.answer(plain, lambda screen: show_memory(screen, plain))
    error = {
        "code": "needs_decision",
        "message": saved.reason or "",
        "hint": "Decide: --on-duplicate save, skip, merge (into the old one) or supersede (archive the old one).",
    }
    return call.answer(
        plain, lambda screen: show_memory(screen, plain, error), exit_code=Conflict.exit_code, error=error
    )


def _put_away(call: Call, report: AddReport, *, dry_run: bool) -> int:
    items = [saved.to_dict() for saved in report.items]
    plain = {
        "archived": report.count("archived"),
        "dry_run": dry_run,
        "items": items,
        "notes": list(report.notes),
    }
    return call.answer(plain, lambda screen: show_removed(screen, items, report.notes))
