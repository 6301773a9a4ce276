"""The hits of the last search at each terminal, so that a command after it may name a hit by its number: ``get 1``.

Those of an encrypted store are sealed with its key.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from ricordo.config.files import current_folder, read_json, state_home, write_json
from ricordo.errors import Unavailable, UsageError
from ricordo.patterns import late
from ricordo.vault import seal_at_hand, seal_of

NAME = "last-searches.json"
MOST_TERMINALS = 20
"""For so many terminals the last search is kept."""
_NUMBER = late(r"([1-9][0-9]{0,3})(:[0-9]+(?:-[0-9]+)?)?")


def keep(refs: Sequence[str], first: int, store: str) -> None:
    """Keep what a search showed, numbered from ``first`` on; a file that cannot be written must not fail the search."""
    terminal = _terminal()
    others = [(name, search) for name, search in _read().items() if name != terminal]
    _write(dict([*others, (terminal, _record(refs, first, store))][-MOST_TERMINALS:]))


def forget(refs: Collection[str], store: str) -> None:
    """Drop the names of what was erased; the other hits keep their numbers. ``store`` as it was for ``keep``."""
    searches, is_changed = _read(), False
    for name, search in searches.items():
        if search.get("store", store) != store:
            continue  # sealed with the key of another store, which needs not be at hand
        hits = _refs(search)
        if not set(refs).isdisjoint(hits):
            rest = ["" if ref in refs else ref for ref in hits]
            searches[name], is_changed = _record(rest, search["first"], search.get("store", "")), True
    if is_changed:
        _write(searches)


def _record(refs: Sequence[str], first: int, store: str) -> dict[str, Any]:
    """What is kept of one search: its refs, sealed where the store is encrypted."""
    seal = seal_at_hand(store)
    if seal is None:
        return {"first": first, "refs": list(refs)}
    return {"first": first, "store": store, "sealed": seal.sealed(list(refs))}


def _write(searches: dict[str, Any]) -> None:
    with suppress(Unavailable):
        write_json(state_home(os.environ) / NAME, searches)


def ref_of(name: str) -> str:
    """The ref of the hit that a number means, with the lines behind it; any other name as it is.

    A file that is called so goes first.
    """
    number = _NUMBER.fullmatch(name)
    if number is None or (current_folder() / name).exists():
        return name
    search = _read().get(_terminal())
    if search is None:
        raise UsageError(
            f"{name} would be a hit of the last search, and there was none at this terminal",
            hint="Search first, or name the item by its ref, id, path or URL.",
        )
    refs, first = _refs(search), search["first"]
    place = int(number[1]) - first
    if not 0 <= place < len(refs):
        shown = f"hits {first} to {first + len(refs) - 1}" if refs else "no hits"
        raise UsageError(f"the last search showed {shown}, not {number[1]}", hint="Search again with a higher ‹limit›.")
    if not refs[place]:
        raise UsageError(f"hit {number[1]} of the last search was erased", hint="Search again.")
    return f"{refs[place]}{number[2] or ''}"


def _terminal() -> str:
    """What tells this terminal from others: the shell that leads its processes."""
    return str(os.getsid(0) if hasattr(os, "getsid") else os.getppid())


def _refs(search: dict[str, Any]) -> list[str]:
    if "sealed" not in search:
        return list(search["refs"])
    seal = seal_of(search["store"])
    return list(seal.opened(search["sealed"]) or ()) if seal is not None else []


def _read() -> dict[str, Any]:
    searches = read_json(state_home(os.environ) / NAME)
    return searches if isinstance(searches, dict) else {}
