"""The verb mcp: serves agents over standard input and output. With --http it is another spelling of serve."""

from __future__ import annotations

import sys

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
@click.option("--prepare", is_flag=True, hidden=True, help="Write down what first requests are answered with, and end.")
def mcp(
    call: Call,
    toolsets: tuple[str, ...],
    prepare: bool,
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
    keep_log(verbose=True)  # programs that start servers show or keep what these write to standard error
    if over_http:
        return _serve(call, host, port, names, toolsets, token, is_open=is_open)
    from ricordo.mcp_server import preparing, stdio
    from ricordo.mcp_server.known import choices
    from ricordo.mcp_server.service import ToolService

    service, chosen = ToolService(toolsets, store=call.store, tier=call.tier), choices(toolsets, call.tier)
    if prepare:
        preparing.prepare_now(service, chosen)
    else:
        stdio.serve(service, chosen, sys.argv[2:])
    return 0


def _serve(
    call: Call,
    host: str,
    port: int,
    names: tuple[str, ...],
    toolsets: tuple[str, ...],
    token: str | None,
    *,
    is_open: bool,
) -> int:
    """The server of ``ricordo serve``, with a token of its own for MCP."""
    from ricordo.cli.serve_verbs import run_server
    from ricordo.config.loading import load_config
    from ricordo.hosting.listening import MCP_PATH, is_loopback
    from ricordo.mcp_server.http import own_token

    note = ""
    if token is None:
        token = "" if is_open else load_config().mcp.token
    if not token and not is_open and is_loopback(host):
        token, file = own_token()
        note = f"ricordo mcp: clients send 'Authorization: Bearer TOKEN'; the token is in {file}\n"

    def announce(address: str, link: str) -> None:
        sys.stderr.write(f"ricordo mcp: {address}{MCP_PATH}\n{note}")
        sys.stderr.flush()

    call.screen().note("note: this is the server that 'ricordo serve' starts, with the page and the API")
    run_server(call, host, port, names, toolsets, announce, mcp_token=token, is_mcp_open=is_open and not token)
    return 0
