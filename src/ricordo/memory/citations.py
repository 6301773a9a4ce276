"""What a memory cites, and whether that is still as it was when the memory was saved.

It cites files of the project, symbols that they define, other items, and pages that are stored. Each citation is kept
in the memory's metadata, with a hash of what was cited: ``project``, ``path`` and ``hash``, with ``symbol`` for a
definition in the file (``file`` is then the hash of the whole); or ``item``, ``id``, ``version`` and ``hash``.
Citations of another project than the one in which the search runs are not looked at. Nothing is run or fetched.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.files import current_folder
from ricordo.config.repository import repository_around
from ricordo.errors import Error, NotFound, UsageError
from ricordo.frozen import frozen
from ricordo.ingest.cut.structure import CRUMB, outline_code
from ricordo.ingest.formats.detect import language_of_name
from ricordo.nofollow import real_path
from ricordo.sources.git import renamed_to
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import CHANGED, FRESH, GONE, MOVED, REPLACED, CitedNow, Item, Ref
from ricordo.values.kinds import DRIVES

NAME = "citations"
"""The name of the citations in a memory's metadata."""
CITING_KINDS = ("memory",)
MOST = 8
MOST_LOOKED_AT = 60
LONGEST_TEXT = 20_000
SECONDS = 0.05
"""How long it is looked for the file that defines a symbol, if the text names none that does."""
MOST_SOURCES = 400
LONGEST_CODE = 1_000_000
LARGEST = 4_000_000
"""Larger files are told by their size alone."""
MOST_LISTED = 20_000
LONGEST_CHAIN = 5
Names = Callable[[str], Ref]
"""Gives the ref that a ref or a URL means."""
_LEFT_OUT = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".ricordo"})
_NO_CODE = frozenset({"yaml", "toml", "json", "css", "scss", "ini", "make", "just", "dockerfile", "hcl", ""})
_PATH = re.compile(
    r"(?<![\w/:.])(?:\./)?"
    r"(?P<path>(?<![@-])(?:(?:[\w.@-]+/)*[\w@-][\w.@-]*\.\w{1,8}|(?:[\w.@-]+/)+[\w.@-]+)"
    r"|Makefile|Dockerfile|[Jj]ustfile|Jenkinsfile|Procfile|Gemfile|Rakefile)(?![\w/])"
)
_SYMBOL = re.compile(
    r"(?<![\w$])(?P<called>[A-Za-z_$][\w$]{0,200}+(?:(?:\.|::|#)[A-Za-z_$][\w$]{0,200}+){0,20}+)\(\)"
    r"|`(?P<quoted>[A-Za-z_$][\w$]{2,}(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*)`"
    r"|\b(?P<dotted>[A-Z]\w+(?:\.|::)[a-z_]\w+)\b(?!\()"
)
_REF = re.compile(rf"(?<![\w:/])(?:{'|'.join(sorted(DRIVES))}):/[^\s<>\"'`|)\]}}]+")
_URL = re.compile(r"https?://[^\s<>\"'`|)\]}]+")


def digest(data: bytes) -> str:
    """The hash that a citation keeps."""
    return hashlib.sha256(data).hexdigest()[:24]


@frozen
class FileNow:
    """A file as it is: its hash, and its text (none if it is not text)."""

    hash: str
    text: str | None


