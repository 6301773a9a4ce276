"""What registries, bundles and containers say about Ricordo agrees with Ricordo, and passes their own checks."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import tomllib
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ricordo._version import __version__
from ricordo.mcp_server import core_tools

from .npm_tools import npm_folder

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "packaging" / "mcpb"


def test_versions_and_names_agree_everywhere() -> None:
    listed = json.loads((ROOT / "server.json").read_text())
    package = listed["packages"][0]
    manifest = json.loads((BUNDLE / "manifest.json").read_text())
    project = tomllib.loads((BUNDLE / "pyproject.toml").read_text())["project"]
    assert {listed["version"], package["version"], manifest["version"], project["version"]} == {__version__}
    assert project["dependencies"] == [f"ricordo == {__version__}"]
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in core_tools.CORE]


def test_what_the_plugins_share_is_written_from_one_place() -> None:
    for name, text in runpy.run_path(str(ROOT / "tools" / "make_plugins.py"))["files"]().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is out of date: run 'make docs'"


def test_what_older_versions_of_pip_do_not_find_under_an_extra_is_a_dependency_of_our_own() -> None:
    """They compare the names of extras letter by letter: ``html_clean`` is not the ``html-clean`` that lxml has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    seen: set[str] = set()
    waiting = list(ours)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for one in map(Requirement, requires(name) or ()):
            if one.marker is not None and not one.marker.evaluate({"extra": ""}):
                continue
            waiting.append(canonicalize_name(one.name))
            for extra in one.extras - set(metadata(one.name).get_all("Provides-Extra") or ()):
                behind = {
                    canonicalize_name(needed.name)
                    for needed in map(Requirement, requires(one.name) or ())
                    if needed.marker and not needed.marker.evaluate({"extra": ""})
                    and needed.marker.evaluate({"extra": canonicalize_name(extra)})
                }  # fmt: skip
                assert behind <= ours, f"{name} needs {one}"


TEXT = {"type": "string"}
INPUT = {
    "type": "object",
    "properties": {
        "description": TEXT,
        "format": {"enum": ["string", "number", "boolean", "filepath"]},
        "isRequired": {"type": "boolean"},
        "isSecret": {"type": "boolean"},
        "value": TEXT,
    },
}
POSITIONAL = {
    "allOf": [INPUT, {"properties": {"type": {"const": "positional"}}, "required": ["type"]}],
    "anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}],
}
NAMED = {"allOf": [INPUT, {"properties": {"type": {"const": "named"}, "name": TEXT}, "required": ["type", "name"]}]}
ENTRY = {
    "type": "object",
    "required": ["name", "description", "version"],
    "properties": {
        "name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255, "pattern": "^[0-9]+[.][0-9]+[.][0-9]+"},
        "packages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "transport"],
                "properties": {
                    "version": {"type": "string", "minLength": 1, "not": {"const": "latest"}},
                    "transport": {"properties": {"type": {"const": "stdio"}}, "required": ["type"]},
                    "packageArguments": {"type": "array", "items": {"anyOf": [POSITIONAL, NAMED]}},
                    "environmentVariables": {
                        "type": "array",
                        "items": {"allOf": [INPUT, {"properties": {"name": TEXT}, "required": ["name"]}]},
                    },
                },
            },
        },
    },
}
"""What the registry's schema of 2025-12-11 asks of the parts that our entry has."""


def registry_schema() -> dict[str, Any]:
    """The registry's own schema where it was fetched (``RICORDO_REGISTRY_SCHEMA``), else what we know of it."""
    given = os.environ.get("RICORDO_REGISTRY_SCHEMA")
    return json.loads(Path(given).read_text(encoding="utf-8")) if given else ENTRY


def test_the_entry_for_the_registry_fits_its_schema() -> None:
    listed = json.loads((ROOT / "server.json").read_text())
    check = Draft202012Validator(registry_schema())
    assert [error.message for error in check.iter_errors(listed)] == []
    assert listed["$schema"].endswith("/2025-12-11/server.schema.json")
    assert f"mcp-name: {listed['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("place", "value"),
    [("name", "no-namespace"), ("description", "x" * 101), ("packages", [{"registryType": "pypi"}]), ("version", 1)],
)
def test_a_wrong_entry_for_the_registry_would_be_noticed(place: str, value: object) -> None:
    listed = json.loads((ROOT / "server.json").read_text()) | {place: value}
    assert not Draft202012Validator(registry_schema()).is_valid(listed)


@pytest.mark.external
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
    assert "USER 10001:10001" in lines  # a number, so that a cluster can see that it is not root
    assert any(line.startswith("HEALTHCHECK") for line in lines)
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert copied
    assert [word for word in copied if not (ROOT / word).exists()] == []
    allowed = (ROOT / ".dockerignore").read_text().split()
    assert [word for word in copied if f"!{word}" not in allowed] == []
