"""Each plugin can be taken off: without its folder everything else works, nothing names it, and its tables stay.

That no part imports a plugin, and no plugin one that it does not need, is checked by reading the imports
(``tests/unit/test_project.py``). So what a plugin alone may break is what the parts ask of all plugins while they run,
and the faces and the tests of the core are tried without any plugin.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.plugin import FOLDER, installed
from ricordo.verbs.index import all_verbs

ROOT = Path(__file__).parents[2]
QUICK = [f"tests/scenarios/test_{name}.py" for name in ("memory_story", "versions", "overwriting", "folder")]
"""Tests of the core that take seconds, but for one that makes many vectors."""
SLOW = "tests/scenarios/test_folder.py::TestAdd::test_one_estimate_holds_for_reading_and_for_making_vectors"
NAMES = sorted(name for name, plugin in installed().items() if plugin.package.startswith("ricordo.plugins."))
USE = """
import json, subprocess, sys
from ricordo import Ricordo

store, notes, new = sys.argv[1:]
told = {}
with Ricordo.open(store) as memory:
    told["earlier"] = [hit.ref for hit in memory.search("signing keys").hits]
    told["added"] = memory.add(notes).count("created")
    memory.remember("Backups run at four in the morning.")
    told["found"] = memory.search("when do backups run").hits[0].snippet
    told["context"] = memory.context("check the backups").text
with Ricordo.open(new) as memory:
    memory.save("note:/a", "Ferries leave at noon.")
told["help"] = subprocess.run([sys.executable, "-m", "ricordo", "--help", "--all"], text=True,
                              capture_output=True).stdout
print(json.dumps(told))
"""
SERVE = """
import json, subprocess, sys

def start(*words):
    return subprocess.Popen([sys.executable, "-m", "ricordo", *words, "--store", sys.argv[1]], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
told = {}
client = start("mcp")
client.stdin.write("".join(json.dumps(one) + "\\n" for one in (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "search", "arguments": {"query": "backups"}}},
)))
client.stdin.flush()
told["tool"] = next((line for line in client.stdout if '"id":2' in line), "")  # a call is cut off when its input ends
client.communicate()
server = start("serve", "--port", "0")
told["served"] = next((line for line in server.stdout if "http://" in line), "") + server.stdout.readline()
server.terminate()
server.wait()
print(json.dumps(told))
"""


def without(names: Collection[str], folder: Path) -> dict[str, str]:
    """An environment in which the package has all folders but those of some plugins, and of those that need them."""
    gone = {name for name, one in installed().items() if name in names or not set(names).isdisjoint(one.needs)}

    def left_out(place: str, _: list[str]) -> set[str]:
        return gone if place == FOLDER else set()

    shutil.copytree(Path(FOLDER).parent, folder / "ricordo", copy_function=os.symlink, ignore=left_out)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def answered(env: dict[str, str], program: str, *arguments: Path) -> dict[str, Any]:
    """What a program prints of what it did, in an environment."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_works_without_a_plugin_and_nothing_names_it(name: str, tmp_path: Path) -> None:
    env, plugin = without({name}, tmp_path / "site"), installed()[name]
    store, made = tmp_path / "store.db", tmp_path / "made.db"
    with Ricordo.open(store) as memory:  # with all plugins, and with their tables
        memory.save("note:/keys", "Rotate the signing keys every quarter.")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "harbour.md").write_text("# Harbour\n\nThe ferry leaves at noon.\n", encoding="utf-8")
    told = answered(env, USE, store, notes, made)
    assert told["earlier"] == ["note:/keys"]
    assert told["added"] == 1
    assert "four in the morning" in told["found"] + told["context"]
    verbs = {row.path.partition(" ")[0] for row in all_verbs() if row.plugin == name} | set(plugin.commands)
    shown = {line.split()[0] for line in told["help"].splitlines() if line.startswith("  ") and line.split()}
    assert not verbs & shown
    with Ricordo.open(made) as memory:  # a store that was made without it
        assert memory.history("note:/a")[0].number == 1
    with closing(sqlite3.connect(made)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert set(plugin.load(plugin.tables) if plugin.tables else ()) <= tables


@pytest.mark.parametrize("names", [NAMES, ["page"]], ids=["any plugin", "the page"])
def test_agents_and_clients_are_served_without(names: list[str], tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with Ricordo.open(store) as memory:
        memory.remember("Backups run at four in the morning.")
    told = answered(without(names, tmp_path / "site"), SERVE, store)
    assert "four in the morning" in told["tool"]
    assert "http://" in told["served"]
    assert "There is no page" in told["served"]


def test_the_quick_tests_of_the_core_pass_without_any_plugin(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "--deselect", SLOW, *QUICK]
    env = without(NAMES, tmp_path / "site")
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
