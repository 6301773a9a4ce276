"""The verb mcp: serves agents over standard input and output, or over HTTP."""

from __future__ import annotations

import click

from ricordo.cli.call import Call
from ricordo.cli.verb import verb
from ricordo.log import keep_log
from ricordo.mcp_server.toolsets import TOOLSETS


@verb(
    "mcp",
    examples=[
        "ricordo mcp",
        "ricordo mcp --toolset context --toolset vault",
        "ricordo mcp --toolset tools",
    ],
)
@click.option(
    "--toolset", "toolsets", multiple=True, type=click.Choice(TOOLSETS), help="Offer these tools as well (repeatable)."
)
@click.option(
    "--http", "over_http", is_flag=True, hidden=True, help="Serve streamable HTTP instead of standard input and output."
)
@click.option(
    "--host",
    default="127.0.0.1",
    hidden=True,
    help="The address to listen on; others than loopback need a token.",
)
@click.option("--port", default=8620, hidden=True, type=click.IntRange(0, 65535), help="The port; 0 takes a free one.")
@click.option(
    "--token", metavar="TEXT", hidden=True, help="The bearer token clients must send; RICORDO_MCP_TOKEN is safer."
)
@click.option(
    "--no-token",
    "is_open",
    is_flag=True,
    hidden=True,
    help="Ask for no token: every user of this machine can read and write.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    hidden=True,
    metavar="NAME",
    help="Another host name of the server (repeatable).",
)
def mcp(
    call: Call,
    toolsets: tuple[str, ...],
    over_http: bool,
    host: str,
    port: int,
    token: str | None,
    is_open: bool,
    names: tuple[str, ...],
) -> int:
    """Agents' programs start this command; 'ricordo install' sets it up. Standard output carries only the
    protocol; messages go to standard error. The server ends when its standard input ends. Over HTTP, agents
    are served by 'ricordo serve', at /mcp. The toolset 'tools' lets an agent call
    tools of other MCP servers; alone, it replaces the core tools, and with --toolset core both are there.
    """
    from ricordo.mcp_server.service import ToolService

    keep_log(verbose=True)  # programs that start servers show or keep what these write to standard error
    service = ToolService(toolsets, store=call.store, tier=call.tier)
    if not over_http:
        from ricordo.mcp_server import stdio

        stdio.serve(service)
        return 0
    from ricordo.config.loading import load_config
    from ricordo.mcp_server import http

    call.screen().note("note: 'ricordo serve' serves agents at /mcp, together with the page and the API")

    known = token if token is not None else "" if is_open else load_config().mcp.token
    http.serve(service, host=host, port=port, token=known, names=names, is_open=is_open)
    return 0
