"""Knowledge folders under load: hundreds of files without their store, editors and commands at once, sudden ends."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ricordo.memory.files.format import read

from .conftest import House

WORDS = ("key", "lock", "rotate", "server", "backup", "night", "office", "lunch", "plan", "ada", "index", "query")
_OPEN = """
import sys, os
from pathlib import Path
from ricordo import ConfigProvider, Ricordo
place = Path(sys.argv[1])
given = {"embedding.provider": "none", "store.keep_versions": 1000}
engine = Ricordo.open(place / "ricordo.db", config=ConfigProvider(given))
"""


def sentence(chance: random.Random, number: int) -> str:
    return f"{' '.join(chance.choices(WORDS, k=12))} number{number}"


def start(house: House, script: str, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _OPEN + script, str(house.place), *args], stdout=subprocess.PIPE)


def test_hundreds_of_files_give_the_same_refs_ids_and_ranking_without_the_store(house: House) -> None:
    chance = random.Random(7)
    for number in range(200):
        kind = ("memories", "notes", "articles")[number % 3]
        front = f"---\ntitle: {chance.choice(WORDS)} {number}\ntags: [{chance.choice(WORDS)}]\n---\n" * (number % 2)
        path = house.write(f"{kind}/by-hand-{number}.md", f"{front}# {number}\n\n{sentence(chance, number)}\n")
        os.utime(path, (1.7e9 + number * 86400, 1.7e9 + number * 86400))
    engine = house.open()
    engine.sync()
    from ricordo import Entry

    engine.save_many(
        Entry(f"memory:/made-{number}", sentence(chance, number), "memory", {"importance": number % 5 + 1})
        for number in range(200)
    )
    assert engine.count() == 400
    queries = [" ".join(chance.choices(WORDS, k=3)) for _ in range(40)]
    refs = {str(item.ref): item.id for item in engine.list(limit=2000)}
    found = [[(hit.ref, round(hit.score, 9)) for hit in engine.search(query).hits] for query in queries]
    house.forget_store()
    engine = house.open()
    report = engine.sync()
    assert (report.count("created"), report.failed) == (400, 0)
    assert {str(item.ref): item.id for item in engine.list(limit=2000)} == refs
    again = [[(hit.ref, round(hit.score, 9)) for hit in engine.search(query).hits] for query in queries]
    assert [[ref for ref, _ in hits] for hits in again] == [[ref for ref, _ in hits] for hits in found]
    assert engine.sync().unchanged == 400


def test_vectors_give_the_same_ranking_without_the_store(house: House) -> None:
    local = {"embedding.provider": "local"}
    engine = house.open(**local)
    for text in ("The cat sleeps on the sofa.", "Rotate the signing keys.", "Soup is served at noon.", "Ada deploys."):
        engine.remember(text)
    queries = ("pets resting", "security credentials", "when is lunch", "release")
    found = [[(hit.ref, hit.id) for hit in engine.search(query).hits] for query in queries]
    house.forget_store()
    engine = house.open(**local)
    engine.sync()
    assert [[(hit.ref, hit.id) for hit in engine.search(query).hits] for query in queries] == found


_EDITOR = """
import time

texts = {}

def versions():
    for number in range(len(texts) + 1, engine.get("memory:/shared").version + 1):
        texts[number] = engine.get("memory:/shared", version=number).content
    return texts.values()

path = place / "knowledge" / "memories" / "shared.md"
lock = place / "lock"
for turn in range(int(sys.argv[3])):
    while True:  # people see one another's saves; the command is not asked
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            time.sleep(0.002)
    mine = f"{sys.argv[2]}-{turn:03}"
    front, _, body = path.read_text().rpartition("---\\n")
    beside = path.with_name(f".{sys.argv[2]}.swp")
    beside.write_text(f"{front}---\\n\\n{mine}\\n")
    os.replace(beside, path)
    deadline = time.monotonic() + 200
    while mine not in versions():
        engine._context.knowledge.catch_up(at_once=True)
        if time.monotonic() > deadline:
            raise SystemExit(f"{mine} was lost")
    print(mine, flush=True)
    lock.unlink()
"""
_COMMAND = """
for turn in range(int(sys.argv[2])):
    engine.edit("memory:/shared", f"command-{turn:03}")
    print(f"command-{turn:03}", flush=True)
    engine.edit("memory:/shared", fields={"importance": turn % 5 + 1})
