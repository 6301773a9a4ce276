"""Memories that are lists: the export of mcp-memory-service, and the memory blocks of Letta's agent files."""

from __future__ import annotations

import hashlib
from typing import Any

from ricordo.errors import Unreadable
from ricordo.ingest.foreign.base import Foreign
from ricordo.ingest.foreign.plain_json import list_in, path_part, read_json, text_in, time_in, times_of
from ricordo.values.items import Entry, Ref, Saved

_SERVICE_HINT = 'Name the file that its export wrote: {"memories": [{"content": ..., "tags": [...]}]}.'
_LETTA_HINT = "Name an agent file (.af) that Letta exported; it holds blocks or core_memory."


def read_memory_service(data: bytes, name: str) -> Foreign:
    """Every memory with its tags, type, times and metadata."""
    rows = list_in(read_json(data, name, "memories.json", _SERVICE_HINT), ("memories", "results"), name, _SERVICE_HINT)
    entries: list[Entry] = []
    failed: list[Saved] = []
    for place, row in enumerate(rows, start=1):
        text = text_in(row, "content")
        if not text:
            error = Unreadable("a memory without content", hint=_SERVICE_HINT)
            failed.append(Saved(f"{name}, memory {place}", "failed", error=error.to_dict()))
            continue
        identity = text_in(row, "content_hash", "id") or hashlib.sha256(text.encode()).hexdigest()
        metadata = dict(row["metadata"]) if isinstance(row.get("metadata"), dict) else {}
        fields: dict[str, Any] = {"source": "agent", "source_adapter": "mcp-memory-service", "metadata": metadata}
        fields["tags"] = _tags(row.get("tags"))
        if kind := text_in(row, "memory_type", "type"):
            fields["category"] = kind
        made, changed = time_in(row, "created_at_iso", "created_at"), time_in(row, "updated_at_iso", "updated_at")
        ref = str(Ref("memory", f"/mcp-memory-service/{path_part(identity[:64])}"))
        entries.append(Entry(ref, text, "memory", fields, "text", times_of(made, changed)))
    return Foreign(tuple(entries), failed=tuple(failed))


def read_letta(data: bytes, name: str) -> Foreign:
    """The memory blocks of an agent, and the passages of its archive."""
    plain = read_json(data, name, "agent.af", _LETTA_HINT)
    if not isinstance(plain, dict):
        raise Unreadable(f"{name} is not of the expected form", hint=_LETTA_HINT)
    agents = _dicts(plain.get("agents")) or [plain]
    owner = path_part(text_in(agents[0], "name") or "agent")
    entries: list[Entry] = []
    for block in _dicts(plain.get("blocks")) + _dicts(plain.get("core_memory")):
        if text := text_in(block, "value"):
            label = text_in(block, "label") or "block"
            fields = {"title": label, "description": text_in(block, "description"), "source": "agent"}
            ref = str(Ref("memory", f"/letta/{owner}/{path_part(label)}"))
            entries.append(Entry(ref, text, "memory", fields | {"source_adapter": "letta"}, "text"))
    for place, passage in enumerate(_dicts(plain.get("passages")) + _dicts(plain.get("archival_memory")), start=1):
        if text := text_in(passage, "text", "content"):
            ref = str(Ref("memory", f"/letta/{owner}/archive/{path_part(text_in(passage, 'id') or str(place))}"))
            more = {"tags": _tags(passage.get("tags")), "source": "agent", "source_adapter": "letta"}
            entries.append(Entry(ref, text, "memory", more, "text", times_of(time_in(passage, "created_at"), None)))
    if not entries:
        raise Unreadable(f"{name} holds no memory blocks", hint=_LETTA_HINT)
    return Foreign(tuple(entries))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _tags(value: Any) -> tuple[str, ...]:
    found = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(str(one).strip() for one in found if str(one).strip()))
