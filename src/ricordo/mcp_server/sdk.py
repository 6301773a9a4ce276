"""The official MCP SDK, in either of its major versions: everything that differs between 1.x and 2.x stands here.

The rest of this package works with plain dictionaries in the form they have on the wire (``{"isError": true, …}``).
Here they become the SDK's own types, and the SDK's requests become dictionaries.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Any

from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared import exceptions
from mcp.shared.message import SessionMessage

from ricordo.frozen import frozen
from ricordo.permissions import asked_with
from ricordo.speaking import speaking
from ricordo.values.provenance import AGENT, Provenance

__all__ = [
    "GREETED_VERSIONS",
    "McpOverHttp",
    "Method",
    "SessionMessage",
    "initialization_of",
    "make_server",
    "on_the_wire",
    "protocol_error",
    "read_message",
    "written_message",
]

Report = Callable[[float, float | None, str], Awaitable[None]]
"""Sends a notice of progress: how much is done, how much there is, and what is being done."""
Answer = Callable[[dict[str, Any], Report | None], Awaitable[dict[str, Any]]]
"""Answers a request: takes its parameters, and a way to report progress where the client asked for it."""

LONGEST_NAME = 80
IS_SECOND = hasattr(exceptions, "MCPError")
"""Whether this is the SDK 2.x, which names its error so; 1.x calls it ``McpError``."""
if IS_SECOND:
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS as GREETED_VERSIONS
else:
    from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS as GREETED_VERSIONS  # type: ignore[import-not-found,no-redef]
"""The versions of the protocol that a client can begin with by ``initialize``."""


@frozen
class Method:
    """How the SDK calls a request: its own name for the handler (2.x), the request's type (1.x) and the result's."""

    handler: str
    request: str
    result: str


METHODS: Mapping[str, Method] = {
    "tools/list": Method("on_list_tools", "ListToolsRequest", "ListToolsResult"),
    "tools/call": Method("on_call_tool", "CallToolRequest", "CallToolResult"),
    "resources/list": Method("on_list_resources", "ListResourcesRequest", "ListResourcesResult"),
    "resources/templates/list": Method(
        "on_list_resource_templates", "ListResourceTemplatesRequest", "ListResourceTemplatesResult"
    ),
    "resources/read": Method("on_read_resource", "ReadResourceRequest", "ReadResourceResult"),
    "prompts/list": Method("on_list_prompts", "ListPromptsRequest", "ListPromptsResult"),
    "prompts/get": Method("on_get_prompt", "GetPromptRequest", "GetPromptResult"),
    "completion/complete": Method("on_completion", "CompleteRequest", "CompleteResult"),
}


def make_server(
    about: Mapping[str, str],
    answers: Mapping[str, Answer],
    *,
    schema_of: Callable[[str], Mapping[str, Any] | None],
    wrong_arguments: Callable[[], dict[str, Any]],
) -> Any:
    """A server of the SDK that answers each method of ``METHODS`` by the function given for it.

    ``about`` holds name, version, title and instructions. ``schema_of`` gives a tool's input schema, which 2.x reads to
    map HTTP headers. ``wrong_arguments`` is the result for a tool call whose arguments are not an object.
    """
    return (_second if IS_SECOND else _first)(about, answers, schema_of, wrong_arguments)


def initialization_of(server: Any) -> Any:
    """What a server over standard input and output says of itself: it tells when the list of resources changed."""
    return server.create_initialization_options(NotificationOptions(resources_changed=True))


def _second(
    about: Mapping[str, str],
    answers: Mapping[str, Answer],
    schema_of: Callable[[str], Mapping[str, Any] | None],
    wrong_arguments: Callable[[], dict[str, Any]],
) -> Any:
    def handler(method: str, answer: Answer) -> Callable[[Any, Any], Awaitable[Any]]:
        result = getattr(types, METHODS[method].result)

        async def handle(context: Any, params: Any) -> Any:
            meta = context.meta or {}
            asked = "progress_token" in meta or "progressToken" in meta
            report = context.session.report_progress if asked else None
            with for_caller(context.request, context.session):
                return result.model_validate(await answer(_plain(params), report))

        return handle

    async def refuse(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """The SDK would only say "invalid params"; our result says what arguments look like."""
        params = context.params or {}
        if context.method == "tools/call" and not isinstance(params.get("arguments"), dict | None):
            return wrong_arguments()
        return await call_next(context)

    make: Any = Server
    handlers = {METHODS[method].handler: handler(method, answer) for method, answer in answers.items()}
    server = make(about["name"], **_without(about, "name"), get_tool_input_schema=schema_of, **handlers)
    server.middleware.append(refuse)
    return server


def _first(
    about: Mapping[str, str],
    answers: Mapping[str, Answer],
    schema_of: Callable[[str], Mapping[str, Any] | None],
    wrong_arguments: Callable[[], dict[str, Any]],
) -> Any:
    make: Any = Server
    server = make(about["name"], **_without(about, "name", "title"))

    def handler(method: str, answer: Answer) -> Callable[[Any], Awaitable[Any]]:
        result = getattr(types, METHODS[method].result)

        async def handle(request: Any) -> Any:
            with for_caller(getattr(server.request_context, "request", None), server.request_context.session):
                given = await answer(_plain(getattr(request, "params", None)), _reporter(server.request_context))
            return types.ServerResult(result.model_validate(given))  # type: ignore[operator]

        return handle

    for method, answer in answers.items():
        server.request_handlers[getattr(types, METHODS[method].request)] = handler(method, answer)
    return server


@contextmanager
def for_caller(request: Any, session: Any) -> Iterator[None]:
    """Work with the rights of whoever sent a request, if a guard let it in; otherwise with those that hold already.

    A session goes on through many requests, and each of them may have another sender. Whoever it is speaks as an agent.
    """
    state = request.scope.get("state", {}) if request is not None else {}
    caller = state.get("caller")
    said = Provenance(AGENT, _program(session), via="mcp", token=caller.name if caller is not None else "")
    with speaking(said), asked_with(caller.scope) if caller is not None else nullcontext():
        yield


def _program(session: Any) -> str:
    """What the client's program calls itself, as one short line; empty if it did not say."""
    given = getattr(session, "client_params", None)
    about = getattr(given, "client_info", None) or getattr(given, "clientInfo", None)
    return " ".join(str(getattr(about, "name", "")).split())[:LONGEST_NAME]


