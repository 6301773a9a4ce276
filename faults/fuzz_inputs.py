"""Makes inputs for the fuzzer: pieces that mean something to a reader, and changed copies of good examples."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

LONGEST = 256 * 1024
"""Bytes of the largest input."""
PIECES: tuple[str, ...] = (
    *(
        "---\n",
        "...\n",
        "title: ",
        "tags: [",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "!!python/object:os.system",
        "\x00",
        "<<: *a",
    ),
    *("\ufeff", "\u202e", "\ud800", "# ", "```", "~~~", "|", "[[", "]]", "](", "<!--", "<script>", "&amp;", '"', "'"),
    *("\\", "a" * 500, "kind:", "tag:", "after:", "before:9999-99-99", "path:**", "-", "*", "password=", "://", "\r\n"),
    *(
        "\n",
        "\t",
        "é",
        "-----BEGIN PRIVATE KEY-----",
        "你好",
        "🦓",
        "0" * 50,
        "1e999",
        "null",
        '{"record":',
        "[redacted",
    ),
    *("%", "=", '{"format":"ricordo"', ",", ";", "\x1b[2J", "(a+)+$", "(?P<x>", "a* " * 40, "-1", "NaN", "[" * 300),
    *('{"a":' * 200, "../../etc/passwd", "note:/", "disk:/", "\u2028", "source: user\n", "loading: always\n", "&#x0;"),
    *("=?utf-8?b?", "Content-Type: multipart/mixed; boundary=", "charset=", "xmlns:w=", "]]>", "<!DOCTYPE", "2" * 400),
)
NUMBERS = (0, 1, -1, 2**31, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.0, 1e308)


def text_of(chance: random.Random, most: int = 40) -> str:
    """A text of pieces and of characters from anywhere."""
    parts = []
    for _ in range(chance.randrange(most)):
        if chance.random() < 0.7:
            parts.append(chance.choice(PIECES))
        else:
            parts.append(
                "".join(
                    chr(chance.choice((32, 65, 128, 0x400, 0x3000, 0x1F300)) + chance.randrange(90))
                    for _ in range(chance.randrange(12))
                )
            )
    return "".join(parts)


def value_of(chance: random.Random, depth: int = 0) -> Any:
    """Some JSON value."""
    kind = chance.randrange(8 if depth < 5 else 5)
    if kind == 0:
        return None
    if kind == 1:
        return chance.random() < 0.5
    if kind == 2:
        return chance.choice(NUMBERS)
    if kind in (3, 4, 5):
        return text_of(chance, 8)
    if kind == 6:
        return [value_of(chance, depth + 1) for _ in range(chance.randrange(5))]
    return {text_of(chance, 3): value_of(chance, depth + 1) for _ in range(chance.randrange(5))}


def changed_json(value: Any, chance: random.Random) -> Any:
    """A copy of a JSON value in which one thing, at any depth, is another."""
    if chance.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return value_of(chance)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [*value[:at], changed_json(value[at], chance), *value[at + 1 :]]
    name = chance.choice(list(value))
    if chance.random() < 0.15:
        return {key: inner for key, inner in value.items() if key != name} | {text_of(chance, 3): value[name]}
    return value | {name: changed_json(value[name], chance)}


def changed(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A changed copy of a good example."""
    if data[:4] == b"PK\x03\x04" and chance.random() < 0.6:
        return _changed_archive(data, others, chance)
    if data[:1] in b"{[" and data and chance.random() < 0.4:
        try:
            return json.dumps(changed_json(json.loads(data), chance)).encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            pass
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        data = _step(data, others, chance)[:LONGEST]
    return data


def _step(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.choice((1, 2, 4, 16, 64, 1024)))
    how = chance.randrange(8)
    if how == 0:
        return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]
    if how == 1:
        return data[:start] + data[end:]
    if how == 2:
        return data[:end] + data[start:end] * chance.choice((1, 3, 50, 2000)) + data[end:]
    if how == 3:
        return data[:start] + chance.choice(PIECES).encode("utf-8", "surrogatepass") + data[start:]
    if how == 4:
        return data[:start] + str(chance.choice(NUMBERS)).encode() + data[end:]
    if how == 5:
        other = chance.choice(others)
        at = chance.randrange(len(other) + 1)
        return data[:start] + other[at : at + 2048] + data[end:]
    if how == 6:
        return data[:start]
    return data[:start] + text_of(chance).encode("utf-8", "surrogatepass") + data[start:]


def _changed_archive(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A zip file one of whose members is changed: most of what can go wrong lies inside."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(one.filename, archive.read(one)) for one in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return _step(data, others, chance)
    at = chance.randrange(len(members))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, content) in enumerate(members):
            if number == at:
                content = _step(content, [one for _, one in members], chance)
            archive.writestr(name, content)
    return out.getvalue()
