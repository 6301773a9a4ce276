"""The answers to a client's first requests, as an earlier process of the same program wrote them down.

They are the same for every client of one program, so a process that finds them need not load the program to give them.
A record counts only if nothing it was made from has changed since. The list of resources is what was given out last in
this folder; if it has changed since, the server tells the client so when it is loaded. This module imports next to
nothing, because a client waits for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from ricordo._version import __version__
from ricordo.config.homes import MCP_FOLDER, PAGE, state_folder
from ricordo.hosting.surroundings import is_surrounding

TYPE_CHECKING = False  # type checkers take it for true; importing typing would cost more than the rest of this module
if TYPE_CHECKING:
    from typing import Any

_CHECK = 32
"""How many bytes of a record's hash stand before it, as hexadecimal digits."""

Stamp = list[int] | None
Answers = Mapping[str, Mapping[str, str]]
"""For each version of the protocol the result of each method, as it stands on the wire."""


def choices_in(args: Sequence[str]) -> tuple[str, ...] | None:
    """What of the arguments after ``mcp`` the answers depend on; None if there are others than a server usually has.

    >>> choices_in(["--store", "/tmp/a.db", "--toolset=context"])
    ('', 'context')
    >>> choices_in(["--http"])
    """
    tier = ""
    toolsets: list[str] = []
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        value = value if equals else next(words, "")
        if name not in ("--store", "--tier", "--toolset") or not value:
            return None
        if name == "--toolset":
            toolsets.append(value)
        elif name == "--tier":
            tier = value
    return choices(toolsets, tier)


def choices(toolsets: Sequence[str], tier: str | None) -> tuple[str, ...]:
    """What the answers depend on besides the program itself. A tier that does not exist has no record."""
    return (tier or "", *toolsets)


def record_path(chosen: Sequence[str], env: Mapping[str, str]) -> str:
    """Where the record of this program, this Python and these choices is, or would be."""
    parts = (__version__, __file__, sys.version, sys.executable, env.get("PYTHONPATH", ""), *chosen)
    name = _hash("\0".join(parts).encode("utf-8", "replace"))
    return os.path.join(state_folder(env), MCP_FOLDER, f"{name}.json")  # noqa: PTH118 - pathlib is slow to import


def page_path(args: Sequence[str], env: Mapping[str, str]) -> str:
    """Where the list of resources is kept that a server with these arguments gave out last in this folder."""
    own = sorted(f"{name}={value}" for name, value in env.items() if is_surrounding(name))
    name = _hash("\0".join((__version__, os.getcwd(), *args, *own)).encode("utf-8", "replace"))  # noqa: PTH109 - slow
    return os.path.join(state_folder(env), MCP_FOLDER, f"{PAGE}{name}.json")  # noqa: PTH118 - pathlib is slow to import


def read_record(path: str) -> Answers | None:
    """The answers of a record that is this user's own, whole, and made from what is there now; otherwise None."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            found = os.fstat(file.fileno())
            if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & 0o022):
                return None  # somebody else could have written it
            content = file.read()
    except OSError:
        return None
    check, _, body = content.partition(b"\n")
    if check.decode("ascii", "replace") != _hash(body):
        return None
    import json

    record: Any = json.loads(body)
    stamps: Mapping[str, Stamp] = record["stamps"]
    answers: Answers = record["answers"]
    return answers if all(stamp_of(name) == stamp for name, stamp in stamps.items()) else None


def record_bytes(answers: Answers, made_from: Iterable[str]) -> bytes:
    """What is written: the hash of the rest in the first line, so that a damaged record is not used."""
    import json

    record = {"stamps": {name: stamp_of(name) for name in made_from}, "answers": answers}
    body = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
    return _hash(body).encode("ascii") + b"\n" + body


def stamp_of(path: str) -> Stamp:
    """What changes when a file does."""
    try:
        found = os.stat(path)  # noqa: PTH116 - pathlib is slow to import
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


def _hash(content: bytes) -> str:
    from hashlib import blake2b

    return blake2b(content, digest_size=_CHECK).hexdigest()
