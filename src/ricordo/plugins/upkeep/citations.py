"""What a memory cites, and whether that is still as it was when the memory was saved.

It cites files of the project, symbols that they define or that installed packages offer, other items, and pages that
are stored. Each citation is kept
in the memory's metadata, with a hash of what was cited: ``project``, ``path`` and ``hash``, with ``symbol`` for a
definition in the file (``file`` is then the hash of the whole); or ``item``, ``id``, ``version`` and ``hash``.
Citations of another project than the one in which the search runs are not looked at. Nothing is run or fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.config.files import current_folder
from ricordo.config.repository import repository_around
from ricordo.digests import hash_of
from ricordo.errors import Error, NotFound, UsageError
from ricordo.frozen import frozen
from ricordo.ingest.cut.structure import CRUMB, outline_code
from ricordo.ingest.formats.detect import language_of_name
from ricordo.nofollow import real_path
from ricordo.patterns import late
from ricordo.sources.git import earlier_texts, renamed_to
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import CHANGED, CITATIONS, FRESH, GONE, MOVED, REPLACED, CitedNow, Item, Ref
from ricordo.values.kinds import DRIVES, DRIVES_APART

if TYPE_CHECKING:
    from ricordo.memory.files.format import KnowledgeFile
    from ricordo.memory.files.sync import Sync

CITING_KINDS = ("memory",)
MOST = 8
MOST_LOOKED_AT = 60
LONGEST_TEXT = 20_000
MOST_SOURCES = 400
"""So many source files are read for a symbol, if the text names none that defines it."""
MOST_SYMBOLS = 400
"""For so many symbols files are looked through, in the texts that are taken in together."""
MOST_CANDIDATES = 400
"""So many files are read to find those that moved, in one look at the project."""
MOST_RENAMES = 8
"""For so many files that are gone git is asked, in one look at the project."""
GIT_SECONDS = 10.0
"""A git that hangs is given up; it takes milliseconds."""
LONGEST_CODE = 1_000_000
LARGEST = 4_000_000
"""Larger files are told by their size alone."""
MOST_LISTED = 10_000
LONGEST_CHAIN = 5
RefOf = Callable[[str], Ref]
"""Gives the ref that a ref or a URL means."""
_LEFT_OUT = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".ricordo"})
_NO_CODE = frozenset({"yaml", "toml", "json", "css", "scss", "ini", "make", "just", "dockerfile", "hcl", ""})
_PATH = late(
    r"(?<![\w/:.])(?:\./)?"
    r"(?P<path>(?<![@-])(?:(?:[\w.@-]+/)*[\w@-][\w.@-]*\.\w{1,8}|(?:[\w.@-]+/)+[\w.@-]+)"
    r"|Makefile|Dockerfile|[Jj]ustfile|Jenkinsfile|Procfile|Gemfile|Rakefile)(?![\w/])"
)
_SYMBOL = late(
    r"(?<![\w$])(?P<called>[A-Za-z_$][\w$]{0,200}+(?:(?:\.|::|#)[A-Za-z_$][\w$]{0,200}+){0,20}+)\(\)"
    r"|`(?P<quoted>[A-Za-z_$][\w$]{2,}(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*)`"
    r"|\b(?P<dotted>[A-Z]\w+(?:\.|::)[a-z_]\w+)\b(?!\()"
)
_DOTTED = late(r"(?<![\w./$-])[A-Za-z_]\w{0,200}+(?:\.[A-Za-z_]\w{0,200}+){1,20}+(?![\w/-])")
"""A name with its package, as `click.option`: it is cited if it is stored."""
_REF = late(rf"(?<![\w:/])(?:{'|'.join(sorted(DRIVES))}):/[^\s<>\"'`|)\]}}]+")
_URL = late(r"https?://[^\s<>\"'`|)\]}]+")


def digest(data: bytes) -> str:
    """The hash that a citation keeps."""
    return hash_of(data)[:24]


@frozen
class FileNow:
    """A file as it is: its hash, and its text (none if it is not text)."""

    hash: str
    text: str | None


class ProjectFiles:
    """The files below one folder. The search for what is not where it was is limited by counts, which are the same on
    every machine; reading known files is not limited.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self._candidates = MOST_CANDIDATES
        self._renames = MOST_RENAMES
        self._top = project.resolve()
        self._read: dict[str, FileNow | None] = {}
        self._listed: list[str] | None = None
        self._renamed: dict[str, str] = {}

    def file(self, path: str) -> FileNow | None:
        """A file of the project; None if there is none that can be read, or it lies outside."""
        if path not in self._read:
            self._read[path] = self._read_file(path)
        return self._read[path]

    def _read_file(self, path: str) -> FileNow | None:
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
        """The files of the project, those near its top first."""
        if self._listed is None:
            self._listed = sorted(self._walk(), key=lambda path: (path.count("/"), path))
        return iter(self._listed)

    def _walk(self) -> Iterator[str]:
        count = 0
        for place, folders, names in os.walk(self.project):
            folders[:] = sorted(folder for folder in folders if folder not in _LEFT_OUT)
            below = Path(place).relative_to(self.project)
            for name in names:
                count += 1
                if count > MOST_LISTED:
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
        alike = [candidate for candidate in self.paths() if Path(candidate).suffix == wanted.suffix]
        for candidate in sorted(alike, key=lambda candidate: Path(candidate).name != wanted.name):
            if candidate not in self._read:
                self._candidates -= 1
            if self._candidates < 0:
                return ""
            if (file := self.file(candidate)) is not None and file.hash == content:
                return candidate
        return ""

    def _by_git(self, path: str) -> str:
        self._renames -= 1
        for _ in range(LONGEST_CHAIN if self._renames >= 0 else 0):
            path = renamed_to(self.project, path, GIT_SECONDS)
            if not path or self.file(path) is not None:
                return path
        return ""


