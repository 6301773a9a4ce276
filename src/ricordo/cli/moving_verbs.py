"""Verbs that take a store elsewhere and keep it small: export, import, backup, vacuum."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.present_reports import show_saved
from ricordo.cli.progress import ProgressLine
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb
from ricordo.errors import CorruptStore, UsageError
from ricordo.values.choices import IMPORT_FORMATS, ON_CONFLICT, OnConflict

_FILE = click.Path(path_type=Path, allow_dash=True)
_STDIO = Path("-")
_NAMES = {
    "item": ("item", "items"), "link": ("link", "links"), "feedback": ("verdict", "verdicts"),
    "weights": ("change of weights", "changes of weights"), "query": ("query", "queries"),
    "opening": ("opening", "openings"), "root": ("folder", "folders"),
}  # fmt: skip


@verb(
    "export",
    examples=[
        "ricordo export everything.jsonl",
        "ricordo export | gzip > everything.jsonl.gz",
        "ricordo export --salvage rescued.jsonl",
        "ricordo export --no-log - | ricordo --store copy.db import -",
    ],
)
@click.argument("file", required=False, type=_FILE, default=_STDIO, metavar="[FILE|-]")
@click.option("--log/--no-log", default=True, help="Include the logs of queries and openings (default), or not.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--salvage", is_flag=True, help="Of a damaged store, export what can be read and name the rest.")
def export(call: Call, file: Path, log: bool, force: bool, salvage: bool) -> int:
    """The file has JSON lines: items with all versions, the bin, links, use, verdicts and what was learned. Vectors are
    not included; they are made again on import. Without a FILE, it writes to standard output.
    """
    if file == _STDIO and call.json:
        raise UsageError("--json and the export cannot both use standard output", hint="Name a file.")
    with call.engine() as engine:
        target = sys.stdout.buffer if file == _STDIO else file
        report = engine.export(target, log=log, force=force, salvage=salvage)
    text = f"{_counts(report.records)} in {_size(report.bytes)}"
    for one in report.left_out:
        call.screen().note(f"damaged: {one}")
    if file == _STDIO:
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


@verb(
    "import",
    examples=[
        "ricordo import everything.jsonl",
        "ricordo import everything.jsonl --on-conflict overwrite",
        "ricordo import --from obsidian ~/vault",
        "ricordo import --from mem0 memories.json",
        "ricordo import --from claude export.zip",
    ],
)
@click.argument("source", type=_FILE, metavar="FILE|FOLDER|-")
@click.option(
    "--from",
    "format_",
    type=click.Choice(IMPORT_FORMATS),
    default="ricordo",
    show_default=True,
    help="Which program wrote the file or folder.",
)
@click.option(
    "--on-conflict",
    type=click.Choice(ON_CONFLICT),
    default="skip",
    show_default=True,
    help="What to do with an item that is stored already.",
)
@click.option("--allow-secrets", is_flag=True, help="Do not redact secrets in memories and notes.")
@click.option(
    "--trust",
    is_flag=True,
    help="Of an export: also take folders, the files of items, and the mark that every agent gets an item.",
)
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or later with embed.")
def import_(call: Call, source: Path, format_: str, on_conflict: OnConflict, **given: bool) -> int:
    """A file with an error is refused before anything is written. Items that are overwritten go to the bin, with their
    history. Without --trust, an export brings texts, but nothing that would make Ricordo read files or give a text to
    every agent.
    """
    with call.engine(create=True) as engine, ProgressLine.for_call(call) as progress:
        report = engine.import_(
            sys.stdin.buffer if source == _STDIO else source,
            format=format_,
            on_conflict=on_conflict,
            progress=progress,
            **given,
        )
    plain = report.to_dict()

    def draw(screen: Screen) -> None:
        show_saved(screen, plain)
        if report.records:
            screen.note(f"with them {_counts(report.records)}")

    return call.answer(
        plain,
        draw,
        exit_code=1 if report.failed else 0,
        error=some_failed(report.failed, len(report.saved.items)) if report.failed else None,
    )


@verb("backup", examples=["ricordo backup ~/backups/today.db", "ricordo backup /mnt/usb/ricordo.db --force"])
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def backup(call: Call, file: Path, force: bool) -> int:
    """Others may write meanwhile; the copy is the store at one moment. It is opened, checked and counted before it
    gets its name. Open it with --store FILE.
    """
    with call.engine() as engine, ProgressLine.for_call(call) as progress:
        report = engine.backup(file, force=force, progress=progress)
    text = f"{_size(report.bytes)} in {report.seconds:.1f} s, checked, {_counts({'item': report.items})}: {report.file}"
    for one in report.damaged:
        call.screen().note(f"damaged, in the store too: {one}")
    return call.answer(
        report.to_dict(),
        lambda screen: screen.line(text),
        exit_code=1 if report.damaged else 0,
        error=_damaged(report.damaged),
    )


@verb("vacuum", examples=["ricordo vacuum", "ricordo vacuum --full --json"])
@click.option("--full", is_flag=True, help="Rewrite the file even if that saves little space.")
def vacuum(call: Call, full: bool) -> int:
    """It erases items that have been in the bin long enough and data that no version needs, merges the keyword index,
    and shrinks the file. While the file is rewritten, others can read but not write.
    """
    with call.engine() as engine:
        report = engine.vacuum(full=full)

    def draw(screen: Screen) -> None:
        screen.line(f"{_size(report.bytes_before)} before, {_size(report.bytes_after)} after")
        gone = {"items from the bin": report.emptied, "unused vectors": report.vectors, "unused files": report.blobs}
        for name, count in gone.items():
            if count:
                screen.line(f"{count:,} {name} erased")
        if not report.rewritten:
            screen.note("the file was not rewritten, because that would save little (--full does it anyway)")

    return call.answer(report.to_dict(), draw)


def _counts(records: Mapping[str, int]) -> str:
    """``12 items, 3 links``; rare kinds of records are not mentioned."""
    text = [f"{records[name]:,} {words[records[name] != 1]}" for name, words in _NAMES.items() if records.get(name)]
    return ", ".join(text) or "nothing"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"


@verb(
    "migrate",
    examples=[
        "ricordo migrate ~/.local/share/ricordo/ricordo.db postgresql://ann@db/team",
        "ricordo migrate postgresql://ann@db/team copy.db",
    ],
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def migrate(call: Call, source: str, target: str) -> int:
    """Everything is copied: items with all versions, links, logs, what was learned, and vectors. FROM is only read. TO
    is empty, or was begun by an earlier run, which is taken up again. At the end both are compared, by counts and by
    hashes.
    """
    from ricordo import Ricordo

    with Ricordo.open(source, create=False) as engine, ProgressLine.for_call(call) as progress:
        report = engine.migrate(target, progress=progress)

    def draw(screen: Screen) -> None:
        screen.line(f"{report.items:,} items are in {report.target}, {report.written:,} of them copied now")
        screen.note(f"{report.vectors:,} vectors came along; counts and hashes agree ({report.seconds:.1f} s)")

    return call.answer(report.to_dict(), draw)


@verb("promote", examples=["ricordo promote memory:/deploys-on-tuesday --to team"])
@click.argument("ref", metavar="REF")
@click.option("--to", "tier", required=True, metavar="TIER", help="The tier to copy to: agent, project or team.")
@click.option("--on-conflict", type=click.Choice(ON_CONFLICT), default="error", help="If its ref is taken there.")
def promote(call: Call, ref: str, tier: str, on_conflict: OnConflict) -> int:
    """The item is copied with its history and keeps its id. Promoting it again brings the copy up to date."""
    with call.engine() as engine:
        saved = engine.promote(ref, tier, on_conflict=on_conflict)
    return call.answer(saved.to_dict(), lambda screen: screen.line(f"{saved.status} {saved.ref} in {tier}"))
