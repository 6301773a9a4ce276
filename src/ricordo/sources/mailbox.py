"""Mailboxes: files in the mbox format, which hold one mail after another. Each mail counts as a file of its own.

A mail is called by its Message-ID, so that its ref stays the same while other mails come and go. Nothing is written.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ricordo.nofollow import open_below
from ricordo.sources.disk import FoundFile, Span

ENDINGS = ("", ".mbox", ".mbx")
"""How the names of mailboxes end; mail programs leave the ending out."""
LONGEST_NAME = 100
_OPENING = re.compile(rb"From [^\r\n]*\d\d:\d\d[^\r\n]*\d{4}[^\r\n]*\r?\n")
"""The line before each mail: who sent it, the time, the year."""
_BEGINNING = re.compile(_OPENING.pattern + rb"[!-9;-~]+:")
_ESCAPED = re.compile(rb"(?m)^>(>*From )")
_ID = re.compile(rb"(?im)^message-id:[ \t]*(?:\r?\n[ \t]+)?([^\r\n]*)")


def is_mailbox(path: Path) -> bool:
    """Whether a file is a mailbox, by its name and by how it begins."""
    if path.suffix.lower() not in ENDINGS:
        return False
    try:
        with path.open("rb") as file:
            return _BEGINNING.match(file.read(4096)) is not None
    except OSError:
        return False


def mails(box: FoundFile) -> list[FoundFile]:
    """The mails of a mailbox, as files below it."""
    found: dict[str, FoundFile] = {}
    with _opened(box.path, box.within) as file:
        for start, end, called in _spans(file):
            name, count = f"{called}.eml", 1
            while name in found:
                count += 1
                name = f"{called}-{count}.eml"
            span = Span(box.path, start, end)
            found[name] = FoundFile(box.path / name, end - start, box.mtime_ns, span, box.within)
    return list(found.values())


def bytes_of(span: Span, within: Path | None = None) -> bytes:
    """One mail as it was sent: lines that begin with "From" are escaped in a mailbox."""
    with _opened(span.box, within) as file:
        file.seek(span.start)
        return _ESCAPED.sub(rb"\1", file.read(span.end - span.start)).rstrip(b"\r\n") + b"\n"


def _opened(path: Path, within: Path | None) -> IO[bytes]:
    """A mailbox, opened; links that lead out of the folder ``within`` are refused."""
    return path.open("rb") if within is None else os.fdopen(open_below(within, path), "rb")


def _spans(file: IO[bytes]) -> Iterator[tuple[int, int, str]]:
    """Where each mail begins and ends, and what it is called."""
    start, at, head, digest = 0, 0, bytearray(), hashlib.sha256()
    in_head = after_blank = True
    for line in file:
        if after_blank and _OPENING.match(line):
            if at > start:
                yield start, at, _name(bytes(head), digest.hexdigest())
            start, head, digest, in_head = at + len(line), bytearray(), hashlib.sha256(), True
        else:
            in_head = in_head and bool(line.strip())
            if in_head:
                head += line
            if line.strip():
                digest.update(line)
        at += len(line)
        after_blank = not line.strip()
    if at > start:
        yield start, at, _name(bytes(head), digest.hexdigest())


def _name(head: bytes | bytearray, digest: str) -> str:
    """What a mail is called: its Message-ID; without one, the beginning of its hash."""
    found = _ID.search(head)
    said = found.group(1).decode("utf-8", "replace").strip(" \t<>") if found else ""
    return re.sub(r"[^\w@.+=-]+", "-", said).strip("-.")[:LONGEST_NAME] or digest[:16]
