"""After a search, a command may name a hit by its number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ricordo.cli.last_search import NAME
from ricordo.cli.program import program
from ricordo.config.files import state_home


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    for name, text in (("keys", "Keys rotate every quarter.\nKeys are kept apart."), ("boats", "Boats need no keys.")):
        assert ricordo("save", f"note:/{name}", text).exit_code == 0


def ricordo(*args: str) -> Result:
    return CliRunner().invoke(program, args)


def test_a_number_means_the_hit_of_the_last_search(tmp_path: Path) -> None:
    assert ricordo("search", "rotate keys").exit_code == 0
    assert ricordo("get", "1").stdout.strip() == "Keys rotate every quarter.\nKeys are kept apart."
    assert ricordo("get", "1:2").stdout.strip() == "Keys are kept apart."
    assert json.loads(ricordo("get", "2", "--json").stdout)["data"]["ref"] == "note:/boats"
    assert "note:/keys" in ricordo("explain", "quarter", "1").stdout
    assert ricordo("search", "boats").exit_code == 0
    assert ricordo("get", "1").stdout.strip() == "Boats need no keys.", "the last search counts"
    (tmp_path / "1").write_text("a file of that name")
    assert ricordo("add", "1").exit_code == 0
    assert ricordo("get", "1").stdout.strip() == "a file of that name", "a file that is called so goes first"


def test_numbers_go_on_on_the_next_page() -> None:
    assert ricordo("search", "keys", "--offset", "1").exit_code == 0
    refs = [hit["ref"] for hit in json.loads(ricordo("search", "keys", "--json").stdout)["data"]["hits"]]
    assert json.loads(ricordo("get", "2", "--json").stdout)["data"]["ref"] == refs[1]
    beyond = ricordo("get", "7")
    assert beyond.exit_code == 2
    assert "the last search showed hits 2 to 2, not 7" in beyond.stderr


def test_without_a_search_the_error_says_so() -> None:
    alone = ricordo("get", "1")
    assert alone.exit_code == 2
    assert "there was none at this terminal" in alone.stderr


@pytest.mark.skipif(not hasattr(os, "setsid"), reason="terminals are told apart by their sessions")
def test_a_search_at_another_terminal_does_not_count() -> None:
    assert ricordo("search", "rotate keys").exit_code == 0
    command = [sys.executable, "-m", "ricordo", "get", "1"]
    other = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    assert other.returncode == 2
    assert "there was none at this terminal" in other.stderr


def test_what_is_erased_is_no_hit_of_the_last_search_any_more_and_the_others_keep_their_numbers() -> None:
    assert ricordo("search", "rotate keys").exit_code == 0
    kept = state_home(os.environ) / NAME
    assert "note:/keys" in kept.read_text()
    assert ricordo("rm", "--purge", "--dry-run", "note:/keys").exit_code == 0
    assert "note:/keys" in kept.read_text()
    assert ricordo("rm", "--purge", "-y", "note:/keys").exit_code == 0
    assert "note:/keys" not in kept.read_text()
    assert ricordo("get", "2").stdout.strip() == "Boats need no keys."
    gone = ricordo("get", "1")
    assert gone.exit_code == 2
    assert "hit 1 of the last search was erased" in gone.stderr
