"""Stored text and queries cannot steer the terminal, and a setting that makes no sense does not stop searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from ricordo import ConfigProvider, ReadOnlyStore, Ricordo, StaleVersion
from ricordo.cli.program import program
from ricordo.cli.terminal import clean


def test_codes_that_turn_text_around_do_not_reach_the_terminal() -> None:
    for code in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c\u2028\x1b\x07\x9b":
        assert code not in clean(f"a{code}b")
    assert clean("שלום \u200f עולם\tx\n") == "שלום \u200f עולם\tx\n"


def test_a_query_with_terminal_codes_is_echoed_without_them(engine: Ricordo) -> None:
    engine.save("note:/a", "some text")
    done = CliRunner().invoke(program, ["--store", engine.location, "search", "kind:\x1b]0;owned\x07 text"])
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


def test_a_profile_that_does_not_exist_cannot_be_set(engine: Ricordo) -> None:
    done = CliRunner().invoke(program, ["config", "set", "search.profile", "nonsense"])
    assert done.exit_code == 2
    assert "there is no profile 'nonsense'" in done.stderr
    assert CliRunner().invoke(program, ["config", "set", "search.profile", "brain"]).exit_code == 0


def test_searches_go_on_when_the_profile_of_the_settings_is_unknown(tmp_path: Path) -> None:
    config = ConfigProvider({"embedding.provider": "none", "search.profile": "nonsense"})
    with Ricordo.open(tmp_path / "x.db", config=config) as engine:
        engine.save("note:/a", "some text")
        answer = engine.search("text")
        assert [hit.ref for hit in answer.hits] == ["note:/a"]
        assert any("search.profile cannot be used" in note for note in answer.meta.degraded)
        assert answer.meta.profile == "default"


def test_an_edit_made_on_an_old_version_is_refused_and_a_loop_loses_nothing(engine: Ricordo) -> None:
    engine.save("note:/count", "0")
    item = engine.get("note:/count")
    engine.edit("note:/count", "1", base=item.version)
    with pytest.raises(StaleVersion, match="made on version 1"):
        engine.edit("note:/count", "1", base=item.version)
    done = CliRunner().invoke(
        program, ["--store", engine.location, "edit", "note:/count", "--content", "9", "--base", "1"]
    )
    assert done.exit_code == 4
    assert engine.get("note:/count").content == "1"


@pytest.fixture
def on_a_read_only_medium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose folder takes no new file: SQLite cannot make the one in which readers and writers meet."""
    store = tmp_path / "medium" / "x.db"
    store.parent.mkdir()
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        engine.save("note:/a", "a zebra")
    (store.parent / "x.db-shm").mkdir()
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode, **rest: not (mode & os.W_OK and "medium" in str(path)) and allowed(path, mode)
    )
    return store


NO_VECTORS = ConfigProvider({"embedding.provider": "none"})


def test_a_store_that_lies_where_nothing_can_be_written_can_be_read(on_a_read_only_medium: Path) -> None:
    before = on_a_read_only_medium.read_bytes()
    with Ricordo.open(on_a_read_only_medium, config=NO_VECTORS, create=False) as engine:
        assert [hit.ref for hit in engine.search("zebra").hits] == ["note:/a"]
        assert engine.get("note:/a").content == "a zebra"
        assert engine.status()["read_only"] is True
        with pytest.raises(ReadOnlyStore):
            engine.save("note:/b", "x")
    assert on_a_read_only_medium.read_bytes() == before


def test_changes_that_stand_only_in_the_log_are_not_silently_left_out(on_a_read_only_medium: Path) -> None:
    Path(f"{on_a_read_only_medium}-wal").write_bytes(b"x" * 4096)
    with pytest.raises(ReadOnlyStore, match="changes in its log"):
        Ricordo.open(on_a_read_only_medium, config=NO_VECTORS, create=False)
