"""Stored items that a memory cites, and pages by their URLs: what became of them in the store."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricordo.errors import Error
from ricordo.store.base import Store
from ricordo.values.items import CHANGED, FRESH, GONE, MOVED, REPLACED, CitedNow, Item, Ref
from ricordo.values.kinds import DRIVES

Names = Callable[[str], Ref]
"""Gives the ref that a ref or a URL means."""
_REF = re.compile(rf"(?<![\w:/])(?:{'|'.join(sorted(DRIVES))}):/[^\s<>\"'`|)\]}}]+")
_URL = re.compile(r"https?://[^\s<>\"'`|)\]}]+")
_REPLACES = ("corrects", "supersedes")


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


def is_of_item(one: Mapping[str, Any]) -> bool:
    """Whether a citation of an item can be understood."""
    texts = all(isinstance(one.get(name), str) for name in ("item", "id", "hash"))
    return texts and isinstance(one.get("version"), int) and Ref.looks_like(one["item"])


class StoredItems:
    """Looks up cited items in the store of the memory that cites them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self, one: Mapping[str, Any], *, with_diff: bool = False) -> CitedNow:
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
            return CitedNow(what, CHANGED, diff=self._diff(n, one["version"]) if with_diff else "")
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

    def _diff(self, n: int, version: int) -> str:
        items = self._store.items
        try:
            before = items.get(n, version=version).content
        except Error:  # that version is no longer there
            return ""
        lines = difflib.unified_diff(before.splitlines(), items.get(n).content.splitlines(), "then", "now", lineterm="")
        return "\n".join(lines)
