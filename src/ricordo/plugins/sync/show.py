"""How sync through folders looks to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.cli.show import shows
from ricordo.cli.terminal import Screen, counted, one_line

if TYPE_CHECKING:
    from ricordo.plugins.sync.values import SyncFolder, SyncMachine, SyncRun, SyncState


@shows
def _show_run(screen: Screen, report: SyncRun) -> None:
    screen.line(f"{counted(report.written, 'change')} written, {counted(report.taken, 'change')} taken in")
    counts = {"new": report.created, "changed": report.updated, "archived": report.archived}
    counts |= {"moved to the bin": report.removed, "erased": report.erased}
    if parts := [f"{counted(count, 'item')} {name}" for name, count in counts.items() if count]:
        screen.line(", ".join(parts))
    for ref in report.apart:
        name = one_line(ref)
        screen.warn(f"{name} was changed on two machines, both versions are kept: 'ricordo history {name}'")
    for problem in report.problems:
        screen.warn(one_line(problem))


@shows
def _show_state(screen: Screen, state: SyncState) -> None:
    if not state.folders:
        screen.note("this store syncs through no folder; 'ricordo sync-folder add PATH' names one")
        return
    screen.line(f"what travels: {', '.join(state.what)}")
    for folder in state.folders:
        _show_folder(screen, folder)


@shows
def _show_folder(screen: Screen, folder: SyncFolder) -> None:
    screen.line(screen.bold(one_line(folder.path)) + (", encrypted" if folder.is_encrypted else ""))
    if folder.unwritten:
        screen.line(f"  {counted(folder.unwritten, 'change')} to write")
    for machine in folder.machines:
        _show_machine(screen, machine, "  ")
    for problem in folder.problems:
        screen.warn(one_line(problem))
    if any(not machine.let_in for machine in folder.machines):
        screen.note("'ricordo sync-folder accept MACHINE' lets in a machine of your own")


@shows
def _show_machine(screen: Screen, machine: SyncMachine, indent: str = "") -> None:
    state = "this machine" if machine.is_this else "let in" if machine.let_in else "not let in"
    waiting = f", {machine.waiting:,} not taken in" if machine.waiting else ""
    name = f"{indent}{one_line(machine.name)} ({machine.id})"
    screen.line(f"{name}: {state}, {counted(machine.files, 'file')}{waiting}")
