"""Verbs that take a store or an item elsewhere: export, import, backup, migrate, promote."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.generated import command, optional
from ricordo.cli.present_reports import show_saved, size_text_of
from ricordo.cli.progress import ProgressLine
from ricordo.cli.running import Problem, run
from ricordo.cli.terminal import Screen
from ricordo.errors import CorruptStore, UsageError

if TYPE_CHECKING:
    from ricordo.values.items import Saved
    from ricordo.values.reports import BackupReport, ImportReport

_NAMES = {
    "item": ("item", "items"), "link": ("link", "links"), "feedback": ("verdict", "verdicts"),
    "weights": ("change of weights", "changes of weights"), "query": ("query", "queries"),
    "opening": ("opening", "openings"), "root": ("folder", "folders"),
    "proposal": ("proposal", "proposals"),
}  # fmt: skip


@command("export", row=optional("export", "target"))
def export(call: Call, target: str = "-", **given: Any) -> int:
    """The file has JSON lines: items with all versions, the bin, links, use, verdicts and what was learned. Vectors are
    not included; they are made again on import. Without a FILE, it writes to standard output.
    """
    if target == "-" and call.json:
        raise UsageError("--json and the export cannot both use standard output", hint="Name a file.")
    with call.engine() as engine:
        report = engine.export(sys.stdout.buffer if target == "-" else target, **given)
    text = f"{_counts(report.records)} in {size_text_of(report.bytes)}"
    for one in report.left_out:
        call.screen().note(f"damaged: {one}")
    if target == "-":
        call.screen().note(text)
        return 1 if report.left_out else 0
    return call.answer(
        report.to_dict(),
        lambda screen: screen.line(f"{text}: {report.file}"),
        exit_code=1 if report.left_out else 0,
        error=_damaged(report.left_out),
    )


def _damaged(text: Sequence[str]) -> dict[str, str] | None:
    """The error for a copy of a store in which something is damaged; the copy was made."""
    if not text:
        return None
    return CorruptStore(f"{len(text)} versions or rows are damaged", hint="'ricordo doctor' names them.").to_dict()


@command("import")
def import_(call: Call, source: str, **given: Any) -> int:
    """A file with an error is refused before anything is written. Items that are overwritten go to the bin, with their
    history. Without --trust, an export brings texts, but nothing that would make Ricordo read files or give a text to
    every agent.
    """

    def show(screen: Screen, report: ImportReport) -> None:
        show_saved(screen, report.to_dict())
        if report.records:
            screen.note(f"with them {_counts(report.records)}")

    def problem(report: ImportReport) -> Problem | None:
        return (1, some_failed(report.failed, len(report.saved.items))) if report.failed else None

    place = sys.stdin.buffer if source == "-" else source
    return run(call, "import", {"source": place, **given}, show, problem=problem)


@command("backup")
def backup(call: Call, **given: Any) -> int:
    """Others may write meanwhile; the copy is the store at one moment. It is opened, checked and counted before it
    gets its name. Open it with --store FILE.
    """

    def show(screen: Screen, report: BackupReport) -> None:
        count = _counts({"item": report.items})
        screen.line(f"{size_text_of(report.bytes)} in {report.seconds:.1f} s, checked, {count}: {report.file}")

    def problem(report: BackupReport) -> Problem | None:
        for one in report.damaged:
            call.screen().note(f"damaged, in the store too: {one}")
        error = _damaged(report.damaged)
        return (1, error) if error else None

    return run(call, "backup", given, show, problem=problem)


def _counts(records: Mapping[str, int]) -> str:
    """``12 items, 3 links``; rare kinds of records are not mentioned."""
    text = [f"{records[name]:,} {words[records[name] != 1]}" for name, words in _NAMES.items() if records.get(name)]
    return ", ".join(text) or "nothing"


@command(
    "migrate",
    without=("target",),
    extra=(
        click.Argument(["source"], metavar="[FROM]", required=False),
        click.Argument(["target"], metavar="[TO]", required=False),
        click.Option(["--rekey"], is_flag=True, help="Keep the key of an encrypted store elsewhere (--key)."),
    ),
)
def migrate(call: Call, source: str = "", target: str = "", rekey: bool = False, **given: Any) -> int:
    """Everything is copied: items with all versions, links, logs, what was learned, and vectors. FROM is only read. TO
    is empty, or was begun by an earlier run, which is taken up again. At the end both are compared, by counts and by
    hashes. Without TO, --encrypt and --decrypt change the store where it lies; nobody else may use it meanwhile.
    """
    from ricordo import Ricordo
    from ricordo.cli.passphrases import asking_at_terminal

    asking_at_terminal()
    if not target:
        return _in_place(call, source, rekey=rekey, **given)
    if rekey:
        raise UsageError("--rekey changes a store where it lies", hint="Leave out TO.")
    with Ricordo.open(source, create=False) as engine, ProgressLine.for_call(call) as progress:
        report = engine.migrate(target, progress=progress, **given)

    def draw(screen: Screen) -> None:
        screen.line(f"{report.items:,} items are in {report.target}, {report.written:,} of them copied now")
        screen.note(f"{report.vectors:,} vectors came along; counts and hashes agree ({report.seconds:.1f} s)")

    return call.answer(report.to_dict(), draw)


def _in_place(
    call: Call, source: str, *, rekey: bool, encrypt: bool = False, decrypt: bool = False, key: str = ""
) -> int:
    """Encrypt or decrypt a store where it lies, or keep its key elsewhere."""
    from pathlib import Path

    from ricordo.config.loading import ConfigProvider
    from ricordo.config.places import locate
    from ricordo.engine import encrypting

    if encrypt + decrypt + rekey != 1:
        raise UsageError(
            "there is no store to copy into", hint="Name it, or pass one of --encrypt, --decrypt, --rekey."
        )
    location = locate(source or call.store, ConfigProvider()(), Path.cwd(), call.tier).location
    if source and not location.address and not location.path.exists():
        raise UsageError(
            f"there is no store at {location.path}", hint="Name one that exists; a copy is made by ‹:migrate FROM TO›."
        )
    how = ""
    if encrypt:
        how = encrypting.encrypt_in_place(location, key)
    elif rekey:
        how = encrypting.keep_key_elsewhere(location, key)
    else:
        encrypting.decrypt_in_place(location)

    def draw(screen: Screen) -> None:
        if how:
            screen.line(f"the store {location.name} is encrypted; its key is {how}")
            screen.note(
                "without the key nothing of it can be read: keep a copy of it, and of the file beside the store"
            )
        else:
            screen.line(f"the store {location.name} is no longer encrypted")

    return call.answer({"store": location.name, "encrypted": how or None}, draw)


@command("promote")
def promote(call: Call, **given: Any) -> int:
    """The item is copied with its history and keeps its id. Promoting it again brings the copy up to date."""

    def show(screen: Screen, saved: Saved) -> None:
        screen.line(f"{saved.status} {saved.ref} in {given['tier']}")

    return run(call, "promote", given, show)
