"""Sessions of Gemini CLI and Qwen Code: what was said and done comes in once, what the programs add does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ricordo import Ricordo

TIME = "2026-11-15T12:28:58.392Z"


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def gemini(path: Path) -> Path:
    context = {
        "id": "c",
        "timestamp": TIME,
        "type": "user",
        "content": [{"text": "<session_context>\nThis is the CLI"}],
    }
    call = {
        "id": "call", "name": "read_file", "args": {"absolute_path": "/app/login.py"}, "status": "success",
        "result": [{"functionResponse": {"id": "call", "response": {"output": "def login(): pass"}}}],
    }  # fmt: skip
    return written(
        path,
        {"sessionId": "fe2d8087-e8c5-4e2b-859c-9e7718e0c938", "projectHash": "35b", "startTime": TIME, "kind": "main"},
        {"$set": {"messages": [context], "lastUpdated": TIME}},
        {"id": "u1", "timestamp": TIME, "type": "user", "content": [{"text": "Fix the zanzibar login bug"}]},
        {"$set": {"lastUpdated": TIME}},
        {"id": "g1", "timestamp": TIME, "type": "gemini", "content": "I read the file.", "toolCalls": [call]},
        {"id": "i1", "timestamp": TIME, "type": "info", "content": "Update available"},
    )


def qwen(path: Path) -> Path:
    shared = {"sessionId": "0e903623-24c6-45db-91bb-a44466142da3", "timestamp": TIME, "cwd": "/app", "version": "0.15"}
    call = {"functionCall": {"id": "1", "name": "run_shell_command", "args": {"command": "pytest"}}}
    answer = {"functionResponse": {"id": "1", "name": "run_shell_command", "response": {"error": "2 failed"}}}
    thought = {"text": "secret musing", "thought": True}
    return written(
        path,
        {
            **shared,
            "uuid": "a",
            "type": "user",
            "message": {"role": "user", "parts": [{"text": "Run the zebra tests"}]},
        },
        {**shared, "uuid": "b", "type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {}}},
        {
            **shared,
            "uuid": "c",
            "type": "assistant",
            "message": {"role": "model", "parts": [thought, {"text": "Yes."}, call]},
        },
        {**shared, "uuid": "d", "type": "tool_result", "message": {"role": "user", "parts": [answer]}},
    )


def test_a_session_of_gemini_cli_comes_in_once(engine: Ricordo, tmp_path: Path) -> None:
    path = gemini(tmp_path / "tmp" / "app" / "chats" / "session-2026-11-15T12-28-fe2d8087.jsonl")
    report = engine.sessions_add(path)
    assert report.failed == 0
    shown = json.dumps(engine.search("zanzibar login", track=False).to_dict())
    assert "zanzibar" in shown
    listed = [session.to_dict() for session in engine.sessions()]
    assert [one["id"] for one in listed] == ["fe2d8087-e8c5-4e2b-859c-9e7718e0c938"]
    text = json.dumps(engine.session(listed[0]["id"]).to_dict())
    assert "/app/login.py" in text
    assert "def login(): pass" in text
    assert "session_context" not in text
    assert "Update available" not in text
    before = engine.count()
    engine.sessions_add(path)
    assert engine.count() == before


def test_a_session_of_qwen_code_comes_in_without_its_thoughts(engine: Ricordo, tmp_path: Path) -> None:
    name = "0e903623-24c6-45db-91bb-a44466142da3"
    engine.sessions_add(qwen(tmp_path / "projects" / "-app" / "chats" / f"{name}.jsonl"))
    text = json.dumps(engine.session(name).to_dict())
    assert "Run the zebra tests" in text
    assert "run_shell_command: pytest" in text
    assert "2 failed" in text
    assert "secret musing" not in text
    assert "/app" in text


def test_a_message_that_gemini_cli_writes_again_with_its_tool_calls_comes_in_once(
    engine: Ricordo, tmp_path: Path
) -> None:
    path = tmp_path / "chats" / "session-1.jsonl"
    context = "<session_context>\nThis is the CLI\n- **Workspace Directories:**\n  - /home/me/app\n</session_context>"
    first = {"id": "c", "timestamp": TIME, "type": "user", "content": [{"text": context}]}
    answer = {"id": "g1", "timestamp": TIME, "type": "gemini", "content": "I look."}
    call = {"id": "call", "name": "glob", "args": {"pattern": "*.py"}, "status": "error", "result": [{"text": "no"}]}
    start = {"sessionId": "fe2d8087-e8c5-4e2b-859c-9e7718e0c938", "projectHash": "35b", "startTime": TIME}
    asked = {"id": "u1", "timestamp": TIME, "type": "user", "content": [{"text": "Where are the files?"}]}
    lines: list[dict[str, Any]] = [start, {"$set": {"messages": [first]}}, asked, answer]
    engine.sessions_add(written(path, *lines))
    engine.sessions_add(written(path, *lines, answer | {"toolCalls": [call]}))
    session = engine.session("fe2d8087-e8c5-4e2b-859c-9e7718e0c938")
    assert [turn.text for turn in session.turns] == ["Where are the files?", "I look.", "glob: *.py", "no"]
    assert session.folder == "/home/me/app"


def test_a_session_of_an_older_gemini_cli_is_one_json_file_that_grows(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "tmp" / "35b" / "chats" / "session-2025-10-01T10-00-fe2d8087.json"
    path.parent.mkdir(parents=True)
    about = {"sessionId": "fe2d8087-e8c5-4e2b-859c-9e7718e0c938", "projectHash": "35b", "startTime": TIME}
    asked = {"id": "u1", "timestamp": TIME, "type": "user", "content": "Fix the zanzibar login bug"}
    answer: dict[str, Any] = {"id": "g1", "timestamp": TIME, "type": "gemini", "content": "I look."}
    path.write_text(json.dumps(about | {"messages": [asked, answer]}, indent=2))
    assert [saved.reason for saved in engine.sessions_add(tmp_path).items] == ["2 new events"]
    call = {
        "id": "call",
        "name": "glob",
        "args": {"pattern": "*.py"},
        "status": "success",
        "result": [{"text": "a.py"}],
    }
    last = {"id": "g2", "timestamp": TIME, "type": "gemini", "content": "Mended."}
    path.write_text(json.dumps(about | {"messages": [asked, answer | {"toolCalls": [call]}, last]}, indent=2))
    assert [saved.reason for saved in engine.sessions_add(tmp_path).items] == ["3 new events"]
    told = [turn.text for turn in engine.session(about["sessionId"]).turns]
    assert told == ["Fix the zanzibar login bug", "I look.", "glob: *.py", "a.py", "Mended."]
    assert [saved.reason for saved in engine.sessions_add(tmp_path).items] == ["unchanged"]
    broken = path.with_name("session-broken.json")
    broken.write_text('{"messages": [')
    assert [saved.status for saved in engine.sessions_add(broken).items] == ["failed"]
