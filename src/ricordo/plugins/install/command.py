"""Commands that set up agents' programs: install, uninstall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.terminal import Screen
from ricordo.config.loading import load_config
from ricordo.config.places import locate
from ricordo.errors import UsageError
from ricordo.permissions import refuse_agents
from ricordo.plugin import ask
from ricordo.plugins.install.file_edits import install_all, installed, uninstall_all
from ricordo.plugins.install.pieces import Piece, boundaries, default_scope, is_passing, pieces_for, program_command
from ricordo.programs.table import PROGRAMS


def _agent_and_scope(function: Callable[..., int]) -> Callable[..., int]:
    """Which program, and for which projects."""
    function = click.option(
        "--project", "scope", flag_value="project", help="For the project here (default for vscode)."
    )(function)
    function = click.option(
        "--user", "scope", flag_value="user", help="For all your projects (default, but for vscode)."
    )(function)
    return click.argument("agent", type=click.Choice(sorted(PROGRAMS)), metavar="AGENT")(function)


@verb(
    "install",
    examples=[
        "ricordo install claude-code",
        "ricordo install codex --print",
        "ricordo install vscode",
        "ricordo install cursor --project",
    ],
)
@_agent_and_scope
@click.option("--print", "only_print", is_flag=True, help="Only show what to add, and to which file.")
def install(call: Call, agent: str, scope: str | None, only_print: bool) -> int:
    """AGENT is claude-code, claude-desktop, cline, codex, continue, cursor, gemini, opencode, qwen, vscode, windsurf
    or zed. The MCP server is added to the program's settings; Claude Code, Codex, Cursor, Gemini CLI and Qwen Code also
    get hooks, and Claude Code a skill. Everything else in a file stays as it is, comments included. A copy of the file
    as it was is kept beside it until you uninstall. Running it again changes nothing. A broken file is left alone.
    """
    return set_up(call, agent, scope, only_print=only_print)


def set_up(
    call: Call,
    agent: str,
    scope: str | None,
    *,
    only_print: bool,
    change: Callable[[list[Piece]], list[Piece]] = list,
    before: Callable[[list[Piece], str], tuple[list[str], dict[str, Any]]] = lambda pieces, scope: ([], {}),
) -> int:
    """Write the pieces, after a ``change``, into the program's files, and answer.

    What is done ``before`` they are written returns notes, and what the answer says of it.
    """
    scope = _scope(agent, scope)
    pieces = change(pieces_for(agent, scope, Path.cwd(), program_command()))
    if only_print:
        return _show(call, agent, scope, pieces)
    for piece in pieces:
        installed(piece)  # a file that cannot be changed is noticed before any file is changed
    notes, more = before(pieces, scope)
    files = [written.to_dict() for written in install_all(pieces)]
    notes += _notes(call, agent, scope)
    plain = {"agent": agent, "scope": scope, "files": files, "notes": notes} | more
    return call.answer(plain, lambda screen: _draw(screen, plain))


@verb("uninstall", examples=["ricordo uninstall claude-code", "ricordo uninstall vscode"])
@_agent_and_scope
def uninstall(call: Call, agent: str, scope: str | None) -> int:
    """It removes what install wrote, the copies of files it kept, and folders that are empty then. It does not touch
    the store, nor what others wrote into the same files.
    """
    refuse_agents("take Ricordo out of a program")
    scope = _scope(agent, scope)
    pieces = pieces_for(agent, scope, Path.cwd(), program_command())
    changes = uninstall_all(pieces, boundaries(Path.cwd()))
    notes = [note for notes in ask("uninstalled", call, pieces) for note in notes]
    plain = {"agent": agent, "scope": scope, "files": [change.to_dict() for change in changes], "notes": notes}
    return call.answer(plain, lambda screen: _draw(screen, plain))


def _scope(agent: str, given: str | None) -> str:
    if given == "project" and not PROGRAMS[agent].project_servers:
        raise UsageError(
            f"{PROGRAMS[agent].title} has no settings for a single project",
            hint=f"Leave out --project: ricordo install {agent}",
        )
    return given or default_scope(agent)


def _show(call: Call, agent: str, scope: str, pieces: list[Piece]) -> int:
    files = [{"what": piece.what, "path": str(piece.path), "content": piece.snippet()} for piece in pieces]

    def draw(screen: Screen) -> None:
        for file in files:
            screen.line(screen.dim(f"# {file['what']}: {file['path']}"))
            screen.line(file["content"] + "\n")

    return call.answer({"agent": agent, "scope": scope, "files": files}, draw)


def _notes(call: Call, agent: str, scope: str) -> list[str]:
    notes = [f"Restart {PROGRAMS[agent].title} to use it."]
    if agent == "codex":
        notes.append("Codex asks you to review new hooks: type /hooks there and trust them.")
    if is_passing(program_command()):
        notes.append(
            "This Ricordo is kept only for a while, and the files name its place. Run 'uv tool install ricordo' (or "
            "'pipx install ricordo'), and then 'ricordo install' again."
        )
    if scope == "project":
        notes.append("The files name the program on this machine; others run 'ricordo install' themselves.")
    if not locate(call.store, load_config(), Path.cwd(), call.tier).location.is_there:
        notes.append("There is no store yet: 'ricordo init' makes one for this project, 'ricordo add' one for you.")
    return notes


def _draw(screen: Screen, plain: dict[str, Any]) -> None:
    for file in plain["files"]:
        screen.line(f"{file['status']:<9}  {file['what']:<10}  {file['path']}")
        if "backup" in file:
            screen.note(f"           as it was: {file['backup']}")
    for note in plain["notes"]:
        screen.note(note)
