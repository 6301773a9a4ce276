"""A disk that is full: whatever is asked then fails in plain words, nothing is lost, and it works once there is room.

The disk is a small file system in memory, which only the system's administrator may mount.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder

from ricordo import ConfigProvider, Error, ReadOnlyStore, Ricordo
from ricordo.store.index import segments

MEGABYTES = 12
SETTINGS = ConfigProvider()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only the administrator of a Linux system may mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(place)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=False)


def fill(disk: Path, room: int) -> Path:
    """A file that leaves so many bytes free."""
    ballast = disk / "ballast"
    free = os.statvfs(disk)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - room))
    return ballast


def add(engine: Ricordo, disk: Path) -> object:
    folder = disk.parent / "texts"
    folder.mkdir(exist_ok=True)
    for number in range(60):
        (folder / f"t{number}.md").write_text(f"# Text {number}\n\n" + f"words of text {number} " * 700, "utf-8")
    report = engine.add(folder, wait=False)
    errors = [item.error for item in report.items if item.error]
    if errors:
        raise Error(errors[0]["message"])
    return report


def embed(engine: Ricordo, disk: Path) -> object:
    report = engine.embed()
    if report.failed:
        raise Error("some could not be embedded")
    return report


def merge(engine: Ricordo, disk: Path) -> object:
    segments.maintain(engine.store.database)  # type: ignore[attr-defined]
    return engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days)


VERBS: dict[str, Callable[[Ricordo, Path], object]] = {
    "save": lambda engine, disk: engine.save(
        "note:/long", "a long text " * 60_000, wait=False, on_conflict="overwrite"
    ),
    "add": add,
    "embed": embed,
    "merge": merge,
    "backup": lambda engine, disk: engine.backup(disk / "backup.db", force=True),
    "vacuum": lambda engine, disk: engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True),
    "export": lambda engine, disk: engine.export(disk / "export.jsonl", force=True),
    "rm": lambda engine, disk: engine.rm("note:/n1"),
}


@pytest.mark.parametrize("room", [0, 600_000], ids=["no room", "600 KB"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_loses_nothing_and_is_told(verb: str, room: int, disk: Path) -> None:
    store = disk / "store.db"
    with Ricordo.open(store, config=SETTINGS, embedder=FakeEmbedder(512)) as engine:
        for number in range(40):
            engine.save(f"note:/n{number}", f"text {number} of the zebra " * 40, wait=False)
        ballast = fill(disk, room)
        failure: Error | None = None
        try:
            VERBS[verb](engine, disk)
        except Error as error:
            failure = error
        assert room or verb in ("merge", "rm", "vacuum", "embed") or failure is not None, "there was no room for that"
        if failure is not None:
            assert "Traceback" not in failure.message
        assert not (disk / "export.jsonl").exists() or failure is None, "half an export was left"
        assert not (disk / "backup.db").exists() or failure is None, "half a backup was left"
        assert engine.get("note:/n2", track=False).content.startswith("text 2 of")
        assert engine.search("zebra", track=False).hits
    ballast.unlink()
    with Ricordo.open(store, config=SETTINGS, embedder=FakeEmbedder(512)) as engine:
        assert [check for check in engine.doctor().checks if not check.ok and check.name != "disk"] == []
        for number in range(40):
            if (verb, number) != ("rm", 1):
                assert engine.get(f"note:/n{number}", track=False).content.startswith(f"text {number} of")
        if verb != "rm" or failure is not None:
            VERBS[verb](engine, disk)


def test_a_store_on_a_read_only_medium_can_be_read_and_nothing_else(disk: Path) -> None:
    store = disk / "store.db"
    with Ricordo.open(store, config=SETTINGS, embedder=FakeEmbedder(32)) as engine:
        engine.save("note:/a", "a zebra in the grass")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    before = store.read_bytes()
    with Ricordo.open(store, config=SETTINGS, embedder=FakeEmbedder(32)) as engine:
        assert [hit.ref for hit in engine.search("zebra").hits] == ["note:/a"]
        assert engine.get("note:/a").content == "a zebra in the grass"
        assert engine.status()["read_only"]
        with pytest.raises(ReadOnlyStore):
            engine.save("note:/b", "another text")
    assert store.read_bytes() == before
    assert [path.name for path in disk.iterdir()] == ["store.db"]
