"""Sessions of opencode: its database and its older JSON files come in once, what is unfinished waits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import error_of

from ricordo import Ricordo

NAME = "ses_e207ec289ffek6Ydmz5Zo237G5"
BEGAN = 1_794_751_151_745
Record = dict[str, Any]


def text(words: str, **more: Any) -> Record:
    return {"type": "text", "text": words, "time": {"start": BEGAN, "end": BEGAN + 9}, **more}


def tool(name: str, given: Mapping[str, Any], status: str = "completed", **more: Any) -> Record:
    state = {"status": status, "input": given, "time": {"start": BEGAN, "end": BEGAN + 5}, **more}
    return {"type": "tool", "tool": name, "callID": "call_0", "state": state}


READ = tool("read", {"filePath": "/app/login.py"}, output="def login(): pass")
MESSAGES: list[tuple[Record, list[Record]]] = [
    (
        {"role": "user", "time": {"created": BEGAN}},
        [text("Fix the zanzibar login bug"), text("Called the Read tool", synthetic=True)],
    ),
    (
        {"role": "assistant", "time": {"created": BEGAN + 10, "completed": BEGAN + 90}},
        [
            {"type": "step-start"},
            {"type": "reasoning", "text": "secret musing", "time": {"start": BEGAN}},
            text("I look at it."),
            READ,
            tool("bash", {"command": "pytest -x"}, output="2 failed", metadata={"exit": 1}),
            tool("edit", {"filePath": "/app/login.py"}, "error", error="the file was changed meanwhile"),
            tool("ricordo_search", {"query": "login"}, output="what the store said"),
            {"type": "hologram", "data": 1},
            {"type": "step-finish", "reason": "stop"},
        ],
    ),
]


class Database:
    """opencode's database, as version 1.18 lays it out, with the columns that are read."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.now = BEGAN
        self.connection = sqlite3.connect(path)
        self.connection.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text NOT NULL,"
            " time_created integer NOT NULL, time_updated integer NOT NULL);"
            "CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,"
            " time_updated integer NOT NULL, data text NOT NULL);"
            "CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,"
            " time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);"
        )

    def session(self, name: str = NAME, title: str = "Mend the login", parent: str | None = None) -> None:
        row = (name, parent, "/app", title, BEGAN, BEGAN)
        self.connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
        self.connection.commit()

    def message(self, number: int, about: Record, parts: list[Record], session: str = NAME) -> None:
        made = BEGAN + number * 1_000
        self.now += 1
        row = (f"msg_{number:03}{session[-4:]}", session, made, self.now, json.dumps(about))
        self.connection.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", row)
        for place, part in enumerate(parts):
            self.now += 1
            inside = (f"prt_{number:03}{place:03}{session[-4:]}", row[0], session, made, self.now, json.dumps(part))
            self.connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", inside)
        self.connection.commit()


def in_files(storage: Path) -> Path:
    """The same session in the JSON files of version 1.1."""

    def write(path: Path, record: Record) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2), encoding="utf-8")

    about = {"id": NAME, "projectID": "global", "directory": "/app", "title": "Mend the login"}
    write(storage / "session" / "global" / f"{NAME}.json", about | {"time": {"created": BEGAN, "updated": BEGAN}})
    for number, (message, parts) in enumerate(MESSAGES):
        name = f"msg_{number:03}7G5"
        write(storage / "message" / NAME / f"{name}.json", {"id": name, "sessionID": NAME, **message})
        for place, part in enumerate(parts):
            id_ = f"prt_{number:03}{place:03}"
            write(storage / "part" / name / f"{id_}.json", {"id": id_, "messageID": name, "sessionID": NAME, **part})
    return storage


def in_database(path: Path) -> Path:
    database = Database(path)
    database.session()
    for number, (about, parts) in enumerate(MESSAGES):
        database.message(number, about, parts)
    return path


