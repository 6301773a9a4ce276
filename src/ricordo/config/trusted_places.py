"""Which places on this machine the user trusts: stores that belong to projects, and folders of files.

A project may come from anywhere, so what it brings counts as the user's only in a place that is listed here: because
its store was made here by this user, or because the user said so. A store is known by its place and its id; if either
changes, it is not trusted any more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ricordo.config.files import data_home, locked, read_bytes, replace_file
from ricordo.errors import Unavailable
from ricordo.nofollow import real_path
from ricordo.values.provenance import TrustedPlace

PLACES_NAME = "trusted-places.json"
MADE, TRUSTED = "made here", "trusted"


def places_file() -> Path:
    """The list of trusted places."""
    return data_home(os.environ) / PLACES_NAME


def list_stamp() -> tuple[int, int, int] | None:
    """Tells whether the list changed since it was last read."""
    try:
        found = places_file().stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def trusted_places() -> tuple[TrustedPlace, ...]:
    """All places, in order."""
    return tuple(one for _, one in sorted(_read().items()))


def how_trusted(store: Path, store_id: str) -> str:
    """MADE or TRUSTED, if the store with this id is trusted in this place; else empty."""
    known = _read().get(_key(store))
    return known.how if known is not None and store_id and known.store_id == store_id else ""


def recorded_id(store: Path) -> str:
    """The id of the store that is, or was, trusted in this place."""
    known = _read().get(_key(store))
    return known.store_id if known is not None else ""


def is_in_trusted_folder(path: Path) -> bool:
    """Whether a file or folder is in a folder that the user trusts."""
    known = _read()
    folders = {place for place, one in known.items() if not one.store_id}
    real = Path(_key(path))
    return bool(folders) and any(str(one) in folders for one in (real, *real.parents))


def note_place(place: Path, how: str, store_id: str = "") -> TrustedPlace:
    """Trust a store, or without ``store_id`` the files of a folder."""
    entry = TrustedPlace(_key(place), how, datetime.now(UTC).isoformat(timespec="seconds"), store_id)
    with locked(places_file()):
        _write(_read() | {entry.place: entry})
    return entry


def withdraw_place(*places: Path) -> bool:
    """Trust places no more; returns whether any of them was trusted."""
    keys = {_key(place) for place in places}
    with locked(places_file()):
        known = _read()
        if left := keys & known.keys():
            _write({place: one for place, one in known.items() if place not in left})
    return bool(left)


def _key(place: Path) -> str:
    return real_path(place)


def _read() -> dict[str, TrustedPlace]:
    """The list; if it is damaged or cannot be read, no place is trusted."""
    with suppress(ValueError, TypeError, AttributeError, Unavailable):
        plain: Mapping[str, Mapping[str, Any]] = json.loads(read_bytes(places_file()) or b"{}")
        return {place: TrustedPlace(**{"place": place, **entry}) for place, entry in plain.items()}
    return {}


def _write(known: Mapping[str, TrustedPlace]) -> None:
    plain = {place: {**one.to_dict(), "place": place} for place, one in known.items()}
    replace_file(places_file(), json.dumps(plain, indent=1, sort_keys=True).encode())
