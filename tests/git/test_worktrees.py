"""A work tree of a repository has the memory of its main checkout."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ricordo.config.files import nearest_project, standing_in
from ricordo.hooks.answers import run
from ricordo.hooks.pipe import Outlet

from .conftest import Checkout, Opened, remember

KEYS = "The signing keys rotate every quarter, on the first Monday."


def test_a_worktree_finds_the_store_of_its_main_checkout(main: Checkout, tmp_path: Path, opened: Opened) -> None:
    beside = main.worktree("feature", tmp_path / "elsewhere" / "feature")
    remember(opened(main), main, KEYS)
    assert [hit.snippet for hit in opened(beside).search("signing keys")] == [KEYS]
    assert nearest_project(beside.top / "src" / "deep") == main.top / ".ricordo"


def test_hooks_in_a_worktree_tell_what_the_main_checkout_remembers(
    main: Checkout, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "60")
    beside = main.worktree("feature", tmp_path / "feature")
    remember(opened(main), main, KEYS)
    said: list[bytes] = []
    asked = {"cwd": str(beside.top), "prompt": "When do the signing keys rotate?"}
    run("user-prompt", json.dumps(asked).encode(), Outlet(said.append, time.monotonic()))
    assert KEYS.encode() in b"".join(said)


def test_notes_of_programs_in_a_worktree_are_read_there_where_they_differ(
    main: Checkout, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    main.commit("Add notes", CLAUDE__md="Walruses sleep on the pier.\n", AGENTS__md="Walruses eat clams.\n")
    beside, other = (main.worktree(name, tmp_path / name) for name in ("feature", "fix"))
    beside.write("CLAUDE.md", "Walruses sleep on the ice.\n")
    of_main = {"program:/claude-code/CLAUDE.md", "program:/codex/AGENTS.md"}
    of_tree = "program:/claude-code/tree/feature/CLAUDE.md"

    def found(place: Checkout) -> set[str]:
        with standing_in(place.top):
            return {hit.ref for hit in opened(place).search("walruses")}

    assert found(main) == of_main
    assert found(beside) == {*of_main, of_tree}
    assert found(other) == {*of_main, of_tree}  # from elsewhere nothing of it is taken back
    beside.write(".ricordoignore", "CLAUDE.md\n")
    assert found(beside) == of_main
    (beside.top / ".ricordoignore").unlink()
    beside.write("CLAUDE.md", "Walruses sleep on floes of ice.\n")
    assert found(beside) == {*of_main, of_tree}
    assert found(main) == {*of_main, of_tree}
    monkeypatch.setenv("RICORDO_KNOWLEDGE_OF_PROGRAMS", "false")
    assert found(main) == set()
    monkeypatch.delenv("RICORDO_KNOWLEDGE_OF_PROGRAMS")
    beside.write("CLAUDE.md", "Walruses sleep on the shore of the island.\n")
    assert of_tree in found(beside)
    (beside.top / "CLAUDE.md").unlink()
    assert of_tree not in found(main)


def test_a_project_inside_a_repository_is_found_from_the_same_folder_of_a_worktree(
    main: Checkout, tmp_path: Path
) -> None:
    main.commit("Add a part", **{"part/plan__md": "x"})
    beside = main.worktree("feature", tmp_path / "feature")
    (main.top / "part" / ".ricordo").mkdir()
    assert nearest_project(beside.top / "part") == main.top / "part" / ".ricordo"
    assert nearest_project(beside.top) == main.top / ".ricordo"


def test_a_worktree_with_a_project_of_its_own_keeps_it(main: Checkout, tmp_path: Path) -> None:
    beside = main.worktree("feature", tmp_path / "feature")
    (beside.top / ".ricordo").mkdir()
    assert nearest_project(beside.top) == beside.top / ".ricordo"


def test_a_submodule_has_its_own_project_and_shares_it_with_its_worktrees(main: Checkout, tmp_path: Path) -> None:
    library = Checkout(tmp_path / "library")
    library.top.mkdir()
    library.git("init", "-q", "-b", "main")
    library.commit("Begin", lib__py="x = 1\n")
    main.git("submodule", "add", "-q", str(library.top), "lib")
    inside = Checkout(main.top / "lib")
    (inside.top / ".ricordo").mkdir()
    assert nearest_project(inside.top) == inside.top / ".ricordo"
    beside = inside.worktree("fix", tmp_path / "fix")
    assert nearest_project(beside.top) == inside.top / ".ricordo"
    assert not (library.top / ".ricordo").exists()


def test_a_folder_that_only_claims_to_be_a_worktree_gets_no_store_of_another_project(
    main: Checkout, tmp_path: Path
) -> None:
    main.worktree("feature", tmp_path / "feature")
    foreign = Checkout(tmp_path / "foreign")
    foreign.write(".git", f"gitdir: {main.top}/.git/worktrees/feature\n")
    assert nearest_project(foreign.top) is None
    made = foreign.top / "made"
    foreign.write("made/gitdir", str(foreign.top / ".git"))
    foreign.write("made/commondir", str(main.top / ".git"))
    foreign.write("made/HEAD", "ref: refs/heads/feature\n")
    foreign.write(".git", f"gitdir: {made}\n")
    assert nearest_project(foreign.top) is None
