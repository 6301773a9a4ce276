"""What took the place of an item that was corrected or superseded: whoever reads the old one is led to it."""

from __future__ import annotations

from typing import Any

from ricordo.store.base import Store

_NAMES = {"corrects": "corrected_by", "supersedes": "superseded_by"}
_LONGEST_CHAIN = 100


def replacement(store: Store, n: int) -> dict[str, Any]:
    """``{"corrected_by": ref}`` or ``{"superseded_by": ref}`` for an archived item that was replaced; else nothing.

    Where the replacement was replaced as well, the ref is that of the newest, and the name tells how the first was.
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
