"""Finds what a text cites, as it is now."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ricordo.config.files import current_folder
from ricordo.config.repository import repository_around
from ricordo.errors import NotFound, UsageError
from ricordo.memory.citations import parts
from ricordo.memory.citations.files import FileNow, ProjectFiles, digest
from ricordo.memory.citations.stored import Names, cited_items, refs_named
from ricordo.store.base import Store

NAME = "citations"
"""The name of the citations in a memory's metadata."""
CITING_KINDS = ("memory",)
MOST = 8
MOST_LOOKED_AT = 60
LONGEST_TEXT = 20_000
SECONDS = 0.05
"""How long it is looked for the file that defines a symbol, if the text names none that does."""
MOST_SOURCES = 400
_PATH = re.compile(
    r"(?<![\w/:.])(?:\./)?"
    r"(?P<path>(?<![@-])(?:(?:[\w.@-]+/)*[\w@-][\w.@-]*\.\w{1,8}|(?:[\w.@-]+/)+[\w.@-]+)"
    r"|Makefile|Dockerfile|[Jj]ustfile|Jenkinsfile|Procfile|Gemfile|Rakefile)(?![\w/])"
    r"(?:(?::|#L|,? lines? )(?P<first>\d{1,7})(?:(?:-|–|-L| to )(?P<last>\d{1,7}))?)?"
)
_SYMBOL = re.compile(
    r"(?<![\w$])(?P<called>[A-Za-z_$][\w$]{0,200}+(?:(?:\.|::|#)[A-Za-z_$][\w$]{0,200}+){0,20}+)\(\)"
    r"|`(?P<quoted>[A-Za-z_$][\w$]{2,}(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*)`"
    r"|\b(?P<dotted>[A-Z]\w+(?:\.|::)[a-z_]\w+)\b(?!\()"
)


def project_name(project: Path) -> str:
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


def citations_in(text: str, store: Store, ref_of: Names, given: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What a text cites, and what is ``given`` besides, as it is now; what is given must be there."""
    found: list[dict[str, Any]] = []
    project = this_project()
    finder = _Finder(project) if project is not None else None
    for one in given:
        named = (list(finder.cited(f"`{one}`" if "`" not in one else one)) if finder else []) or cited_items(
            store, refs_named(one) or [one], ref_of
        )
        if not named:
            raise UsageError(
                f"nothing here is called '{one}', so it cannot be cited",
                hint="Name a file of this project (src/a.py:12), a symbol, a command, or what is stored: a ref, a URL.",
            )
        found.append({**named[0], "given": True})
    text = text[:LONGEST_TEXT]
    if finder is not None:
        found += finder.cited(text)
    if names := refs_named(text):
        found += cited_items(store, names[:MOST_LOOKED_AT], ref_of)
    return _each_once(found)


def cited_again(store: Store, ref_of: Names, kind: str, text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of an item that gets a new text: what that cites, and what was given besides the old one.

    What belongs to another project cannot be looked at here; it stays as long as the text names it.
    """
    if kind not in CITING_KINDS:
        return dict(metadata)
    before, project = metadata.get(NAME), this_project()
    here = project_name(project) if project is not None else ""
    listed = before if isinstance(before, list) else []
    kept = [one for one in listed if isinstance(one, dict) and _stays(one, text, here)]
    found = _each_once([*kept, *citations_in(text, store, ref_of)])
    rest = {name: value for name, value in metadata.items() if name != NAME}
    return rest | ({NAME: found} if found else {})


def _stays(one: Mapping[str, Any], text: str, here: str) -> bool:
    """Whether a citation outlives the text in which it was found."""
    if one.get("given"):
        return True
    name = one.get("symbol") or one.get("command") or one.get("path")
    return isinstance(name, str) and one.get("project") != here and name in text


def _each_once(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({_key(one): one for one in reversed(found)}.values())[::-1][:MOST]


def _key(one: dict[str, Any]) -> tuple[str, ...]:
    """What a citation is of; what the text names and is given besides is cited once."""
    names = ("path", "lines", "symbol", "command", "item")
    return tuple(str(one.get(name, "")) for name in names)


class _Finder:
    """Finds files, lines, symbols and commands of one project in texts."""

    def __init__(self, project: Path) -> None:
        self._name = project_name(project)
        self._files = ProjectFiles(project, time.monotonic() + SECONDS)

    def cited(self, text: str) -> Iterator[dict[str, Any]]:
        paths: dict[str, None] = {}
        for match in list(_PATH.finditer(text))[:MOST_LOOKED_AT]:
            if (file := self._files.file(match["path"])) is not None:
                paths[match["path"]] = None
                yield self._of_file(match, file)
        yield from self._symbols(text, list(paths))
        yield from self._commands(text)

    def _of_file(self, match: re.Match[str], file: FileNow) -> dict[str, Any]:
        path = match["path"]
        if match["first"] and file.text is not None:
            first = int(match["first"])
            last = int(match["last"] or first)
            if (part := parts.lines_of(file.text, first, last)) is not None:
                return self._citation(path, file, part, lines=[first, last])
        return self._citation(path, file)

    def _symbols(self, text: str, paths: Sequence[str]) -> Iterator[dict[str, Any]]:
        names = dict.fromkeys(next(filter(None, match.groups())) for match in _SYMBOL.finditer(text))
        for symbol in list(names)[:MOST]:
            found = defined_in(self._files, symbol, paths) or defined_in(self._files, symbol)
            if found is not None:
                path, file, part = found
                yield self._citation(path, file, part, symbol=symbol)

    def _commands(self, text: str) -> Iterator[dict[str, Any]]:
        for written, name, files in list(parts.commands_named(text))[:MOST_LOOKED_AT]:
            for path in files:
                file = self._files.file(path)
                part = parts.command_in(path, file.text or "", name) if file is not None else None
                if file is not None and part is not None:
                    yield self._citation(path, file, part, command=written, runs=name)
                    break

    def _citation(self, path: str, file: FileNow, part: parts.FilePart | None = None, **what: Any) -> dict[str, Any]:
        about = {"project": self._name, "path": path, "hash": file.hash} | ({"blob": file.blob} if file.blob else {})
        return about if part is None else about | {"hash": digest(part.text.encode()), "file": file.hash, **what}


def defined_in(
    files: ProjectFiles, symbol: str, paths: Sequence[str] | None = None
) -> tuple[str, FileNow, parts.FilePart] | None:
    """The file that defines a symbol: of some, or of the source files of the project, as far as time allows."""
    looked_at = 0
    for path in paths if paths is not None else files.paths():
        if not parts.is_code(path):
            continue
        looked_at += 1
        if paths is None and (looked_at > MOST_SOURCES or files.is_late):
            return None
        file = files.file(path)
        part = parts.symbol_in(path, file.text, symbol) if file is not None and file.text else None
        if file is not None and part is not None:
            return path, file, part
    return None
