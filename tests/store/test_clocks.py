"""A clock that jumps by years, forwards and back: nothing is lost, stuck for years, or out of order.

With libfaketime, which Debian has, the whole process sees another time; without it, Python's own functions do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
YEAR = 365 * 86_400

WORK = """
import json, os, sys, time
shift = int(sys.argv[3])
if shift and "LD_PRELOAD" not in os.environ:
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + shift
    time.time_ns = lambda: real_ns() + shift * 10**9
from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Unavailable
from ricordo.store import backlog as jobs
from ricordo.store.index import segments
from tests.fakes import FakeEmbedder

store, what = sys.argv[1], sys.argv[2]
embedder = FakeEmbedder()
engine = Ricordo.open(store, config=ConfigProvider({}), embedder=embedder)
said = {"year": time.gmtime(time.time()).tm_year}
if what == "save":
    saved = engine.save("note:/a", f"the text of {said['year']}", on_conflict="overwrite", wait=False)
    lions = f"a memory of {said['year']} about lions"
    engine.save(f"memory:/m{shift}", lions, on_conflict="overwrite", wait=False)
    said["version"] = saved.version
elif what == "die with leases":
    database = engine.store.database
    for number in range(3):
        engine.save(f"note:/waits{number}", f"a text that waits {number}", wait=False)
    (name,) = database.connection().rows("SELECT name FROM fingerprints")[0]
    taken = engine.store.jobs.claim(name, embedder.dimensions, "another-machine:1", 10) or []
    said["taken"] = len(taken)
    with database.write() as connection:
        segments._lease(connection, [row[0] for row in connection.rows("SELECT id FROM segments WHERE state=1")][:2])
    print(json.dumps(said), flush=True)
    os._exit(0)
elif what == "fail":
    embedder.broken = "out of order"
    engine.save("note:/failed", "a text whose model fails", wait=True)
elif what == "look":
    engine.embed()
    report = engine.doctor()
    said |= {
        "content": engine.get("note:/a", track=False).content,
        "versions": [one.number for one in engine.history("note:/a")],
        "hits": sorted(hit.ref for hit in engine.search("lions", track=True).hits),
        "scores": [hit.score for hit in engine.search("text", track=True).hits],
        "waiting": engine.embed(status=True).to_dict(),
        "problems": [check.detail for check in report.checks if not check.ok],
        "merging": [segments._due(engine.store.database.connection(), True) is not None],
        "context": bool(engine.context("lions", budget=300, recent=True).text),
        "timeline": bool(engine.timeline(limit=50, newest_first=True).to_dict()),
    }
engine.close()
print(json.dumps(said))
"""


@pytest.fixture(params=["faketime", "injected"])
def clock(request: pytest.FixtureRequest) -> str:
    if request.param == "faketime" and not LIBRARIES:
        pytest.skip("libfaketime is not installed")
    return str(request.param)


def at(clock: str, store: Path, shift: int, what: str) -> Any:
    """Run a process whose clock is so many seconds off."""
    env = dict(os.environ)
    if clock == "faketime":
        env |= {"LD_PRELOAD": str(LIBRARIES[-1]), "FAKETIME": f"{shift:+d}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(store), what, str(shift)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_clock_that_jumps_by_years_loses_and_confuses_nothing(clock: str, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    jumps = [0, 10 * YEAR, -10 * YEAR, 0]
    years = [at(clock, store, shift, "save")["year"] for shift in jumps]
    assert years[1] - years[0] in (9, 10), "the clock did not jump"
    for shift in (0, -10 * YEAR, 10 * YEAR):
        seen = at(clock, store, shift, "look")
        assert seen["content"] == f"the text of {years[-1]}"
        assert seen["versions"] == sorted(seen["versions"], reverse=True)
        assert {"memory:/m-315360000", "memory:/m0", "memory:/m315360000"} <= set(seen["hits"])
        assert all(0 <= score <= 1 for score in seen["scores"])
        assert seen["problems"] == []


def test_what_a_process_with_a_clock_ahead_leased_is_not_stuck_for_years(clock: str, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    at(clock, store, 0, "save")
    assert at(clock, store, 10 * YEAR, "die with leases")["taken"] >= 3
    at(clock, store, 10 * YEAR, "fail")
    seen = at(clock, store, 0, "look")
    assert not any(seen["waiting"][state] for state in ("pending", "running"))
    assert seen["merging"] == [True]
