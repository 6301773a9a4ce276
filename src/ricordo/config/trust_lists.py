"""What the user trusts on this machine: settings files of projects, stores that belong to projects, folders of files.

A project may come from anywhere. Its settings file counts as the user's while it is the very file that was trusted,
byte by byte. What its store or its files bring counts as the user's only in a place that is listed here: because the
store was made here by this user, or because the user said so. A store is known by its place and its id; if either
changes, it is not trusted any more. If a list is damaged or cannot be read, nothing in it is trusted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ricordo.config.files import Environment, data_home, locked, read_bytes, read_json, write_json
from ricordo.digests import hash_of
from ricordo.errors import NotFound
from ricordo.nofollow import real_path
from ricordo.values.provenance import TrustedPlace

FILES_NAME = "trusted.json"
PLACES_NAME = "trusted-places.json"
MADE, TRUSTED = "made here", "trusted"


def is_trusted(path: Path, *, env: Environment | None = None, content: bytes | None = None) -> bool:
    """Whether the user trusted this very file: the same path and the same bytes.

    ``content`` are bytes already read, so that what was checked is what is used.
    """
    if content is None:
        content = read_bytes(path)
    return content is not None and _files(env).get(str(path.resolve())) == hash_of(content)


def trust(path: Path, *, env: Environment | None = None) -> None:
    """Trust a project's configuration file as it stands now; any later change ends the trust."""
    content = read_bytes(path)
    if content is None:
        raise NotFound(f"there is no file {path}", hint="Name the project's .ricordo/config.toml.")
    listed = trust_file(env)
    with locked(listed):
        write_json(listed, _files(env) | {str(path.resolve()): hash_of(content)})


def distrust(path: Path, *, env: Environment | None = None) -> bool:
    """Take the file off the trust list; returns whether it was on it."""
    listed = trust_file(env)
    with locked(listed):
        files = _files(env)
        if files.pop(str(path.resolve()), None) is None:
            return False
        write_json(listed, files)
    return True


def trust_file(env: Environment | None) -> Path:
    """The list of trusted project files."""
    return data_home(os.environ if env is None else env) / FILES_NAME


def _files(env: Environment | None) -> dict[str, str]:
    content = read_json(trust_file(env))
    return content if isinstance(content, dict) else {}


def places_file() -> Path:
    """The list of trusted places."""
    return data_home(os.environ) / PLACES_NAME


def list_stamp(listed: str) -> tuple[int, int, int] | None:
    """Tells whether the list of places, a file, changed since it was last read."""
    try:
        status = os.stat(listed)  # noqa: PTH116 - called on every query, and Path adds more than the call costs
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def trusted_places() -> tuple[TrustedPlace, ...]:
    """All places, in order."""
    return tuple(place for _, place in sorted(_places().items()))


def how_trusted(store: Path, store_id: str) -> str:
    """MADE or TRUSTED, if the store with this id is trusted in this place; else empty."""
    place = _places().get(real_path(store))
    return place.how if place is not None and store_id and place.store_id == store_id else ""


def recorded_id(store: Path) -> str:
    """The id of the store that is, or was, trusted in this place."""
    place = _places().get(real_path(store))
    return place.store_id if place is not None else ""


def is_in_trusted_folder(path: Path) -> bool:
    """Whether a file or folder is in a folder that the user trusts."""
    places = _places()
    folders = {place for place, entry in places.items() if not entry.store_id}
    real = Path(real_path(path))
    return bool(folders) and any(str(entry) in folders for entry in (real, *real.parents))


def note_place(place: Path, how: str, store_id: str = "") -> TrustedPlace:
    """Trust a store, or without ``store_id`` the files of a folder."""
    entry = TrustedPlace(real_path(place), how, datetime.now(UTC).isoformat(timespec="seconds"), store_id)
    with locked(places_file()):
        _write_places(_places() | {entry.place: entry})
    return entry


def withdraw_place(*places: Path) -> bool:
    """Trust places no more; returns whether any of them was trusted."""
    keys = {real_path(place) for place in places}
    with locked(places_file()):
        before = _places()
        if left := keys & before.keys():
            _write_places({place: entry for place, entry in before.items() if place not in left})
    return bool(left)


def _places() -> dict[str, TrustedPlace]:
    with suppress(TypeError, AttributeError):
        plain = read_json(places_file()) or {}
        return {place: TrustedPlace(**{"place": place, **entry}) for place, entry in plain.items()}
    return {}


def _write_places(places: Mapping[str, TrustedPlace]) -> None:
    write_json(places_file(), {place: {**entry.to_dict(), "place": place} for place, entry in places.items()})
