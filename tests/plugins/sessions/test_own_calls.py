"""What Ricordo itself said in a session does not come back as something that was said or found there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ricordo.plugins.sessions.transcripts.files import open_transcript
from ricordo.plugins.sessions.values import SessionEvent


def texts(path: Path, *lines: dict[str, Any]) -> list[str]:
    """What is kept of a transcript with these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return [event.text for event in open_transcript(path).events() if isinstance(event, SessionEvent)]


def codex_call(name: str, call: str, **more: Any) -> list[dict[str, Any]]:
    called = {"type": "function_call", "name": name, "call_id": call, **more}
    answered = {"type": "function_call_output", "call_id": call, "output": f"answer of {call}"}
    return [
        {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": one} for one in (called, answered)
    ]


def test_codexs_calls_of_our_server_and_of_its_resources_are_left_out(tmp_path: Path) -> None:
    kept = texts(
        tmp_path / "rollout-a.jsonl",
        *codex_call("search", "ours", namespace="mcp__ricordo", arguments='{"query": "keys"}'),
        *codex_call("read_mcp_resource", "resource", arguments='{"server": "ricordo", "uri": "ricordo://item/a"}'),
        *codex_call("search", "theirs", namespace="mcp__wiki", arguments='{"query": "keys"}'),
        *codex_call("read_mcp_resource", "page", arguments='{"server": "wiki", "uri": "wiki://page"}'),
    )
    assert [text for text in kept if text.startswith("answer")] == ["answer of theirs", "answer of page"]


def test_claude_codes_reading_of_our_resources_is_left_out(tmp_path: Path) -> None:
    def said(kind: str, content: list[dict[str, Any]], uuid: str) -> dict[str, Any]:
        about = {"sessionId": "s", "uuid": uuid, "timestamp": "2026-01-01T00:00:00Z", "parentUuid": None}
        return {**about, "type": kind, "message": {"role": kind, "content": content}}

    def call(name: str, server: str) -> list[dict[str, Any]]:
        given = {"server": server, "uri": f"{server}://item"}
        return [
            said("assistant", [{"type": "tool_use", "id": server, "name": name, "input": given}], f"{server}-call"),
            said(
                "user", [{"type": "tool_result", "tool_use_id": server, "content": f"from {server}"}], f"{server}-back"
            ),
        ]

    kept = texts(tmp_path / "s.jsonl", *call("ReadMcpResourceTool", "ricordo"), *call("ReadMcpResourceTool", "wiki"))
    assert [text for text in kept if text.startswith("from")] == ["from wiki"]


def test_of_geminis_first_message_only_what_the_hook_said_is_left_out(tmp_path: Path) -> None:
    kept = texts(
        tmp_path / "session-a.jsonl",
        {"sessionId": "g", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
        {
            "id": "1", "type": "user", "timestamp": "2026-01-01T00:00:00Z",
            "content": [{"text": "<hook_context>## Always\nBe brief.</hook_context>\n\nWhy is the build red?"}],
        },
    )  # fmt: skip
    assert kept == ["Why is the build red?"]


def test_qwens_message_is_kept_without_what_the_hook_added_to_it(tmp_path: Path) -> None:
    kept = texts(
        tmp_path / "q.jsonl",
        {
            "sessionId": "q", "uuid": "1", "type": "user", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/home/ada",
            "message": {
                "role": "user",
                "parts": [{"text": "Why is the build red?"}, {"text": "## From memory\n[note:/ci] The build…"}],
            },
        },
    )  # fmt: skip
    assert kept == ["Why is the build red?"]