@frozen
class FilePart:
    """A part of a file, such as a definition, and the number of its first line."""

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
    parts = []
    for at, section in enumerate(sections):
        trail = section.heading.split(CRUMB) if section.body > section.start else []
        if trail[-len(names) :] == names:
            following = (later.start for later in sections[at + 1 :] if later.level <= section.level)
            end = next(following, len(text))
            line = 1 + text.count("\n", 0, section.start)
            parts.append((len(trail), FilePart(text[section.start : end].rstrip(), line)))
    least = min((depth for depth, _ in parts), default=0)
    best = [part for depth, part in parts if depth == least]
    return best[0] if len(best) == 1 else None


def project_name(project: Path) -> str:
    """What a project is called: in all its work trees as in its main checkout."""
    repository = repository_around(project)
    return Path(repository.name).name if repository is not None else project.name


def this_project() -> Path | None:
    """The folder of the project in which the call runs; outside of projects, the folder itself. None if it is lost."""
    try:
        folder = current_folder()
    except NotFound:
        return None
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def citations_in(
    text: str, store: Store, ref_of: RefOf, given: Sequence[str] = (), *, finder: _Finder | None = None
) -> list[dict[str, Any]]:
    """What a text cites, and what is ``given`` besides, as it is now; what is given must be there."""
    citations: list[dict[str, Any]] = []
    if finder is None and (project := this_project()) is not None:
        finder = _Finder(project)
    for name in given:
        named = (list(finder.cited(f"`{name}`" if "`" not in name else name)) if finder else []) or cited_items(
            store, refs_named(name) or [name, *_apart([name])], ref_of
        )
        if not named:
            raise UsageError(
                f"nothing here is called '{name}', so it cannot be cited",
                hint="Name a file of this project (src/a.py), a symbol, or what is stored: a ref, a URL.",
            )
        citations.append({**named[0], "given": True})
    text = text[:LONGEST_TEXT]
    if finder is not None:
        citations += finder.cited(text)
    if names := [*refs_named(text), *_apart(_DOTTED.findall(text))]:
        citations += cited_items(store, names[:MOST_LOOKED_AT], ref_of)
    return _without_repeats(citations)


