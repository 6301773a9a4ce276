"""Which lines a tool call wrote into which files, as marks: their text is not kept.

It reads what the tools of agents' programs are given: a file and its whole text, a file with an old and a new text, a
patch, a cell of a notebook, or a shell command with the text of a file in it. Claude Code says afterwards what became
of the file, which is more exact than what its tool was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.patterns import late
from ricordo.secrets.find import redact
from ricordo.text.line_marks import TAKEN_OUT, THERE, WRITTEN, changed_lines, marks_of_change

_FILES = ("file_path", "filePath", "notebook_path", "absolute_path", "target_file", "path")
_OLD, _NEW = ("old_string", "oldString", "old_str"), ("new_string", "newString", "new_str", "new_source")
_WHOLE = ("content", "file_text", "contents")
_FILE_OF_PATCH = late(r"^\*\*\* (?:(Add|Update) File: (.+)|Move to: (.+)|Delete File: .+|End Patch.*|Begin Patch.*)$")
_HERE = late(
    r"(?:>>?|\btee(?:\s+-a)?)\s*(?P<before>[^\s<>|&;]+)\s*<<-?\s*(?P<q>['\"]?)(?P<end>\w+)(?P=q)[^\n]*\n"
    r"(?P<text>.*?)\n\s*(?P=end)\b"
    r"|<<-?\s*(?P<q2>['\"]?)(?P<end2>\w+)(?P=q2)\s*>>?\s*(?P<after>[^\s<>|&;]+)[^\n]*\n(?P<text2>.*?)\n\s*(?P=end2)\b",
    re.DOTALL,
)
LONGEST = 400_000
"""Characters of a longer text are not looked at."""

Written = Mapping[str, str]
"""By file, what was changed in it (``text.line_marks``)."""


def written_by(given: object) -> Written:
    """What a call wrote, by what its tool was given."""
    if isinstance(given, str):
        return _of_patch(given) if "*** Begin Patch" in given else {}
    if not isinstance(given, Mapping):
        return {}
    patch = next((one for one in _texts(given) if "*** Begin Patch" in one), "")
    if patch:
        return _of_patch(patch)
    file = _first(given, _FILES)
    if file:
        edits = given.get("edits")
        pairs = [given, *(one for one in edits if isinstance(one, Mapping))] if isinstance(edits, list) else [given]
        signed = [line for one in pairs for line in _edit(one)]
        if signed:
            return _kept({file: signed})
        whole = _first(given, _WHOLE)
        return _kept({file: [(WRITTEN, line) for line in _lines(whole)]}, is_whole=True) if whole else {}
    command = given.get("command") or given.get("cmd") or ""
    command = "\n".join(map(str, command)) if isinstance(command, list) else command
    return _of_command(command) if isinstance(command, str) and "<<" in command else {}


def written_as_told(result: object) -> Written | None:
    """What a call wrote, by what Claude Code says became of the file; None if it does not say it."""
    if not isinstance(result, Mapping) or not isinstance(result.get("filePath"), str):
        return None
    hunks = result.get("structuredPatch")
    if not isinstance(hunks, list) or not hunks:
        return None
    signed = []
    for hunk in hunks:
        lines = hunk.get("lines") if isinstance(hunk, Mapping) else None
        text = "\n".join(str(line) for line in lines) if isinstance(lines, list) else ""
        signed += [(line[0], line[1:]) for line in _lines(text) if line[:1] in (WRITTEN, TAKEN_OUT, THERE)]
    return _kept({result["filePath"]: signed})


def _kept(files: Mapping[str, list[tuple[str, str]]], *, is_whole: bool = False) -> Written:
    kept = {file: marks_of_change(signed, is_whole=is_whole) for file, signed in files.items()}
    return {file: marks for file, marks in kept.items() if WRITTEN in marks or TAKEN_OUT in marks}


def _lines(text: str) -> list[str]:
    """The lines of a text without its secrets, as they are looked for later."""
    return redact(text)[0].splitlines() if len(text) <= LONGEST else []


def _edit(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    old, new = _first(given, _OLD), _first(given, _NEW)
    return changed_lines("\n".join(_lines(old)), "\n".join(_lines(new))) if old or new else []


def _of_patch(patch: str) -> Written:
    files: dict[str, list[tuple[str, str]]] = {}
    signed: list[tuple[str, str]] = []
    for line in _lines(patch):
        head = _FILE_OF_PATCH.match(line)
        if head is None:
            if line[:1] in (WRITTEN, TAKEN_OUT, THERE):
                signed.append((line[0], line[1:]))
        elif moved := head[3]:
            files[moved.strip()] = signed
        else:
            signed = files.setdefault(head[2].strip(), []) if head[2] else []
    return _kept(files)


def _of_command(command: str) -> Written:
    files: dict[str, list[tuple[str, str]]] = {}
    for found in _HERE.finditer(command[:LONGEST]):
        file, text = found["before"] or found["after"], found["text"] or found["text2"] or ""
        files.setdefault(file.strip("'\""), []).extend((WRITTEN, line) for line in _lines(text))
    return _kept(files, is_whole=True)


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
