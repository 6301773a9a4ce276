"""Stores of released schemas are opened, brought up to date and whole, also when that is killed in the middle."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import StoreError, Unavailable
from ricordo.store.base import WORDS
from ricordo.store.search import checks
from ricordo.store.sqlite.store import RELEASED, SCHEMA_VERSION

STORES = sorted((Path(__file__).parents[1] / "fixtures" / "stores").glob("schema-*.db.gz"))
NO_VECTORS = ConfigProvider({"embedding.provider": "none"})

KILLED = """
import os, sys
from ricordo import ConfigProvider, Ricordo
from ricordo.store.sqlite import store as schema
place, step = sys.argv[1], int(sys.argv[2])
original = schema.STEPS[step]


def then_die(connection):
    original(connection)
    os.kill(os.getpid(), 9)


schema.STEPS[step] = then_die
Ricordo.open(place, config=ConfigProvider({"embedding.provider": "none"}))
"""


def unpacked(packed: Path, folder: Path) -> Path:
    store = folder / packed.name.removesuffix(".gz")
    store.write_bytes(gzip.decompress(packed.read_bytes()))
    return store


@pytest.mark.parametrize("vectors", [False, True])
def test_a_store_of_the_release_is_clean_once_it_is_upgraded(tmp_path: Path, *, vectors: bool) -> None:
    store = unpacked(STORES[-1].with_name(f"schema-{RELEASED}.db.gz"), tmp_path)
    store.chmod(0o600)
    with Ricordo.open(store, config=ConfigProvider() if vectors else NO_VECTORS) as engine:
        for _ in range(2):
            assert [check for check in engine.doctor().checks if not check.ok] == []
            engine.embed()


def check(store: Path) -> None:
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        assert engine.status()["schema"] == SCHEMA_VERSION
        assert engine.get("note:/a").content == "a zebra in the second version"
        assert engine.get("note:/a", version=1).content == "a zebra in the first version"
        assert engine.get("note:/a").fields.tags == ("animal",)
        assert [hit.ref for hit in engine.search("zebra").hits] == ["note:/a"]
        engine.restore("note:/b")
        engine.save("note:/c", "a new text")
        report = engine.doctor(repair=True)
        assert report.ok, report
        assert engine.doctor().ok


@pytest.mark.parametrize("packed", STORES, ids=lambda packed: packed.name)
def test_a_store_of_an_earlier_schema_is_brought_up_to_date(packed: Path, tmp_path: Path) -> None:
    check(unpacked(packed, tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="needs a kill")
def test_a_migration_that_is_killed_in_the_middle_is_done_again(tmp_path: Path) -> None:
    [released] = [store for store in STORES if store.name == f"schema-{RELEASED}.db.gz"]
    store = unpacked(released, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(store), str(RELEASED)], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == -9, done.stderr
    check(store)


def test_what_a_folder_holds_and_contradictions_of_0_2_are_brought_up_to_date(tmp_path: Path) -> None:
    store = unpacked(STORES[0].with_name("schema-12.db.gz"), tmp_path)
    store.chmod(0o600)
    raw = apsw.Connection(str(store))
    described = '{"globs": ["*.md"], "about": "minutes of the board"}'
    raw.executemany(
        "INSERT INTO roots(machine, path, globs, added_at) VALUES(?, ?, ?, 1)",
        [("elsewhere", "/board", described), ("elsewhere", "/plain", '["*.txt"]'), ("elsewhere", "/all", "[]")],
    )
    live = [n for (n,) in raw.execute("SELECT n FROM items WHERE path IN ('/a', '/b') ORDER BY path")]
    raw.execute(
        "INSERT INTO links(source, target, type, origin, text, name, created_at)"
        " VALUES(?, ?, 'contradicts', 'manual', '', '', ?)",
        (live[1], live[0], 1 << 52),
    )
    raw.close()
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        roots = {root.path: (root.globs, root.about) for root in engine.roots() if root.machine}
        assert roots == {
            "/all": ((), ""), "/board": (("*.md",), "minutes of the board"), "/plain": (("*.txt",), ""),
        }  # fmt: skip
        engine.restore("note:/b")
        refs = [str(item.ref) for item in engine.list()]
        found = [link for ref in refs for link in engine.links(ref, depth=1).links if link.type == "contradicts"]
        assert {link.origin for link in found} == {"found"}
        assert not any(hit.contradicted_by for hit in engine.search("zebra", track=False).hits)
        assert engine.doctor().ok


def test_a_store_of_a_schema_that_was_never_released_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    Ricordo.open(store, config=NO_VECTORS).close()
    raw = apsw.Connection(str(store))
    raw.pragma("user_version", RELEASED + 1)
    raw.close()
    with pytest.raises(StoreError, match="no released Ricordo wrote"):
        Ricordo.open(store, config=NO_VECTORS)


def test_words_that_are_being_indexed_anew_when_the_power_fails_are_indexed_by_the_next_who_opens_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words were made by the rules of an earlier Ricordo; until they are renewed, a German plural is not found."""
    config = ConfigProvider({"embedding.provider": "none"})
    store = tmp_path / "store.db"
    with Ricordo.open(store, config=config) as engine:
        engine.save("note:/frist", "Die Häuser der Altstadt sind alt und werden von der Stadt nicht mehr gepflegt.")
    raw = apsw.Connection(str(store))
    raw.execute(f"DELETE FROM meta WHERE name = '{WORDS}'")
    raw.execute("UPDATE chunks SET language = ''")
    raw.close()

    def fail(*given: object) -> None:
        raise Unavailable("the power is off", hint="Switch it on.")

    with monkeypatch.context() as off:
        off.setattr(checks, "rebuild_lexical", fail)
        with pytest.raises(Unavailable):
            Ricordo.open(store, config=config)
    done: list[object] = []
    rebuild = checks.rebuild_lexical

    def again(*given: Any) -> None:
        done.append(given)
        rebuild(*given)

    monkeypatch.setattr(checks, "rebuild_lexical", again)
    with Ricordo.open(store, config=config) as engine:
        assert engine.search("Haus Altstadt", track=False).hits
    assert len(done) == 1
    with Ricordo.open(store, config=config):
        assert len(done) == 1
