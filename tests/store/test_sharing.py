"""Many processes, one file: nothing is lost, nobody fails, and everyone sees what was committed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import apsw

from ricordo import ConfigProvider, Ricordo

_ADDER = """
import sys
from ricordo import ConfigProvider, Ricordo
with Ricordo.open(sys.argv[1], config=ConfigProvider({"embedding.provider": "none"})) as engine:
    for number in range(int(sys.argv[3])):
        engine.save(f"note:/{sys.argv[2]}/{number}", f"{sys.argv[2]} entry number {number} shared words")
"""
_SEARCHER = """
import sys
from ricordo import ConfigProvider, Ricordo
with Ricordo.open(sys.argv[1], config=ConfigProvider({"embedding.provider": "none"})) as engine:
    last = 0
    for number in range(int(sys.argv[2])):
        found = engine.search("shared words", limit=1, track=False).meta.candidates
        assert found >= last, (found, last)
        last = found
"""


def test_two_processes_add_while_one_searches(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    each = 350
    workers = [
        subprocess.Popen([sys.executable, "-c", _ADDER, str(path), name, str(each)], stderr=subprocess.PIPE)
        for name in ("left", "right")
    ]
    workers.append(subprocess.Popen([sys.executable, "-c", _SEARCHER, str(path), "300"], stderr=subprocess.PIPE))
    for worker in workers:
        _, errors = worker.communicate(timeout=300)
        assert worker.returncode == 0, errors.decode()
    with Ricordo.open(path, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        assert engine.count() == 2 * each
        assert engine.search("shared words", limit=5).meta.candidates == 2 * each
        report = engine.doctor()
        assert report.ok, report


def test_an_open_engine_sees_what_another_committed(tmp_path: Path) -> None:
    config = ConfigProvider({"embedding.provider": "none"})
    with (
        Ricordo.open(tmp_path / "s.db", config=config) as one,
        Ricordo.open(tmp_path / "s.db", config=config) as two,
    ):
        # Only the index knows that "runs" and "running" are one word; a scan for the letters would find nothing.
        assert two.search("runs").hits == ()
        one.save("note:/g", "a giraffe was running")
        assert [hit.ref for hit in two.search("runs").hits] == ["note:/g"]
        two.rm("note:/g")
        assert one.search("runs").hits == ()


def test_a_thread_that_ended_leaves_no_connection_open(tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as memory:
        memory.save("note:/keys", "Rotate the signing keys.")
        before = len(apsw.connections())
        for _ in range(10):
            thread = threading.Thread(target=memory.search, args=("keys",))
            thread.start()
            thread.join()
        assert len(apsw.connections()) == before
