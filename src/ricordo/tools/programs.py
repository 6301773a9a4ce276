"""Finds the MCP servers that the user's programs know: a table of their settings files, which are only read.

No server is started. A missing file is ignored; a broken one is left out with a note.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ricordo.config.files import Environment, config_home, read_bytes
from ricordo.errors import Error
from ricordo.frozen import frozen

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
LARGEST_FILE = 20_000_000
"""The largest file that is read; Claude Code keeps much more than servers in its file."""


@frozen
class SettingsFile:
    """A settings file: its program, the key of its servers, and whether it belongs to a project."""

    program: str
    path: Path
    key: str = "mcpServers"
    project: Path | None = None


@frozen
class Named:
    """An entry of a settings file that names a server."""

    name: str
    entry: Mapping[str, Any]
    place: SettingsFile


def places(start: Path, env: Environment) -> list[SettingsFile]:
    """The files that may name servers: the project's around ``start`` first, then the user's."""
    home = Path(env.get("HOME") or env.get("USERPROFILE") or Path.home())
    claude = Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else home
    codex = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home / ".codex"
    settings = _application_folder(home, env)
    found = [
        SettingsFile("ricordo", config_home(env) / "mcp.json"),
        SettingsFile("claude-code", claude / ".claude.json"),
        SettingsFile("claude-desktop", settings / "Claude" / "claude_desktop_config.json"),
        SettingsFile("cursor", home / ".cursor" / "mcp.json"),
        SettingsFile("vscode", settings / "Code" / "User" / "mcp.json", "servers"),
        SettingsFile("codex", codex / "config.toml", "mcp_servers"),
        SettingsFile("gemini", home / ".gemini" / "settings.json"),
        SettingsFile("qwen", home / ".qwen" / "settings.json"),
        SettingsFile("windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
    ]
    in_project = (
        ("claude-code", ".mcp.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("codex", ".codex/config.toml", "mcp_servers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
    )
    known = {place.path for place in found}
    for folder in (start.absolute(), *start.absolute().parents):
        nearer = [SettingsFile(program, folder / name, key, folder) for program, name, key in in_project]
        found += [place for place in nearer if place.path not in known and place.path.is_file()]
    return found


def _application_folder(home: Path, env: Environment) -> Path:
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config")


def named_servers(start: Path, env: Environment | None, note: Callable[[str], None]) -> Iterator[Named]:
    """Every entry of every file, in the order of the table."""
    env = os.environ if env is None else env
    for place in places(start, env):
        yield from servers_of(place, start, note)


def servers_of(place: SettingsFile, start: Path, note: Callable[[str], None]) -> Iterator[Named]:
    """The entries of one file; Claude Code's own file has some for single projects, too."""
    data = _tables(place.path, note)
    for name, entry in _entries(data.get(place.key)):
        yield Named(name, entry, place)
    projects = data.get("projects")
    if place.program == "claude-code" and isinstance(projects, dict):
        for folder in (start.absolute(), *start.absolute().parents):
            inside = projects.get(str(folder))
            for name, entry in _entries(inside.get(place.key) if isinstance(inside, dict) else None):
                yield Named(name, {"cwd": str(folder), **entry}, place)


def _entries(table: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(table, dict):
        yield from ((name, entry) for name, entry in table.items() if isinstance(entry, dict))


def _tables(path: Path, note: Callable[[str], None]) -> dict[str, Any]:
    try:
        content = read_bytes(path)
        if content is None:
            return {}
        if len(content) > LARGEST_FILE:
            raise ValueError(f"it is larger than {LARGEST_FILE // 1_000_000} MB")
        text = content.decode("utf-8-sig")
        data = tomllib.loads(text) if path.suffix == ".toml" else json_with_comments(text)
        if not isinstance(data, dict):
            raise ValueError("it is not an object")
    except (ValueError, RecursionError, OSError, Error) as problem:
        note(f"{path} is left out: {problem}")
        return {}
    return data


def json_with_comments(text: str) -> Any:
    """JSON, also with the comments and trailing commas that some programs allow in their settings."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        plain = _COMMENT.sub(lambda found: found[1] or "", text)
        return json.loads(_TRAILING_COMMA.sub(lambda found: found[1] or "", plain))
