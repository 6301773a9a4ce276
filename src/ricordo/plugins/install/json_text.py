"""Edits the text of a JSON file and leaves every other byte of it as it was, comments and trailing commas included.

A path is member names and positions: ``("hooks", "SessionStart", 0)``. Libraries that keep comments in JSON lose the
white space, so the user's file would change all over; that is why this is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ricordo.frozen import frozen

Path = Sequence[str | int]

_SPACE = re.compile(r"(?:[ \t\n\r]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""White space and comments."""
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]]', re.DOTALL)
"""What must be looked at to find the end of an object: strings and comments, which may hold brackets, and brackets."""
_INDENT = re.compile(r"\n([ \t]+)")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


@frozen
class _Part:
    """A member of an object or an item of a list: where it starts (with its name), where its value starts, its end."""

    name: str | int
    start: int
    value: int
    end: int


def put(text: str, path: Path, value: object) -> str:
    """The text with a value at a path; missing objects on the way are created."""
    found = _find(text, path)
    if found is not None:
        depth = _line_indent(text, found.start)
        return text[: found.value] + _written(value, text, depth) + text[found.end :]
    if len(path) > 1 and _find(text, path[:-1]) is None:
        return put(text, path[:-1], {path[-1]: value})
    return _insert(text, path[:-1], value, name=str(path[-1]))


def append(text: str, path: Path, value: object) -> str:
    """The text with an item added to the list at a path; a missing list is created."""
    if _find(text, path) is None:
        return put(text, path, [value])
    return _insert(text, path, value, name=None)


def drop(text: str, path: Path) -> str:
    """The text without the value at a path."""
    container, parts = _parts(text, path[:-1])
    place = next((n for n, part in enumerate(parts) if part.name == path[-1]), None)
    if place is None:
        return text
    if len(parts) == 1:
        end = _after_space(text, parts[0].end)
        if text[end] == ",":
            end = _after_space(text, end + 1)
        return text[: container + 1] + text[end:]
    if place == len(parts) - 1:
        return text[: parts[place - 1].end] + text[parts[place].end :]
    return text[: parts[place].start] + text[parts[place + 1].start :]


def loads(text: str) -> Any:
    """The value of a text that may have comments and trailing commas; a ``ValueError`` when it is broken."""
    try:
        return json.loads(text)
    except ValueError:
        bare = _COMMENT.sub(lambda found: found[1] or " ", text)
        return json.loads(_TRAILING_COMMA.sub(lambda found: found[1] or "", bare))


def _find(text: str, path: Path) -> _Part | None:
    here = _after_space(text, 0)
    part = _Part("", here, here, _end(text, here))
    for name in path:
        part_or_none = next((one for one in reversed(_contents(text, part.value)) if one.name == name), None)
        if part_or_none is None:
            return None
        part = part_or_none
    return part


def _parts(text: str, path: Path) -> tuple[int, list[_Part]]:
    """Where the container at a path starts, and what is in it."""
    found = _find(text, path)
    return (found.value, _contents(text, found.value)) if found is not None else (0, [])


def _contents(text: str, start: int) -> list[_Part]:
    """The members of the object, or the items of the list, that starts there; none for a plain value."""
    opening = text[start]
    parts: list[_Part] = []
    if opening not in "{[":
        return parts
    here = _after_space(text, start + 1)
    while text[here] not in "}]":
        name: str | int = len(parts)
        value = here
        if opening == "{":
            name, after = json.decoder.scanstring(text, here + 1)  # type: ignore[attr-defined]
            value = _after_space(text, _after_space(text, after) + 1)
        end = _end(text, value)
        parts.append(_Part(name, here, value, end))
        here = _after_space(text, end)
        if text[here] == ",":
            here = _after_space(text, here + 1)
    return parts


def _insert(text: str, path: Path, value: object, *, name: str | None) -> str:
    start, parts = _parts(text, path)
    label = f"{json.dumps(name, ensure_ascii=False)}: " if name is not None else ""
    if parts:
        between = text[start + 1 : parts[0].start]
        if "\n" in between:
            depth = between.rpartition("\n")[2]
            fresh = "," + _newline(text) + depth + label + _written(value, text, depth)
        else:
            fresh = ", " + label + json.dumps(value, ensure_ascii=False)
        return text[: parts[-1].end] + fresh + text[parts[-1].end :]
    depth = _line_indent(text, start)
    inner = depth + _unit(text)
    newline = _newline(text)
    body = newline + inner + label + _written(value, text, inner) + newline + depth
    return text[: start + 1] + body + text[_after_space(text, start + 1) :]


def _written(value: object, text: str, depth: str) -> str:
    """The value as JSON, with the indentation and line ends that the text uses."""
    plain = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return plain.replace("\n", _newline(text) + depth)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _end(text: str, at: int) -> int:
    """Where the value that starts there ends."""
    if text[at] not in "{[":
        ended: tuple[Any, int] = json.JSONDecoder().raw_decode(text, at)
        return ended[1]
    depth = 0
    for found in _PIECE.finditer(text, at):
        depth += (found[0] in "{[") - (found[0] in "}]")
        if depth == 0:
            return found.end()
    raise ValueError("the text ends inside an object or a list")
