"""MCP servers: where programs name them, which of them the user added, and the processes that run.

The servers that the user added are kept in ``tool-servers.json`` beside the user's settings. An entry is there because
the user agreed to what it starts. Only this entry is started, never that of another file: if a project or a program
changes its own file later, the user has to agree again.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ricordo.config.files import config_home, locked, read_bytes, replace_file
from ricordo.errors import Error, NotFound, Unavailable, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.masking import MASK, masked_in
from ricordo.plugins.gateway.mcp_client import Connections, TooSlow, connected
from ricordo.plugins.gateway.mcp_config import McpServer, Result, ServerTool, server_of, variables_in
from ricordo.plugins.install import json_text
from ricordo.programs.table import PROGRAMS, user_place
from ricordo.secrets.find import redact
from ricordo.values.reports import Progress

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


def places(start: Path) -> list[SettingsFile]:
    """The files that may name servers: the project's around ``start`` first, then the user's."""
    readable = {name: program for name, program in PROGRAMS.items() if program.has_plain_servers}
    found = [SettingsFile("ricordo", config_home(os.environ) / "mcp.json")]
    found += [SettingsFile(name, user_place(one.servers, os.environ), one.key) for name, one in readable.items()]
    known = {place.path for place in found}
    for folder in (start.absolute(), *start.absolute().parents):
        nearer = [
            SettingsFile(name, folder / one.project_servers, one.key, folder)
            for name, one in readable.items()
            if one.project_servers
        ]
        found += [place for place in nearer if place.path not in known and place.path.is_file()]
    return found


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


FILE = "tool-servers.json"
LONGEST_NAME = 60
LONGEST_START = 8_000
"""The most letters of what an entry starts. All of them are shown to the user, who has to read them to agree."""
_UNFIT = re.compile(r"[^\w.@-]+")
_SECRET_FLAG = re.compile(
    r"((?:^|\s)-{1,2}[\w-]*(?:pass|pwd|secret|token|key|credential)[\w-]*[ =])(?!-)('[^']*'|\S+)", re.IGNORECASE
)
_KEPT = ("type", "command", "args", "env", "cwd", "url", "headers")


@frozen
class Registered:
    """A server of the file: how it is started, and where it came from."""

    name: str
    entry: Mapping[str, Any]
    program: str = ""
    path: str = ""

    @property
    def starts(self) -> str:
        """What it runs or reaches, on one line."""
        return what_starts(self.entry)

    def server(self) -> McpServer:
        """The server, ready to be started; an error says why an entry cannot be used."""
        try:
            server = server_of(self.name, self.entry, os.environ)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            hint = f"Look at '{self.name}' in {FILE} beside your settings, or remove it: ‹:tools rm›."
            raise Unreadable(f"the server '{self.name}' cannot be started: {problem}", hint=hint) from None
        if server is None:
            raise Unreadable(f"the server '{self.name}' is switched off, or is Ricordo itself")
        return server


class ServerFile:
    """Reads and writes the file; it is readable by its owner alone, because entries may hold keys."""

    def __init__(self) -> None:
        self.path: Path = config_home(os.environ) / FILE

    def all(self) -> dict[str, Registered]:
        content = read_bytes(self.path)
        if content is None:
            return {}
        try:
            entries = json.loads(content)["mcpServers"]
            return {
                name: Registered(name, {k: v for k, v in entry.items() if k in _KEPT}, **_origin(entry))
                for name, entry in entries.items()
            }
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise Unreadable(
                f"{self.path} cannot be read: {problem}", hint='It holds {"mcpServers": {"name": {"command": "…"}}}.'
            ) from None

    def get(self, name: str) -> Registered:
        servers = self.all()
        if name not in servers:
            known = ", ".join(servers) or "none yet; take some in with ‹:tools add›"
            raise NotFound(f"there is no server '{name}'", hint=f"Servers: {known}.")
        return servers[name]

    def put(self, new: list[Registered]) -> None:
        """Keep these entries; an entry with the same name is replaced."""
        self._change({one.name: _written(one) for one in new}, ())

    def drop(self, *names: str) -> None:
        self._change({}, names)

    def _change(self, put: Mapping[str, Any], drop: tuple[str, ...]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self.path):
            kept = {name: _written(one) for name, one in self.all().items() if name not in drop}
            text = json.dumps({"mcpServers": kept | dict(put)}, indent=2, ensure_ascii=False)
            replace_file(self.path, f"{text}\n".encode())


def _origin(entry: Mapping[str, Any]) -> dict[str, str]:
    origin = entry.get("from")
    return {key: str(origin.get(key) or "") for key in ("program", "path")} if isinstance(origin, dict) else {}


def _written(one: Registered) -> dict[str, Any]:
    return dict(one.entry) | {"from": {"program": one.program, "path": one.path}}


def to_register(named: Named, taken: Mapping[str, Registered]) -> Registered:
    """An entry of a program's file in the form of our file; if the name is taken, the program's name is added to it."""
    entry = {key: named.entry[key] for key in _KEPT if key in named.entry}
    if "url" not in entry and (url := named.entry.get("httpUrl") or named.entry.get("serverUrl")):
        entry["url"] = url  # the names that Gemini and Windsurf use
    if headers := named.entry.get("http_headers"):
        entry["headers"] = headers  # the names that Codex uses
    if named.place.project is not None:
        entry.setdefault("cwd", str(named.place.project))
        folder = json.dumps(str(named.place.project))[1:-1]
        entry = json.loads(
            json.dumps(entry).replace("${workspaceFolder}", folder)
        )  # the name that VS Code and Cursor use
    name = fit_name(named.name)
    if not name:
        raise UsageError(f"{named.place.path} has a server whose name cannot be used")
    other = taken.get(name)
    if other is not None and dict(other.entry) != entry and other.path != str(named.place.path):
        name = f"{name}@{named.place.program}"
    return Registered(name, entry, named.place.program, str(named.place.path))


def fit_name(name: str) -> str:
    """A server's name that can be part of a ref."""
    return _UNFIT.sub("-", name.strip()).strip("-.")[:LONGEST_NAME]


