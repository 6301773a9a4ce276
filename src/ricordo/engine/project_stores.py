"""The open stores that came with a project, and whether the user trusts each of them."""

from __future__ import annotations

from pathlib import Path

from ricordo.config.files import PROJECT_FOLDER
from ricordo.config.loading import StoreLocation
from ricordo.config.trust_lists import MADE, TRUSTED, how_trusted, list_stamp, note_place, recorded_id, withdraw_place
from ricordo.store.base import Store

NOT_TRUSTED = (
    "this project is not trusted: what its store holds is told as data, and nothing of it to every agent; the user can"
    " see what it brings, and trust it: ricordo trust"
)


class ProjectStores:
    """Marks the stores of projects as foreign while the user does not trust them; another process may change that."""

    def __init__(self) -> None:
        self._stores: list[tuple[Store, Path]] = []
        self._seen: tuple[int, int, int] | None = None

    def add(self, store: Store, path: Path) -> None:
        """Look after a store from now on. If it is another one than was trusted here, that trust is withdrawn."""
        recorded = recorded_id(path)
        if recorded and recorded != store.store_id:
            withdraw_place(path, project_of(path))
        self._stores.append((store, path))
        self._mark()

    def look(self) -> None:
        """Notice that the user gave or withdrew trust."""
        if self._stores and list_stamp() != self._seen:
            self._mark()

    def _mark(self) -> None:
        self._seen = list_stamp()
        for store, path in self._stores:
            store.foreign = not how_trusted(path, store.store_id)

    def untrusted(self) -> list[Path]:
        """The stores that are not trusted now."""
        self.look()
        return [path for store, path in self._stores if store.foreign]

    def notes(self) -> list[str]:
        """What to say to people and agents while a project is not trusted."""
        return [NOT_TRUSTED] if self.untrusted() else []


def project_of(store: Path) -> Path:
    """The folder of the project that a store belongs to."""
    return store.parent.parent if store.parent.name == PROJECT_FOLDER else store.parent


def note_made_here(store: Store, location: StoreLocation) -> None:
    """Remember that this user made a project's store here. It continues the one that was trusted here before, so that
    the seals of its knowledge files hold.
    """
    before = recorded_id(location.path)
    if before:
        store.adopt_id(before)
    else:
        note_place(location.path, MADE, store.store_id)


def is_trusted_whole(store: Store, path: Path) -> bool:
    """Whether the user said that all of a project counts as theirs, its knowledge files as well."""
    return how_trusted(path, store.store_id) == TRUSTED
