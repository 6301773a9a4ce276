"""Which MCP servers may be used: it reads and checks settings files in the form that agents share (``mcpServers``).

The user's own file is used as it is. A project's file is used only after the user trusted it, because its servers are
commands that are run and hosts that are reached. Nothing is started here; what a server offers and answers has its
values here, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from ricordo.config.files import Environment, config_home, read_bytes
from ricordo.config.trust_lists import is_trusted
from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.values.reports import Progress

OnProgress = Callable[[Progress], None]
PROJECT_NAME = ".mcp.json"
USER_NAME = "mcp.json"
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ASKED_FOR = re.compile(r"\$\{input:([^}]*)\}")


@frozen
class McpServer:
    """One server: a command to run, or a URL to reach."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False


@frozen
class ServerTool:
    """A tool, resource or prompt of a server, as the server describes it."""

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]
    title: str = ""
    what: str = "tool"
    """tool, resource or prompt."""
    hints: Mapping[str, bool] = field(default_factory=dict)
    """What the server says of a tool's effects: ``read_only``, ``destructive``, ``idempotent``, ``open_world``."""
    uri: str = ""
    """Where a resource is."""

    @property
    def changes_things(self) -> bool:
        """Whether the server says that a call changes something."""
        return self.hints.get("read_only") is False or self.hints.get("destructive") is True


@frozen
class Result:
    """The whole answer of a tool: a text, or the bytes of something else."""

    content: str | bytes
    mime_type: str = ""
    failed: bool = False
    blocks: tuple[Mapping[str, Any], ...] = ()
    """What is not plain text (images, sounds, links, files), as the server sent it."""


class ServerProcess:
    """What is known about a running server apart from its messages."""

    def __init__(self) -> None:
        self.trouble = ""
        """Why we ended it, if we did."""
        self.said = b""
        """The end of its standard error."""

    def last_words(self) -> str:
        """The last line of its standard error."""
        lines = [line.strip() for line in self.said.decode("utf-8", "replace").splitlines() if line.strip()]
        return "".join(letter for letter in lines[-1][:200] if letter.isprintable()) if lines else ""


@frozen
class McpServers:
    """The servers that may be used, and what the user should know about those that may not."""

    servers: tuple[McpServer, ...] = ()
    notes: tuple[str, ...] = ()


def mcp_servers(start: Path, env: Environment | None = None) -> McpServers:
    """The user's servers, and those of a trusted ``.mcp.json`` here."""
    env = os.environ if env is None else env
    found: dict[str, McpServer] = {}
    notes: list[str] = []
    mine = config_home(env) / USER_NAME
    theirs = _nearest(start)
    for path in (mine, theirs):
        content = read_bytes(path) if path is not None else None
        if path is None or content is None:
            continue
        if path == theirs and not is_trusted(path, env=env, content=content):
            notes.append(f"the MCP servers of {path} are not used: read it, then 'ricordo config trust {path}'")
            continue
        read = _read(path, content, env)
        found |= {server.name: server for server in read.servers}
        notes += read.notes
    return McpServers(tuple(found.values()), tuple(notes))


def _nearest(start: Path) -> Path | None:
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / PROJECT_NAME).is_file():
            return folder / PROJECT_NAME
    return None


def _read(path: Path, content: bytes, env: Environment) -> McpServers:
    try:
        plain = json.loads(content.decode("utf-8-sig"))
        entries = plain.get("mcpServers", {})
        if not isinstance(entries, dict):
            raise TypeError("mcpServers is not an object")
    except (ValueError, TypeError, AttributeError) as problem:
        raise UsageError(
            f"{path} names no MCP servers: {problem}", hint='Write {"mcpServers": {"name": {"command": "…"}}}.'
        ) from None
    servers: list[McpServer] = []
    notes: list[str] = []
    for name, entry in entries.items():
        try:
            server = server_of(name, entry, env)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            notes.append(f"the MCP server '{name}' of {path} is left out: {problem}")
            continue
        if server is not None:
            servers.append(server)
    return McpServers(tuple(servers), tuple(notes))


def is_switched_off(entry: Mapping[str, Any]) -> bool:
    """Whether the user switched an entry off in the program that it belongs to."""
    return bool(entry.get("disabled")) or entry.get("enabled") is False


def server_of(name: str, entry: Mapping[str, Any], env: Environment) -> McpServer | None:
    """The server of one entry; None if it is switched off, or if it is Ricordo itself."""
    if is_switched_off(entry):
        return None

    def text(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not a text")
        return _filled(value, env)

    if url := entry.get("url"):
        headers = {key: text(value) for key, value in (entry.get("headers") or {}).items()}
        return McpServer(name, url=text(url), headers=headers, is_sse=entry.get("type") == "sse")
    if not entry.get("command"):
        raise ValueError("it has neither a command nor a url")
    command, args = text(entry["command"]), tuple(text(arg) for arg in entry.get("args") or ())
    if Path(command).stem == "ricordo" or "ricordo" in args:
        return None
    given = {key: text(value) for key, value in (entry.get("env") or {}).items()}
    return McpServer(name, command, args, given, entry.get("cwd"))


def variables_in(text: str) -> list[str]:
    """The variables whose values are filled in."""
    return [found[1] for found in _VARIABLE.finditer(text)]


def _filled(text: str, env: Environment) -> str:
    """The text with ``${NAME}``, ``${env:NAME}`` and ``${NAME:-otherwise}`` filled in."""
    if asked := _ASKED_FOR.search(text):
        raise ValueError(f"it needs '{asked[1]}', which only the program that owns the file can ask for")

    def value(found: re.Match[str]) -> str:
        given = env.get(found[1]) or found[2]
        if given is None:
            raise ValueError(f"the variable {found[1]} is not set")
        return given

    return _VARIABLE.sub(value, text)
