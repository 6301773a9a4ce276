"""Where each program of agents keeps its servers, hooks, sessions, skills and memories: one row for each program.

A place begins with the name of a folder in braces, which ``folders`` finds for a user; one without is inside a project.
Nothing is read here; only whether opencode has a database is looked up.
"""

from __future__ import annotations

import filecmp
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ricordo.frozen import frozen

SERVER_KEYS = ("mcpServers", "servers", "mcp_servers")
"""The keys under which programs keep servers in a form that others can start: a command, or an address."""


@frozen
class AgentProgram:
    """A program, by the name that people know it by, and its places; an empty place is none."""

    title: str
    servers: str
    """The user's file that names MCP servers."""
    project_servers: str = ""
    key: str = "mcpServers"
    """Under which key servers are in that file."""
    hooks: str = ""
    project_hooks: str = ""
    sessions: tuple[str, ...] = ()
    """Folders, or patterns of files, that hold transcripts."""
    skills: str = ""
    project_skills: str = ""
    memories: tuple[str, ...] = ()
    """The user's files, or patterns of files, in which it keeps what it was told or learned; ``{project}`` stands for
    the folder of a project, as programs make a name of it.
    """
    project_memories: tuple[str, ...] = ()
    variable: str = ""
    """The variable that the commands it runs find in their environment."""

    @property
    def has_plain_servers(self) -> bool:
        """Whether its servers are written so that others can start them."""
        return self.key in SERVER_KEYS


PROGRAMS: Mapping[str, AgentProgram] = {
    "claude-code": AgentProgram(
        "Claude Code",
        "{claude_servers}/.claude.json",
        ".mcp.json",
        hooks="{claude}/settings.json",
        project_hooks=".claude/settings.local.json",  # its place for what names one machine
        sessions=("{claude}/projects",),
        skills="{claude}/skills",
        project_skills=".claude/skills",
        memories=("{claude}/CLAUDE.md", "{claude}/projects/{project}/memory/*.md"),
        project_memories=("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/*.md"),
        variable="CLAUDECODE",
    ),
    "claude-desktop": AgentProgram("Claude Desktop", "{applications}/Claude/claude_desktop_config.json"),
    "cursor": AgentProgram(
        "Cursor",
        "{home}/.cursor/mcp.json",
        ".cursor/mcp.json",
        hooks="{home}/.cursor/hooks.json",
        project_hooks=".cursor/hooks.json",
        skills="{home}/.cursor/skills",
        project_memories=(".cursor/rules/*.mdc", ".cursor/rules/*.md", ".cursorrules"),
        variable="CURSOR_AGENT",
    ),
    "vscode": AgentProgram("VS Code", "{applications}/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "codex": AgentProgram(
        "Codex",
        "{codex}/config.toml",
        ".codex/config.toml",
        "mcp_servers",
        hooks="{codex}/hooks.json",
        project_hooks=".codex/hooks.json",
        sessions=("{codex}/sessions", "{codex}/archived_sessions"),
        skills="{codex}/skills",
        project_skills=".codex/skills",
        memories=("{codex}/AGENTS.md", "{codex}/memories/*.md"),
        project_memories=("AGENTS.md", "AGENTS.override.md"),
        variable="CODEX_SANDBOX_NETWORK_DISABLED",
    ),
    "gemini": AgentProgram(
        "Gemini CLI",
        "{home}/.gemini/settings.json",
        ".gemini/settings.json",
        hooks="{home}/.gemini/settings.json",
        project_hooks=".gemini/settings.json",
        sessions=("{home}/.gemini/tmp",),
        memories=("{home}/.gemini/GEMINI.md",),
        project_memories=("GEMINI.md",),
        skills="{home}/.gemini/skills",
        variable="GEMINI_CLI",
    ),
    "qwen": AgentProgram(
        "Qwen Code",
        "{home}/.qwen/settings.json",
        ".qwen/settings.json",
        hooks="{home}/.qwen/settings.json",
        project_hooks=".qwen/settings.json",
        sessions=("{home}/.qwen/projects",),
        memories=("{home}/.qwen/QWEN.md", "{home}/.qwen/projects/{project}/memory/*.md"),
        project_memories=("QWEN.md",),
        variable="QWEN_CODE",
    ),
    "windsurf": AgentProgram("Windsurf", "{home}/.codeium/windsurf/mcp_config.json"),
    "cline": AgentProgram(
        "Cline",
        "{applications}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        variable="CLINE_ACTIVE",
    ),
    "zed": AgentProgram("Zed", "{zed}/settings.json", ".zed/settings.json", "context_servers"),
    "opencode": AgentProgram(
        "opencode",
        "{config}/opencode/opencode.json",
        "opencode.json",
        "mcp",
        # A database since version 1.2; before that, and where there is no database, a folder.
        sessions=("{data}/opencode/opencode*.db", "{data}/opencode/storage/session"),
        variable="OPENCODE",
    ),
    "continue": AgentProgram(
        "Continue", "{home}/.continue/mcpServers/ricordo.yaml", ".continue/mcpServers/ricordo.yaml", ""
    ),
}
"""In the order in which servers are looked for; each server in Continue has a file of its own."""


