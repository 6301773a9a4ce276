"""Writes down what a server answers to a client's first requests (``known``), by asking the server itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from ricordo.config.files import replace_file
from ricordo.errors import Error
from ricordo.hosting.threads import CallThreads
from ricordo.log import report
from ricordo.mcp_server.gateway_tools import servers_file
from ricordo.mcp_server.known import Answers, read_record, record_bytes, record_path
from ricordo.mcp_server.protocol import server_for
from ricordo.mcp_server.sdk import (
    GREETED_VERSIONS,
    SessionMessage,
    initialization_of,
    on_the_wire,
    read_message,
    written_message,
)
from ricordo.mcp_server.service import ToolService

METHODS = ("ping", "tools/list", "prompts/list", "resources/templates/list")
"""What is asked; none of these needs a store."""
ASKING_SECONDS = 60.0


async def prepare(service: ToolService, chosen: Sequence[str]) -> None:
    """Write the record unless it is there; that it cannot be written stops nothing."""
    path = record_path(chosen, os.environ)
    if read_record(path) is not None:
        return
    try:
        with anyio.fail_after(ASKING_SECONDS):
            answers: Answers = {version: await _asked(service, version) for version in GREETED_VERSIONS}
        replace_file(Path(path), record_bytes(answers, made_from()))
    except (Error, OSError, TimeoutError) as problem:
        report("the answers to first requests could not be written down; they take longer", problem)


def prepare_now(service: ToolService, chosen: Sequence[str]) -> None:
    """The same in a process that does nothing else."""
    anyio.run(prepare, service, chosen)


def made_from() -> Iterator[str]:
    """The files that decide the answers: our own, the SDK's, and the list of servers behind the gateway."""
    here = Path(__file__).parent
    yield from (str(path) for path in sorted(here.glob("*.py")))
    yield from (str(path) for path in sorted((here.parent / "verbs").iterdir()) if path.is_file())
    for name in ("mcp", "mcp_types", "pydantic"):
        module = sys.modules.get(name)
        if module is not None and module.__file__ is not None:
            yield module.__file__
    yield str(servers_file())


async def _asked(service: ToolService, version: str) -> Mapping[str, str]:
    """What the server answers to a client that begins with a version of the protocol."""
    server = server_for(service, CallThreads())
    to_server, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](len(METHODS) + 2)
    outbox, from_server = anyio.create_memory_object_stream[SessionMessage](len(METHODS) + 2)
    answers: dict[str, str] = {}

    async def ask(method: str, **params: Any) -> None:
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": method, "method": method}
        await to_server.send(read_message(on_the_wire(request | ({"params": params} if params else {})).encode()))
        plain = written_message(await from_server.receive())
        answers[plain["id"]] = on_the_wire(plain["result"])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, inbox, outbox, initialization_of(server))
        about = {"name": "ricordo", "version": "1"}
        await ask("initialize", protocolVersion=version, capabilities={}, clientInfo=about)
        await to_server.send(read_message(b'{"jsonrpc":"2.0","method":"notifications/initialized"}'))
        for method in METHODS:
            await ask(method)
        tasks.cancel_scope.cancel()
    return answers
