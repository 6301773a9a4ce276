"""Each plugin can be taken off: without its folder everything else works, nothing names it, and its tables stay."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ricordo import Ricordo
from ricordo.plugin import FOLDER, Plugin, installed
from ricordo.verbs.index import all_verbs

ROOT = Path(__file__).parents[2]
QUICK = [f"tests/scenarios/test_{name}.py" for name in ("memory_story", "versions", "overwriting", "folder")]
"""Tests of the core that take seconds, but for one that makes many vectors."""
SLOW = "tests/scenarios/test_folder.py::TestAdd::test_one_estimate_holds_for_reading_and_for_making_vectors"
NAMES = sorted(name for name, plugin in installed().items() if plugin.package.startswith("ricordo.plugins."))
SMOKE = """
import json, subprocess, sys
from ricordo import Ricordo

store, notes = sys.argv[1:]
told = {}
with Ricordo.open(store) as memory:
    told["earlier"] = [hit.ref for hit in memory.search("signing keys").hits]
    told["added"] = memory.add(notes).count("created")
    memory.remember("Backups run at four in the morning.")
    told["found"] = memory.search("when do backups run").hits[0].snippet
    told["context"] = memory.context("check the backups").text
def start(*words):
    return subprocess.Popen([sys.executable, "-m", "ricordo", *words], text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
told["help"] = start("--help", "--all").communicate()[0]
client = start("mcp", "--store", store)
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
server = start("serve", "--store", store, "--port", "0")
told["served"] = next((line for line in server.stdout if "http://" in line), "") + server.stdout.readline()
server.terminate()
server.wait()
print(json.dumps(told))
"""


@pytest.fixture(params=NAMES)
def plugin(request: pytest.FixtureRequest) -> Plugin:
    return installed()[request.param]


@pytest.fixture
def env(plugin: Plugin, tmp_path: Path) -> dict[str, str]:
    """An environment in which the package has all folders but that of the plugin, and of those that need it."""
    dependents = {name for name, one in installed().items() if plugin.name in one.needs} | {plugin.name}

    def left_out(folder: str, names: list[str]) -> set[str]:
        return dependents if folder == FOLDER else set()

    shutil.copytree(Path(FOLDER).parent, tmp_path / "site" / "ricordo", copy_function=os.symlink, ignore=left_out)
    return {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONDONTWRITEBYTECODE": "1"}


def test_everything_else_works_without_a_plugin_and_nothing_names_it(
    plugin: Plugin, env: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "store.db"
    with Ricordo.open(store) as memory:  # with all plugins, and with their tables
        memory.save("note:/keys", "Rotate the signing keys every quarter.")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "harbour.md").write_text("# Harbour\n\nThe ferry leaves at noon.\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SMOKE, str(store), str(notes)], env=env, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["earlier"] == ["note:/keys"]
    assert told["added"] == 1
    assert "four in the morning" in told["found"] + told["context"]
    assert "four in the morning" in told["tool"]
    assert "http://" in told["served"]
    assert ("There is no page" in told["served"]) == bool(plugin.page)
    verbs = {row.path.partition(" ")[0] for row in all_verbs() if row.plugin == plugin.name} | set(plugin.commands)
    shown = {line.split()[0] for line in told["help"].splitlines() if line.startswith("  ") and line.split()}
    assert not verbs & shown


def test_the_quick_tests_of_the_core_pass_without_a_plugin(plugin: Plugin, env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "--deselect", SLOW, *QUICK]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_store_that_was_made_without_a_plugin_works_with_it(
    plugin: Plugin, env: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "store.db"
    made = (
        "import sys; from ricordo import Ricordo; Ricordo.open(sys.argv[1]).save('note:/a', 'Ferries leave at noon.')"
    )
    subprocess.run([sys.executable, "-c", made, str(store)], env=env, check=True)
    with Ricordo.open(store) as memory:
        assert memory.history("note:/a")[0].number == 1
    with closing(sqlite3.connect(store)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert set(plugin.load(plugin.tables) if plugin.tables else ()) <= tables
