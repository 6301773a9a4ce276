"""An MCP server with pages, in a process of its own: python page_server.py [--slow-start]."""

from __future__ import annotations

import sys
import time

from mcp.server.mcpserver import MCPServer
from mcp_types import BlobResourceContents, EmbeddedResource, TextContent, ToolAnnotations

server = MCPServer("pages")


def whole_page() -> str:
    """About 300 kB, with everything that is easily lost: front matter, tabs, CRLF, wide characters, a blank end."""
    head = "---\ntitle: not front matter here\n---\n# The whole page\r\n\r\n\tindented – „quoted“ 漢字 🎉\n"
    body = "".join(f"Line {n:05}: the quick brown fox reads about number {n * n}.\n" for n in range(5_300))
    return f"{head}{body}\n\n  the end, without a newline  "


@server.tool()
def read_page(url: str, raw: bool = False) -> str:
    """Read the content of a web page as Markdown."""
    return whole_page() if "whole" in url else f"# A page\n\nThis is what stands at {url} (raw: {raw})."


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_page(url: str) -> str:
    """Delete a web page."""
    raise AssertionError("never called")


@server.tool()
def private_page(url: str) -> str:
    """Read a page that nobody may read."""
    raise ValueError("403: sign in first")


@server.tool()
def wait_for_page(url: str) -> str:
    """Read a page that never comes."""
    time.sleep(60)
    return "too late"


@server.tool()
def empty_page(url: str) -> str:
    """Read a page without a word."""
    return "  \n"


@server.tool()
def two_parts(url: str) -> list[TextContent]:
    """Read a page in two parts."""
    return [TextContent(type="text", text="first part"), TextContent(type="text", text="second part")]


@server.tool()
def as_bytes(url: str) -> EmbeddedResource:
    """Read a page as a file."""
    held = BlobResourceContents(uri="file:///page.csv", mime_type="text/csv", blob="bmFtZSxhZ2UKYW5uLDMyCg==")
    return EmbeddedResource(type="resource", resource=held)


if __name__ == "__main__":
    sys.stderr.write("the page server is starting\n")
    if "--crash" in sys.argv:
        sys.exit("no configuration found")
    if "--hang" in sys.argv:
        time.sleep(60)
    if "--http" in sys.argv:
        server.run("streamable-http", port=int(sys.argv[-1]))
    else:
        server.run("stdio")
