"""Runs a command of another process of the same user, in a server, from stores that are open already.

The command runs as it would in the caller's process: in the caller's folder, writing for the caller's terminal.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo._version import __version__
from ricordo.cli.asking import LOOKS, may_be_asked
from ricordo.cli.call import Call, said_at_terminal
from ricordo.cli.program import program
from ricordo.cli.streams import SITTING, CallersStreams, writing_to
from ricordo.config.files import standing_in
from ricordo.errors import Error
from ricordo.hosting.packing import ALONE, CommandRequest, packed_answer
from ricordo.hosting.surroundings import is_surrounding
from ricordo.speaking import speaking

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.hosting.open_stores import OpenStores


def run_command(stores: OpenStores, request: CommandRequest) -> bytes:
    """What the command prints, and its exit code; or ``ALONE``: that the caller has to run it itself."""
    env = request.env
    if request.version != __version__ or not may_be_asked(request.args, env) or not _has_our_surroundings(env):
        return ALONE
    folder = Path(request.folder)
    try:
        config = stores.settings(folder)
    except Error:
        return ALONE  # settings that cannot be read: the caller says so itself
    if not config.serve.commands or _reaches_out(config):
        return ALONE
    streams = CallersStreams(
        terminals=request.terminals,
        window=request.window,
        env={name: env[name] for name in (*LOOKS, SITTING) if name in env},
    )
    call = Call(lends=lambda store, tier: stores.opened(folder, store, tier))
    with writing_to(streams), standing_in(folder), speaking(said_at_terminal(env)):
        code = program.run(request.args, call)
    return packed_answer(code, streams.parts)


def _has_our_surroundings(env: Mapping[str, str]) -> bool:
    ours = {name: value for name, value in os.environ.items() if is_surrounding(name)}
    return ours == {name: value for name, value in env.items() if is_surrounding(name)}


def _reaches_out(config: Config) -> bool:
    """Whether a search may ask a service: its keys and addresses may come from variables that only the caller has."""
    return config.embedding.provider not in ("local", "none") or config.rerank.kind == "llm"