"""


def test_two_editors_and_a_command_change_one_file_at_once_and_every_version_is_kept(house: House) -> None:
    house.open().remember("first", ref="shared")
    at_once = [start(house, _EDITOR, name, "10") for name in ("ada", "bob")] + [start(house, _COMMAND, "20")]
    said = [line for one in at_once for line in one.communicate(timeout=400)[0].decode().split()]
    assert [one.returncode for one in at_once] == [0, 0, 0]
    later = house.open(**{"store.keep_versions": 1000})
    later.sync()
    history = {later.get("memory:/shared", version=one.number).content for one in later.history("memory:/shared")}
    assert len(said) == 40
    assert set(said) - history == set()
    says = read((house.folder / "memories/shared.md").read_bytes(), "memories/shared.md")
    assert later.get("memory:/shared").content == says.text
    assert later.doctor().ok
    assert house.files() == ["memories/shared.md"]


_WRITER = """
import random
chance = random.Random(sys.argv[2])
for turn in range(10_000):
    name = f"{sys.argv[2]}-{turn}"
    engine.remember(f"{name} {chance.random()} {chance.random()}", ref=name, on_duplicate="save")
    print("made", name, flush=True)
    if turn % 3 == 0:
        engine.edit(f"memory:/{name}", fields={"title": f"T {name}"})
        print("titled", name, flush=True)
    if turn % 4 == 1:
        engine.rm(f"memory:/{name}")
        print("removed", name, flush=True)
"""


def test_a_command_killed_at_any_moment_loses_nothing_that_it_acknowledged(house: House) -> None:
    chance = random.Random(3)
    house.open().list()
    made: set[str] = set()
    titled: set[str] = set()
    removed: set[str] = set()
    for turn in range(8):
        writer = start(house, _WRITER, f"w{turn}")
        assert writer.stdout is not None
        lines = [writer.stdout.readline().decode() for _ in range(3 + chance.randrange(8))]
        writer.kill()
        lines += writer.communicate()[0].decode().splitlines()
        for line in lines:
            word, _, name = line.strip().partition(" ")
            {"made": made, "titled": titled, "removed": removed}[word].add(name)
    engine = house.open()
    assert engine.sync().failed == 0
    refs = {item.ref.path[1:]: item for item in engine.list(limit=100_000)}
    assert made - removed - refs.keys() <= _being_removed(made, removed)
    assert removed & refs.keys() == set()
    assert {name for name in titled & refs.keys() if refs[name].fields.title != f"T {name}"} == set()
    assert {f"memories/{name}.md" for name in refs} == {name for name in house.files() if name.endswith(".md")}
    assert engine.doctor().ok
    assert len(made) > 8


def _being_removed(made: set[str], removed: set[str]) -> set[str]:
    """What a killed process may have removed without a chance to say so: the last of each."""
    return {name for name in made - removed if int(name.partition("-")[2]) % 4 == 1}


_CUT_SHORT = """
from ricordo.memory.files.folder import FileChanges
FileChanges.flush_names = lambda self: os._exit(9)  # the file is in its place, the transaction is not over
action, *words = sys.argv[2:]
getattr(engine, action)(*words)
"""


@pytest.mark.parametrize(
    ("action", "words", "status"),
    [
        ("remember", ["Something new."], "created"),
        ("edit", ["memory:/x", "Changed."], "updated"),
        ("forget", ["memory:/x"], "updated"),
        ("mv", ["memory:/x", "memory:/y"], "moved"),
        ("correct", ["memory:/x", "Corrected."], "created"),
    ],
)
def test_what_was_cut_short_between_file_and_store_is_healed_by_the_next_look(
    house: House, action: str, words: list[str], status: str
) -> None:
    engine = house.open()
    engine.remember("As it was.", ref="x")
    cut = start(house, _CUT_SHORT, action, *words)
    cut.communicate()
    assert cut.returncode == 9
    report = engine.sync()
    assert status in {item.status for item in report.items}
    assert report.failed == 0
    assert engine.doctor().ok
    assert engine.sync().items == ()


def test_a_removal_that_was_cut_short_did_not_happen(house: House) -> None:
    engine = house.open()
    engine.remember("As it was.", ref="x")
    cut = start(house, _CUT_SHORT, "rm", "memory:/x")
    cut.communicate()
    assert cut.returncode == 9
    assert engine.sync().failed == 0
    assert engine.get("memory:/x").content == "As it was."
    assert house.files() == ["memories/x.md"]
    assert engine.doctor().ok


_NEAR = """
import time
print("ready", flush=True)
while not (place / "go").exists():
    time.sleep(0.001)
text = f"The nightly backup of the archive server in the cellar is made at two o'clock by {sys.argv[2]}"
print(engine.remember(f"{sys.argv[2]} {text}").status)
"""


@pytest.mark.parametrize("turn", range(2))
def test_of_texts_that_are_nearly_the_same_only_one_is_saved_in_the_same_moment(house: House, turn: int) -> None:
    house.open().remember("Something else altogether.")
    at_once = [start(house, _NEAR, name) for name in ("adam", "adas", "adan", "adal")]
    for one in at_once:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
    Path(house.place / "go").touch()
    said = sorted(one.communicate(timeout=60)[0].decode().strip() for one in at_once)
    assert said == ["created", "needs_decision", "needs_decision", "needs_decision"]