def metadata_of_text(
    metadata: dict[str, Any],
    store: Store,
    ref_of: RefOf,
    *,
    kind: str,
    text: str,
    cites: Sequence[str] | None = None,
    finder: _Finder | None = None,
) -> dict[str, Any]:
    """The metadata of an item with what its text cites: a new item, which ``cites`` something besides, or one that gets
    another text.
    """
    if kind not in CITING_KINDS:
        if cites:
            raise UsageError(
                f"only memories cite, and this is of the kind '{kind}'", hint="Link it to an item instead."
            )
        return metadata
    if cites is not None:
        citations = citations_in(text, store, ref_of, cites)
        return {**metadata, CITATIONS: citations} if citations else metadata
    # What was given besides the old text stays. What belongs to another project cannot be looked at here; it stays as
    # long as the text names it.
    before, project = metadata.get(CITATIONS), this_project()
    here = project_name(project) if project is not None else ""
    stays = []
    for citation in before if isinstance(before, list) else ():
        name = (citation.get("symbol") or citation.get("path")) if isinstance(citation, dict) else None
        is_elsewhere = isinstance(name, str) and citation.get("project") != here and name in text
        if is_elsewhere or (isinstance(citation, dict) and citation.get("given")):
            stays.append(citation)
    return _with(metadata, _without_repeats([*stays, *citations_in(text, store, ref_of, finder=finder)]))


def metadata_of_file(metadata: dict[str, Any], sync: Sync, content: KnowledgeFile, item: Item | None) -> dict[str, Any]:
    """The metadata of an item whose file a person wrote. What Ricordo wrote into the file about citations holds for the
    text that it wrote; another text cites what it names, and as long as the text stays, what it cites stays.
    """
    if content.kind not in CITING_KINDS:
        return metadata
    if item is not None and item.content == content.text:
        return _with(metadata, item.fields.metadata.get(CITATIONS))
    project = this_project()
    if project is not None and _FINDER not in sync.of_plugins:
        sync.of_plugins[_FINDER] = _Finder(project)
    finder = sync.of_plugins.get(_FINDER)
    return metadata_of_text(metadata, sync.store, sync.ref_of, kind=content.kind, text=content.text, finder=finder)


_FINDER = "citations"
"""Under this name a sync keeps what was read of the project, so that each of its files is read once."""


def _with(metadata: Mapping[str, Any], citations: Any) -> dict[str, Any]:
    """Metadata with other citations, or without any."""
    rest = {name: value for name, value in metadata.items() if name != CITATIONS}
    return rest | ({CITATIONS: citations} if citations else {})


