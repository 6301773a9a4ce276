"""Several processes remember while an ``add`` is killed again and again: what was acknowledged is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Filters, Ricordo

SAVERS = 6
KILLS = 15

# One process imports everything and forks the others, so that the machine is busy with the store and not with imports.
_CROWD = """
import os, random, signal, sys, time, traceback
from pathlib import Path
from ricordo import ConfigProvider, Ricordo

folder, kills, savers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
config = ConfigProvider({"embedding.provider": "none"})
stop = folder / "stop"
with Ricordo.open(folder / "store.db", config=config) as engine:  # loads what all of them need
    engine.add(folder / "files")

def save(number):
    chance = random.Random(number)
    with Ricordo.open(folder / "store.db", config=config) as engine, open(folder / f"acks-{number}", "w") as acks:
        turn = 0
        while not turn or not stop.exists():
            turn += 1
            text = " ".join(f"{chance.getrandbits(28):x}" for _ in range(12))
            title = "A title that all share" if turn % 4 == 0 else None
            saved = engine.remember(text, title=title, on_duplicate="save")
            acks.write(f"{saved.status} {saved.ref} {text}\\n")
            acks.flush()
            time.sleep(chance.uniform(0.0, 0.1))  # leaves the others room to write

def add(pipe_end):
    # It adds for ever. Each statement of its writer sends a byte to the parent, and the end of an add sends "!".
    def statement(cursor, sql, values):
        os.write(pipe_end, b".")
        return True
    with Ricordo.open(folder / "store.db", config=config) as engine:
        engine.store.database._writing_connection().exec_trace = statement
        while True:
            for path in (folder / "files").glob("*.md"):
                path.write_text(f"# File\\n\\n{random.random()} in a file that changes\\n" * 20)
            engine.add(folder / "files", on_conflict="overwrite")
            os.write(pipe_end, b"!")

def start(work, *args):
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        work(*args)
    except BaseException:
        (folder / f"error-{os.getpid()}").write_text(traceback.format_exc())
        code = 1
    os._exit(code)

crowd = [start(save, number) for number in range(savers)]
chance = random.Random(7)
for turn in range(kills):
    hears, pipe_end = os.pipe()
    pid = start(add, pipe_end)
    os.close(pipe_end)
    wanted, heard = chance.randrange(200), b""
    while len(heard) < wanted or (turn == 0 and b"!" not in heard):
        more = os.read(hears, 1)
        if not more:
            break  # it failed, and wrote down why
        heard += more
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(hears)
stop.touch()
for pid in crowd:
    os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its processes")
def test_processes_remember_while_an_add_is_killed_again_and_again(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(12):
        (files / f"{number}.md").write_text(f"# File {number}\n\nto begin with\n")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-c", _CROWD, str(tmp_path), str(KILLS), str(SAVERS)],
        env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    errors = [path.read_text() for path in tmp_path.glob("error-*")]
    assert errors == []
    lines = [line for path in tmp_path.glob("acks-*") for line in path.read_text().splitlines()]
    acknowledged = [line.split(" ", 2) for line in lines]
    assert len({path.name for path in tmp_path.glob("acks-*")}) == SAVERS
    assert len(acknowledged) >= SAVERS
    assert {status for status, _, _ in acknowledged} == {"created"}
    assert len({ref for _, ref, _ in acknowledged}) == len(acknowledged), "no two got the same ref"
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
        for _, ref, text in acknowledged:
            assert engine.get(ref, track=False).content == text
        for _, ref, text in acknowledged[::25]:
            assert engine.search(text.split()[0], track=False).hits[0].ref == ref
        documents = Filters(kinds=("document",))
        files_changed = [len(engine.history(str(item.ref))) for item in engine.list(filters=documents)]
        assert max(files_changed, default=0) > 1, "some of the killed processes had added something"
        report = engine.doctor()
        assert report.ok, report


_ONE_SAVE = """
import os, sys
from contextlib import contextmanager
from ricordo import ConfigProvider, Ricordo
from ricordo.store.sqlite.connection import Database

place, last, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
write, commits = Database.write, 0

@contextmanager
def write_and_die(self, *args, **options):
    global commits
    with write(self, *args, **options) as connection:
        yield connection
    commits += not self.is_writing()
    if commits == last:
        os.kill(os.getpid(), 9)

with Ricordo.open(place, config=ConfigProvider({"embedding.provider": "none"})) as engine:
    Database.write = write_and_die
    links = [("supports", "memory:/plan")]
    if kind == "entity":
        engine.remember("Builds engines.", kind="entity", title="Charles Babbage", links=links)
    else:
        engine.remember("We never deploy on Fridays.", ref="memory:/never", on_duplicate=kind, links=links)
os._exit(0)
"""
_LINKED = {
    "save": {("supports", "memory:/plan"), ("beside", "memory:/fridays")},
    "merge": {("supports", "memory:/plan"), ("contradicts", "memory:/fridays")},
    "supersede": {("supports", "memory:/plan"), ("supersedes", "memory:/fridays")},
    "entity": {("supports", "memory:/plan"), ("mentions", "note:/tea")},
}


@pytest.mark.skipif(os.name != "posix", reason="needs a kill")
@pytest.mark.parametrize("kind", _LINKED)
def test_a_memory_that_is_there_after_a_kill_has_its_links_and_mentions(tmp_path: Path, kind: str) -> None:
    ref = "entity:/charles-babbage" if kind == "entity" else "memory:/never"
    config = ConfigProvider({"embedding.provider": "none"})
    code, is_there = -signal.SIGKILL, False
    for commits in range(1, 20):
        place = tmp_path / f"{commits}.db"
        with Ricordo.open(place, config=config) as engine:
            engine.remember("We deploy on Fridays.", ref="memory:/fridays")
            engine.remember("The plan is in the drawer.", ref="memory:/plan")
            engine.remember("Tea with Charles Babbage.", ref="note:/tea")
        arguments = [sys.executable, "-c", _ONE_SAVE, str(place), str(commits), kind]
        code = subprocess.run(arguments, timeout=300, check=False).returncode
        assert code in (0, -signal.SIGKILL)
        with Ricordo.open(place, config=config) as engine:
            is_there = ref in [str(item.ref) for item in engine.list()]
            if is_there:
                assert {(one.type, one.ref) for one in engine.links(ref, depth=1).links} == _LINKED[kind]
        if code == 0:
            break
    assert (code, is_there) == (0, True)
