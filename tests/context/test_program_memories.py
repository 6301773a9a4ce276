"""What agents' programs keep themselves is read in a project, as what it is: another program's notes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.programs.table import PROGRAMS
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance

SETTINGS = {"embedding.provider": "none"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a store, and a home of its own."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "pier"
    (folder / ".ricordo").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def engine(project: Path) -> Iterator[Ricordo]:
    with Ricordo.open(config=ConfigProvider(SETTINGS)) as engine:
        yield engine


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    if before:
        os.utime(path, ns=(before + 2_000_000_000, before + 2_000_000_000))


def found(engine: Ricordo, query: str) -> list[str]:
    engine._context.program_notes._next_look = 0.0  # as if two seconds had passed
    return [hit.ref for hit in engine.search(query)]


def test_the_notes_of_every_program_are_found_without_set_up(project: Path, engine: Ricordo, tmp_path: Path) -> None:
    home = tmp_path / "home"
    name = "".join(letter if letter.isalnum() else "-" for letter in str(project))
    write(project / "CLAUDE.md", "Walruses sleep on the pier.")
    write(project / "AGENTS.md", "Walruses eat clams.")
    write(project / ".cursor" / "rules" / "style.mdc", "Walruses are grey.")
    write(home / ".claude" / "CLAUDE.md", "Walruses have tusks.")
    write(home / ".claude" / "projects" / name / "memory" / "MEMORY.md", "Walruses dive deep.")
    write(home / ".claude" / "projects" / "-another" / "memory" / "MEMORY.md", "Walruses of another project.")
    write(home / ".codex" / "AGENTS.md", "Walruses live in herds.")
    write(home / ".gemini" / "GEMINI.md", "Walruses have whiskers.")
    write(home / ".qwen" / "QWEN.md", "Walruses swim.")
    assert set(found(engine, "walruses")) == {
        "program:/claude-code/CLAUDE.md",
        "program:/codex/AGENTS.md",
        "program:/cursor/.cursor/rules/style.mdc",
        "program:/claude-code/user/CLAUDE.md",
        "program:/claude-code/user/memory/MEMORY.md",
        "program:/codex/user/AGENTS.md",
        "program:/gemini/user/GEMINI.md",
        "program:/qwen/user/QWEN.md",
    }


def test_they_are_labelled_as_the_program_s_notes_from_a_loader_and_fenced(project: Path, engine: Ricordo) -> None:
    write(project / "CLAUDE.md", "Walruses sleep on the pier.")
    assert found(engine, "walruses sleep") == ["program:/claude-code/CLAUDE.md"]
    item = engine.get("program:/claude-code/CLAUDE.md")
    assert (item.fields.description, item.fields.tags) == ("Notes of Claude Code", ("claude-code",))
    assert item.provenance.author == "loader"
    assert item.provenance.origin == str(project / "CLAUDE.md")
    told = engine.context("where do walruses sleep")
    assert [part.fenced for part in told.parts] == [True]
    assert "Notes of Claude Code" in told.text


def test_edits_are_followed_and_files_that_go_are_removed(project: Path, engine: Ricordo) -> None:
    write(project / "AGENTS.md", "Walruses eat clams.")
    assert found(engine, "walruses")
    write(project / "AGENTS.md", "Walruses eat worms and snails.")
    assert found(engine, "snails") == ["program:/codex/AGENTS.md"]
    (project / "AGENTS.md").unlink()
    assert found(engine, "walruses") == []
    write(project / "AGENTS.md", "Walruses eat anything.")
    assert found(engine, "walruses") == ["program:/codex/AGENTS.md"]


def test_a_file_that_links_lead_to_is_one_item(project: Path, engine: Ricordo) -> None:
    write(project / "AGENTS.md", "Walruses eat clams.")
    for name in ("CLAUDE.md", "GEMINI.md"):
        (project / name).symlink_to("AGENTS.md")
    assert len(found(engine, "walruses")) == 1


def test_refresh_takes_them_in_and_what_was_removed_stays_away(project: Path, engine: Ricordo) -> None:
    write(project / "AGENTS.md", "Walruses eat clams.")
    engine.refresh(all=True)
    assert [str(item.ref) for item in engine.list()] == ["program:/codex/AGENTS.md"]
    engine.rm("program:/codex/AGENTS.md")
    assert found(engine, "walruses") == []


def test_a_setting_switches_it_off_and_takes_out_what_was_read(project: Path, engine: Ricordo) -> None:
    write(project / "AGENTS.md", "Walruses eat clams.")
    assert found(engine, "walruses")
    with Ricordo.open(config=ConfigProvider({**SETTINGS, "knowledge.of_programs": False})) as other:
        assert found(other, "walruses") == []


def test_an_ignore_file_a_link_out_of_the_project_and_a_large_file_are_left_out(
    project: Path, engine: Ricordo, tmp_path: Path
) -> None:
    write(tmp_path / "secret.md", "Walruses keep a secret.")
    (project / "GEMINI.md").symlink_to(tmp_path / "secret.md")
    write(project / "QWEN.md", "Walruses eat clams. " * 20_000)
    write(project / ".ricordoignore", ".claude/\nAGENTS.md\n")
    write(project / "AGENTS.md", "Walruses eat clams.")
    write(project / ".claude" / "CLAUDE.md", "Walruses sleep.")
    write(project / ".gitignore", "CLAUDE.local.md\n")
    write(project / "CLAUDE.local.md", "Walruses swim.")
    assert found(engine, "walruses") == ["program:/claude-code/CLAUDE.local.md"]


def test_a_file_that_the_user_added_is_a_document_once(project: Path, engine: Ricordo) -> None:
    write(project / "AGENTS.md", "Walruses eat clams.")
    assert found(engine, "walruses") == ["program:/codex/AGENTS.md"]
    engine.add(project / "AGENTS.md")
    assert [ref.partition(":")[0] for ref in found(engine, "walruses")] == ["disk"]


def test_no_file_of_a_program_is_ever_written(project: Path, engine: Ricordo) -> None:
    write(project / "CLAUDE.md", "Walruses sleep on the pier.")
    before = (project / "CLAUDE.md").stat()
    assert found(engine, "walruses")
    engine.edit("program:/claude-code/CLAUDE.md", "Changed in the store.")
    after = (project / "CLAUDE.md").stat()
    assert (before.st_mtime_ns, before.st_ino, before.st_size) == (after.st_mtime_ns, after.st_ino, after.st_size)


def test_an_agent_is_told_the_notes_of_other_programs_and_not_those_it_reads_itself(
    project: Path, engine: Ricordo
) -> None:
    write(project / "CLAUDE.md", "Walruses sleep on the pier.")
    write(project / "GEMINI.md", "Walruses sleep at noon.")
    with speaking(Provenance("agent", "claude-code", via="hook")):
        told = engine.context("when do walruses sleep")
        gathered = engine.context("walruses sleep", gather=True, always=False, skills=False)
    assert [part.ref for part in told.parts] == ["program:/gemini/GEMINI.md"]
    assert [piece.ref for piece in gathered.parts] == ["program:/gemini/GEMINI.md"]
    assert len(engine.context("when do walruses sleep").parts) == 2


def test_the_programs_that_keep_memories_have_their_places_in_one_table() -> None:
    assert {name for name, row in PROGRAMS.items() if row.memories or row.project_memories} == {
        "claude-code", "codex", "cursor", "gemini", "qwen",
    }  # fmt: skip
