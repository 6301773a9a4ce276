"""Verbs for what agents learn: remember, note, entity, resource, entry, save, correct, supersede, forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import REF, command, optional, text_from
from ricordo.cli.present_reports import show_memory, show_removed
from ricordo.cli.removing import YES, confirm
from ricordo.cli.verb import Verb
from ricordo.errors import Conflict, UsageError
from ricordo.values.items import Ref, Saved
from ricordo.values.reports import AddReport
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call as call_verb


@command("remember")
def remember(call: Call, **given: Any) -> int:
    """A text that is stored already is skipped. If nearly the same is stored, nothing is written and the exit code is
    4; then say with --on-duplicate what to do. Secrets are redacted.
    """
    return _keep(call, "remember", given)


def _short_form(path: str) -> Verb:
    return command(path)(lambda call, **given: _keep(call, path, given))


note, entity, resource, entry = map(_short_form, ("note", "entity", "resource", "entry"))


_SAVE = verb_named("save")._replace(params=verb_named("remember").params)


@command("save", row=_SAVE, without=("text",), extra=(click.Argument(["words"], nargs=-1, metavar="[REF] TEXT|-"),))
def save(call: Call, words: tuple[str, ...] = (), **given: Any) -> int:
    """Like remember, for any kind and under a ref that you choose. Of two arguments, the first is the name of the
    item: keys stands for memory:/keys. With a ref alone, the text is read from standard input. If the ref exists,
    nothing is written; use edit to change it.
    """
    if words and "ref" not in given and (Ref.looks_like(words[0]) or _is_name(words)):
        given["ref"] = words[0]
        words = words[1:] or ("-",)
    return _keep(call, "remember", {"text": text_from(words), **given})


def _is_name(words: Sequence[str]) -> bool:
    """Whether the first of two arguments names the item, and the second is its text."""
    return len(words) == 2 and words[0] != "-" and not any(map(str.isspace, words[0]))


_WITH = click.Option(["--with", "new"], type=REF, metavar="NEW", help="Replace it by this item, instead of a text.")


@command("correct", row=optional("correct", "text"), extra=(_WITH,))
def correct(call: Call, ref: str, new: str | None = None, **given: Any) -> int:
    """The old item is archived: search no longer finds it, except with --as-of. The new one is linked to it. Made from
    a text, it takes over the fields that you do not give.
    """
    if new is None:
        return _keep(call, "correct", {"ref": ref, **given}, create=False)
    if given.get("text"):
        raise UsageError("there is a text and --with", hint="Give the right text, or name the item that has it.")
    return _supersede(call, old=ref, new=new)


def _supersede(call: Call, **given: Any) -> int:
    """The old item is archived, and the new one is linked to it."""
    with call.engine() as engine:
        saved = call_verb(engine, verb_named("supersede"), given)
    return _put_away(call, AddReport((saved,)), dry_run=False)


supersede = command("supersede")(_supersede)


@command("forget", extra=(YES,))
def forget(call: Call, yes: bool = False, **given: Any) -> int:
    """Forgotten items are archived: search no longer finds them, except with --as-of; restore brings them back. With
    --older-than, --unused-since, --kind or --tag, only items that meet all of these are archived, and never those that
    are immutable or protected from decay. On a terminal, you are asked before more than one item is archived.
    """
    row, dry_run = verb_named("forget"), given.get("dry_run", False)
    with call.engine() as engine:
        if not (dry_run or yes or call.json):
            confirm("Archive", len(call_verb(engine, row, {**given, "dry_run": True}).items))
        report = call_verb(engine, row, given)
    return _put_away(call, report, dry_run=dry_run)


def _keep(call: Call, path: str, given: dict[str, Any], *, create: bool = True) -> int:
    if not given.get("text"):
        raise UsageError("there is no text", hint="Give it as an argument, or - to read standard input.")
    with call.engine(create=create) as engine:
        saved = call_verb(engine, verb_named(path), given)
    return _answer(call, saved)


def _answer(call: Call, saved: Saved) -> int:
    plain = AddReport((saved,)).to_dict()
    if saved.status != "needs_decision":
        return call.answer(plain, lambda screen: show_memory(screen, plain))
    ways = "supersede (replace the old one), save (keep both), skip (cancel) or merge (into the old one)."
    error = {"code": "needs_decision", "message": saved.reason or "", "hint": f"Decide: --on-duplicate {ways}"}
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
