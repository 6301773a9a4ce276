"""Finds the MCP servers that the user's programs know: their settings files are only read.

No server is started. A missing file is ignored; a broken one is left out with a note.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ricordo.config.files import Environment, config_home, read_bytes
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.programs import json_text
from ricordo.programs.table import PROGRAMS, user_place

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
    readable = {name: program for name, program in PROGRAMS.items() if program.has_plain_servers}
    found = [SettingsFile("ricordo", config_home(env) / "mcp.json")]
    found += [SettingsFile(name, user_place(one.servers, env), one.key) for name, one in readable.items()]
    known = {place.path for place in found}
    for folder in (start.absolute(), *start.absolute().parents):
        nearer = [
            SettingsFile(name, folder / one.project_servers, one.key, folder)
            for name, one in readable.items()
            if one.project_servers
        ]
        found += [place for place in nearer if place.path not in known and place.path.is_file()]
    return found


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
        data = tomllib.loads(text) if path.suffix == ".toml" else json_text.loads(text) if text.strip() else {}
        if not isinstance(data, dict):
            raise ValueError("it is not an object")
    except (ValueError, RecursionError, OSError, Error) as problem:
        note(f"{path} is left out: {problem}")
        return {}
    return data
