"""Starts servers when they are first needed, keeps them running for the next call, and ends them with the program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from ricordo.errors import NotFound, Unavailable
from ricordo.sources.mcp_client import Connections, Result, ServerTool, TooSlow, connected
from ricordo.tools.registered import Registered
from ricordo.values.reports import Progress


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
        """End one server."""
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
