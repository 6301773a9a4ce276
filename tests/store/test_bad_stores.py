"""A store that cannot be used says so, and is left as it was."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ricordo import CorruptStore, NewerSchema, ReadOnlyStore, Ricordo, StoreError, Unavailable
from ricordo.engine.health import network_kind


def test_new_files_can_be_read_by_their_owner_only(engine: Ricordo) -> None:
    engine.save("note:/a", "text")
    for name in Path(engine.location).parent.glob("store.db*"):
        assert stat.S_IMODE(name.stat().st_mode) == 0o600, name


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_bytes(b"Dear reader, this is not a database." * 200)
    before = path.read_bytes()
    with pytest.raises(CorruptStore) as caught:
        Ricordo.open(path)
    assert caught.value.hint
    assert path.read_bytes() == before


def test_someone_elses_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine(x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(CorruptStore, match="not a Ricordo store"):
        Ricordo.open(path)
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Ricordo.open(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 999")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(NewerSchema, match="999"):
        Ricordo.open(path)
    assert path.read_bytes() == before


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    (tmp_path / "place" / "ricordo.db").mkdir(parents=True)
    with pytest.raises(StoreError, match="folder"):
        Ricordo.open(tmp_path / "place")


def test_a_damaged_page_is_reported_and_doctor_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "hurt.db"
    with Ricordo.open(path) as engine:
        for number in range(40):
            engine.save(f"note:/n{number}", f"text number {number} " * 20, wait=False)
        engine.store.database.checkpoint()  # type: ignore[attr-defined]
    data = bytearray(path.read_bytes())
    middle = len(data) // 8192 * 4096
    data[middle : middle + 4096] = os.urandom(4096)
    path.write_bytes(data)
    try:
        with Ricordo.open(path) as engine:
            report = engine.doctor()
            assert not report.ok
    except CorruptStore:
        pass  # the damage hit what opening needs: refused just as well


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to anything")
def test_a_read_only_store_can_be_searched_but_not_written(tmp_path: Path) -> None:
    _check_read_only(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to become someone else")
def test_a_store_of_someone_else_can_be_searched_but_not_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    path = tmp_path / "theirs.db"
    with Ricordo.open(path) as engine:
        engine.save("note:/a", "readable words", wait=False)
    path.chmod(0o644)
    script = (
        "import os, sys; os.setgid(65534); os.setuid(65534)\n"
        "from ricordo import Ricordo, ReadOnlyStore, ConfigProvider\n"
        "engine = Ricordo.open(sys.argv[1], config=ConfigProvider({'embedding.provider': 'none'}))\n"
        "print(engine.search('readable', track=False).hits[0].ref)\n"
        "try:\n    engine.save('note:/b', 'x')\nexcept ReadOnlyStore as e:\n    print('refused', bool(e.hint))\n"
    )
    env = {**os.environ, "HOME": "/tmp", "RICORDO_CONFIG_HOME": "/tmp/none", "RICORDO_DATA_HOME": "/tmp/none"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, env=env, check=False
    )
    if "No module named" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("the interpreter itself cannot be read by others here")
    assert done.stdout.split() == ["note:/a", "refused", "True"], done.stderr


def _check_read_only(tmp_path: Path) -> None:
    path = tmp_path / "fixed.db"
    with Ricordo.open(path) as engine:
        engine.save("note:/a", "readable words", wait=False)
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        with Ricordo.open(path) as engine:
            assert engine.search("readable").hits[0].ref == "note:/a"
            with pytest.raises(ReadOnlyStore):
                engine.save("note:/b", "x")
    finally:
        tmp_path.chmod(0o700)


def test_a_writer_that_waits_too_long_is_told_who_holds_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.registry.BUSY_SECONDS", 0.2)
    path = tmp_path / "busy.db"
    from ricordo import ConfigProvider

    config = ConfigProvider({"embedding.provider": "none"})
    with Ricordo.open(path, config=config) as engine:
        engine.save("note:/a", "text")
        holder = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.execute('BEGIN IMMEDIATE').fetchall();"
                " print('held', flush=True); sys.stdin.read()",
                str(path),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        try:
            with pytest.raises(Unavailable, match="busy") as caught:
                engine.save("note:/b", "text")
            if Path("/proc/locks").exists():
                assert str(holder.pid) in caught.value.message
            assert engine.search("text").hits
        finally:
            holder.stdin.close()
            holder.wait()
            holder.stdout.close()
        assert engine.save("note:/b", "text").status == "created"


MOUNTS = """22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:35 / /home rw - nfs4 server:/home rw
41 40 0:36 / /home/me/disk rw - ext4 /dev/vdb rw
42 22 0:37 / /mnt/two\\040words rw - cifs //server/share rw
"""


@pytest.mark.skipif(sys.platform == "win32", reason="paths are other there")
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/var/a.db", ""),
        ("/home/me/a.db", "nfs4"),
        ("/home/me/disk/a.db", ""),
        ("/homes/a.db", ""),
        ("/mnt/two words/a.db", "cifs"),
    ],
)
def test_a_network_file_system_is_told_from_a_local_one(tmp_path: Path, place: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert network_kind(Path(place), mounts) == kind


def test_doctor_warns_of_a_network_file_system(engine: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.doctor().ok
    monkeypatch.setattr("ricordo.engine.health.network_kind", lambda path: "nfs4")
    (check,) = [one for one in engine.doctor().checks if not one.ok]
    assert "reached over a network" in check.detail
