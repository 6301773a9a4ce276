"""The tools of other servers are the same in every folder, and what is found there can be called."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ricordo import Ricordo
from ricordo.cli.program import program
from ricordo.config.loading import init_project
from ricordo.plugins.gateway.mcp_config import ServerTool

Entry = Callable[[str], dict[str, Any]]


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: Entry) -> list[Path]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.delenv("RICORDO_STORE", raising=False)
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"raw": raw("honest")}}))
    found = [tmp_path / "one", tmp_path / "two"]
    for folder in found:
        folder.mkdir()
        init_project(folder)
    return found


def run(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.stdout
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


def test_tools_added_in_one_project_are_found_and_called_in_another(
    projects: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = projects
    monkeypatch.chdir(first)
    run("save", "note:/plan", "Plant a tree")
    run("tools", "add", "--from", str(tmp_path / "servers.json"), "--yes")
    monkeypatch.chdir(second)
    run("save", "note:/plan", "Cut the grass")
    found = run("tools", "find", "say", "some", "words")["tools"]
    assert found[0]["name"] == "raw/say_words"
    schema = run("tools", "show", found[0]["name"])["schema"]
    assert schema["properties"]["text"]["description"] == "What to say"
    assert run("tools", "call", found[0]["name"], "text=hi")["text"] == "say_words: hi"
    assert run("tools", "call", found[0]["name"], "text=5")["text"] == "say_words: 5"  # its schema says text
    monkeypatch.chdir(tmp_path)
    assert [one["name"] for one in run("tools", "list")["tools"]][:1] == ["raw/always_fails"]


def test_context_names_only_tools_that_can_be_called_from_the_project(
    projects: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(projects[0])
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    left = ServerTool("old", "say_more", "Say some words once more", nothing, hints={"read_only": True})
    with Ricordo.open(projects[0] / ".ricordo" / "ricordo.db") as named:
        named.tools.index("old", [left])  # as versions before this one kept them
    run("tools", "add", "--from", str(tmp_path / "servers.json"), "--yes")
    with Ricordo.open() as engine:
        text = engine.context("say some words back to me", budget=600).text
    assert "raw/say_words" in text
    assert "old/say_more" not in text


def test_a_refresh_in_a_project_makes_no_store_for_the_user(
    projects: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(projects[0])
    with Ricordo.open() as engine:
        engine.save("note:/plan", "Plant a tree")
        engine.refresh(all=True)
        assert [one.name for one in engine.tiers()] == ["project"]
