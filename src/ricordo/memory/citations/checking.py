"""Looks what became of what memories cite, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ricordo.memory.citations.diffs import FileDiffs, shortened
from ricordo.memory.citations.files import FileNow, ProjectFiles, digest
from ricordo.memory.citations.finding import MOST, defined_in, project_name, this_project
from ricordo.memory.citations.parts import cited_part, is_whole, label
from ricordo.memory.citations.stored import StoredItems, is_of_item
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import CHANGED, FRESH, GONE, MOVED, CitedNow

LOST = 0.5
"""What the score of a memory is multiplied by that cites something that is gone."""
SECONDS = 0.1
"""How long one answer looks for what moved; what is not found by then counts as gone."""
StoreOf = Callable[[str], Store | None]


class CitationCheck:
    """One look at the project and at a store. Each file is read once, however many memories cite it."""

    def __init__(self, store: Store | None, seconds: float | None = None, project: ProjectFiles | None = None) -> None:
        folder = this_project()
        until = time.monotonic() + (SECONDS if seconds is None else seconds)
        self._project = folder
        self.files = project or (ProjectFiles(folder, until) if folder is not None else None)
        self._names = {folder.name, project_name(folder)} if folder is not None else set()
        self._store = store
        self._items = StoredItems(store) if store is not None else None

    def states(self, cited: object, *, with_diffs: bool = False) -> tuple[CitedNow, ...]:
        """What became of some citations, as a memory's metadata has them."""
        return tuple(self._state(one, with_diffs) for one in self.known(cited))

    def known(self, cited: object) -> list[Mapping[str, Any]]:
        """The citations that can be understood and looked at here; metadata may hold anything."""
        rows = cited if isinstance(cited, list | tuple) else ()
        return [one for one in rows[:MOST] if isinstance(one, Mapping) and (self._is_here(one) or self._is_item(one))]

    def _is_here(self, one: Mapping[str, Any]) -> bool:
        texts = all(isinstance(one.get(name), str) for name in ("path", "hash"))
        lines = one.get("lines", [1, 1])
        is_span = isinstance(lines, list | tuple) and len(lines) == 2 and all(isinstance(n, int) for n in lines)
        return texts and is_span and one.get("project") in self._names and ".." not in one["path"]

    def _is_item(self, one: Mapping[str, Any]) -> bool:
        return self._items is not None and is_of_item(one)

    def _state(self, one: Mapping[str, Any], with_diff: bool) -> CitedNow:
        if self._items is not None and "item" in one:
            found = self._items.now(one, with_diff=with_diff)
            return replace(found, diff=shortened(found.diff))
        assert self.files is not None
        found = self._of_file(one, self.files)
        if with_diff and found.state == CHANGED and self._store is not None:
            return replace(found, diff=FileDiffs(self.files, self._store).of(one))
        return found

    def _of_file(self, one: Mapping[str, Any], files: ProjectFiles) -> CitedNow:
        what, path = label(one), one["path"]
        file = files.file(path)
        if file is None:
            path = files.moved(path, str(one.get("file") or one["hash"]))
            file = files.file(path) if path else None
        if file is not None and (found := part_state(one, file, path)) is not None:
            return CitedNow(what, *found)
        if symbol := one.get("symbol"):
            elsewhere = defined_in(files, str(symbol))
            if elsewhere is not None:
                return CitedNow(what, MOVED, f"{elsewhere[0]}:{elsewhere[2].line}")
        return CitedNow(what, GONE)


def part_state(one: Mapping[str, Any], file: FileNow, path: str) -> tuple[str, str] | None:
    """What became of what is cited of a file, and where it is now; None if the file does not have it any more."""
    has_moved = path != one["path"]
    if (part := cited_part(one, path, file.text)) is not None:
        if digest(part.text.encode()) == one["hash"] or (has_moved and "lines" not in one):
            last = one["lines"][1] if "lines" in one else part.line
            return (MOVED, _place(path, part.line, last)) if has_moved else (FRESH, "")
    elif is_whole(one):
        return (MOVED, path) if has_moved else (FRESH if file.hash == one["hash"] else CHANGED, "")
    elif "lines" not in one:
        return None
    if "lines" in one and file.text is not None and (line := _found_again(one, file.text)):
        return MOVED, _place(path, line, line + one["lines"][1] - one["lines"][0])
    return (MOVED, path) if has_moved else (CHANGED, "")


def _place(path: str, first: int, last: int) -> str:
    return f"{path}:{first}" + (f"-{last}" if last > first else "")


def _found_again(one: Mapping[str, Any], text: str) -> int:
    """The line at which cited lines stand now, the nearest to where they were; they are known by their hash alone."""
    first, last = one["lines"]
    lines = text.splitlines()
    length = last - first + 1
    starts = sorted(range(1, len(lines) - length + 2), key=lambda at: abs(at - first))
    for at in starts[:20_000]:
        some = "\n".join(lines[at - 1 : at - 1 + length])
        if sum(map(str.isalnum, some)) >= 4 and digest(some.encode()) == one["hash"]:
            return at
    return 0


def renewed(cited: Sequence[Any], store: Store) -> list[Any]:
    """Citations with what they name as it is now: where it is, and its hash."""
    check = CitationCheck(store)
    known = check.known(cited)
    items = StoredItems(store)
    return [
        one if one not in known else items.renewed(one) if "item" in one else _as_it_is(one, check.files)
        for one in cited
    ]


def _as_it_is(one: Mapping[str, Any], files: ProjectFiles | None) -> dict[str, Any]:
    assert files is not None
    path, file = one["path"], files.file(one["path"])
    if file is None and (path := files.moved(path, str(one.get("file") or one["hash"]))):
        file = files.file(path)
    fresh = dict(one)
    if "symbol" in one and (file is None or cited_part(one, path, file.text) is None):
        if (found := defined_in(files, str(one["symbol"]))) is None:
            return fresh
        path, file, _ = found
    if file is None:
        return fresh
    if "lines" in one and file.text is not None and (line := _found_again(one, file.text)):
        fresh["lines"] = [line, line + one["lines"][1] - one["lines"][0]]
    part = cited_part(fresh, path, file.text)
    if part is None and not is_whole(one):
        fresh.pop("lines", None)  # the lines are no longer there: the file as a whole is cited then
    about = {"path": path, "blob": file.blob}
    if part is not None:
        return fresh | about | {"hash": digest(part.text.encode()), "file": file.hash}
    return {name: value for name, value in fresh.items() if name != "file"} | about | {"hash": file.hash}


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
