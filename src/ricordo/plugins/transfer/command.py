"""The commands export and migrate, and how exports and imports look to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command, run
from ricordo.cli.show import shows
from ricordo.cli.show_reports import counts_text, show_saved, size_text_of
from ricordo.cli.terminal import ProgressLine, Screen
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.plugins.transfer.values import ExportReport, ImportReport


@command("export")
def _export(call: Call, **given: Any) -> int:
    if call.json and given.get("target", "-") == "-":
        raise UsageError("--json and the export cannot both use standard output", hint="Name a file.")
    return run(call, "export", given)


@command(
    "migrate",
    without=("target",),
    extra=(
        click.Argument(["source"], metavar="[FROM]", required=False),
        click.Argument(["target"], metavar="[TO]", required=False),
    ),
)
def _migrate(call: Call, source: str = "", target: str = "", **given: Any) -> int:
    """Everything is copied: items with all versions, links, logs, what was learned, and vectors. FROM is only read. TO
    is empty, or was begun by an earlier run, which is taken up again. At the end both are compared, by counts and by
    hashes.
    """
    from ricordo import Ricordo

    if not target:
        raise UsageError("there is no store to copy into", hint="Name it: ‹:migrate FROM TO›.")
    with Ricordo.open(source, create=False) as engine, ProgressLine.for_call(call) as progress:
        report = engine.migrate(target, progress=progress, **given)

    def draw(screen: Screen) -> None:
        screen.line(f"{report.items:,} items are in {report.target}, {report.written:,} of them copied now")
        screen.note(f"{report.vectors:,} vectors came along; counts and hashes agree ({report.seconds:.1f} s)")

    return call.answer(report.to_dict(), draw)


@shows
def _show_export(screen: Screen, report: ExportReport) -> None:
    for one in report.left_out:
        screen.note(f"damaged: {one}")
    text = f"{counts_text(report.records)} in {size_text_of(report.bytes)}"
    if report.file == "-":  # standard output is the export
        screen.note(text)
    else:
        screen.line(f"{text}: {report.file}")


@shows
def _show_import(screen: Screen, report: ImportReport) -> None:
    show_saved(screen, report.saved)
    if report.records:
        screen.note(f"with them {counts_text(report.records)}")
