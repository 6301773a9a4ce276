"""Verbs that set up agents' programs: install, uninstall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.install_places import AGENTS, Piece, default_scope, pieces_for, program_command
from ricordo.cli.options import together
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb

_AGENT = together(
    click.argument("agent", type=click.Choice(list(AGENTS)), metavar="AGENT"),
    click.option("--user", "scope", flag_value="user", help="For all your projects (default, but for vscode)."),
    click.option("--project", "scope", flag_value="project", help="For the project here (default for vscode)."),
)


@verb(
    "install",
    examples=[
        "ricordo install claude-code",
        "ricordo install codex --print",
        "ricordo install vscode",
        "ricordo install cursor --project",
    ],
)
@_AGENT
@click.option("--print", "only_print", is_flag=True, help="Only show what to add, and to which file.")
def install(call: Call, agent: str, scope: str | None, only_print: bool) -> int:
    """AGENT is claude-code, codex, cursor, vscode or gemini. The MCP server is added to its settings; for Claude Code,
    hooks and a skill too. Everything else in a file stays as it is, the file as it was is kept beside it, and a second
    run changes nothing. A file that is broken or has comments is left alone, with what to add.
    """
    scope = scope or default_scope(agent)
    pieces = pieces_for(agent, scope, Path.cwd(), program_command())
    if only_print:
        return _show(call, agent, scope, pieces)
    from ricordo.cli.install_files import carry_out, installed

    for piece in pieces:
        installed(piece)  # all of them are doubted before the first is written
    changes = []
    for piece in pieces:
        changes.append(installed(piece))
        carry_out(changes[-1])
    plain = {"agent": agent, "scope": scope, "files": [change.to_dict() for change in changes]}
    plain["notes"] = _notes(call, agent, scope)
    return call.answer(plain, lambda screen: _draw(screen, plain))


@verb("uninstall", examples=["ricordo uninstall claude-code", "ricordo uninstall vscode"])
@_AGENT
def uninstall(call: Call, agent: str, scope: str | None) -> int:
    """Takes out what install wrote and nothing else: not the store, not what others wrote into the same files."""
    from ricordo.cli.install_files import carry_out, uninstalled

    scope = scope or default_scope(agent)
    pieces = pieces_for(agent, scope, Path.cwd(), program_command())
    for piece in pieces:
        uninstalled(piece)
    changes = []
    for piece in pieces:
        changes.append(uninstalled(piece))
        carry_out(changes[-1])
    plain = {"agent": agent, "scope": scope, "files": [change.to_dict() for change in changes], "notes": []}
    return call.answer(plain, lambda screen: _draw(screen, plain))


def _show(call: Call, agent: str, scope: str, pieces: list[Piece]) -> int:
    files = [{"what": piece.what, "path": str(piece.path), "content": piece.snippet()} for piece in pieces]

    def draw(screen: Screen) -> None:
        for file in files:
            screen.line(screen.dim(f"# {file['what']}: {file['path']}"))
            screen.line(file["content"] + "\n")

    return call.answer({"agent": agent, "scope": scope, "files": files}, draw)


def _notes(call: Call, agent: str, scope: str) -> list[str]:
    from ricordo.config.loading import load_config
    from ricordo.config.places import locate

    notes = [f"Start {AGENTS[agent]} anew to use it."]
    if scope == "project":
        notes.append("The files name the program on this machine; others run 'ricordo install' themselves.")
    if not locate(call.store, load_config(), Path.cwd(), call.tier).location.path.exists():
        notes.append("There is no store yet: 'ricordo init' makes one for this project, 'ricordo add' one for you.")
    return notes


def _draw(screen: Screen, plain: dict[str, Any]) -> None:
    for file in plain["files"]:
        screen.line(f"{file['status']:<9}  {file['what']:<10}  {file['path']}")
        if "backup" in file:
            screen.note(f"           as it was: {file['backup']}")
    for note in plain["notes"]:
        screen.note(note)