def what_starts(entry: Mapping[str, Any]) -> str:
    """What an entry runs or reaches, whole and on one line, so that a person can agree to it.

    Headers and variables are named, with the user's own variables that their values are made of; the values are not
    shown.

    >>> what_starts({"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}})
    'reaches https://example.org/mcp and sends it Authorization (from your GITHUB_TOKEN)'
    """
    if url := entry.get("url"):
        headers = _named_values(entry.get("headers"))
        return _line(f"reaches {url}" + (f" and sends it {headers}" if headers else ""))
    words = shlex.join([str(entry.get("command", "")), *map(str, entry.get("args") or ())])
    given = _named_values(entry.get("env"))
    folder = f" in {entry['cwd']}" if entry.get("cwd") else ""
    return _line(f"runs {words}{folder}" + (f" with {given}" if given else ""))


def shown_start(entry: Mapping[str, Any]) -> str:
    """What an entry runs or reaches, for everybody who may list servers: keys in it are masked.

    >>> shown_start({"command": "serve", "args": ["--api-key", "abc123", "https://example.org/?token=x"]})
    "runs serve --api-key *** 'https://example.org/?token=***'"
    >>> shown_start({"command": "serve", "args": ["--api-key", "sk-ant-" + "a1B2c3D4" * 6], "env": {"HOST": "x"}})
    'runs serve --api-key *** with HOST'
    """
    return redact(_SECRET_FLAG.sub(rf"\1{MASK}", masked_in(what_starts(entry))))[0]


def _named_values(given: object) -> str:
    """The names, each with the variables that its value takes from the user's environment."""
    said = []
    for name, value in sorted(given.items()) if isinstance(given, Mapping) else ():
        taken = ", ".join(dict.fromkeys(variables_in(str(value))))
        said.append(f"{name} (from your {taken})" if taken else str(name))
    return ", ".join(said)


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def check_startable(one: Registered) -> str:
    """Why an entry cannot be started; empty when it can."""
    try:
        one.server()
    except Error as error:
        return error.message
    if len(one.starts) > LONGEST_START:
        return f"the server '{one.name}' takes {len(one.starts):,} letters to start, too many for anybody to agree to"
    return ""


class OpenServers:
    """The running servers; each has a lock of its own, so that a slow start of one does not delay the others."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._open: dict[str, tuple[Mapping[str, Any], Connections, ExitStack]] = {}
        self._closed = False

    def offered(self, one: Registered) -> list[ServerTool]:
        """What a server offers, listed now."""
        connections, fresh = self._connections(one)
        try:
            return list(connections.offered) if fresh else connections.list_again(one.name)
        except Unavailable:
            self.end(one.name)
            raise

    def tool(self, one: Registered, what: str, name: str) -> tuple[ServerTool, bool]:
        """A tool as its server describes it now, and whether the server said in the meantime that its list changed."""
        connections, _ = self._connections(one)
        changed = one.name in connections.changed
        offered = self.offered(one) if changed else connections.offered
        found = next((tool for tool in offered if (tool.what, tool.name) == (what, name)), None)
        if found is None:
            raise NotFound(
                f"{one.name} no longer offers '{name}'", hint=f"Take its list in again: ‹:refresh tool:/{one.name}›."
            )
        return found, changed

    def call(
        self,
        one: Registered,
        tool: ServerTool,
        arguments: Mapping[str, Any],
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Call a tool. A server that does not answer is ended, and the next call starts it again.

        One that is only slow to answer this call, and still answers others, keeps running.
        """
        connections, _ = self._connections(one)
        try:
            if tool.what == "resource":
                return connections.read(one.name, tool.uri)
            if tool.what == "prompt":
                return connections.prompt(one.name, tool.name, arguments)
            return connections.call(one.name, tool.name, arguments, progress)
        except Unavailable as error:
            if isinstance(error, TooSlow) and connections.answers(one.name):
                hint = "The server still runs, and so may the call. Ask for less, or raise the setting tools.seconds."
                raise Unavailable(error.message, hint=hint) from None
            self.end(one.name)
            hint = "The server was ended and starts again at the next call; or use another tool."
            raise Unavailable(error.message, hint=hint) from None

    def end(self, name: str) -> None:
        with self._lock:
            held = self._open.pop(name, None)
        if held is not None:
            held[2].close()

    def close(self) -> None:
        """End all servers; no server is started after this."""
        with self._lock:
            self._closed = True
            names = list(self._open)
        for name in names:
            self.end(name)

    def _connections(self, one: Registered) -> tuple[Connections, bool]:
        """The open connection, and whether it was opened just now."""
        with self._lock:
            lock = self._locks.setdefault(one.name, threading.Lock())
        with lock:
            held = self._open.get(one.name)
            if held is not None and held[0] == one.entry and held[1].seconds == self._seconds():
                return held[1], False
            self.end(one.name)
            if self._closed:
                raise Unavailable("the program is ending")
            stack = ExitStack()
            connections = stack.enter_context(connected((one.server(),), self._seconds()))
            if problem := connections.problems.get(one.name):
                stack.close()
                hint = "Start its command by hand to see what it says; ‹:tools list --verbose› shows it."
                raise Unavailable(f"the MCP server '{one.name}' cannot be used: {problem}", hint=hint)
            with self._lock:
                self._open[one.name] = (one.entry, connections, stack)
            return connections, True
