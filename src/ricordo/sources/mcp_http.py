"""How an MCP server is reached over HTTP: with its headers, and with a limit on the size of an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ricordo.sources.mcp_versions import is_second

MOST_BYTES = 32_000_000
"""Bytes of one answer; a server that sends more is cut off there."""


def bounded_client(headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None) -> Any:
    """An HTTP client of the library that the SDK uses: ``httpx2`` in 2.x, ``httpx`` in 1.x."""
    library: Any
    if is_second():
        import httpx2 as library
    else:
        import httpx as library

    class Bounded(library.AsyncByteStream):  # type: ignore[misc]  # which library is known only now
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            seen = 0
            async for chunk in self._stream:
                seen += len(chunk)
                if seen > MOST_BYTES:
                    raise library.ReadError(f"it sent more than {MOST_BYTES // 1_000_000} MB at once")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(library.AsyncHTTPTransport):  # type: ignore[misc]  # as above
        async def handle_async_request(self, request: Any) -> Any:
            response = await super().handle_async_request(request)
            response.stream = Bounded(response.stream)
            return response

    return library.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=Transport())
