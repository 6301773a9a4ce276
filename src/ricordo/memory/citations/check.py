"""Looks what became of what memories cite, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ricordo.memory.citations.find import (
    MOST,
    FileNow,
    ProjectFiles,
    defined_in,
    digest,
    project_name,
    symbol_in,
    text_hash,
    this_project,
)
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import CHANGED, FRESH, GONE, MOVED, REPLACED, CitedNow, Item, Ref

LOST = 0.5
"""What the score of a memory is multiplied by that cites something that is gone."""
SECONDS = 0.1
"""How long one answer looks for what moved; what is not found by then counts as gone."""
StoreOf = Callable[[str], Store | None]
_REPLACES = ("corrects", "supersedes")


class CitationCheck:
    """One look at the project and at a store. Each file is read once, however many memories cite it."""

    def __init__(self, store: Store | None, seconds: float | None = None, project: ProjectFiles | None = None) -> None:
        folder = this_project()
        until = time.monotonic() + (SECONDS if seconds is None else seconds)
        self.files = project or (ProjectFiles(folder, until) if folder is not None else None)
        self._names = {folder.name, project_name(folder)} if folder is not None else set()
        self._items = StoredItems(store) if store is not None else None

    def states(self, cited: object) -> tuple[CitedNow, ...]:
        """What became of some citations, as a memory's metadata has them."""
        rows = cited if isinstance(cited, list | tuple) else ()
        return tuple(self._state(one) for row in rows[:MOST] if (one := self._usable(row)) is not None)

    def renewed(self, cited: Sequence[Any]) -> list[Any]:
        """Citations with what they name as it is now: where it is, and its hash."""
        return [row if (one := self._usable(row)) is None else self._renewed(one) for row in cited]

    def _usable(self, one: object) -> Mapping[str, Any] | None:
        """A citation that can be understood and looked at here; metadata may hold anything.

        Lines that an earlier version cited count as their file, and commands as nothing.
        """
        if not isinstance(one, Mapping):
            return None
        if "item" in one:
            texts = all(isinstance(one.get(name), str) for name in ("item", "id", "hash"))
            is_whole = texts and isinstance(one.get("version"), int) and Ref.looks_like(one["item"])
            return one if is_whole and self._items is not None else None
        if "lines" in one:
            one = {name: value for name, value in one.items() if name != "lines"} | {"hash": one.get("file")}
        texts = all(isinstance(one.get(name), str) for name in ("path", "hash"))
        is_here = texts and one.get("project") in self._names and ".." not in one["path"]
        return one if is_here and "command" not in one else None

    def _state(self, one: Mapping[str, Any]) -> CitedNow:
        if self._items is not None and "item" in one:
            return self._items.now(one)
        symbol, what = one.get("symbol"), str(one.get("symbol") or one["path"])
        path, file = self._file(one)
        has_moved = path != one["path"]
        if file is not None and symbol is None:
            state = MOVED if has_moved else FRESH if file.hash == one["hash"] else CHANGED
            return CitedNow(what, state, path if has_moved else "")
        part = symbol_in(path, file.text, str(symbol)) if file is not None and file.text is not None else None
        if part is not None:
            if has_moved:
                return CitedNow(what, MOVED, f"{path}:{part.line}")
            return CitedNow(what, FRESH if digest(part.text.encode()) == one["hash"] else CHANGED)
        if symbol and self.files is not None and (elsewhere := defined_in(self.files, str(symbol))) is not None:
            return CitedNow(what, MOVED, f"{elsewhere[0]}:{elsewhere[2].line}")
        return CitedNow(what, GONE)

    def _file(self, one: Mapping[str, Any]) -> tuple[str, FileNow | None]:
        """The cited file, and where it is now."""
        assert self.files is not None
        path, file = one["path"], self.files.file(one["path"])
        if file is None and (moved := self.files.moved(path, str(one.get("file") or one["hash"]))):
            path, file = moved, self.files.file(moved)
        return path, file

    def _renewed(self, one: Mapping[str, Any]) -> dict[str, Any]:
        if self._items is not None and "item" in one:
            return self._items.renewed(one)
        assert self.files is not None
        path, file = self._file(one)
        if "symbol" in one:
            found = defined_in(self.files, str(one["symbol"]), [path]) or defined_in(self.files, str(one["symbol"]))
            if found is None:
                return dict(one)
            path, file, part = found
            return {**one, "path": path, "hash": digest(part.text.encode()), "file": file.hash}
        return dict(one) if file is None else {**one, "path": path, "hash": file.hash}


class StoredItems:
    """Looks up cited items in the store of the memory that cites them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self, one: Mapping[str, Any]) -> CitedNow:
        """What became of a cited item."""
        what = str(one.get("url") or one["item"])
        found = self._number(one)
        if found is None:
            return CitedNow(what, GONE)
        n, item = found
        if item.state != "live":
            later = self._replaced_by(n)
            return CitedNow(what, REPLACED, later) if later else CitedNow(what, GONE)
        if item.version != one["version"] and text_hash(self._store.items.get(n)) != one["hash"]:
            return CitedNow(what, CHANGED)
        return CitedNow(what, FRESH) if str(item.ref) == one["item"] else CitedNow(what, MOVED, str(item.ref))

    def renewed(self, one: Mapping[str, Any]) -> dict[str, Any]:
        """The citation with the item as it is now."""
        found = self._number(one)
        if found is None or found[1].state != "live":
            return dict(one)
        item = self._store.items.get(found[0])
        return {**one, "item": str(item.ref), "version": item.version, "hash": text_hash(item)}

    def _number(self, one: Mapping[str, Any]) -> tuple[int, Item] | None:
        """The number of the item, wherever it is called now, and the item; None if it is in the bin or erased."""
        items = self._store.items
        ref = items.ref_by_id(one["id"]) or Ref.parse(one["item"])
        n = items.numbers([ref]).get(ref)
        return None if n is None else (n, items.get_many([n])[n])

    def _replaced_by(self, n: int) -> str:
        links = [link for link in self._store.links.of([n]) if link.target == n and link.type in _REPLACES]
        later = self._store.items.get_many([link.source for link in links])
        return next((str(item.ref) for item in later.values() if item.state == "live"), "")


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
