"""A package of somebody else is a plugin, too: it names its declaration in an entry point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

GAUGE = """
from ricordo.plugin import FormatReader, Plugin
GAUGE = FormatReader("reader:read", extensions="rain", signature=b"GAUGE\\0")
PLUGIN = Plugin(__name__, "Reads rain gauges.", formats={"gauge": GAUGE})
"""
READER = """
from ricordo.values.items import Parsed

def read(source):
    return Parsed(source.data.removeprefix(b"GAUGE\\0").decode() + " millimetres of rain")
"""
OTHERS = {"gauge_plugin": (GAUGE, READER), "broken_plugin": ("raise RuntimeError('no key')", "")}
PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
LOOK = """
import json, sys
from ricordo import Ricordo
from ricordo.http_api.api import verb_routes

with Ricordo.open(sys.argv[1]) as memory:
    told = {"python": memory.standup(limit=1), "doctor": [check.to_dict() for check in memory.doctor().checks]}
told["routes"] = [route.path for route in verb_routes().routes]
print(json.dumps(told))
"""
CALLS = (
    {"method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
    {"method": "tools/call", "params": {"name": "standup", "arguments": {"limit": 1}}},
)  # fmt: skip


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with the package of the page about plugins, one that reads a format, and a broken one."""
    site = tmp_path / "site"
    for name, text in re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    project = tomllib.loads((site / "pyproject.toml").read_text("utf-8"))["project"]
    install(site, project["name"], project["entry-points"]["ricordo.plugins"])
    for name, (declaration, reader) in OTHERS.items():
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(declaration, encoding="utf-8")
        (site / name / "reader.py").write_text(reader, encoding="utf-8")
        install(site, name, {name: f"{name}:PLUGIN"})
    return {**os.environ, "PYTHONPATH": str(site)}


def install(site: Path, name: str, points: Mapping[str, str]) -> None:
    """Write what an installer writes beside a package."""
    about = site / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{point} = {place}" for point, place in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[ricordo.plugins]", *lines, ""]), encoding="utf-8")


def run(env: dict[str, str], *words: str) -> str:
    return subprocess.run([sys.executable, *words], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def data(env: dict[str, str], store: Path, *words: str) -> Any:
    """What a command answers."""
    return json.loads(run(env, "-m", "ricordo", "--store", str(store), "--json", *words))["data"]


def test_the_package_of_the_page_brings_a_command_a_setting_and_an_importer_to_every_face(
    env: dict[str, str], tmp_path: Path
) -> None:
    store, diary = tmp_path / "store.db", tmp_path / "days.csv"
    diary.write_text("2026-05-04,Mended the roof.\n2026-05-05,Painted the door.\n", encoding="utf-8")
    assert len(data(env, store, "import", "--from", "diary", str(diary))["items"]) == 2
    assert data(env, store, "standup", "--limit", "1") == {"done": ["Painted the door."]}
    assert "Tell what was done lately." in run(env, "-m", "ricordo", "--help", "--all")
    told = json.loads(run(env, "-c", LOOK, str(store)))
    assert told["python"] == ["Painted the door."]
    assert "/api/v1/standup" in told["routes"]
    assert "Painted the door." in answer_of_tool(env, store)
    assert data({**env, "RICORDO_STANDUP_TAG": "planned"}, store, "standup") == {"done": []}
    assert data(env, store, "config", "get", "standup.tag")["value"] == "done"


def answer_of_tool(env: dict[str, str], store: Path) -> str:
    command = [sys.executable, "-m", "ricordo", "--store", str(store), "mcp", "--toolset", "verbs"]
    with subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, call in enumerate(CALLS):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **call}) + "\n")
            server.stdin.flush()
            answer = server.stdout.readline()
        server.stdin.close()
    return answer


@pytest.mark.parametrize(("name", "data"), [("may.rain", b"fourteen"), ("may.dat", b"GAUGE\0fourteen")])
def test_it_reads_files_of_its_own_by_their_endings_or_how_they_begin(
    env: dict[str, str], tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    words = ("-m", "ricordo", "--store", str(tmp_path / "store.db"), "--json")
    run(env, *words, "add", str(tmp_path / name))
    assert "fourteen millimetres of rain" in run(env, *words, "search", "millimetres")


def test_one_that_cannot_be_loaded_harms_nothing_and_the_doctor_names_it(env: dict[str, str], tmp_path: Path) -> None:
    told: dict[str, Any] = json.loads(run(env, "-c", LOOK, str(tmp_path / "store.db")))
    (check,) = (check for check in told["doctor"] if check["name"] == "plugins")
    assert not check["ok"]
    assert "broken_plugin cannot be used (RuntimeError: no key)" in check["detail"]
