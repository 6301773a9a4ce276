"""Shells complete refs and profiles, and never fail or make a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from ricordo import Ricordo
from ricordo.cli.program import program


def offered(*words: str) -> list[str]:
    complete = ShellComplete(program, {}, "ricordo", "_RICORDO_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture
def store(house: Any, tmp_path: Path) -> str:
    path = tmp_path / "store.db"
    with Ricordo.open(path) as memory:
        memory.save("note:/plans/spring", "Sow in March.")
        memory.save("note:/plans/autumn", "Reap in September.")
        memory.save("note:/tea", "Ada drinks tea.")
    return str(path)


def test_refs_of_the_store_are_completed(store: str) -> None:
    assert set(offered("--store", store, "get", "note:/pl")) == {"note:/plans/spring", "note:/plans/autumn"}
    assert set(offered("--store", store, "get", "note:")) == {"note:/plans/spring", "note:/plans/autumn", "note:/tea"}
    assert "note:/" in offered("--store", store, "get", "not")


def test_profiles_are_completed(store: str) -> None:
    assert "brain" in offered("--store", store, "search", "--profile", "br")


def test_nothing_is_offered_and_nothing_made_where_there_is_no_store(house: Any, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.db"
    assert offered("--store", str(missing), "get", "note:/") == []
    assert not missing.exists()


def test_a_notebook_shows_hits_as_a_table_in_which_nothing_can_run(house: Any, tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "s.db") as memory:
        memory.save("note:/evil", "tea <script>alert(1)</script>", fields={"title": "<b>x</b>"})
        html = memory.search("tea", vectors=False)._repr_html_()
        assert "<table>" in html
        assert "note:/evil" in html
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "Nothing was found" in memory.search("zebra", vectors=False)._repr_html_()
