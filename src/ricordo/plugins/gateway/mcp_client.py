"""Talks to MCP servers from synchronous code. All are started together, every call has a time limit, all end together.

The SDK is asynchronous, so it runs in a thread of its own; ``mcp_session`` holds the calls to it, and is imported only
when a server is used. ``mcp_config`` says which servers there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.log import report
from ricordo.plugins.gateway.mcp_config import McpServer, OnProgress, Result, ServerProcess, ServerTool

if TYPE_CHECKING:
    import anyio
    from anyio.from_thread import BlockingPortal
    from mcp.client.client import Client

GRACE = 2.0
"""Seconds that a call is waited for beyond its limit, so that the limit of the SDK ends it first."""
ENDING_SECONDS = 10.0
"""How long all servers together may take to end."""
LIFE_SECONDS = 3.0
"""How long a server whose call took too long may take to show that it lives."""


class TooSlow(Unavailable):
    """A server did not answer within the time for a call."""


class Connections:
    """Open connections to servers, with ``seconds`` for every call; ``problems`` says why others are not open."""

    def __init__(self, portal: BlockingPortal, seconds: float) -> None:
        from ricordo.plugins.gateway import mcp_session

        self._session = mcp_session
        self._portal = portal
        self.seconds = seconds
        self._clients: dict[str, Client] = {}
        self._about: dict[str, ServerProcess | None] = {}
        self.offered: list[ServerTool] = []
        self.problems: dict[str, str] = {}
        self.changed: set[str] = set()
        """The servers that said that their lists changed; code that lists a server again removes its name."""

    @property
    def tools(self) -> list[ServerTool]:
        """The tools, without those that say that they change things, because a page may ask to call them."""
        return [one for one in self.offered if one.what == "tool" and not one.changes_things]

    def call(self, server: str, tool: str, arguments: Mapping[str, Any], progress: OnProgress | None = None) -> Result:
        """Call a tool. Raises ``Unavailable`` if the server does not answer; an error of the tool is a failed
        ``Result``.
        """
        return cast("Result", self._asked(server, self._session.call_tool, tool, dict(arguments), progress))

    def read(self, server: str, uri: str) -> Result:
        return cast("Result", self._asked(server, self._session.read_resource, uri))

    def prompt(self, server: str, name: str, arguments: Mapping[str, Any]) -> Result:
        given = {key: str(value) for key, value in arguments.items()}
        return cast("Result", self._asked(server, self._session.get_prompt, name, given))

    def answers(self, server: str) -> bool:
        """Whether a server that is slow to answer a call still answers anything."""
        try:
            self._asked(server, self._session.show_life, seconds=min(self.seconds, LIFE_SECONDS))
        except Unavailable:
            return False
        return True

    def list_again(self, server: str) -> list[ServerTool]:
        """What a server offers now."""
        self.changed.discard(server)
        found: list[ServerTool] = self._asked(server, self._session.offered, server)
        self.offered = [one for one in self.offered if one.server != server] + found
        return found

    def _asked(self, server: str, ask: Callable[..., Any], *arguments: Any, seconds: float | None = None) -> Any:
        client, seconds = self._clients[server], seconds or self.seconds
        future = self._portal.start_task_soon(_within, seconds, ask, client, *arguments)
        wait([future], seconds + GRACE)
        error = future.exception() if future.done() else TimeoutError()
        if error is None:
            return future.result()
        future.cancel()
        if isinstance(error, TimeoutError):
            raise TooSlow(f"{server} did not answer within {seconds:g} s") from None
        report(f"the MCP server '{server}' failed", error)
        raise Unavailable(f"{server} failed: {self._why(server, error)}") from error

    def _why(self, server: str, error: BaseException) -> str:
        about = self._about.get(server)
        if about is None:
            return reason(error)
        said = about.last_words()
        return (about.trouble or reason(error)) + (f" ({said})" if said else "")

    def opened(self, starting: _Starting) -> None:
        """Use a server once it has started, or note why it has not."""
        name, ready, running, about = starting.server.name, starting.ready, starting.running, starting.about
        self._about[name] = about
        either: list[Future[Any]] = [ready, running]
        wait(either, self.seconds + GRACE, FIRST_COMPLETED)
        if ready.done():
            client, offered = ready.result()
            self._clients[name] = client
            self.offered += offered
            return
        error = running.exception() if running.done() else TimeoutError()
        if error is None or isinstance(error, TimeoutError):
            said = about.last_words() if about is not None else ""
            self.problems[name] = f"did not start within {self.seconds:g} s" + (f" ({said})" if said else "")
        else:
            report(f"the MCP server '{name}' did not start", error)
            self.problems[name] = self._why(name, error)


@frozen
class _Starting:
    """A server that is being started: its connection once it is ``ready``, and the task that holds it open."""

    server: McpServer
    ready: Future[tuple[Client, list[ServerTool]]]
    running: Future[None]
    about: ServerProcess | None


@contextmanager
def connected(servers: Sequence[McpServer], seconds: float) -> Iterator[Connections]:
    """Start the servers, all at once, and end them afterwards."""
    import logging

    import anyio
    import mcp.client.session  # noqa: F401 - importing takes a second, which must not count against the servers
    from anyio.from_thread import start_blocking_portal

    # Otherwise the SDK prints a trace for every line of a server that is not a message.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        connections = Connections(portal, seconds)
        over = portal.call(anyio.Event)
        starting: list[_Starting] = []

        def end() -> None:
            """End all servers. Errors that they raise while they end are ignored, because they help nobody."""
            portal.call(over.set)
            wait([one.running for one in starting], ENDING_SECONDS)

        stack.callback(end)
        for server in servers:
            about = ServerProcess() if server.command else None
            ready: Future[tuple[Client, list[ServerTool]]] = Future()
            running = portal.start_task_soon(partial(_hold, over=over), server, connections, about, ready)
            starting.append(_Starting(server, ready, running, about))
        for one in starting:
            connections.opened(one)
        yield connections


async def _hold(
    server: McpServer,
    connections: Connections,
    about: ServerProcess | None,
    ready: Future[tuple[Client, list[ServerTool]]],
    *,
    over: anyio.Event,
) -> None:
    """Keep one server open until all are ended; opening and closing must happen in one task."""
    import anyio

    from ricordo.plugins.gateway import mcp_session

    def changed() -> None:
        connections.changed.add(server.name)

    with anyio.fail_after(connections.seconds) as bound:
        async with mcp_session.opened(server, connections.seconds, about, changed) as client:
            offered = await mcp_session.offered(client, server.name)
            bound.deadline = math.inf
            ready.set_result((client, offered))
            await over.wait()


async def _within(seconds: float, ask: Callable[..., Any], client: Client, *arguments: Any) -> Any:
    import anyio

    with anyio.fail_after(seconds):
        return await ask(client, *arguments)


def reason(error: BaseException) -> str:
    """What is wrong, in one line; for a group of errors, the first of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = " ".join(str(error).split())
    return said[:300] if said else type(error).__name__
