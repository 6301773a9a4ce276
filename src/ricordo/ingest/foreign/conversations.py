"""Exported conversations of Claude and ChatGPT: ``conversations.json``, or the zip that holds it.

A conversation becomes one text, ``agent:/claude/ID`` or ``agent:/chatgpt/ID``, with a heading for each turn. Of a
ChatGPT conversation the branch that was open last is taken; attachments and pictures are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ricordo.errors import Unreadable
from ricordo.ingest.foreign.base import Foreign
from ricordo.ingest.foreign.plain_json import list_in, path_part, read_json, text_in, time_in, times_of, values_in
from ricordo.values.items import Entry, Ref, Saved

FILE = "conversations.json"
_HINT = f"Name the zip of your export, or the {FILE} in it."
Turn = tuple[str, str]


def read_claude(data: bytes, name: str) -> Foreign:
    """Claude's export: a list of conversations with ``chat_messages``."""
    return _read(data, name, "claude", "chat_messages", _claude_turns)


def read_chatgpt(data: bytes, name: str) -> Foreign:
    """ChatGPT's export: a list of conversations with a ``mapping`` of messages."""
    return _read(data, name, "chatgpt", "mapping", _chatgpt_turns)


def _read(data: bytes, name: str, program: str, key: str, turns: Any) -> Foreign:
    found = list_in(read_json(data, name, FILE, _HINT), ("conversations",), name, _HINT)
    if found and not any(key in one for one in found):
        raise Unreadable(f"{name} holds no conversations of {program}", hint=_HINT)
    entries: list[Entry] = []
    failed: list[Saved] = []
    empty = 0
    for place, one in enumerate(found, start=1):
        identity = text_in(one, "uuid", "conversation_id", "id")
        if not identity or key not in one:
            error = Unreadable("a conversation without id or messages", hint=_HINT)
            failed.append(Saved(f"{name}, conversation {place}", "failed", error=error.to_dict()))
            continue
        text = "\n\n".join(f"## {who}\n\n{said}" for who, said in turns(one))
        if not text:
            empty += 1
            continue
        title = text_in(one, "name", "title") or "Conversation"
        fields = {"title": title, "source": "agent", "source_adapter": program, "tags": ("conversation",)}
        made, changed = time_in(one, "created_at", "create_time"), time_in(one, "updated_at", "update_time")
        ref = str(Ref("agent", f"/{program}/{path_part(identity)}"))
        entries.append(Entry(ref, text, "document", fields, "markdown", times_of(made, changed)))
    notes = (f"{empty} conversations have no text",) if empty else ()
    return Foreign(tuple(entries), failed=tuple(failed), notes=notes)


def _claude_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    for message in values_in(conversation, "chat_messages"):
        if not isinstance(message, dict):
            continue
        blocks = [one for one in values_in(message, "content") if isinstance(one, dict) and one.get("type") == "text"]
        said = "\n\n".join(text_in(one, "text") for one in blocks).strip() or text_in(message, "text")
        if said:
            yield ("Human" if message.get("sender") == "human" else "Claude"), said


def _chatgpt_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    """The messages of the branch that was open last, from the first to the last."""
    mapping = conversation.get("mapping")
    mapping = mapping if isinstance(mapping, dict) else {}
    here = conversation.get("current_node")
    if not isinstance(here, str) or here not in mapping:
        here = next(reversed(mapping), None)
    turns: list[Turn] = []
    seen: set[str] = set()
    while isinstance(here, str) and here in mapping and here not in seen:
        seen.add(here)
        node = mapping[here] if isinstance(mapping[here], dict) else {}
        if (turn := _chatgpt_turn(node.get("message"))) is not None:
            turns.append(turn)
        here = node.get("parent")
    yield from reversed(turns)


def _chatgpt_turn(message: Any) -> Turn | None:
    if not isinstance(message, dict):
        return None
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, dict) else None
    if role not in ("user", "assistant") or not isinstance(content, dict):
        return None
    parts = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
    said = "\n\n".join(part for part in parts or () if isinstance(part, str) and part.strip())
    said = said.encode("utf-8", "replace").decode()
    return (("Human" if role == "user" else "ChatGPT"), said) if said else None
