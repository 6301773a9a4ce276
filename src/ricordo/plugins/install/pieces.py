"""What is written into the files of each agent's program: the MCP server, hooks, a skill.

The formats were checked with the programs themselves, where they can be installed
(tests/plugins/install/test_agent_programs.py).
Nothing is read here but the plugin that ships with the package, which holds the hooks and the skill.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ricordo.frozen import frozen
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

    def snippet(self) -> str:
        """What a person would add to the file."""
        if self.form == "text":
            return str(self.content)
        if self.form == "toml":
            import tomlkit

            return tomlkit.dumps({self.at[0]: {NAME: self.content}}).strip()
        inside = self.content if self.form == "hooks" else {NAME: self.content}
        return json.dumps({self.at[0]: inside}, indent=2, ensure_ascii=False)


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
        hooks = _hooks(command, **_HOOK_WAYS.get(agent, {}))
        pieces.append(Piece("hooks", at(program.hooks, program.project_hooks), "hooks", ("hooks",), hooks, mine))
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


def _server_piece(agent: str, path: Path, command: Sequence[str], mine: bool) -> Piece:
    key = PROGRAMS[agent].key
    first, args = command[0], [*command[1:], "mcp"]
    if agent == "continue":
        text = _CONTINUE.format(command=json.dumps(first), args=json.dumps(args))
        return Piece("MCP server", path, "text", (), text, mine)
    if agent == "opencode":
        commented = path.with_suffix(".jsonc")  # it reads both; the one that is there is used
        local = {"type": "local", "command": [*command, "mcp"], "enabled": True}
        return Piece("MCP server", commented if commented.is_file() else path, "entry", (key,), local, mine)
    entry = {**_EXTRAS.get(agent, {}), "command": first, "args": args}
    return Piece("MCP server", path, "toml" if path.suffix == ".toml" else "entry", (key,), entry, mine)


_HOOK_WAYS: Mapping[str, Mapping[str, Any]] = {
    "codex": {"longest": {"SessionEnd": 3}},
    "gemini": {
        "events": {"SessionStart": "SessionStart", "UserPromptSubmit": "BeforeAgent", "SessionEnd": "SessionEnd"},
        "milliseconds": True,
    },
    "qwen": {
        "events": {name: name for name in ("SessionStart", "UserPromptSubmit", "SubagentStart", "SessionEnd")},
        "milliseconds": True,
    },
}
"""How a program's hooks differ from Claude Code's, as ``_hooks`` takes it; with ``events``, others are left out."""


def _hooks(
    command: Sequence[str],
    events: Mapping[str, str] | None = None,
    *,
    longest: Mapping[str, int] | None = None,
    milliseconds: bool = False,
) -> dict[str, Any]:
    """The plugin's hooks, with this program's path in place of the bare command.

    ``events`` renames events and leaves the others out; ``longest`` is the most seconds a program gives to an event.
    """
    line = shlex.join(command)
    if sys.platform == "win32":  # the shell may be Git's or PowerShell: both take this
        line = " ".join(f'"{part}"' if " " in part else part for part in (c.replace("\\", "/") for c in command))
    shipped = json.loads((plugin_folder() / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    hooks: dict[str, Any] = {}
    for event, groups in shipped.items():
        (hook,) = groups[0]["hooks"]
        seconds = min(hook["timeout"], (longest or {}).get(event, hook["timeout"]))
        own = f"{line} hook {hook['command'].split()[2]} --within {seconds}"
        timeout = seconds * 1000 if milliseconds else seconds
        hooks[event] = [{"hooks": [{"type": "command", "command": own, "timeout": timeout}]}]
    return {theirs: hooks[ours] for ours, theirs in events.items()} if events is not None else hooks


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
