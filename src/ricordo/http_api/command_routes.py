"""Answers commands of the same user that only read, from stores that are open already.

The command itself runs here, as it would in the caller's process: in the caller's folder, writing for the caller's
terminal. Only programs that can read the server's private state file may ask.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from ricordo._version import __version__
from ricordo.cli.asking import ALONE, LOOKS, is_surrounding, may_be_asked
from ricordo.cli.call import Call
from ricordo.cli.program import program
from ricordo.cli.streams import CallersStreams, writing_to
from ricordo.config.files import standing_in
from ricordo.errors import Error, Forbidden, UsageError
from ricordo.http_api.packing import packed_answer, unpacked
from ricordo.http_api.serving import Here, Who, body_of

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.http_api.open_stores import OpenStores

commands = APIRouter(prefix="/api/v1", include_in_schema=False)


@commands.post("/command", response_model=None)
async def answer_command(here: Here, who: Who, request: Request) -> StreamingResponse:
    """What a command of the same user prints, and its exit code; or that the caller is to run it itself."""
    if who.way != "local":
        raise Forbidden("only commands of the same user may be asked for", hint="Use the verbs of the API.")
    try:
        texts, _ = unpacked(await body_of(request))
        version, folder, terminals, columns, lines, count = texts[:6]
        args, variables = texts[6 : 6 + int(count)], texts[6 + int(count) :]
        window = int(columns), int(lines)
    except ValueError:
        raise UsageError("this is not what a command sends", hint="Use the verbs of the API.") from None
    env = dict(one.partition("=")[::2] for one in variables)

    def work(_: object) -> bytes:
        if version != __version__ or not may_be_asked(args, env) or not _has_our_surroundings(env):
            return ALONE
        streams = CallersStreams(
            terminals=terminals, window=window, env={name: env[name] for name in LOOKS if name in env}
        )
        return _run(here.open_stores, args, Path(folder), streams)

    async def parts() -> AsyncIterator[bytes]:
        """First an empty part, so that the caller gets the head and knows that the server is alive; then the answer."""
        yield b""
        try:
            yield await here.ask(work)
        except (TimeoutError, Error):  # the time limit, or a server that is ending
            yield ALONE

    return StreamingResponse(parts(), media_type="application/octet-stream")


def _run(stores: OpenStores, args: Sequence[str], folder: Path, streams: CallersStreams) -> bytes:
    try:
        config = stores.settings(folder)
    except Error:
        return ALONE  # settings that cannot be read: the caller says so itself
    if not config.serve.commands or _reaches_out(config):
        return ALONE
    call = Call(lends=lambda store, tier: stores.opened(folder, store, tier))
    with writing_to(streams), standing_in(folder):
        code = program.run(args, call)
    return packed_answer(code, streams.parts)


def _has_our_surroundings(env: dict[str, str]) -> bool:
    ours = {name: value for name, value in os.environ.items() if is_surrounding(name)}
    return ours == {name: value for name, value in env.items() if is_surrounding(name)}


def _reaches_out(config: Config) -> bool:
    """Whether a search may ask a service: its keys and addresses may come from variables that only the caller has."""
    return config.embedding.provider not in ("local", "none") or config.rerank.kind == "llm"
