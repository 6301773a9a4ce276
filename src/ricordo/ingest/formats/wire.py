"""How this process and the worker exchange a file and its parsed text: frames with their length in front.

A message is a JSON header and a body of bytes. Messages are plain data, because the worker reads hostile files: nothing
that it sends is unpickled or run.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from typing import Any, Protocol

from ricordo.ingest.formats.source import FileType, Limits, Source
from ricordo.values.items import Mark, Parsed

_LENGTHS = struct.Struct("!QQ")
_LARGEST_HEADER = 64 * 1024 * 1024
_LARGEST_BODY = 4 * 1024 * 1024 * 1024


class Stream(Protocol):
    """The unbuffered end of a pipe: it may read and write less than asked."""

    def read(self, size: int, /) -> bytes | None: ...

    def write(self, data: memoryview, /) -> int | None: ...


def send(stream: Stream, header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message whole."""
    head = json.dumps(header).encode()
    for part in (_LENGTHS.pack(len(head), len(body)) + head, body):
        left = memoryview(part)
        while left:
            left = left[stream.write(left) or 0 :]


def receive(stream: Stream) -> tuple[dict[str, Any], bytes]:
    """Read one whole message; ``EOFError`` when the other side is gone or sends something else."""
    head_length, body_length = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if head_length > _LARGEST_HEADER or body_length > _LARGEST_BODY:
        raise EOFError("not a message")
    try:
        header = json.loads(_exactly(stream, head_length))
    except ValueError:
        raise EOFError("not a message") from None
    if not isinstance(header, dict):
        raise EOFError("not a message")
    return header, _exactly(stream, body_length)


def _exactly(stream: Stream, size: int) -> bytes:
    if not size:
        return b""
    parts = bytearray()
    while len(parts) < size:
        part = stream.read(min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side is gone")
        parts += part
    return bytes(parts)


def send_source(stream: Stream, place: str, source: Source) -> None:
    """Ask for a file to be read by the parser at ``place`` (``module:function``)."""
    asked = {
        "place": place,
        "name": source.name,
        "type": asdict(source.type),
        "charset": source.charset,
        "limits": asdict(source.limits),
        "page": source.page,
    }
    send(stream, asked, source.data)


def receive_source(stream: Stream) -> tuple[str, Source]:
    """The other side of ``send_source``."""
    asked, data = receive(stream)
    file_type = FileType(**asked["type"])
    limits = Limits(**asked["limits"])
    return asked["place"], Source(data, asked["name"], file_type, asked["charset"], limits, asked["page"])


def send_parsed(stream: Stream, parsed: Parsed) -> None:
    """Answer with what was read."""
    answer = {
        "title": parsed.title,
        "fields": dict(parsed.fields),
        "mime_type": parsed.mime_type,
        "structure": parsed.structure,
        "language": parsed.language,
        "first_line": parsed.first_line,
        "marks": [[mark.offset, mark.label] for mark in parsed.marks],
        "is_textual": parsed.is_textual,
        "warnings": list(parsed.warnings),
    }
    send(stream, {"parsed": answer}, parsed.text.encode("utf-8", "surrogatepass"))


def parsed_from(answer: dict[str, Any], body: bytes) -> Parsed:
    """Turn a worker's answer back into a value."""
    answer["marks"] = tuple(Mark(offset, label) for offset, label in answer["marks"])
    answer["warnings"] = tuple(answer["warnings"])
    fields = answer["fields"]
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    return Parsed(text=body.decode("utf-8", "surrogatepass"), **answer)