DOOR = "RICORDO_DOOR"
"""The variable by which a hook tells the command that it starts through which door it came."""


def running_program(env: Mapping[str, str]) -> str:
    """The agent's program that runs a command with these variables; empty if none of ours is known to."""
    return next((name for name, one in PROGRAMS.items() if one.variable and env.get(one.variable)), "")


def folders(env: Mapping[str, str] | None = None) -> dict[str, Path]:
    """The folders that places begin with, for the user whose variables these are."""
    env = os.environ if env is None else env
    on_windows = sys.platform == "win32"
    home = Path(env.get("USERPROFILE" if on_windows else "HOME") or Path.home())
    config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    applications = config
    if on_windows:
        applications = Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        applications = home / "Library" / "Application Support"
    own_claude = env.get("CLAUDE_CONFIG_DIR")
    return {
        "home": home,
        "config": config,
        "data": Path(env.get("XDG_DATA_HOME") or home / ".local" / "share"),
        "applications": applications,
        "claude": Path(own_claude or home / ".claude").expanduser(),
        "claude_servers": Path(own_claude or home).expanduser(),
        "codex": Path(env.get("CODEX_HOME") or home / ".codex").expanduser(),
        "zed": applications / "Zed" if on_windows else config / "zed",
    }


def user_place(place: str, env: Mapping[str, str] | None = None) -> Path:
    """A place of the user, as the variables say; the current ones without others."""
    return Path(place.format_map(folders(env)))


def session_places() -> list[Path]:
    """Where programs keep transcripts on this machine; of a pattern's files those that are there."""
    found: list[Path] = []
    for program in PROGRAMS.values():
        places = [user_place(place) for place in program.sessions]
        files = sorted(file for place in places if "*" in place.name for file in place.parent.glob(place.name))
        found += files or [place for place in places if "*" not in place.name]
    return found


@frozen
class MemoryFile:
    """A file in which a program keeps what it was told or learned: its place, and its path below the program's ref."""

    program: str
    name: str
    path: Path


TREE = "tree"
"""Below it are the files of work trees other than the main checkout."""


def memory_files(project: Path, most: int, beside: Path | None = None) -> list[MemoryFile]:
    """The files of all programs for a project, at most so many, the project's own before the user's. One that
    several names lead to is taken once. Of ``beside``, the project's folder in another work tree, what differs is
    taken, too.
    """
    folders_ = folders() | {"project": Path(re.sub(r"[^A-Za-z0-9]", "-", str(project)))}
    tops = [top for top in (project, beside) if top is not None]
    places = [(name, place) for name, row in PROGRAMS.items() for place in row.project_memories]
    own = [(name, top / place, top) for top in tops for name, place in places]
    users = [(name, Path(place.format_map(folders_)), None) for name, row in PROGRAMS.items() for place in row.memories]
    found: list[MemoryFile] = []
    seen: set[str] = set()
    for program, place, top in (*own, *users):
        for path in sorted(place.parent.glob(place.name)) if "*" in place.name else [place]:
            if len(found) < most and path.is_file() and (real := os.path.realpath(path)) not in seen:
                seen.add(real)
                name = path.relative_to(top).as_posix() if top is not None else f"user/{_below(path)}"
                if top is not None and top == beside:
                    if _is_same(path, project / name):
                        continue
                    name = f"{TREE}/{top.name}/{name}"
                found.append(MemoryFile(program, name, path))
    return found


def _is_same(path: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(path, other, shallow=False)


def _below(path: Path) -> str:
    return f"memory/{path.name}" if path.parent.name in ("memory", "memories") else path.name
