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
    click.option("--title", help="The title; the ref is made from it."),
    click.option("--description", help="What it is about, in one line."),
    click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="A tag (repeatable)."),
    click.option("--category", metavar="NAME", help="A category of your own."),
    click.option("--domain", metavar="NAME", help="The field of knowledge it belongs to."),
    click.option("--severity", type=click.Choice(SEVERITIES), help="How serious it is."),
    click.option("--importance", type=click.IntRange(1, 5), metavar="1-5", help="How much it matters."),
    click.option("--context", help="What one must know to understand it (also searched)."),
    click.option("--valid-from", metavar="DATE", help="It is valid from this day or time on (local)."),
    click.option("--valid-until", metavar="DATE", help="It is valid until this day or time (local)."),
    click.option(
        "--loading", type=click.Choice(LOADINGS), help="Whether every agent gets it, or only when it fits the task."
    ),
    click.option("--immutable", is_flag=True, default=None, help="Nobody can change it later."),
    click.option("--decay-protected", is_flag=True, default=None, help="Its rank does not fade, and forget skips it."),
    click.option("--thread", metavar="ID", help="The conversation or series it belongs to."),
    click.option("--seq", type=int, metavar="N", help="Its position in that conversation or series."),
    click.option("--source-url", metavar="URL", help="Where it comes from."),
    click.option("--set", "pairs", multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable)."),
    click.option("--source", type=click.Choice(["user", "agent"]), default="user", help="Who says it (user)."),
    click.option("--allow-secrets", is_flag=True, help="Do not redact keys, tokens and passwords."),
    click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or later with embed."),
)
_KEEPING = together(
    click.option("--as", "ref", metavar="REF", help="The ref; otherwise it is made from the title or first words."),
    click.option("--link", "links", nargs=2, multiple=True, metavar="TYPE REF", help=_LINK),
    click.option(
        "--on-duplicate",
        type=click.Choice(ON_DUPLICATE),
        help="What to do if nearly the same is stored.",
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
    """A text that is stored already is skipped. If nearly the same is stored, nothing is written and the exit code is
    4; then say with --on-duplicate what to do. Secrets are redacted.
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
    """Like remember, for longer or unfinished texts."""
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
    """Texts that contain its title are linked to it automatically."""
    return _keep(call, "entity", words, given)


@verb("resource", examples=["ricordo resource 'Dashboard of the search cluster' --source-url https://example.org/dash"])
@_TEXT
@_KEEPING
def resource(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """A pointer to something elsewhere: a page, a tool, a document."""
    return _keep(call, "resource", words, given)


@verb("entry", examples=["ricordo entry 'Deployed 2.1 to production.' --thread deployments --seq 14"])
@_TEXT
@_KEEPING
def entry(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """One entry of a log or journal; --thread and --seq say which, and where in it."""
    return _keep(call, "entry", words, given)


@verb(
    "save",
    examples=[
        "ricordo save --kind note note:/plan 'Ship on Friday.'",
        "ricordo save keys 'Rotate the signing keys every quarter.'",
        "ricordo save --kind article - --title 'How we deploy' < deploy.md",
        "ricordo save --kind memory memory:/keys < keys.md",
    ],
)
@click.argument("words", nargs=-1, metavar="[REF] TEXT|-")
@click.option("--kind", "-k", type=click.Choice(KINDS), default="memory", metavar="KIND", help="What it is (memory).")
@_KEEPING
def save(call: Call, words: tuple[str, ...], kind: str, **given: Any) -> int:
    """Like remember, for any kind and under a ref that you choose. Of two arguments, the first is the name of the
    item: keys stands for memory:/keys. With a ref alone, the text is read from standard input. If the ref exists,
    nothing is written; use edit to change it.
    """
    if words and given["ref"] is None and (Ref.looks_like(words[0]) or _is_name(words)):
        given["ref"] = words[0]
        words = words[1:] or ("-",)
    return _keep(call, kind, words, given)


def _is_name(words: Sequence[str]) -> bool:
    """Whether the first of two arguments names the item, and the second is its text."""
    return len(words) == 2 and words[0] != "-" and not any(map(str.isspace, words[0]))


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
    """The old item is archived: search no longer finds it, except with --as-of. The new one is linked to it, and takes
    over the fields that you do not give.
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
    """The old item is archived, and the new one is linked to it."""
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
@click.option("--dry-run", is_flag=True, help="Only show what would be archived.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def forget(call: Call, refs: tuple[str, ...], dry_run: bool, yes: bool, **given: Any) -> int:
    """Forgotten items are archived: search no longer finds them, except with --as-of; restore brings them back. With
    --older-than, --unused-since, --kind or --tag, only items that meet all of these are archived, and never those that
    are immutable or protected from decay. On a terminal, you are asked before more than one item is archived.
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
