"""A backup is a whole store of one moment, also while others write; a vacuum gives back what nothing needs."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Entry, PathConflict, Ricordo, StoreError, UsageError
from ricordo.values.reports import Progress

Opener = Callable[..., Ricordo]

_WRITER = """
import sys
from ricordo import ConfigProvider, Entry, Ricordo
with Ricordo.open(sys.argv[1], config=ConfigProvider({"embedding.provider": "none"})) as engine:
    number = 0
    print("ready", flush=True)
    while not sys.argv[2:] or number < int(sys.argv[2]):
        pair = [Entry(f"note:/{side}/{number}", f"pair {number} twin words", "note") for side in ("left", "right")]
        engine.save_many(pair, durable=True)
        number += 1
        print(number, flush=True)
"""


def check_pairs(engine: Ricordo) -> int:
    """Pairs are written together: a copy of one moment has both of each, or none."""
    refs = {str(item.ref) for item in engine.list(limit=1_000_000)}
    left = {ref.rpartition("/")[2] for ref in refs if ref.startswith("note:/left/")}
    right = {ref.rpartition("/")[2] for ref in refs if ref.startswith("note:/right/")}
    assert left == right
    return len(left)


@pytest.fixture
def writer(engine: Ricordo) -> Iterator[Callable[[], int]]:
    """Another process that writes pairs without a pause; answers how many it has written."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, engine.location], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    written = [0]

    def follow() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            written[0] = int(line)

    thread = threading.Thread(target=follow)
    thread.start()
    yield lambda: written[0]
    process.terminate()
    process.wait(300)
    thread.join(300)
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.stderr.close()
    assert "Error" not in errors, errors


def test_a_backup_made_while_another_process_writes_is_whole(
    engine: Ricordo, writer: Callable[[], int], tmp_path: Path
) -> None:
    engine.save_many([Entry(f"note:/old/{n}", f"entry {n} of long standing", "note") for n in range(500)], wait=False)
    steps: list[tuple[float, float]] = []
    before = writer()

    def slowly(progress: Progress) -> None:
        """Let the other process get on with it while the copy is half done."""
        steps.append((progress.done, progress.total or 0))
        target = writer() + 3
        for _ in range(2_000):
            if writer() >= target:
                return
            threading.Event().wait(0.005)
        raise AssertionError("the backup kept the writer waiting")

    from ricordo.store.sqlite import store

    pages, store.STEP_PAGES = store.STEP_PAGES, 20
    try:
        engine.backup(tmp_path / "copy.db", progress=slowly)
    finally:
        store.STEP_PAGES = pages
    assert len(steps) > 2
    assert writer() >= before + 3 * len(steps)
    config = ConfigProvider({"embedding.provider": "none"})
    with Ricordo.open(tmp_path / "copy.db", config=config, create=False) as copy:
        assert check_pairs(copy) >= before
        assert copy.count() == 500 + 2 * check_pairs(copy)
        assert copy.search("long standing", limit=1).meta.candidates == 500
        report = copy.doctor()
        assert report.ok, report
    assert check_pairs(engine) > 0


def test_a_backup_is_for_its_owner_only_and_leaves_nothing_else_behind(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "text")
    folder = tmp_path / "safe"
    folder.mkdir()
    report = engine.backup(folder / "copy.db")
    assert [path.name for path in folder.iterdir()] == ["copy.db"]
    assert report.bytes == (folder / "copy.db").stat().st_size
    if os.name == "posix":
        assert stat.S_IMODE((folder / "copy.db").stat().st_mode) == 0o600


def test_a_backup_replaces_a_file_only_when_told(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "first text")
    target = tmp_path / "copy.db"
    engine.backup(target)
    before = target.read_bytes()
    engine.save("note:/b", "second text")
    with pytest.raises(PathConflict) as caught:
        engine.backup(target)
    assert "force" in caught.value.hint
    assert target.read_bytes() == before
    engine.backup(target, force=True)
    with Ricordo.open(target) as copy:
        assert copy.count() == 2
        copy.save("note:/c", "in use", wait=False)
        with pytest.raises(PathConflict, match="in use"):
            engine.backup(target, force=True)