@pytest.mark.parametrize("layout", ["database", "files"])
def test_a_session_of_opencode_comes_in_once(engine: Ricordo, tmp_path: Path, layout: str) -> None:
    place = in_database(tmp_path / "opencode.db") if layout == "database" else in_files(tmp_path / "storage")
    report = engine.sessions_add(place)
    assert [(saved.status, saved.reason) for saved in report.items] == [("created", "8 new events")]
    session = engine.session(NAME)
    assert (session.adapter, session.facets.title, session.folder) == ("opencode", "Mend the login", "/app")
    assert [(turn.role, turn.direction, turn.text) for turn in session.turns] == [
        ("user", "received", "Fix the zanzibar login bug"),
        ("assistant", "sent", "I look at it."),
        ("tool", "sent", "read: /app/login.py"),
        ("tool", "received", "def login(): pass"),
        ("tool", "sent", "bash: pytest -x"),
        ("tool", "received", "2 failed"),
        ("tool", "sent", "edit: /app/login.py"),
        ("tool", "received", "the file was changed meanwhile"),
    ]
    assert session.turns[2].files == ("/app/login.py",)
    assert session.turns[0].at.isoformat() == "2026-11-15T13:59:11.745000+00:00"
    assert any("1 hologram" in note for note in report.notes)
    failed = [engine.get(turn.ref).fields.metadata.get("error") for turn in session.turns]
    assert failed == [None] * 5 + [True, None, True]
    again = engine.sessions_add(place)
    assert [(saved.status, saved.reason) for saved in again.items] == [("skipped", "unchanged")]


def test_what_is_still_being_written_waits_until_it_is_done(engine: Ricordo, tmp_path: Path) -> None:
    database = Database(tmp_path / "opencode.db")
    database.session(title="New session - 2026-11-15T13:59:11.478Z")
    database.message(0, *MESSAGES[0])
    growing = {"role": "assistant", "time": {"created": BEGAN + 10}}
    half = {"type": "text", "text": "The cause is th", "time": {"start": BEGAN}}
    database.message(1, growing, [READ, half])
    engine.sessions_add(database.path)
    session = engine.session(NAME)
    assert session.count == 3
    assert session.facets.title == "Fix the zanzibar login bug"
    database.message(2, growing, [])  # a later message: the one before will not grow any more
    database.message(1, growing, [READ, text("The cause is the clock.")])
    database.message(2, growing, [tool("bash", {"command": "date"}, "running")])
    engine.sessions_add(database.path)
    told = [turn.text for turn in engine.session(NAME).turns]
    assert told[3:] == ["The cause is the clock."]
    database.message(2, growing, [tool("bash", {"command": "date"}, output="noon")])
    engine.sessions_add(database.path)
    told = [turn.text for turn in engine.session(NAME).turns]
    assert told[4:] == ["bash: date", "noon"]


def test_the_database_is_preferred_to_the_files_it_took_over_and_helpers_are_left_out(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = tmp_path / "share"
    monkeypatch.setenv("XDG_DATA_HOME", str(share))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "none"))
    in_files(share / "opencode" / "storage")
    assert [saved.reason for saved in engine.sessions_add().items] == ["8 new events"]
    database = Database(share / "opencode" / "opencode.db")
    database.session("ses_two", "Another")
    database.message(1, *MESSAGES[0], session="ses_two")
    database.session("ses_helper", "Child session - x", parent="ses_two")
    database.message(1, *MESSAGES[0], session="ses_helper")
    assert [saved.ref for saved in engine.sessions_add().items] == ["session:/ses_two"]
    named = engine.sessions_add(share / "opencode")
    assert {saved.ref for saved in named.items} == {"session:/ses_two", "session:/ses_helper"}


@pytest.mark.parametrize(
    ("kept", "typed"),
    [
        ('"Fix the login"', "Fix the login"),
        ('"Say \\"hello\\" twice"', 'Say "hello" twice'),
        ('"One" and "two"', '"One" and "two"'),
        ('"', '"'),
    ],
)
def test_a_prompt_is_kept_as_it_was_typed(engine: Ricordo, tmp_path: Path, kept: str, typed: str) -> None:
    database = Database(tmp_path / "opencode.db")
    database.session()
    database.message(0, {"role": "user", "time": {"created": BEGAN}}, [text(kept)])
    engine.sessions_add(database.path)
    assert [turn.text for turn in engine.session(NAME).turns] == [typed]


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 200])
def test_a_database_that_is_none_is_refused_with_its_name(engine: Ricordo, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(content)
    saved = engine.sessions_add(path).items[0]
    assert saved.status == "failed"
    assert "opencode" in error_of(saved)["message"]
    assert error_of(saved)["hint"]


def test_damaged_records_are_counted_and_the_rest_comes_in(engine: Ricordo, tmp_path: Path) -> None:
    database = Database(tmp_path / "opencode.db")
    database.session()
    database.message(0, *MESSAGES[0])
    database.message(1, *MESSAGES[1])
    database.connection.execute("UPDATE part SET data = '{' WHERE data LIKE '%pytest -x%'")
    database.connection.execute("UPDATE part SET data = '[]' WHERE data LIKE '%I look at it%'")
    database.connection.commit()
    report = engine.sessions_add(database.path)
    assert any("2 unreadable" in note for note in report.notes)
    assert engine.session(NAME).count == 5