class ProjectFiles:
    """The files below one folder. ``until`` ends the search for what is not where it was; reading known files is not
    limited.
    """

    def __init__(self, project: Path, until: float) -> None:
        self.project = project
        self._until = until
        self._top = project.resolve()
        self._read: dict[str, FileNow | None] = {}
        self._listed: list[str] | None = None
        self._renamed: dict[str, str] = {}

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self._until

    def file(self, path: str) -> FileNow | None:
        """A file of the project; None if there is none that can be read, or it lies outside."""
        if path not in self._read:
            self._read[path] = self._looked_at(path)
        return self._read[path]

    def _looked_at(self, path: str) -> FileNow | None:
        file = self.project / path
        try:
            if ".." in Path(path).parts or not file.is_file() or not Path(real_path(file)).is_relative_to(self._top):
                return None
            size = file.stat().st_size
            if size > LARGEST:
                return FileNow(f"size-{size}", None)
            data = file.read_bytes()
        except (OSError, ValueError):
            return None
        return FileNow(digest(data), None if b"\0" in data[:8_000] else data.decode("utf-8", "replace"))

    def paths(self) -> Iterator[str]:
        """The files of the project, those near its top first, as far as they are found in time."""
        if self._listed is None:
            self._listed = sorted(self._walked(), key=lambda path: (path.count("/"), path))
        return iter(self._listed)

    def _walked(self) -> Iterator[str]:
        found = 0
        for place, folders, names in os.walk(self.project):
            folders[:] = sorted(one for one in folders if one not in _LEFT_OUT)
            below = Path(place).relative_to(self.project)
            for name in names:
                found += 1
                if found > MOST_LISTED or self.is_late:
                    return
                yield (below / name).as_posix()

    def moved(self, path: str, content: str) -> str:
        """Where a file that is not at its path is now; empty if it is found nowhere.

        It is the one with the same content, best under the same name, or the one that git says it was renamed to.
        """
        if path not in self._renamed:
            self._renamed[path] = self._same_content(path, content) or self._by_git(path)
        return self._renamed[path]

    def _same_content(self, path: str, content: str) -> str:
        wanted = Path(path)
        alike = [one for one in self.paths() if Path(one).suffix == wanted.suffix]
        for one in sorted(alike, key=lambda one: Path(one).name != wanted.name):
            if self.is_late:
                return ""
            if (found := self.file(one)) is not None and found.hash == content:
                return one
        return ""

    def _by_git(self, path: str) -> str:
        for _ in range(LONGEST_CHAIN):
            if not (left := self._until - time.monotonic()) > 0:
                return ""
            path = renamed_to(self.project, path, left)
            if not path or self.file(path) is not None:
                return path
        return ""


@frozen
class FilePart:
    """A definition in a file, and the number of its first line."""

    text: str
    line: int


def symbol_in(path: str, text: str, symbol: str) -> FilePart | None:
    """The definition of a symbol in a source file, with all that it holds; None if it is not defined there.

    ``total`` and ``Cart.total`` both mean a method ``total`` of the class ``Cart``; the shorter must be the only one.
    """
    names = re.split(r"\.|::|#", symbol)
    if names[-1] not in text or len(text) > LONGEST_CODE:
        return None
    sections = outline_code(text, language_of_name(path)).sections
    found = []
    for at, section in enumerate(sections):
        trail = section.heading.split(CRUMB) if section.body > section.start else []
        if trail[-len(names) :] == names:
            end = next((one.start for one in sections[at + 1 :] if one.level <= section.level), len(text))
            line = 1 + text.count("\n", 0, section.start)
            found.append((len(trail), FilePart(text[section.start : end].rstrip(), line)))
    least = min((depth for depth, _ in found), default=0)
    best = [part for depth, part in found if depth == least]
    return best[0] if len(best) == 1 else None


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
                hint="Name a file of this project (src/a.py), a symbol, or what is stored: a ref, a URL.",
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
    stays = []
    for one in before if isinstance(before, list) else ():
        name = (one.get("symbol") or one.get("path")) if isinstance(one, dict) else None
        is_elsewhere = isinstance(name, str) and one.get("project") != here and name in text
        if is_elsewhere or (isinstance(one, dict) and one.get("given")):
            stays.append(one)
    found = _each_once([*stays, *citations_in(text, store, ref_of)])
    rest = {name: value for name, value in metadata.items() if name != NAME}
    return rest | ({NAME: found} if found else {})


