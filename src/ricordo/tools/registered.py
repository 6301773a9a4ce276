"""The servers whose tools the user added: they are kept in ``tool-servers.json`` beside the user's settings.

An entry is there because the user agreed to what it starts. Only this entry is started, never that of another file: if
a project or a program changes its own file later, the user has to agree again.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ricordo.config.files import Environment, config_home, locked, read_bytes, replace_file
from ricordo.errors import Error, NotFound, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.masking import MASK, masked_in
from ricordo.secrets.find import redact
from ricordo.sources.mcp_config import McpServer, server_of, variables_in
from ricordo.tools.settings_files import Named

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

    def server(self, env: Environment | None = None) -> McpServer:
        """The server, ready to be started; an error says why an entry cannot be used."""
        try:
            server = server_of(self.name, self.entry, os.environ if env is None else env)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            hint = f"Look at '{self.name}' in {FILE} beside your settings, or remove it: ‹:tools rm›."
            raise Unreadable(f"the server '{self.name}' cannot be started: {problem}", hint=hint) from None
        if server is None:
            raise Unreadable(f"the server '{self.name}' is switched off, or is Ricordo itself")
        return server


class ServerFile:
    """Reads and writes the file; it is readable by its owner alone, because entries may hold keys."""

    def __init__(self, env: Environment | None = None) -> None:
        self.path: Path = config_home(os.environ if env is None else env) / FILE

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
