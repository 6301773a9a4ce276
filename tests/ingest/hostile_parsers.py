"""Parsers that misbehave, to be run in the sandbox by its tests."""

from __future__ import annotations

import os
import sys
import time

from ricordo.errors import Unreadable
from ricordo.ingest.formats.source import Source
from ricordo.values.items import Mark, Parsed


def echo(source: Source) -> Parsed:
    return Parsed(text=source.data.decode(), title=source.name)


def everything(source: Source) -> Parsed:
    return Parsed(
        text="Zeile\n\ud800 und 🐟",
        title="Titel",
        fields={"tags": ("a", "b"), "metadata": {"n": [1, None]}},
        mime_type="x/y",
        structure="markdown",
        language="de",
        first_line=7,
        marks=(Mark(0, "page 1"), Mark(3, "page 2")),
        is_textual=False,
        warnings=("careful",),
    )


def hang(source: Source) -> Parsed:
    while True:
        pass


def sleep(source: Source) -> Parsed:
    time.sleep(600)
    return echo(source)


def crash(source: Source) -> Parsed:
    os.abort()


def leave(source: Source) -> Parsed:
    sys.exit(3)


def eat_memory(source: Source) -> Parsed:
    return Parsed(text=str(len(bytearray(3 << 30))))


def refuse(source: Source) -> Parsed:
    raise Unreadable("no", hint="ask nicely")


def stumble(source: Source) -> Parsed:
    nothing: dict[str, str] = {}
    return Parsed(text=nothing["missing"])


def mistake(source: Source) -> Parsed:
    from ricordo.ingest.formats.source import meaningful

    return Parsed(text=meaningful(7))  # type: ignore[arg-type]


def unpackaged(source: Source) -> Parsed:
    import a_package_that_is_not_installed  # type: ignore[import-not-found]

    return Parsed(text=a_package_that_is_not_installed.text)


def chatter(source: Source) -> Parsed:
    sys.stdout.write("noise on standard output" * 1000)
    sys.stdout.flush()
    os.write(1, b"more noise" * 1000)
    return echo(source)


def process_id(source: Source) -> Parsed:
    return Parsed(text=str(os.getpid()))


def modules(source: Source) -> Parsed:
    return Parsed(text="\n".join(sys.modules))
