"""What each agent's program must be told, and in which file: the MCP server, and for Claude Code hooks and a skill.

It reads nothing but the plugin that ships with the package, which is where hooks and skill are written down.
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

AGENTS: Mapping[str, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "gemini": "Gemini CLI",
}
NAME = "ricordo"


@frozen
class Piece:
    """One thing to write: what it is, the file, its form, and where in the file it belongs."""

    what: str
    path: Path
    form: str
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
    mine = scope == "user"
    entry: dict[str, Any] = {"command": command[0], "args": [*command[1:], "mcp"]}
    if agent == "codex":
        path = _home("CODEX_HOME", ".codex") if mine else folder / ".codex"
        return [Piece("MCP server", path / "config.toml", "toml", ("mcp_servers",), entry, mine)]
    if agent == "cursor":
        path = (Path.home() if mine else folder) / ".cursor" / "mcp.json"
        return [Piece("MCP server", path, "entry", ("mcpServers",), entry, mine)]
    if agent == "gemini":
        path = (Path.home() if mine else folder) / ".gemini" / "settings.json"
        return [Piece("MCP server", path, "entry", ("mcpServers",), entry, mine)]
    entry = {"type": "stdio", **entry}
    if agent == "vscode":
        path = (_vscode_profile() if mine else folder / ".vscode") / "mcp.json"
        return [Piece("MCP server", path, "entry", ("servers",), entry, mine)]
    return _claude_code(folder, entry, command, mine)


def _claude_code(folder: Path, entry: dict[str, Any], command: Sequence[str], mine: bool) -> list[Piece]:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    settings = _home("CLAUDE_CONFIG_DIR", ".claude") if mine else folder / ".claude"
    servers = (Path(own) if own else Path.home()) / ".claude.json" if mine else folder / ".mcp.json"
    # A project's local settings are Claude Code's place for what names one machine.
    hooks = settings / ("settings.json" if mine else "settings.local.json")
    skill = (plugin_folder() / "skills" / NAME / "SKILL.md").read_text(encoding="utf-8")
    return [
        Piece("MCP server", servers, "entry", ("mcpServers",), entry, mine),
        Piece("hooks", hooks, "hooks", ("hooks",), _hooks(command), mine),
        Piece("skill", settings / "skills" / NAME / "SKILL.md", "text", (), skill, mine),
    ]


def _hooks(command: Sequence[str]) -> dict[str, Any]:
    """The plugin's hooks, with this program in the place of the bare command."""
    shipped = json.loads((plugin_folder() / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    line = json.dumps(_shell_line(command))[1:-1]
    hooks: dict[str, Any] = json.loads(json.dumps(shipped).replace(f'"{NAME} hook ', f'"{line} hook '))
    return hooks


def _shell_line(command: Sequence[str]) -> str:
    if sys.platform == "win32":  # the shell there may be Git's or PowerShell: both take this
        return " ".join(f'"{part}"' if " " in part else part for part in (c.replace("\\", "/") for c in command))
    return shlex.join(command)


def plugin_folder() -> Path:
    """The plugin, as it ships with the package or lies in a checkout."""
    inside = Path(__file__).parents[1] / "plugin"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "plugin"


def program_command() -> list[str]:
    """What starts this program from any folder."""
    beside = Path(sys.executable).with_name(NAME + (".exe" if sys.platform == "win32" else ""))
    for script in (beside, Path(sys.argv[0])):
        if script.stem == NAME and script.parent.name and script.is_file() and os.access(script, os.X_OK):
            return [str(script.absolute())]
    return [sys.executable, "-P", "-m", NAME]  # -P: a folder's own files are not ours


def _home(variable: str, name: str) -> Path:
    given = os.environ.get(variable)
    return Path(given).expanduser() if given else Path.home() / name


def _vscode_profile() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Code" / "User"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Code" / "User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "Code" / "User"
