"""The verb for knowledge folders: sync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.present_hits import short_ref
from ricordo.cli.present_reports import show_failures
from ricordo.cli.progress import ProgressLine
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb import verb

_TOLD = ("created", "updated", "moved", "removed", "conflicts", "written", "unchanged", "failed")


@verb("sync", examples=["ricordo sync", "ricordo sync --write", "ricordo sync --json"])
@click.option("--write", is_flag=True, help="Write missing files again instead of removing their items.")
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or leave them to the backlog.")
def sync(call: Call, write: bool, wait: bool) -> int:
    """Memories, notes and articles are Markdown files in the folder knowledge/ beside the store. You can change them
    with any editor. Every command reads changed files first; sync does only that, and shows what it found. If a file
    was deleted, its item goes to the bin. If both the file and the item changed, both texts are kept as versions.
    """
    with call.engine(create=True) as engine, ProgressLine.for_call(call) as progress:
        report = engine.sync(write=write, wait=wait, progress=progress)
    plain = report.to_dict()
    return call.answer(
        plain,
        lambda screen: _show(screen, plain),
        exit_code=1 if report.failed else 0,
        error=some_failed(report.failed, int(plain["checked"])) if report.failed else None,
    )


def _show(screen: Screen, plain: Mapping[str, Any]) -> None:
    for item in plain["items"]:
        if item["status"] != "failed":
            reason = f": {one_line(item['reason'])}" if item.get("reason") else ""
            screen.line(f"{item['status']} {short_ref(item['ref'])}{reason}")
    show_failures(screen, [{**item, "ref": item["file"]} for item in plain["items"]])
    screen.line(", ".join(f"{plain[name]:,} {name}" for name in _TOLD if plain[name]) or "no files yet")
    for note in plain["notes"]:
        screen.note(f"note: {one_line(note)}")