def _each_once(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the text names and is given besides is cited once."""
    keys = [tuple(str(one.get(name, "")) for name in ("path", "symbol", "item")) for one in found]
    return list(dict(zip(reversed(keys), reversed(found), strict=True)).values())[::-1][:MOST]


class _Finder:
    """Finds files and symbols of one project in texts."""

    def __init__(self, project: Path) -> None:
        self._name = project_name(project)
        self._files = ProjectFiles(project, time.monotonic() + SECONDS)

    def cited(self, text: str) -> Iterator[dict[str, Any]]:
        paths = dict.fromkeys(match["path"] for match in list(_PATH.finditer(text))[:MOST_LOOKED_AT])
        there = {path: file for path in paths if (file := self._files.file(path)) is not None}
        for path, file in there.items():
            yield {"project": self._name, "path": path, "hash": file.hash}
        names = dict.fromkeys(next(filter(None, match.groups())) for match in _SYMBOL.finditer(text))
        for symbol in list(names)[:MOST]:
            found = defined_in(self._files, symbol, list(there)) or defined_in(self._files, symbol)
            if found is not None:
                path, file, part = found
                hashes = {"hash": digest(part.text.encode()), "file": file.hash}
                yield {"project": self._name, "path": path, **hashes, "symbol": symbol}


def defined_in(
    files: ProjectFiles, symbol: str, paths: Sequence[str] | None = None
) -> tuple[str, FileNow, FilePart] | None:
    """The file that defines a symbol: of some, or of the source files of the project, as far as time allows."""
    looked_at = 0
    for path in paths if paths is not None else files.paths():
        if language_of_name(path) in _NO_CODE:
            continue
        looked_at += 1
        if paths is None and (looked_at > MOST_SOURCES or files.is_late):
            return None
        file = files.file(path)
        part = symbol_in(path, file.text, symbol) if file is not None and file.text else None
        if file is not None and part is not None:
            return path, file, part
    return None


def refs_named(text: str) -> list[str]:
    """The refs and URLs in a text, without the marks behind them."""
    found = (match[0].rstrip(".,;:!?*_") for pattern in (_REF, _URL) for match in pattern.finditer(text))
    return list(dict.fromkeys(found))


def cited_items(store: Store, names: Sequence[str], ref_of: Names) -> list[dict[str, Any]]:
    """Citations of the items among some refs and URLs that are stored, as they are now."""
    refs: dict[Ref, str] = {}
    for name in names:
        try:
            refs.setdefault(ref_of(name), name)
        except Error:
            continue  # what looks like a ref and is none
    numbers = store.items.numbers(list(refs)) if refs else {}
    found = []
    for ref, n in numbers.items():
        item = store.items.get(n)
        if item.state == "live":
            about = {"item": str(item.ref), "id": item.id, "version": item.version, "hash": text_hash(item)}
            found.append(about | ({"url": name} if "://" in (name := refs[ref]) else {}))
    return found


def text_hash(item: Item) -> str:
    """The hash of an item's text alone: other fields say nothing about what was cited."""
    return hashlib.sha256(item.content.encode("utf-8", "surrogatepass")).hexdigest()[:24]


LOST = 0.5
"""What the score of a memory is multiplied by that cites something that is gone."""
CHECK_SECONDS = 0.1
"""How long one answer looks for what moved; what is not found by then counts as gone."""
StoreOf = Callable[[str], Store | None]
_REPLACES = ("corrects", "supersedes")


class CitationCheck:
    """One look at the project and at a store. Each file is read once, however many memories cite it."""

    def __init__(self, store: Store | None, seconds: float | None = None, project: ProjectFiles | None = None) -> None:
        folder = this_project()
        until = time.monotonic() + (CHECK_SECONDS if seconds is None else seconds)
        self.files = project or (ProjectFiles(folder, until) if folder is not None else None)
        self._names = {folder.name, project_name(folder)} if folder is not None else set()
        self._store = store

    def states(self, cited: object) -> tuple[CitedNow, ...]:
        """What became of some citations, as a memory's metadata has them."""
        rows = cited if isinstance(cited, list | tuple) else ()
        return tuple(self._state(one) for row in rows[:MOST] if (one := self._usable(row)) is not None)

    def renewed(self, cited: Sequence[Any]) -> list[Any]:
        """Citations with what they name as it is now: where it is, and its hash."""
        usable = [(row, self._usable(row)) for row in cited]
        return [row if one is None else (self._now(one) or (one, ""))[0] for row, one in usable]

    def _usable(self, one: object) -> Mapping[str, Any] | None:
        """A citation that can be understood and looked at here; metadata may hold anything.

        Lines that an earlier version cited count as their file, and commands as nothing.
        """
        if not isinstance(one, Mapping):
            return None
        if "item" in one:
            texts = all(isinstance(one.get(name), str) for name in ("item", "id", "hash"))
            is_whole = texts and isinstance(one.get("version"), int) and Ref.looks_like(one["item"])
            return one if is_whole and self._store is not None else None
        if "lines" in one:
            one = {name: value for name, value in one.items() if name != "lines"} | {"hash": one.get("file")}
        texts = all(isinstance(one.get(name), str) for name in ("path", "hash"))
        is_here = texts and one.get("project") in self._names and ".." not in one["path"]
        return one if is_here and "command" not in one else None

    def _state(self, one: Mapping[str, Any]) -> CitedNow:
        what = str(one.get("url") or one.get("item") or one.get("symbol") or one["path"])
        now = self._now(one)
        if now is None:
            later = self._replaced_by(one) if "item" in one else ""
            return CitedNow(what, REPLACED, later) if later else CitedNow(what, GONE)
        renewed, where = now
        has_changed = renewed["hash"] != one["hash"]
        name = "item" if "item" in one else "path"
        if renewed[name] != one[name] and not (has_changed and "item" in one):
            return CitedNow(what, MOVED, where)
        return CitedNow(what, CHANGED if has_changed else FRESH)

    def _now(self, one: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
        """A citation of the same as it is now, and where that is; None if it is gone."""
        if "item" in one:
            n, item = self._item(one)
            if item is None or item.state != "live":
                return None
            assert self._store is not None
            is_same = item.version == one["version"]  # then its text need not be read
            current = one["hash"] if is_same else text_hash(self._store.items.get(n))
            return {**one, "item": str(item.ref), "version": item.version, "hash": current}, str(item.ref)
        assert self.files is not None
        path, file = one["path"], self.files.file(one["path"])
        if file is None and (moved := self.files.moved(path, str(one.get("file") or one["hash"]))):
            path, file = moved, self.files.file(moved)
        if "symbol" not in one:
            return None if file is None else ({**one, "path": path, "hash": file.hash}, path)
        found = defined_in(self.files, str(one["symbol"]), [path]) or defined_in(self.files, str(one["symbol"]))
        if found is None:
            return None
        path, file, part = found
        return {**one, "path": path, "hash": digest(part.text.encode()), "file": file.hash}, f"{path}:{part.line}"

    def _item(self, one: Mapping[str, Any]) -> tuple[int, Item | None]:
        """The number of a cited item, wherever it is called now, and the item; none if it is in the bin or erased."""
        assert self._store is not None
        items = self._store.items
        ref = items.ref_by_id(one["id"]) or Ref.parse(one["item"])
        n = items.numbers([ref]).get(ref)
        return (0, None) if n is None else (n, items.get_many([n])[n])

    def _replaced_by(self, one: Mapping[str, Any]) -> str:
        n, item = self._item(one)
        if item is None or self._store is None:
            return ""
        links = [link for link in self._store.links.of([n]) if link.target == n and link.type in _REPLACES]
        later = self._store.items.get_many([link.source for link in links]).values()
        return next((str(other.ref) for other in later if other.state == "live"), "")


def with_citations(answer: Answer, store_of: StoreOf) -> Answer:
    """The answer, in which hits say what became of what they cite; those that cite something lost rank lower."""
    files: ProjectFiles | None = None
    checks: dict[str, CitationCheck] = {}
    hits = []
    for hit in answer.hits:
        if hit.cited and hit.tier not in checks:
            checks[hit.tier] = CitationCheck(store_of(hit.tier), project=files)
            files = checks[hit.tier].files
        hits.append(_checked(hit, checks[hit.tier]) if hit.cited else hit)
    if any(after.score != before.score for after, before in zip(hits, answer.hits, strict=True)):
        hits.sort(key=lambda hit: -hit.score)
    return replace(answer, hits=tuple(hits))


def _checked(hit: Hit, check: CitationCheck) -> Hit:
    states = check.states(hit.cited)
    score, explain = hit.score, hit.explain
    if any(one.state == GONE for one in states):
        score *= LOST
        if explain is not None:
            explain = replace(explain, steps=(*explain.steps, (f"cites what is gone ×{LOST}", score)))
    return replace(hit, score=score, explain=explain, citations=tuple(map(str, states)))
