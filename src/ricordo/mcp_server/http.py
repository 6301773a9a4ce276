"""MCP as a part of the server over HTTP: streamable HTTP by the official SDK, which is imported only here.

The server checks host, origin, size and caller of every request before it comes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from ricordo.hosting.sockets import allowed_hosts
from ricordo.mcp_server.protocol import ABOUT, Handlers, Report, RequestError, for_caller
from ricordo.mcp_server.service import LARGEST_ARGUMENTS, ToolService, written

if TYPE_CHECKING:
    from ricordo.hosting.service import CallThreads

ROOM_FOR_THE_ENVELOPE = 64 * 1024
NAMES = {
    "tools/list": ("on_list_tools", "ListToolsResult"),
    "tools/call": ("on_call_tool", "CallToolResult"),
    "resources/list": ("on_list_resources", "ListResourcesResult"),
    "resources/templates/list": ("on_list_resource_templates", "ListResourceTemplatesResult"),
    "resources/read": ("on_read_resource", "ReadResourceResult"),
    "prompts/list": ("on_list_prompts", "ListPromptsResult"),
    "prompts/get": ("on_get_prompt", "GetPromptResult"),
    "completion/complete": ("on_completion", "CompleteResult"),
}
"""How the SDK calls the handler and the result of each method."""


class McpOverHttp:
    """An ASGI application that answers MCP. Requests for other hosts, from other origins, or too large are refused."""

    def __init__(
        self, service: ToolService, threads: CallThreads, *, host: str = "127.0.0.1", names: Sequence[str] = ()
    ) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        hosts = allowed_hosts(host, names)
        security = TransportSecuritySettings(
            allowed_hosts=[*hosts, *(f"{name}:*" for name in hosts)],
            allowed_origins=[
                f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in hosts for port in ("", ":*")
            ],
        )
        self._manager = StreamableHTTPSessionManager(
            app=server_for(service, threads),
            security_settings=security,
            max_request_body_size=LARGEST_ARGUMENTS + ROOM_FOR_THE_ENVELOPE,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._manager.handle_request(scope, receive, send)

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()


def server_for(service: ToolService, threads: CallThreads) -> Any:
    """A server of the SDK that answers from a service. Calls run in threads, each within its time."""
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError

    handlers = Handlers(service)

    async def answer(method: str, params: dict[str, Any], report: Report | None) -> dict[str, Any]:
        try:
            return await threads.run(lambda: handlers.answer(method, params, report), service.seconds)
        except TimeoutError:
            return handlers.out_of_time(method, params)

    def handler(method: str, result: Any) -> Callable[[Any, Any], Awaitable[Any]]:
        async def handle(context: Any, given: Any) -> Any:
            params = given.model_dump(by_alias=True, mode="json", exclude_none=True) if given is not None else {}
            report = _Report(context.session)
            asked = {"progress_token", "progressToken"} & set(context.meta or {})
            about = getattr(context.session.client_params, "client_info", None)
            state = context.request.scope.get("state", {}) if context.request is not None else {}
            with for_caller(getattr(about, "name", ""), state.get("caller")):
                try:
                    plain = await answer(method, params, report if asked else None)
                except RequestError as error:
                    raise MCPError(error.code, error.message, error.data) from None
                finally:
                    report.is_over = True
            return result.model_validate_json(written(plain))

        return handle

    async def answer_wrong_arguments(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """The SDK would only say "invalid params"; our result says what arguments look like."""
        params = context.params or {}
        if context.method == "tools/call" and not isinstance(params.get("arguments"), dict | None):
            return handlers.call_tool(params, None)
        return await call_next(context)

    def schema_of(name: str) -> dict[str, Any] | None:
        tool = service.tools.get(name)
        return tool.input_schema if tool else None

    make: Any = Server
    answers = {name: handler(method, getattr(types, result)) for method, (name, result) in NAMES.items()}
    server = make(**ABOUT, instructions=handlers.instructions, get_tool_input_schema=schema_of, **answers)
    server.middleware.append(answer_wrong_arguments)
    return server


class _Report:
    """Carries progress from the thread that works to the client, and nothing after the answer."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._loop = asyncio.get_running_loop()
        self.is_over = False

    def __call__(self, done: float, total: float | None, words: str) -> None:
        if not self.is_over:
            asyncio.run_coroutine_threadsafe(self._send(done, total, words), self._loop)

    async def _send(self, done: float, total: float | None, words: str) -> None:
        if not self.is_over:
            await self._session.report_progress(done, total, words)
