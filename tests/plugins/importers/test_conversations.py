"""Memories and conversations of other programs come in with their names, times and links, and never twice."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Unreadable


def lines(*rows: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def taken_in(engine: Ricordo, format_: str, data: bytes) -> dict[str, Any]:
    report = engine.import_(io.BytesIO(data), format=format_).to_dict()
    again = engine.import_(io.BytesIO(data), format=format_).to_dict()
    assert again["created"] == 0
    return report


def test_the_memory_servers_entities_and_relations_come_in_as_entities_and_links(engine: Ricordo) -> None:
    data = lines(
        {"type": "entity", "name": "Ada Lovelace", "entityType": "person", "observations": ["likes tea", "is kind"]},
        {"type": "entity", "name": "Acme/Labs", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Ada Lovelace", "to": "Acme/Labs", "relationType": "works at"},
        {"type": "relation", "from": "Ada Lovelace", "to": "Nobody", "relationType": "knows"},
    )
    report = taken_in(engine, "memory-server", data)
    assert report["created"] == 2
    assert any("1 relations" in note for note in report["notes"])
    ada = engine.get("entity:/memory-server/Ada Lovelace")
    assert (ada.content, ada.fields.category, ada.kind) == ("- likes tea\n- is kind", "person", "entity")
    links = engine.links("entity:/memory-server/Ada Lovelace").to_dict()
    assert "works_at" in json.dumps(links)


CLAUDE = [
    {
        "uuid": "c1",
        "name": "Tea",
        "created_at": "2024-03-01T10:00:00Z",
        "updated_at": "2024-03-02T10:00:00Z",
        "chat_messages": [
            {
                "sender": "human",
                "text": "Which tea is best?",
                "content": [{"type": "text", "text": "Which tea is best?"}],
            },
            {"sender": "assistant", "text": "", "content": [{"type": "text", "text": "Sencha."}, {"type": "tool_use"}]},
        ],
    },
    {"uuid": "c2", "name": "", "chat_messages": []},
]


def test_conversations_of_claude_come_in_from_the_zip_of_the_export(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as folder:
        folder.writestr("data/conversations.json", json.dumps(CLAUDE))
    report = engine.import_(path, format="claude").to_dict()
    assert report["created"] == 1
    item = engine.get("agent:/claude/c1")
    assert item.content == "## Human\n\nWhich tea is best?\n\n## Claude\n\nSencha."
    assert (item.title, item.created_at.year) == ("Tea", 2024)


def test_of_a_chatgpt_conversation_the_branch_that_was_open_last_comes_in(engine: Ricordo) -> None:
    def node(role: str, text: str, parent: str | None) -> dict[str, Any]:
        return {
            "parent": parent,
            "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}},
        }

    mapping = {
        "root": {"parent": None, "message": None},
        "q": node("user", "Which tea?", "root"),
        "old": node("assistant", "Coffee.", "q"),
        "new": node("assistant", "Sencha.", "q"),
        "tool": node("tool", "noise", "new"),
    }
    talk = {"conversation_id": "g1", "title": "Tea", "create_time": 1.7e9, "mapping": mapping, "current_node": "tool"}
    circle = {
        "conversation_id": "g2",
        "title": "Loop",
        "mapping": {"a": node("user", "round", "a")},
        "current_node": "a",
    }
    assert taken_in(engine, "chatgpt", json.dumps([talk, circle]).encode())["created"] == 2
    assert engine.get("agent:/chatgpt/g1").content == "## Human\n\nWhich tea?\n\n## ChatGPT\n\nSencha."


@pytest.mark.parametrize("format_", ["mem0", "memory-server", "claude", "chatgpt"])
@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1, 2]", b'"text"', b"PK\x03\x04broken", b'{"a": 1}', b"\xff\xfe", b"[[[["]
)
def test_a_file_of_another_form_is_refused_with_a_hint_and_nothing_is_written(
    engine: Ricordo, format_: str, data: bytes
) -> None:
    with suppress(Unreadable):
        engine.import_(io.BytesIO(data), format=format_)
    assert engine.count() == 0


@pytest.mark.parametrize(
    ("format_", "row"),
    [
        ("claude", {"uuid": "a", "chat_messages": True}),
        ("claude", {"uuid": "a", "chat_messages": [{"sender": "human", "text": "hi", "content": 7}]}),
        ("chatgpt", {"id": "a", "mapping": {"x": 1}, "current_node": ["x"]}),
        ("memory-server", {"type": "entity", "name": "a", "observations": 5}),
        ("memory-server", {"type": "relation", "from": ["a"], "to": {}}),
    ],
)
def test_a_value_of_a_wrong_type_is_left_out_or_refused(engine: Ricordo, format_: str, row: dict[str, Any]) -> None:
    with suppress(Unreadable):
        engine.import_(io.BytesIO(json.dumps([row]).encode()), format=format_)
