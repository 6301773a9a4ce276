"""Which file of each agent's program must hold what: the MCP server, hooks, a skill.

The formats were checked with the programs themselves, where they can be installed (tests/faces/test_agent_programs.py).
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

AGENTS: Mapping[str, str] = {
    "claude-code": "Claude Code",
    "claude-desktop": "Claude Desktop",
    "cline": "Cline",
    "codex": "Codex",
    "continue": "Continue",
    "cursor": "Cursor",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "qwen": "Qwen Code",
    "vscode": "VS Code",
    "windsurf": "Windsurf",
    "zed": "Zed",
}
USER_ONLY = ("claude-desktop", "cline", "windsurf")
"""Programs that keep their servers for the user alone, not for a project."""
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
    mine = scope == "user"
    base = Path.home() if mine else folder
    plain: dict[str, Any] = {"command": command[0], "args": [*command[1:], "mcp"]}

    def entry(path: Path, at: str = "mcpServers", **more: Any) -> Piece:
        return Piece("MCP server", path, "entry", (at,), more | plain, mine)

    def hooks(path: Path, agent_hooks: dict[str, Any]) -> Piece:
        return Piece("hooks", path, "hooks", ("hooks",), agent_hooks, mine)

    if agent == "claude-code":
        return _claude_code(folder, entry, hooks, command, mine)
    if agent == "codex":
        place = _home("CODEX_HOME", ".codex") if mine else folder / ".codex"
        server = Piece("MCP server", place / "config.toml", "toml", ("mcp_servers",), plain, mine)
        return [server, hooks(place / "hooks.json", _hooks(command, most={"SessionEnd": 3}))]
    if agent in ("gemini", "qwen"):
        settings = base / f".{agent}" / "settings.json"
        return [entry(settings), hooks(settings, _hooks(command, _EVENTS[agent], milliseconds=True))]
    if agent == "cursor":
        return [entry(base / ".cursor" / "mcp.json")]
    if agent == "vscode":
        place = _application_folder("Code") / "User" if mine else folder / ".vscode"
        return [entry(place / "mcp.json", "servers", type="stdio")]
    if agent == "claude-desktop":
        return [entry(_application_folder("Claude") / "claude_desktop_config.json")]
    if agent == "windsurf":
        return [entry(Path.home() / ".codeium" / "windsurf" / "mcp_config.json")]
    if agent == "cline":
        storage = _application_folder("Code") / "User" / "globalStorage" / "saoudrizwan.claude-dev"
        return [entry(storage / "settings" / "cline_mcp_settings.json")]
    if agent == "zed":
        place = _zed_folder() if mine else folder / ".zed"
        return [entry(place / "settings.json", "context_servers", source="custom")]
    if agent == "opencode":
        local = {"type": "local", "command": [*command, "mcp"], "enabled": True}
        return [Piece("MCP server", _opencode_file(folder, mine), "entry", ("mcp",), local, mine)]
    text = _CONTINUE.format(command=json.dumps(command[0]), args=json.dumps([*command[1:], "mcp"]))
    return [Piece("MCP server", base / ".continue" / "mcpServers" / f"{NAME}.yaml", "text", (), text, mine)]


def _claude_code(folder: Path, entry: Any, hooks: Any, command: Sequence[str], mine: bool) -> list[Piece]:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    settings = _home("CLAUDE_CONFIG_DIR", ".claude") if mine else folder / ".claude"
    servers = (Path(own) if own else Path.home()) / ".claude.json" if mine else folder / ".mcp.json"
    # A project's local settings are Claude Code's place for what names one machine.
    local = settings / ("settings.json" if mine else "settings.local.json")
    skill = (plugin_folder() / "skills" / NAME / "SKILL.md").read_text(encoding="utf-8")
    return [
        entry(servers, type="stdio"),
        hooks(local, _hooks(command)),
        Piece("skill", settings / "skills" / NAME / "SKILL.md", "text", (), skill, mine),
    ]


_EVENTS: Mapping[str, Mapping[str, str]] = {
    "gemini": {"SessionStart": "SessionStart", "UserPromptSubmit": "BeforeAgent"},
    "qwen": {name: name for name in ("SessionStart", "UserPromptSubmit", "SubagentStart")},
}
"""Claude Code's name of an event, and the other program's. Their transcripts cannot be read, so those are left out."""


def _hooks(
    command: Sequence[str],
    events: Mapping[str, str] | None = None,
    *,
    most: Mapping[str, int] | None = None,
    milliseconds: bool = False,
) -> dict[str, Any]:
    """The plugin's hooks, with this program's path in place of the bare command.

    ``events`` renames events and leaves the others out; ``most`` is the most seconds a program gives to an event.
    """
    shipped = json.loads((plugin_folder() / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    hooks: dict[str, Any] = {}
    for event, groups in shipped.items():
        (hook,) = groups[0]["hooks"]
        name = hook["command"].split()[2]
        seconds = min(hook["timeout"], (most or {}).get(event, hook["timeout"]))
        line = f"{_shell_line(command)} hook {name} --within {seconds}"
        timeout = seconds * 1000 if milliseconds else seconds
        hooks[event] = [{"hooks": [{"type": "command", "command": line, "timeout": timeout}]}]
    return {theirs: hooks[ours] for ours, theirs in events.items()} if events is not None else hooks


def _shell_line(command: Sequence[str]) -> str:
    if sys.platform == "win32":  # the shell may be Git's or PowerShell: both take this
        return " ".join(f'"{part}"' if " " in part else part for part in (c.replace("\\", "/") for c in command))
    return shlex.join(command)


def plugin_folder() -> Path:
    """The plugin, as it ships with the package or lies in a checkout."""
    inside = Path(__file__).parents[1] / "plugin"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "plugin"


def program_command() -> list[str]:
    """The command that starts this program from any folder."""
    beside = Path(sys.executable).with_name(NAME + (".exe" if sys.platform == "win32" else ""))
    for script in (beside, Path(sys.argv[0])):
        if script.stem == NAME and script.parent.name and script.is_file() and os.access(script, os.X_OK):
            return [str(script.absolute())]
    return [sys.executable, "-P", "-m", NAME]  # -P: Python does not import files of the current folder


def _home(variable: str, name: str) -> Path:
    given = os.environ.get(variable)
    return Path(given).expanduser() if given else Path.home() / name


def _application_folder(name: str) -> Path:
    """Where desktop programs keep their settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / name
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / name
    return _config_folder() / name


def _config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _zed_folder() -> Path:
    return _application_folder("Zed") if sys.platform == "win32" else _config_folder() / "zed"


def _opencode_file(folder: Path, mine: bool) -> Path:
    """opencode reads .jsonc as well as .json; the one that is there is used."""
    place = _config_folder() / "opencode" if mine else folder
    commented = place / "opencode.jsonc"
    return commented if commented.is_file() else place / "opencode.json"


def boundaries(folder: Path) -> tuple[Path, ...]:
    """Folders that uninstall never removes, even if they are empty."""
    given = [os.environ[name] for name in ("XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR") if os.environ.get(name)]
    return (Path.home(), folder, *map(Path, given))
