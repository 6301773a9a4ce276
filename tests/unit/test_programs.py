"""The table of agents' programs: whoever needs a place of a program takes it from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ricordo.plugins.gateway.servers import places
from ricordo.plugins.skills.intake import FOLDERS
from ricordo.programs.table import PROGRAMS, folders, session_places


def test_the_folders_of_skills_that_are_searched_have_those_of_all_programs() -> None:
    at_home = {name: "~" if name == "home" else f"~/.{name}" for name in folders({})}
    users = {one.skills.format_map(at_home) for one in PROGRAMS.values() if one.skills}
    projects = {one.project_skills for one in PROGRAMS.values() if one.project_skills}
    assert users
    assert users <= set(FOLDERS["user"])
    assert projects
    assert projects <= set(FOLDERS["workspace"])


def test_servers_are_looked_for_where_install_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    for name in (".qwen/settings.json", ".mcp.json"):
        file = tmp_path / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    found = places(tmp_path / "project")
    assert [one.program for one in found if one.project is None] == [
        "ricordo",
        *(name for name, program in PROGRAMS.items() if program.has_plain_servers),
    ]
    assert {one.program for one in found if one.project == tmp_path / "project"} == {"claude-code", "qwen"}
    assert {one.path.name for one in found if one.program == "cline"} == {"cline_mcp_settings.json"}


def test_folders_that_the_user_moved_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert {tmp_path / "claude" / "projects", tmp_path / "codex" / "sessions"} <= set(session_places())
    assert tmp_path / "data" / "opencode" / "storage" / "session" in session_places()
    database = tmp_path / "data" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    database.touch()
    assert session_places()[-1] == database
