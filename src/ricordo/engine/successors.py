"""Finds the item that replaced one that was corrected or superseded, so that readers of the old one are led to it."""

from __future__ import annotations

from typing import Any

from ricordo.store.base import Store

_NAMES = {"corrects": "corrected_by", "supersedes": "superseded_by"}
_LONGEST_CHAIN = 100


def replacement(store: Store, n: int) -> dict[str, Any]:
    """``{"corrected_by": ref}`` or ``{"superseded_by": ref}`` for an archived item that was replaced; else nothing.

    If the replacement was replaced, too, the ref is that of the newest; the name says how the first one was replaced.
    """
    name, seen = "", {n}
    while len(seen) < _LONGEST_CHAIN and store.items.get_many([n])[n].state == "archived":
        later = [
            link for link in store.links.of([n]) if link.target == n and link.type in _NAMES and link.source not in seen
        ]
        if not later:
            break
        name = name or _NAMES[later[-1].type]
        n = later[-1].source
        seen.add(n)
    return {name: str(store.items.get_many([n])[n].ref)} if name else {}
