"""What is written into the files of each agent's program: the MCP server, hooks, a skill.

The formats were checked with the programs themselves, where they can be installed
(tests/plugins/install/test_agent_programs.py).
Nothing is read here but the skill, which ships with the package. tools/make_plugins.py writes the same into the plugins
that bring the program.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ricordo.frozen import frozen
from ricordo.hooks.payload import NAMES
from ricordo.programs.table import PROGRAMS, user_place

NAME = "ricordo"
_CONTINUE = """\
# Written by: ricordo install continue
name: Ricordo
version: 1.0.0
schema: v1
mcpServers:
  - name: ricordo
    command: {command}
    args: {args}
"""


@frozen
class Piece:
    """One thing to write: what it is, the file, the file's form, and where in the file it belongs."""

    what: str
    path: Path
    form: str
    """entry or hooks (parts of a JSON file), toml (part of a TOML file), or text (a file of its own)."""
    at: tuple[str, ...] = ()
    content: Any = None
    is_private: bool = True
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What the file must say at its top besides."""

    def snippet(self) -> str:
        """What a person would add to the file."""
        if self.form == "text":
            return str(self.content)
        if self.form == "toml":
            import tomlkit

            return tomlkit.dumps({self.at[0]: {NAME: self.content}}).strip()
        inside = self.content if self.form == "hooks" else {NAME: self.content}
        return json.dumps({**self.beside, self.at[0]: inside}, indent=2, ensure_ascii=False)


def default_scope(agent: str) -> str:
    """VS Code keeps its servers with the project, the others with the user."""
    return "project" if agent == "vscode" else "user"


def pieces_for(agent: str, scope: str, folder: Path, command: Sequence[str]) -> list[Piece]:
    """All that is to be written for an agent's program, for the user or for the project in a folder."""
    program = PROGRAMS[agent]
    mine = scope == "user"

    def at(users: str, projects: str) -> Path:
        return user_place(users) if mine else folder / projects

    pieces = [_server_piece(agent, at(program.servers, program.project_servers), command, mine)]
    if program.hooks:
        beside, hooks = hooks_for(agent, command)
        pieces.append(
            Piece("hooks", at(program.hooks, program.project_hooks), "hooks", ("hooks",), hooks, mine, beside)
        )
    if agent == "claude-code":
        skill = (plugin_folder() / "skills" / NAME / "SKILL.md").read_text(encoding="utf-8")
        place = at(program.skills, program.project_skills) / NAME / "SKILL.md"
        pieces.append(Piece("skill", place, "text", (), skill, mine))
    return pieces


_EXTRAS: Mapping[str, Mapping[str, Any]] = {
    "claude-code": {"type": "stdio", "alwaysLoad": True},  # else it only lists the tools' names, to be searched for
    "vscode": {"type": "stdio"},
    "zed": {"source": "custom"},
}
"""What an entry holds besides the command and its arguments."""


def server_entry(agent: str, command: Sequence[str]) -> dict[str, Any]:
    """The entry that starts the MCP server."""
    return {**_EXTRAS.get(agent, {}), "command": command[0], "args": [*command[1:], "mcp"]}


def _server_piece(agent: str, path: Path, command: Sequence[str], mine: bool) -> Piece:
    key = PROGRAMS[agent].key
    entry = server_entry(agent, command)
    if agent == "continue":
        text = _CONTINUE.format(**{name: json.dumps(value) for name, value in entry.items()})
        return Piece("MCP server", path, "text", (), text, mine)
    if agent == "opencode":
        commented = path.with_suffix(".jsonc")  # it reads both; the one that is there is used
        local = {"type": "local", "command": [*command, "mcp"], "enabled": True}
        return Piece("MCP server", commented if commented.is_file() else path, "entry", (key,), local, mine)
    return Piece("MCP server", path, "toml" if path.suffix == ".toml" else "entry", (key,), entry, mine)


HOOK_SECONDS = 10
"""How long a program waits for a hook."""


@frozen
class _HookWay:
    """How a program's hooks differ from Claude Code's."""

    events: Mapping[str, str] = field(default_factory=lambda: {name: name for name in NAMES.values()})
    """What it calls an event of Claude Code; it gets no others."""
    longest: Mapping[str, int] = field(default_factory=dict)
    """The most seconds that it gives to an event."""
    milliseconds: bool = False
    is_flat: bool = False
    """Whether hooks stand in their event's list themselves, not in groups."""
    beside: Mapping[str, Any] = field(default_factory=dict)


_HOOK_WAYS: Mapping[str, _HookWay] = {
    "claude-code": _HookWay(),
    "codex": _HookWay(longest={"SessionEnd": 3}),
    "gemini": _HookWay(
        {"SessionStart": "SessionStart", "UserPromptSubmit": "BeforeAgent", "SessionEnd": "SessionEnd"},
        milliseconds=True,
    ),
    "qwen": _HookWay(
        {name: name for name in ("SessionStart", "UserPromptSubmit", "SubagentStart", "SessionEnd")},
        milliseconds=True,
    ),
    # Its other events add nothing to what the model sees, and its transcripts are not read.
    "cursor": _HookWay(
        {"SessionStart": "sessionStart", "UserPromptSubmit": "beforeSubmitPrompt"}, is_flat=True, beside={"version": 1}
    ),
}


def hooks_for(agent: str, command: Sequence[str]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """A program's hooks by its names of events, and what its file must say beside them."""
    way = _HOOK_WAYS[agent]
    line = shlex.join(command)
    if sys.platform == "win32":  # the shell may be Git's or PowerShell: both take this
        line = " ".join(f'"{part}"' if " " in part else part for part in (c.replace("\\", "/") for c in command))
    hooks: dict[str, Any] = {}
    for name, event in NAMES.items():
        if event in way.events:
            seconds = min(HOOK_SECONDS, way.longest.get(event, HOOK_SECONDS))
            own = f"{line} hook {name} --within {seconds}"
            hook = {"command": own, "timeout": seconds * 1000 if way.milliseconds else seconds}
            hooks[way.events[event]] = [hook if way.is_flat else {"hooks": [{"type": "command", **hook}]}]
    return way.beside, hooks


def plugin_folder() -> Path:
    """The plugin, as it ships with the package or lies in a checkout."""
    inside = Path(__file__).with_name("agent_plugin")
    return inside if inside.is_dir() else Path(__file__).parents[4] / "plugin"


def program_command() -> list[str]:
    """The command that starts this program from any folder."""
    beside = Path(sys.executable).with_name(NAME + (".exe" if sys.platform == "win32" else ""))
    for script in (beside, Path(sys.argv[0])):
        if script.stem == NAME and script.parent.name and script.is_file() and os.access(script, os.X_OK):
            return [str(script.absolute())]
    return [sys.executable, "-P", "-m", NAME]  # -P: Python does not import files of the current folder


def is_passing(command: Sequence[str]) -> bool:
    """Whether a command lies where ``uvx`` or ``pipx run`` keep a program only for a while.

    >>> is_passing(["/home/me/.cache/uv/archive-v0/Xy/bin/ricordo"])
    True
    >>> is_passing(["/home/me/.local/share/uv/tools/ricordo/bin/ricordo"])
    False
    """
    parts = Path(command[0]).parts
    by_uv = any(part.startswith(("archive-v", "environments-v")) for part in parts)
    return by_uv or ("pipx" in parts and "venvs" not in parts)


def boundaries(folder: Path) -> tuple[Path, ...]:
    """Folders that uninstall never removes, even if they are empty."""
    given = [os.environ[name] for name in ("XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR") if os.environ.get(name)]
    return (Path.home(), folder, *map(Path, given))
