"""The verb mcp: serves agents over standard input and output."""

from __future__ import annotations

import click

from ricordo.cli.call import Call
from ricordo.cli.verb import verb
from ricordo.log import keep_log
from ricordo.mcp_server.service import TOOLSETS


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
def mcp(call: Call, toolsets: tuple[str, ...]) -> int:
    """Agents' programs start this command; 'ricordo install' sets it up. Standard output carries only the
    protocol; messages go to standard error. The server ends when its standard input ends. Over HTTP, agents
    are served by 'ricordo serve', at /mcp. The toolset 'tools' lets an agent call
    tools of other MCP servers; alone, it replaces the core tools, and with --toolset core both are there.
    """
    keep_log(verbose=True)  # programs that start servers show or keep what these write to standard error
    from ricordo.mcp_server import stdio
    from ricordo.mcp_server.service import ToolService

    stdio.serve(ToolService(toolsets, store=call.store, tier=call.tier))
    return 0
