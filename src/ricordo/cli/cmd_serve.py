"""The commands serve, which puts the server together, and mcp, which serves agents over standard streams."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.terminal import Screen
from ricordo.errors import NotFound
from ricordo.log import keep_log
from ricordo.mcp_server.service import OF_PLUGINS, TOOLSETS
from ricordo.permissions import is_agent, refuse_agents
from ricordo.plugin import has_page, installed

_OPTIONS = (
    click.option(
        "--host", metavar="ADDRESS", help="Where to listen (serve.host); others than this machine need a token."
    ),
    click.option(
        "--port", type=click.IntRange(0, 65535), metavar="N", help="The port (serve.port); 0 takes a free one."
    ),
    click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Another name the server is called by."),
    click.option("--toolset", "toolsets", multiple=True, metavar="NAME", help="Offer these tools over MCP too."),
    click.option(
        "--workers",
        type=click.IntRange(0, 64),
        default=0,
        metavar="N",
        help="Answer searches of the API in N more processes, for many callers at once; each takes 200 MB.",
    ),
    click.option("--open", "opens", is_flag=True, help="Open the page in the browser."),
)


def _listening(function: Callable[..., int]) -> Callable[..., int]:
    """Where the server listens, what it offers, and whether its page is opened."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _place(
    host: str | None, port: int | None, names: tuple[str, ...], toolsets: tuple[str, ...]
) -> tuple[str, int, tuple[str, ...], tuple[str, ...]]:
    """Address, port, names and toolsets; what is not given is as the settings say."""
    from ricordo.config.loading import load_config
    from ricordo.http_api import require_server

    require_server()
    settings = load_config().serve
    return host or settings.host, settings.port if port is None else port, (*settings.names, *names), toolsets


@verb(
    "serve",
    examples=[
        "ricordo serve",
        "ricordo serve start",
        "ricordo serve --port 0 --open",
        "ricordo serve --host 0.0.0.0 --allow-host memory.example.org",
    ],
)
@_listening
def _serve(call: Call, opens: bool, workers: int, **where: Any) -> int:
    """The page, the API under /api/v1, MCP at /mcp, and what hooks ask, from one process that keeps model and indexes
    warm, follows the folders you added and makes vectors. Unless you name another address, only this machine can reach
    it. The link it prints signs one browser in, once, within ten minutes; 'ricordo serve link' makes another.
    Programs need a token ('ricordo serve tokens add'). It runs until it is interrupted.
    """
    host, port, names, toolsets = _place(**where)
    from ricordo.http_api.server import serve
    from ricordo.mcp_server.http import McpOverHttp
    from ricordo.mcp_server.service import ToolService

    def announce(address: str, link: str) -> None:
        link = "" if is_agent() else link  # whoever has a link counts as the user on the page
        call.answer({"address": address, "link": link}, lambda screen: _tell(screen, address, link))
        sys.stdout.flush()
        if opens and link:
            webbrowser.open(link)

    tools = ToolService(toolsets, store=call.store, tier=call.tier)
    serve(
        tools,
        host=host,
        port=port,
        names=names,
        make_mcp=lambda threads: McpOverHttp(tools, threads, host=host, names=names),
        announce=announce,
        workers=workers,
    )
    return 0


def _tell(screen: Screen, address: str, link: str) -> None:
    screen.line(f"Ricordo is at {address}")
    if link:
        screen.line(f"Open this once to sign your browser in: {link}")
    elif has_page():
        screen.line("To sign a browser in, the user runs 'ricordo serve link' at a terminal.")
    else:
        screen.line("There is no page, because no plugin brings one.")


def _store_flags(call: Call) -> list[str]:
    flags = ["--store", str(Path(call.store).absolute())] if call.store else []
    return flags + (["--tier", call.tier] if call.tier else [])


@verb(
    "serve start",
    line="Start it in a process of its own.",
    examples=["ricordo serve start", "ricordo serve start --open"],
)
@_listening
def start(call: Call, opens: bool, workers: int, **where: Any) -> int:
    """Hooks and agents ask a server that runs in the background, and do without when there is none."""
    host, port, names, toolsets = _place(**where)
    from ricordo.config.files import current_folder
    from ricordo.hosting import background

    arguments = ["--host", host, "--port", str(port), "--workers", str(workers)]
    for flag, values in (("--allow-host", names), ("--toolset", toolsets)):
        arguments += [part for value in values for part in (flag, value)]
    running = background.start(arguments + _store_flags(call), current_folder())
    link = "" if is_agent() else background.new_link(running)
    if opens and link:
        webbrowser.open(link)
    plain = {"address": running.address, "link": link, "pid": running.pid, "store": running.store}
    return call.answer(plain, lambda screen: _tell(screen, running.address, link))


@verb("serve status", line="Say whether a server runs, and where.", examples=["ricordo serve status"])
def status(call: Call) -> int:
    """Exit code 3 when none runs."""
    from ricordo.hosting import background

    running = background.running_server()
    answers = background.is_answering(running)
    plain: dict[str, Any] = {
        "address": running.address,
        "pid": running.pid,
        "store": running.store,
        "started": running.started,
        "answers": answers,
    }

    def draw(screen: Screen) -> None:
        screen.line(f"{running.address}  process {running.pid}  since {running.started}")
        screen.line(f"store {running.store}")
        if not answers:
            screen.warn("it does not answer")

    return call.answer(plain, draw)


