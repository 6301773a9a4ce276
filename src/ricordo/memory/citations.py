"""Which files of the project a memory names, and whether they are still as they were when it was saved.

A citation is the file's path in the project, the project's name and the file's hash, kept in the memory's metadata. It
is ``fresh``, ``changed``, ``moved`` (the same file, under another path) or ``gone``. Citations of another project than
the one in which the search runs are not looked at.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.files import current_folder
from ricordo.config.repository import repository_around
from ricordo.errors import NotFound
from ricordo.values.hits import Answer, Hit

MOVED = "moved to "
NAME = "citations"
"""The name of the citations in a memory's metadata."""
MOST = 8
LARGEST = 4_000_000
"""Larger files are told by their size alone."""
GONE = 0.5
"""What the score of a memory is multiplied by that cites a file that is gone."""
SECONDS = 0.1
"""How long one answer looks for files that moved; what is not found by then counts as gone."""
_PATH = re.compile(r"(?<![\w/:.])(?:\./)?((?:[\w.@-]+/)*[\w@-][\w.@-]*\.\w{1,8})(?![\w/])")
_LEFT_OUT = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".ricordo"})


def _name_of(project: Path) -> str:
    """What a project is called: in all its work trees as in its main checkout."""
    found = repository_around(project)
    return Path(found.name).name if found is not None else project.name


def this_project() -> Path | None:
    """The folder of the project in which the call runs; outside of projects, the folder itself. None if it is lost."""
    try:
        folder = current_folder()
    except NotFound:
        return None
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def citations_in(text: str) -> list[dict[str, str]]:
    """The files below the project's folder that a text names, as they are now."""
    found: list[dict[str, str]] = []
    if (project := this_project()) is None:
        return found
    name = _name_of(project)
    for path in dict.fromkeys(match[1] for match in _PATH.finditer(text[:20_000])):
        if len(found) < MOST and ".." not in path and (now := _hash(project / path, project)):
            found.append({"project": name, "path": path, "hash": now})
    return found


def renewed(cited: Sequence[Any]) -> list[Any]:
    """Citations with the files of this project as they are now: where they are, and their hashes."""
    project = this_project()
    known = _valid(cited, project) if project is not None else []
    fresh: list[Any] = [one for one in cited if one not in known]
    for one in known:
        assert project is not None
        state = _state(one, project, time.monotonic() + SECONDS)
        path = state.removeprefix(MOVED) if state.startswith(MOVED) else one["path"]
        fresh.append({**one, "path": path, "hash": _hash(project / path, project) or one["hash"]})
    return fresh


def _hash(file: Path, project: Path) -> str:
    """The hash of a file in the project; empty if there is none that can be read."""
    try:
        if not file.is_file() or not file.resolve().is_relative_to(project.resolve()):
            return ""
        size = file.stat().st_size
        return f"size-{size}" if size > LARGEST else hashlib.sha256(file.read_bytes()).hexdigest()[:24]
    except OSError:
        return ""


def with_citations(answer: Answer) -> Answer:
    """The answer, in which hits say what became of the files that they cite; those that cite a lost file rank lower."""
    until = time.monotonic() + SECONDS
    hits = [_checked(hit, until) if hit.cited else hit for hit in answer.hits]
    if any(after.score != before.score for after, before in zip(hits, answer.hits, strict=True)):
        hits.sort(key=lambda hit: -hit.score)
    return replace(answer, hits=tuple(hits))


def states_of(cited: Sequence[Any], until: float) -> tuple[str, ...]:
    """What became of cited files: ``src/a.py: fresh``."""
    project = this_project()
    known = _valid(cited, project) if project is not None else []
    return tuple(f"{one['path']}: {_state(one, project, until)}" for one in known if project is not None)


def _checked(hit: Hit, until: float) -> Hit:
    states = states_of(hit.cited, until)
    score, explain = hit.score, hit.explain
    if any(state.endswith(": gone") for state in states):
        score *= GONE
        if explain is not None:
            explain = replace(explain, steps=(*explain.steps, (f"cites a file that is gone ×{GONE}", score)))
    return replace(hit, score=score, explain=explain, citations=states)


def _valid(cited: Sequence[Any], project: Path) -> list[Mapping[str, Any]]:
    """The citations of this project that can be understood; metadata may hold anything."""
    names = {project.name, _name_of(project)}
    return [
        one
        for one in cited[:MOST]
        if isinstance(one, Mapping)
        and one.get("project") in names
        and isinstance(one.get("path"), str)
        and isinstance(one.get("hash"), str)
        and ".." not in one["path"]
    ]


def _state(citation: Mapping[str, Any], project: Path, until: float) -> str:
    """What became of a cited file: ``fresh``, ``changed``, ``moved to PATH`` or ``gone``."""
    now = _hash(project / citation["path"], project)
    if now:
        return "fresh" if now == citation["hash"] else "changed"
    wanted = Path(citation["path"])
    renamed = ""
    for place, folders, files in os.walk(project):
        folders[:] = [one for one in folders if one not in _LEFT_OUT]
        for file in files:
            if time.monotonic() > until:
                return f"{MOVED}{renamed}" if renamed else "gone"
            is_named = file == wanted.name
            if (is_named or (not renamed and Path(file).suffix == wanted.suffix)) and (
                _hash(Path(place) / file, project) == citation["hash"]
            ):
                renamed = (Path(place) / file).relative_to(project).as_posix()
                if is_named:
                    return f"{MOVED}{renamed}"
    return f"{MOVED}{renamed}" if renamed else "gone"
