"""A log whose end is damaged is kept aside and told of once: SQLite would drop its commits without a word."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.faces.conftest import House, house

from ricordo import ConfigProvider, Ricordo

__all__ = ["house"]

pytestmark = pytest.mark.skipif(
    not hasattr(apsw, "SQLITE_CHECKPOINT_NOOP"), reason="SQLite tells what it reads of a log since version 3.51"
)
NO_VECTORS = ConfigProvider({"embedding.provider": "none"})
HEADER, FRAME = 32, 24 + 4096


@pytest.fixture
def crashed(tmp_path: Path) -> Callable[[Callable[[bytearray], object]], Path]:
    """The files of a store as a crash left them: ten notes are in the log alone, which a function may damage."""

    def copy(damage: Callable[[bytearray], object]) -> Path:
        store = tmp_path / "work" / "crashed.db"
        with Ricordo.open(tmp_path / "running.db", config=NO_VECTORS) as engine:
            for number in range(10):
                engine.save(f"note:/{number}", f"Note {number}.")
            shutil.copy(engine.location, store)
            log = bytearray(Path(f"{engine.location}-wal").read_bytes())
        damage(log)
        Path(f"{store}-wal").write_bytes(log)
        return store

    return copy


def flip(at: Callable[[int], int]) -> Callable[[bytearray], None]:
    """Damage one byte of a log, at a place that depends on how many pages it has."""

    def damage(log: bytearray) -> None:
        log[at((len(log) - HEADER) // FRAME)] ^= 0x10

    return damage


@pytest.mark.parametrize(
    "place", [lambda pages: 17, lambda pages: HEADER + 700, lambda pages: HEADER + pages // 2 * FRAME + 99]
)
def test_a_damaged_log_is_kept_and_told_of_once(
    house: House, crashed: Callable[..., Path], place: Callable[[int], int]
) -> None:
    store = crashed(flip(place))
    log = Path(f"{store}-wal").read_bytes()
    kept = Path(f"{store}-wal.damaged")
    first = house.run("--store", str(store), "status")
    assert "the log is kept as crashed.db-wal.damaged" in first.stderr
    assert kept.read_bytes() == log
    assert kept.stat().st_mode & 0o077 == 0
    assert "damaged" not in house.run("--store", str(store), "status").stderr
    assert "crashed.db-wal.damaged" in house.run("--store", str(store), "doctor", code=1).stdout
    kept.unlink()
    house.run("--store", str(store), "doctor")


@pytest.mark.parametrize("cut", [0, 100, FRAME + 100])
def test_a_log_that_is_whole_or_ends_in_the_middle_of_a_write_says_nothing(
    house: House, crashed: Callable[..., Path], cut: int
) -> None:
    def end_early(log: bytearray) -> None:
        del log[len(log) - cut :]

    store = crashed(end_early)
    assert house.run("--store", str(store), "status").stderr == ""
    assert not Path(f"{store}-wal.damaged").exists()


def test_a_log_that_another_process_writes_says_nothing(house: House, tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "running.db", config=NO_VECTORS) as engine:
        for number in range(10):
            engine.save(f"note:/{number}", f"Note {number}.")
            assert house.run("--store", engine.location, "status").stderr == ""
