"""mem0's memories, as its export and its API print them: JSON with ``id``, ``memory``, times, owner and metadata.

A memory becomes ``memory:/mem0/<id>``. The relations of its graph connect words, not memories, so they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ricordo.errors import Unreadable, UsageError
from ricordo.ingest.foreign.base import Foreign
from ricordo.ingest.foreign.plain_json import read_json, time_in
from ricordo.values.field_checks import checked_tags
from ricordo.values.items import Entry, Ref, Saved, checked_fields

_HINT = "Save what get_all() returns as JSON."
_LISTS = ("results", "memories", "data", "items")
_TEXTS = ("memory", "text", "content", "data")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "session_id", "actor_id", "role")
_KNOWN = frozenset({*_TEXTS, *_OWNERS, "id", "hash", "metadata", "categories", "created_at", "updated_at", "score"})


def read_memories(data: bytes, name: str) -> Foreign:
    """The memories of a file as texts; one that has no text is reported as failed."""
    found = _list(read_json(data, name, "memories.json", _HINT), name)
    entries = []
    failed = []
    for place, plain in enumerate(found, start=1):
        try:
            entries.append(_entry(plain))
        except UsageError as problem:
            failed.append(Saved(f"{name}, memory {place}", "failed", error=problem.to_dict()))
    return Foreign(tuple(entries), failed=tuple(failed))


def _list(plain: Any, name: str) -> list[Any]:
    if isinstance(plain, dict):
        plain = next((plain[key] for key in _LISTS if isinstance(plain.get(key), list)), plain)
    if isinstance(plain, list) and all(isinstance(one, dict) for one in plain):
        return plain
    raise Unreadable(f"{name} holds no list of memories", hint="Expected [{'id': …, 'memory': …}, …].")


def _entry(plain: Mapping[str, Any]) -> Entry:
    text = next((plain[key] for key in _TEXTS if isinstance(plain.get(key), str) and plain[key].strip()), None)
    identity = plain.get("id")
    if text is None or identity in (None, "", ".", ".."):
        raise UsageError("a memory without id or text", hint="Each needs 'id' and 'memory'.")
    text = text.encode("utf-8", "replace").decode()
    metadata = dict(plain["metadata"]) if isinstance(plain.get("metadata"), dict) else {}
    metadata |= {key: value for key, value in plain.items() if key not in _KNOWN and value is not None}
    metadata |= {key: plain[key] for key in _OWNERS if plain.get(key) is not None}
    metadata["mem0_id"] = str(identity)
    fields: dict[str, Any] = {"metadata": metadata, "source": "agent", "source_adapter": "mem0"}
    categories = plain.get("categories") or metadata.pop("categories", None)
    if categories:
        fields["tags"] = checked_tags(categories)
    if metadata.get("immutable") is True:
        fields["immutable"] = True
    if isinstance(metadata.get("expiration_date"), str):
        fields |= _checked("valid_until", metadata["expiration_date"])
    changed = time_in(plain, "updated_at", "created_at")
    created = time_in(plain, "created_at") or changed
    times = (created, changed) if created is not None and changed is not None else None
    return Entry(str(Ref("memory", f"/mem0/{quote(str(identity), safe='')}")), text, "memory", fields, "text", times)


def _checked(name: str, value: str) -> dict[str, Any]:
    try:
        return checked_fields({name: value})
    except UsageError:
        return {}