def _without_repeats(citations: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the text names and is given besides is cited once."""
    keys = [tuple(str(citation.get(name, "")) for name in ("path", "symbol", "item")) for citation in citations]
    return list(dict(zip(reversed(keys), reversed(citations), strict=True)).values())[::-1][:MOST]


class _Finder:
    """Finds files and symbols of one project in texts."""

    def __init__(self, project: Path) -> None:
        self._name = project_name(project)
        self._files = ProjectFiles(project)
        self._symbols = MOST_SYMBOLS

    def cited(self, text: str) -> Iterator[dict[str, Any]]:
        paths = dict.fromkeys(match["path"] for match in list(_PATH.finditer(text))[:MOST_LOOKED_AT])
        there = {path: file for path in paths if (file := self._files.file(path)) is not None}
        for path, file in there.items():
            yield {"project": self._name, "path": path, "hash": file.hash}
        names = dict.fromkeys(next(filter(None, match.groups())) for match in _SYMBOL.finditer(text))
        for symbol in list(names)[:MOST]:
            definition = defined_in(self._files, symbol, list(there))
            if definition is None and self._symbols > 0:
                self._symbols -= 1
                definition = defined_in(self._files, symbol)
            if definition is not None:
                path, file, part = definition
                hashes = {"hash": digest(part.text.encode()), "file": file.hash}
                yield {"project": self._name, "path": path, **hashes, "symbol": symbol}


def defined_in(
    files: ProjectFiles, symbol: str, paths: Sequence[str] | None = None
) -> tuple[str, FileNow, FilePart] | None:
    """The file that defines a symbol: of some, or of the first source files of the project."""
    count = 0
    for path in paths if paths is not None else files.paths():
        if language_of_name(path) in _NO_CODE:
            continue
        count += 1
        if paths is None and count > MOST_SOURCES:
            return None
        file = files.file(path)
        part = symbol_in(path, file.text, symbol) if file is not None and file.text else None
        if file is not None and part is not None:
            return path, file, part
    return None


def refs_named(text: str) -> list[str]:
    """The refs and URLs in a text, without the marks behind them."""
    matches = (match[0].rstrip(".,;:!?*_") for pattern in (_REF, _URL) for match in pattern.finditer(text))
    return list(dict.fromkeys(matches))


def _apart(names: Sequence[str]) -> list[str]:
    """The refs that names in texts have on drives of their own."""
    return [f"{drive}:/{name}" for drive in DRIVES_APART for name in dict.fromkeys(names)]


def cited_items(store: Store, names: Sequence[str], ref_of: RefOf) -> list[dict[str, Any]]:
    """Citations of the items among some refs and URLs that are stored, as they are now."""
    refs: dict[Ref, str] = {}
    for name in names:
        try:
            refs.setdefault(ref_of(name), name)
        except Error:
            continue  # what looks like a ref and is none
    numbers = store.items.numbers(list(refs)) if refs else {}
    citations = []
    for ref, n in numbers.items():
        item = store.items.get(n)
        if item.is_current:
            about = {"item": str(item.ref), "id": item.id, "version": item.version, "hash": text_hash(item)}
            citations.append(about | ({"url": name} if "://" in (name := refs[ref]) else {}))
    return citations


def text_hash(item: Item) -> str:
    """The hash of an item's text alone: other fields say nothing about what was cited."""
    return hash_of(item.content.encode("utf-8", "surrogatepass"))[:24]


LOST = 0.5
"""What the score of a memory is multiplied by that cites something that is gone."""
StoreOf = Callable[[str], Store | None]


class CitationCheck:
    """One look at the project and at a store. Each file is read once, however many memories cite it."""

    def __init__(self, store: Store | None, project: ProjectFiles | None = None) -> None:
        folder = this_project()
        self.files = project or (ProjectFiles(folder) if folder is not None else None)
        self._names = {folder.name, project_name(folder)} if folder is not None else set()
        self._store = store

    def states(self, cited: object) -> tuple[CitedNow, ...]:
        """What became of some citations, as a memory's metadata has them."""
        rows = cited if isinstance(cited, list | tuple) else ()
        return tuple(self._state(citation) for row in rows[:MOST] if (citation := self._usable(row)) is not None)

    def renewed(self, cited: Sequence[Any]) -> list[Any]:
        """Citations with what they name as it is now: where it is, and its hash."""
        usable = [(row, self._usable(row)) for row in cited]
        return [row if citation is None else (self._now(citation) or (citation, ""))[0] for row, citation in usable]

    def _usable(self, citation: object) -> Mapping[str, Any] | None:
        """A citation that can be understood and looked at here; metadata may hold anything.

        Lines that an earlier version cited count as their file, and commands as nothing.
        """
        if not isinstance(citation, Mapping):
            return None
        if "item" in citation:
            texts = all(isinstance(citation.get(name), str) for name in ("item", "id", "hash"))
            is_whole = texts and isinstance(citation.get("version"), int) and Ref.looks_like(citation["item"])
            return citation if is_whole and self._store is not None else None
        if "lines" in citation:
            rest = {name: value for name, value in citation.items() if name != "lines"}
            citation = rest | {"hash": citation.get("file")}
        texts = all(isinstance(citation.get(name), str) for name in ("path", "hash"))
        is_here = texts and citation.get("project") in self._names and ".." not in citation["path"]
        return citation if is_here and "command" not in citation else None

    def _state(self, citation: Mapping[str, Any]) -> CitedNow:
        what = str(citation.get("url") or citation.get("item") or citation.get("symbol") or citation["path"])
        now = self._now(citation)
        if now is None:
            later = self._replaced_by(citation) if "item" in citation else ""
            return CitedNow(what, REPLACED, later) if later else CitedNow(what, GONE)
        renewed, where = now
        has_changed = renewed["hash"] != citation["hash"]
        name = "item" if "item" in citation else "path"
        if renewed[name] != citation[name] and not (has_changed and "item" in citation):
            return CitedNow(what, MOVED, where)
        return CitedNow(what, CHANGED if has_changed else FRESH)

    def _now(self, citation: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
        """A citation of the same as it is now, and where that is; None if it is gone."""
        if "item" in citation:
            n, item = self._item(citation)
            if item is None or not item.is_current:
                return None
            assert self._store is not None
            is_same = item.version == citation["version"]  # then its text need not be read
            current = citation["hash"] if is_same else text_hash(self._store.items.get(n))
            return {**citation, "item": str(item.ref), "version": item.version, "hash": current}, str(item.ref)
        assert self.files is not None
        path, file = citation["path"], self.files.file(citation["path"])
        if file is None and (moved := self.files.moved(path, str(citation.get("file") or citation["hash"]))):
            path, file = moved, self.files.file(moved)
        if "symbol" not in citation:
            return None if file is None else ({**citation, "path": path, "hash": file.hash}, path)
        symbol = str(citation["symbol"])
        definition = defined_in(self.files, symbol, [path]) or defined_in(self.files, symbol)
        if definition is None:
            return None
        path, file, part = definition
        return {**citation, "path": path, "hash": digest(part.text.encode()), "file": file.hash}, f"{path}:{part.line}"

    def changed_texts(self, cited: object) -> Iterator[tuple[str, FilePart | None, FilePart]]:
        """Of what was cited and changed since: its name, its text as it was cited, and as it is. What was never
        committed is known by its hash alone.
        """
        for row in cited if isinstance(cited, list | tuple) else ():
            citation = self._usable(row)
            state = self._state(citation) if citation is not None else None
            if citation is None or state is None or state.state != CHANGED:
                continue
            if "item" in citation:
                assert self._store is not None
                n, _ = self._item(citation)
                before, item = self._store.items.get(n, version=citation["version"]), self._store.items.get(n)
                yield state.what, FilePart(before.content, before.first_line), FilePart(item.content, item.first_line)
            elif (now := self._now(citation)) is not None and self.files is not None:
                path, whole = citation["path"], str(citation.get("file") or citation["hash"])
                earlier = earlier_texts(self.files.project, path, GIT_SECONDS)
                text = next((text for text in earlier if digest(text.encode()) == whole), None)
                later = self.files.file(now[0]["path"])
                parts = [
                    one and (symbol_in(path, one, citation["symbol"]) if "symbol" in citation else FilePart(one, 1))
                    for one in (text, later and later.text)
                ]
                if parts[1]:
                    yield state.what, parts[0] or None, parts[1]

    def _item(self, citation: Mapping[str, Any]) -> tuple[int, Item | None]:
        """The number of a cited item, wherever it is called now, and the item; none if it is in the bin or erased."""
        assert self._store is not None
        items = self._store.items
        ref = items.ref_by_id(citation["id"]) or Ref.parse(citation["item"])
        n = items.numbers([ref]).get(ref)
        return (0, None) if n is None else (n, items.get_many([n])[n])

    def _replaced_by(self, citation: Mapping[str, Any]) -> str:
        n, item = self._item(citation)
        if item is None or self._store is None:
            return ""
        later = self._store.links.replacement_of(n)
        return later.ref if later is not None and later.state == "live" else ""


def cited_by(store: Store, item: Item) -> tuple[CitedNow, ...]:
    """What became of what an item cites."""
    return CitationCheck(store).states(item.fields.metadata.get(CITATIONS))


def cited_texts(store: Store, item: Item) -> list[tuple[str, FilePart | None, FilePart]]:
    """What an item cites and was changed since, as it was cited and as it is."""
    return list(CitationCheck(store).changed_texts(item.fields.metadata.get(CITATIONS)))


def with_citations(answer: Answer, store_of: StoreOf) -> Answer:
    """The answer, in which hits say what became of what they cite; those that cite something lost rank lower."""
    files: ProjectFiles | None = None
    checks: dict[str, CitationCheck] = {}
    hits = []
    for hit in answer.hits:
        if hit.cited and hit.tier not in checks:
            checks[hit.tier] = CitationCheck(store_of(hit.tier), project=files)
            files = checks[hit.tier].files
        hits.append(_check_hit(hit, checks[hit.tier]) if hit.cited else hit)
    if any(after.score != before.score for after, before in zip(hits, answer.hits, strict=True)):
        hits.sort(key=lambda hit: -hit.score)
    return replace(answer, hits=tuple(hits))


def _check_hit(hit: Hit, check: CitationCheck) -> Hit:
    states = check.states(hit.cited)
    score, explain = hit.score, hit.explain
    if any(cited.state == GONE for cited in states):
        score *= LOST
        if explain is not None:
            explain = replace(explain, steps=(*explain.steps, (f"cites what is gone ×{LOST}", score)))
    return replace(hit, score=score, explain=explain, citations=tuple(map(str, states)))
