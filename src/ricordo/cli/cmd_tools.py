"""The verbs of tools that differ on a terminal: add asks before it starts a server, call reads arguments."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command, tell
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.errors import UsageError
from ricordo.permissions import refuse_agents
from ricordo.verbs.index import verb_named

if TYPE_CHECKING:
    from ricordo.values.tools import ServerFound

_ASKING = (
    click.Option(
        ["--from", "files"], multiple=True, type=click.Path(), metavar="FILE", help="Look in this file alone."
    ),
    click.Option(["--yes", "-y"], is_flag=True, help="Start all of them without asking."),
)


@command("tools add", without=("files",), extra=_ASKING)
def _add(
    call: Call, names: tuple[str, ...] = (), files: tuple[str, ...] = (), yes: bool = False, wait: bool = True
) -> int:
    """Each server is shown with what it starts, and is started only after your yes, to list what it offers. A server
    that you allowed before is asked about again only when what it starts has changed.
    """
    if yes:
        refuse_agents("let servers be started")
    with call.engine(create=True) as engine:
        if not yes and not can_ask(call):
            return _only_tell(call, *engine.tools.found(*files))
        report = engine.tools.add(*names, agree=lambda found: yes or agreed(found), files=files, wait=wait)
    return tell(call, verb_named("tools add"), report)


def can_ask(call: Call) -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and not call.json


def _only_tell(call: Call, found: Sequence[ServerFound], notes: Sequence[str]) -> int:
    """Nobody can be asked: list the servers, and start nothing."""

    def draw(screen: Screen) -> None:
        for one in found:  # not as a table, which would cut what has to be read before a yes
            screen.line(f"{one_line(one.name)}  ({one_line(f'{one.program}: {one.path}')})")
            screen.line(f"  {one.starts}")
        for note in notes:
            screen.warn(one_line(note))
        if found:
            screen.note("nothing was started; say yes with --yes, or name the servers you want: tools add NAME --yes")
        else:
            screen.note("no servers found; name a file that has some: ricordo tools add --from FILE")

    plain = {"found": [one.to_dict() for one in found], "servers": [], "notes": list(notes)}
    return call.answer(plain, draw)


def agreed(found: ServerFound) -> bool:
    """Ask the user whether a server may be started."""
    where = "the project's own file, which others may have written" if found.from_project else found.program
    server = f"{found.name} ({where}: {found.path})\n  {found.starts}"
    return click.confirm(f"{clean(server)}\nStart it and take in its tools?", err=True)


@command(
    "tools call", without=("arguments",), extra=(click.Argument(["given"], nargs=-1, metavar="[NAME=VALUE...|JSON|-]"),)
)
def _call(call: Call, name: str, given: tuple[str, ...] = ()) -> int:
    """Arguments are checked against the tool's schema before the server is asked. A long result is cut; result reads
    on. If the server reports an error, the exit code is 1.
    """
    with call.engine() as engine:
        answer = engine.tools.call(name, _arguments(given, engine.tools.show(name).schema if given else {}))
    return tell(call, verb_named("tools call"), answer)


def _arguments(given: Sequence[str], schema: Mapping[str, Any]) -> object:
    """``name=value`` pairs (values read as JSON where they are, unless the schema says text), one JSON object, or ``-``
    for standard input.
    """
    if len(given) == 1 and (given[0] == "-" or given[0].lstrip().startswith("{")):
        return sys.stdin.read() if given[0] == "-" else given[0]
    pairs: dict[str, Any] = {}
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    for part in given:
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise UsageError(f"'{part}' is not NAME=VALUE", hint="Such as timezone=Asia/Tokyo, or one JSON object.")
        said = known.get(name)
        is_text = isinstance(said, Mapping) and said.get("type") == "string"
        try:
            pairs[name] = value if is_text else json.loads(value)
        except ValueError:
            pairs[name] = value
    return pairs
