"""Three machines in one process: each has a home, a store and its copy of the folder through which they sync."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.config.machine import MACHINE_NAME
from ricordo.exchange.records import ItemRecord
from ricordo.plugins.sync.values import SyncRun
from ricordo.plugins.transfer.export import records
from ricordo.plugins.transfer.export_file import Row


class Place:
    """One machine. ``at`` is its engine while this process is that machine."""

    def __init__(self, home: Path, name: str, number: int) -> None:
        self.home = home / name
        self.id = f"{number:08x}"
        self.name = name
        self.folder = self.home / "shared"
        self.folder.mkdir(parents=True)
        (self.home / "data").mkdir()
        (self.home / "data" / MACHINE_NAME).write_text(f'{{"id": "{self.id}", "name": "{name}"}}')
        self.store = self.home / "store.db"
        self.knowledge = self.home / "files"
        """Knowledge files are kept here if a test makes the folder."""
        self._engine: Ricordo | None = None

    @contextmanager
    def at(self) -> Iterator[Ricordo]:
        before = os.environ.get("RICORDO_DATA_HOME", "")
        os.environ["RICORDO_DATA_HOME"] = str(self.home / "data")
        try:
            if self._engine is None:
                settings: dict[str, object] = {
                    "embedding.provider": "none",
                    "knowledge.enabled": self.knowledge.exists(),
                }
                if self.knowledge.exists():
                    settings["knowledge.folder"] = str(self.knowledge)
                self._engine = Ricordo.open(self.store, config=ConfigProvider(settings))
            yield self._engine
        finally:
            os.environ["RICORDO_DATA_HOME"] = before

    def join(self, *, trust_all: bool = True) -> None:
        with self.at() as engine:
            engine.sync_folder_add(self.folder, trust_all=trust_all)

    def sync(self) -> SyncRun:
        with self.at() as engine:
            return engine.sync_folder_now()

    def close(self) -> None:
        if self._engine is not None:
            with self.at() as engine:
                engine.close()
            self._engine = None

    def restore(self, backup: Path) -> None:
        self.close()
        for name in (self.store, Path(f"{self.store}-wal"), Path(f"{self.store}-shm")):
            name.unlink(missing_ok=True)
        shutil.copy(backup, self.store)

    def files(self) -> list[Path]:
        """The files that this machine wrote, below the folder."""
        return sorted(path.relative_to(self.folder) for path in (self.folder / "machines" / self.id).rglob("*.jsonl"))

    def shown(self) -> dict[str, object]:
        """All that the store shows, without what is a machine's own."""
        found: dict[str, object] = {}
        with self.at() as engine:
            for record in records(engine.store.opened, log=False):
                if isinstance(record, ItemRecord):
                    versions = [
                        (one.number, str(one.ref), record.content(one), dict(one.fields), dict(one.provenance))
                        for one in record.versions
                    ]
                    found[record.id] = (str(record.ref), record.state, record.version, record.vouched, versions)
                elif isinstance(record, Row) and record.type == "link":
                    found[f"{record['source']} {record['type']} {record['target']}"] = record["created_at"]
                elif isinstance(record, Row) and record.type == "feedback":
                    found[f"{record['at']} {record['query']} {record['item']}"] = record["verdict"]
        return found

    def texts(self) -> set[str]:
        """Every text of every version."""
        items = [value for value in self.shown().values() if isinstance(value, tuple)]
        return {text for *_, versions in items for _, _, text, _, _ in versions}


def carry(source: Place, target: Place) -> None:
    """Bring the files of one machine to another, and remove there what it removed."""
    own = Path("machines") / source.id
    shutil.rmtree(target.folder / own, ignore_errors=True)
    if (source.folder / own).exists():
        shutil.copytree(source.folder / own, target.folder / own)


def settle(*places: Place) -> None:
    """Sync and carry everything until nothing is new."""
    for _ in range(4):
        for place in places:
            place.sync()
        for source in places:
            for target in places:
                if source is not target:
                    carry(source, target)
    for place in places:
        place.sync()


MakePlaces = Callable[..., list[Place]]


@pytest.fixture
def make_places(tmp_path: Path) -> Iterator[MakePlaces]:
    """Makes machines that sync with each other, and closes their stores at the end."""
    made: list[Place] = []

    def make(*names: str, trust_all: bool = True, base: Path = tmp_path) -> list[Place]:
        places = [Place(base, name, number) for number, name in enumerate(names, len(made) + 1)]
        made.extend(places)
        for place in places:
            place.join(trust_all=trust_all)
        return places

    yield make
    for place in made:
        place.close()
