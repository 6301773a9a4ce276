"""The verb sync-folder with its parts: sync between machines through a folder. ``sync`` is about knowledge files."""

from __future__ import annotations

from typing import Any

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.running import Problem, run
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb_group import verb_group
from ricordo.values.reports import SyncFolder, SyncMachine, SyncRun, SyncState

sync_folder = verb_group(
    "sync-folder",
    examples=[
        "ricordo sync-folder",
        "ricordo sync-folder add ~/Dropbox/ricordo",
        "ricordo sync-folder accept laptop",
        "ricordo sync-folder now",
    ],
    details="The folder is brought to your machines by something else: Syncthing, iCloud, Dropbox, git, a USB stick."
    " 'sync', without a folder, brings your Markdown files and the store together.",
    alone="status",
)


@command("sync-folder now")
def now(call: Call, **given: Any) -> int:
    """It also runs by itself: in the server, and after commands that change something. If a folder is gone, or a
    machine in it is not let in, the exit code is not 0.
    """
    return run(call, "sync-folder now", given, show_run, problem=_problem)


sync_folder.add_command(now)


def _problem(report: SyncRun) -> Problem | None:
    if not report.problems:
        return None
    hint = "'ricordo sync-folder status' shows the folders and machines; 'accept' lets one in."
    return 1, {"code": "incomplete", "message": report.problems[0], "hint": hint}


def show_run(screen: Screen, report: SyncRun) -> None:
    """What was written and taken in, and what is kept twice."""
    screen.line(f"{_counted(report.written, 'change')} written, {_counted(report.taken, 'change')} taken in")
    parts = [
        f"{_counted(count, 'item')} {name}"
        for name, count in (
            ("new", report.created),
            ("changed", report.updated),
            ("archived", report.archived),
            ("moved to the bin", report.removed),
            ("erased", report.erased),
        )
        if count
    ]
    if parts:
        screen.line(", ".join(parts))
    for ref in report.apart:
        name = one_line(ref)
        screen.warn(f"{name} was changed on two machines, both versions are kept: 'ricordo history {name}'")
    for problem in report.problems:
        screen.warn(one_line(problem))


def show_state(screen: Screen, state: SyncState) -> None:
    """The folders, and the machines that write to them."""
    if not state.folders:
        screen.note("this store syncs through no folder; 'ricordo sync-folder add PATH' names one")
        return
    screen.line(f"what travels: {', '.join(state.what)}")
    for folder in state.folders:
        show_folder(screen, folder)


def show_folder(screen: Screen, folder: SyncFolder) -> None:
    """A folder with the machines that write to it, and what is wrong with it."""
    screen.line(screen.bold(one_line(folder.path)) + (", encrypted" if folder.is_encrypted else ""))
    if folder.unwritten:
        screen.line(f"  {_counted(folder.unwritten, 'change')} to write")
    for machine in folder.machines:
        screen.line(f"  {machine_text(machine)}")
    for problem in folder.problems:
        screen.warn(one_line(problem))
    if any(not machine.let_in for machine in folder.machines):
        screen.note("'ricordo sync-folder accept MACHINE' lets in a machine of your own")


def show_machine(screen: Screen, machine: SyncMachine) -> None:
    """A machine, and whether it is let in."""
    screen.line(machine_text(machine))


def machine_text(machine: SyncMachine) -> str:
    """A machine on one line."""
    state = "this machine" if machine.is_this else "let in" if machine.let_in else "not let in"
    files = _counted(machine.files, "file")
    waiting = f", {machine.waiting:,} not taken in" if machine.waiting else ""
    return f"{one_line(machine.name)} ({machine.id}): {state}, {files}{waiting}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
