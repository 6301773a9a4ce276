"""What registries, bundles and containers say about Ricordo agrees with Ricordo, and passes their own checks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ricordo._version import __version__
from ricordo.mcp_server import core_tools

sys.path.insert(0, str(Path(__file__).parent))

from npm_tools import npm_folder

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "packaging" / "mcpb"


def test_versions_and_names_agree_everywhere() -> None:
    listed = json.loads((ROOT / "server.json").read_text())
    package = listed["packages"][0]
    manifest = json.loads((BUNDLE / "manifest.json").read_text())
    project = tomllib.loads((BUNDLE / "pyproject.toml").read_text())["project"]
    assert {listed["version"], package["version"], manifest["version"], project["version"]} == {__version__}
    assert project["dependencies"] == [f"ricordo == {__version__}"]
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in core_tools.TOOLS]


def test_the_entry_for_the_registry_has_what_its_schema_asks_for() -> None:
    listed = json.loads((ROOT / "server.json").read_text())
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", listed["name"])
    assert 1 <= len(listed["description"]) <= 100
    for package in listed["packages"]:
        assert {"registryType", "identifier", "transport", "version"} <= set(package)
        assert package["transport"] == {"type": "stdio"}
    assert f"mcp-name: {listed['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
def test_the_bundle_passes_its_own_tools_check_and_can_be_packed(tmp_path: Path) -> None:
    tool = npm_folder("@anthropic-ai/mcpb") / "node_modules" / ".bin" / "mcpb"
    checked = subprocess.run([str(tool), "validate", str(BUNDLE / "manifest.json")], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    packed = subprocess.run([str(tool), "pack", str(BUNDLE), str(tmp_path / "r.mcpb")], capture_output=True, text=True)
    assert packed.returncode == 0, packed.stdout + packed.stderr
    assert (tmp_path / "r.mcpb").stat().st_size > 500


def test_the_container_runs_as_a_user_of_its_own_and_copies_what_is_there() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "USER ricordo" in lines
    assert any(line.startswith("HEALTHCHECK") for line in lines)
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert copied
    assert [word for word in copied if not (ROOT / word).exists()] == []
    allowed = (ROOT / ".dockerignore").read_text().split()
    assert [word for word in copied if f"!{word}" not in allowed] == []
