"""Engines on a store of their own, by words alone: no model is loaded, no setting of the user's is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Ricordo

Opens = Callable[..., Ricordo]
DAY = 86_400_000_000_000


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens the same store as often as it is called; keyword arguments are settings (``usage__log=False``)."""
    opened: list[Ricordo] = []

    def open_it(**settings: Any) -> Ricordo:
        given = {name.replace("__", "."): value for name, value in settings.items()}
        env = {"RICORDO_CONFIG_HOME": str(tmp_path / "config"), "RICORDO_DATA_HOME": str(tmp_path / "data")}
        config = ConfigProvider({"embedding.provider": "none", **given}, env=env, start=tmp_path)
        opened.append(Ricordo.open(tmp_path / "store.db", config=config))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


@pytest.fixture
def memory(opens: Opens) -> Ricordo:
    """A store with three notes."""
    engine = opens()
    engine.save("note:/keys", "Rotate the signing keys every quarter.")
    engine.save("note:/locks", "The locks and their keys hang in the hall.")
    engine.save("note:/lunch", "The canteen serves soup on Tuesdays.")
    return engine


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets days pass: ``later(30)``."""
    present = time.time_ns
    passed = 0.0

    def let_pass(days: float) -> None:
        nonlocal passed
        passed += days
        monkeypatch.setattr(time, "time_ns", lambda: present() + int(passed * DAY))

    return let_pass