def test_a_backup_says_what_is_wrong_with_its_target(engine: Ricordo, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no folder") as caught:
        engine.backup(tmp_path / "no" / "copy.db")
    assert "mkdir" in caught.value.hint
    with pytest.raises(UsageError, match="folder"):
        engine.backup(tmp_path)
    with pytest.raises(UsageError, match="itself"):
        engine.backup(engine.location, force=True)


def test_a_backup_without_room_says_so_before_it_starts(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1))
    with pytest.raises(StoreError, match="needs"):
        engine.backup(tmp_path / "copy.db")
    with pytest.raises(StoreError, match="needs"):
        engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True)
    assert not (tmp_path / "copy.db").exists()


def test_a_half_made_backup_leaves_no_file(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "text")

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.backup(tmp_path / "copy.db", progress=stop)
    assert not list(tmp_path.glob("copy*"))
    assert engine.save("note:/b", "still writable").status == "created"


def fill(engine: Ricordo) -> None:
    engine.save_many([Entry(f"note:/{n}", f"walrus {n} " * 60, "note") for n in range(300)], wait=False)


def table(engine: Ricordo, sql: str) -> list[Any]:
    with engine.store.database.read() as connection:  # type: ignore[attr-defined]
        return [row[0] for row in connection.rows(sql)]


def test_a_vacuum_empties_the_bin_past_its_days_and_makes_the_file_smaller(open_engine: Opener) -> None:
    engine = open_engine(**{"store.bin_days": 30.0})
    fill(engine)
    engine.rm("note:/")
    engine.save("note:/kept", "the one that stays")
    first = engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days)
    assert first.emptied == 0
    assert engine.restore("note:/7").status == "updated"
    engine.rm("note:/7")
    later = open_engine(**{"store.bin_days": 0.0})
    report = later.store.transfer.vacuum(bin_days=later.config.store.bin_days)
    assert report.emptied == 300
    assert report.rewritten
    assert report.bytes_after < report.bytes_before / 2
    assert report.segments_after == 1
    assert b"walrus" not in Path(later.location).read_bytes()
    assert [hit.ref for hit in later.search("stays").hits] == ["note:/kept"]
    assert later.doctor().ok


def test_a_vacuum_drops_vectors_of_texts_that_no_version_holds(open_engine: Opener) -> None:
    engine = open_engine(vectors=True, **{"store.keep_versions": 2, "store.bin_days": 0.0})
    for number in range(4):
        engine.save("note:/a", f"version {number} of a story about the sea", on_conflict="overwrite")
    engine.save("note:/b", "a cat on a mat")
    engine.save("note:/c", "a letter to a friend")
    engine.rm("note:/c", purge=True)
    assert len(table(engine, "SELECT id FROM vectors")) == 6
    report = engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days)
    assert report.vectors == 3
    assert len(table(engine, "SELECT id FROM vectors")) == 3
    assert [hit.ref for hit in engine.search("feline", limit=1, by="meaning").hits] == ["note:/b"]
    assert engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days).vectors == 0
    assert engine.doctor().ok


def test_a_vacuum_drops_bytes_nobody_holds_and_keeps_the_rest(engine: Ricordo) -> None:
    engine.add(text=bytes(range(256)), as_ref="agent:/a.bin")
    with engine.store.database.write() as connection:  # type: ignore[attr-defined]
        connection.rows("INSERT INTO blobs VALUES('nobody', x'00')")
    assert engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days).blobs == 1
    assert len(table(engine, "SELECT hash FROM blobs")) == 1


def test_a_vacuum_with_nothing_to_gain_leaves_the_file_alone_unless_told(engine: Ricordo) -> None:
    fill(engine)
    engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True)
    assert not engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days).rewritten
    assert engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True).rewritten
    assert len(engine.search("walrus 7", limit=300).hits) == 300


def test_an_engine_that_was_open_before_a_vacuum_goes_on(open_engine: Opener) -> None:
    one, two = open_engine(), open_engine()
    fill(one)
    assert two.search("walrus").hits
    one.rm("note:/")
    one.store.transfer.vacuum(bin_days=one.config.store.bin_days, full=True)
    assert not two.search("walrus").hits
    two.save("note:/new", "a new walrus")
    assert [hit.ref for hit in one.search("walrus").hits] == ["note:/new"]
    assert two.doctor().ok


def test_purged_words_are_gone_from_all_files_at_once(engine: Ricordo) -> None:
    engine.save("note:/secret", "xylophonist")
    engine.rm("note:/secret", purge=True)
    for path in Path(engine.location).parent.glob("store.db*"):
        assert b"xylophon" not in path.read_bytes(), path
