"""A project whose memories, notes and articles are files, by words alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Ricordo


class House:
    """A project folder; engines on its store, and its knowledge files."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / ".ricordo"
        self.place.mkdir(parents=True)
        self.folder = self.place / "knowledge"
        self._opened: list[Ricordo] = []

    def open(self, **settings: Any) -> Ricordo:
        given = {"embedding.provider": "none"} | settings
        self._opened.append(Ricordo.open(self.place / "ricordo.db", config=ConfigProvider(given)))
        return self._opened[-1]

    def close(self) -> None:
        while self._opened:
            self._opened.pop().close()

    def forget_store(self) -> None:
        """Delete the store; the files stay."""
        self.close()
        for path in self.place.glob("ricordo.db*"):
            path.unlink()

    def files(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str | bytes) -> Path:
        """As an editor saves: beside it, then in its place."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.swp")
        beside.write_bytes(text.encode() if isinstance(text, str) else text)
        beside.replace(path)
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        assert old in text
        self.write(name, text.replace(old, new))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    one = House(tmp_path / "project")
    yield one
    one.close()