def _reporter(context: Any) -> Report | None:
    """How a request of 1.x reports progress."""
    token = getattr(context.meta, "progressToken", None)
    if token is None:
        return None

    async def report(progress: float, total: float | None = None, message: str = "") -> None:
        await context.session.send_progress_notification(
            token, progress, total, message, related_request_id=str(context.request_id)
        )

    return report


def _plain(params: Any) -> dict[str, Any]:
    """The parameters of a request as they stand on the wire."""
    if params is None:
        return {}
    plain: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    return plain


def _without(given: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in given.items() if name not in names}


def protocol_error(code: int, message: str, data: Any = None) -> Exception:
    """An error of the protocol, to be raised: the client gets its code instead of a result."""
    make: Any = exceptions.MCPError if IS_SECOND else exceptions.McpError  # type: ignore[attr-defined]
    if IS_SECOND:
        return make(code, message, data)  # type: ignore[no-any-return]
    return make(types.ErrorData(code=code, message=message, data=data))  # type: ignore[no-any-return]


def read_message(line: bytes) -> SessionMessage:
    """One line of JSON as the SDK wants it; a ``ValidationError`` of pydantic when it is no JSON-RPC message."""
    if IS_SECOND:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    one: Any = types.JSONRPCMessage
    return SessionMessage(one.model_validate_json(line))


def written_message(message: SessionMessage) -> dict[str, Any]:
    """A message of the SDK as it stands on the wire."""
    plain: dict[str, Any] = message.message.model_dump(
        by_alias=True, mode="json", exclude_unset=IS_SECOND, exclude_none=not IS_SECOND
    )
    return plain


def on_the_wire(plain: Any) -> str:
    """JSON as this server writes it."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


class McpOverHttp:
    """An ASGI application that serves streamable HTTP.

    Requests for other hosts, from other origins, or larger than ``largest`` bytes are refused.
    """

    def __init__(self, server: Any, *, hosts: list[str], origins: list[str], largest: int) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
        settings: dict[str, Any] = {"security_settings": security}
        if "max_request_body_size" in inspect.signature(StreamableHTTPSessionManager).parameters:
            settings["max_request_body_size"] = largest
        self._manager = StreamableHTTPSessionManager(app=server, **settings)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._manager.handle_request(scope, receive, send)

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """What must run while requests are answered."""
        return self._manager.run()