@verb(
    "serve link",
    line="Print a link that signs a browser in.",
    examples=["ricordo serve link", "ricordo serve link --open", "ricordo serve link --scope read"],
)
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@click.option(
    "--scope", type=click.Choice(["read", "admin"]), default="admin", show_default=True,
    help="read is for a guest, who sees and searches and changes nothing.",
)  # fmt: skip
def link(call: Call, opens: bool, scope: str) -> int:
    """It works once, within ten minutes."""
    from ricordo.hosting import background

    refuse_agents("sign a browser in")
    if not has_page():
        raise NotFound("there is no page, because no plugin brings one", hint="The API is under /api/v1.")
    made = background.new_link(background.running_server(), scope)
    if opens:
        webbrowser.open(made)
    return call.answer({"link": made}, lambda screen: screen.line(made))


@verb("serve stop", line="End the server.", examples=["ricordo serve stop"])
def stop(call: Call) -> int:
    """It first answers the requests that it has received."""
    from ricordo.hosting import background

    ended = background.stop()
    return call.answer({"stopped": ended.pid}, lambda screen: screen.line(f"ended process {ended.pid}"))


@verb(
    "serve install",
    line="Let the server start with your session.",
    examples=["ricordo serve install", "ricordo serve install --store ~/notes.db"],
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="The port (serve.port).")
def install(call: Call, port: int | None) -> int:
    """Writes a user unit for systemd, or an agent for launchd, and prints the commands that switch it on."""
    from ricordo.hosting import background
    from ricordo.http_api import require_server

    require_server()
    arguments = (["--port", str(port)] if port else []) + _store_flags(call)
    place, commands = background.install_unit(arguments)
    return _answer_unit(call, "written", place, commands)


@verb("serve uninstall", line="Take out what install wrote.", examples=["ricordo serve uninstall"])
def uninstall(call: Call) -> int:
    """A running server continues until it is stopped."""
    from ricordo.hosting import background

    place, commands = background.uninstall_unit()
    return _answer_unit(call, "removed", place, commands)


def _answer_unit(call: Call, done: str, place: Path, commands: tuple[str, ...]) -> int:
    def draw(screen: Screen) -> None:
        screen.line(f"{done}: {place}")
        for command in commands:
            screen.line(f"now run: {command}")

    return call.answer({done: str(place), "commands": list(commands)}, draw)


@verb("serve tokens list", line="List tokens and signed-in browsers.", examples=["ricordo serve tokens list"])
def list_tokens(call: Call) -> int:
    """Secrets are not kept, so they cannot be shown again."""
    from ricordo.hosting.credentials import Credentials

    rows = [one.to_dict() for one in Credentials().all()]

    def draw(screen: Screen) -> None:
        screen.table(
            ("id", "name", "what", "scope", "made"),
            [(row["id"], row["name"], row["way"], row["scope"], row["created"][:10]) for row in rows],
            empty="there are none",
        )

    return call.answer({"tokens": rows}, draw)


@verb(
    "serve tokens add",
    line="Make a token.",
    examples=["ricordo serve tokens add laptop", "ricordo serve tokens add ci --scope write --days 90"],
)
@click.argument("name")
@click.option(
    "--scope", type=click.Choice(["read", "write", "admin"]), default="read", show_default=True, help="What it may do."
)
@click.option("--days", type=click.FloatRange(0, min_open=True), metavar="N", help="It expires after this many days.")
def add_token(call: Call, name: str, scope: str, days: float | None) -> int:
    """It is printed only now. Read finds and shows, write saves and changes, admin also reads files of this machine and
    changes settings.
    """
    from ricordo.hosting.credentials import Credentials

    refuse_agents("make tokens")
    secret, made = Credentials().add(name, scope, days=days)
    return call.answer(made.to_dict() | {"token": secret}, lambda screen: screen.line(secret))


@verb("serve tokens rm", line="Take a token away.", examples=["ricordo serve tokens rm laptop"])
@click.argument("name", metavar="NAME|ID")
def remove_token(call: Call, name: str) -> int:
    """Requests with it are refused from then on."""
    from ricordo.hosting.credentials import Credentials

    gone = Credentials().remove(name)
    return call.answer(
        {"removed": [one.to_dict() for one in gone]}, lambda screen: screen.line(f"{len(gone)} taken away")
    )


_TOOLSET_FLAGS = [[f"--toolset {name}" for name in plugin.tools] for plugin in installed().values()]


@verb(
    "mcp",
    examples=["ricordo mcp", *(" ".join(["ricordo mcp", *flags]) for flags in _TOOLSET_FLAGS if flags)],
    details="".join(f" {toolset.details}" for _, toolset in OF_PLUGINS.values() if toolset.details),
)
@click.option(
    "--toolset", "toolsets", multiple=True, type=click.Choice(TOOLSETS), help="Offer these tools as well (repeatable)."
)
def mcp(call: Call, toolsets: tuple[str, ...]) -> int:
    """Agents' programs start this command; 'ricordo install' sets it up. Standard output carries only the
    protocol; messages go to standard error. The server ends when its standard input ends. Over HTTP, agents
    are served by 'ricordo serve', at /mcp.
    """
    keep_log(verbose=True)  # programs that start servers show or keep what these write to standard error
    from ricordo.mcp_server import stdio
    from ricordo.mcp_server.service import ToolService

    stdio.serve(ToolService(toolsets, store=call.store, tier=call.tier))
    return 0
