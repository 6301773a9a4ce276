"""Memories that are graphs: the reference memory server's file, and what Zep and Graphiti answer.

The memory server writes a line for each entity (``name``, ``entityType``, ``observations``) and each relation
(``from``, ``to``, ``relationType``). Zep and Graphiti answer with nodes (``uuid``, ``name``, ``summary``, ``labels``)
and edges or facts (``fact``, ``source_node_uuid``, ``target_node_uuid``, ``valid_at``, ``invalid_at``).
"""

from __future__ import annotations

from typing import Any

from ricordo.errors import Unreadable
from ricordo.ingest.foreign.base import Foreign, Relation
from ricordo.ingest.foreign.plain_json import (
    link_type,
    list_in,
    path_part,
    read_json,
    text_in,
    time_in,
    times_of,
    values_in,
)
from ricordo.values.items import Entry, Ref

_SERVER_HINT = "Name the server's memory.jsonl (MEMORY_FILE_PATH says where it is)."
_ZEP_HINT = 'Save {"nodes": [...], "edges": [...]} as JSON; "facts" is accepted in place of "edges".'


def read_memory_server(data: bytes, name: str) -> Foreign:
    """Entities with their observations, and relations as links."""
    rows = list_in(read_json(data, name, "memory.jsonl", _SERVER_HINT), ("entities",), name, _SERVER_HINT)
    entities = [row for row in rows if row.get("type") == "entity" and text_in(row, "name")]
    if rows and not entities:
        raise Unreadable(f"{name} holds no entities", hint=_SERVER_HINT)
    refs = {text_in(row, "name"): _ref("memory-server", text_in(row, "name")) for row in entities}
    entries: dict[str, Entry] = {}
    for row in entities:
        title = text_in(row, "name")
        said = [str(one) for one in values_in(row, "observations") if str(one).strip()]
        before = entries.get(refs[title])
        text = "\n".join(([before.content] if before else []) + [f"- {one}" for one in said]) or title
        fields = {"title": title, "category": text_in(row, "entityType") or None, "source": "agent"}
        entries[refs[title]] = Entry(
            refs[title], text, "entity", fields | {"source_adapter": "memory-server"}, "markdown"
        )
    relations = [
        Relation(refs[text_in(row, "from")], link_type(text_in(row, "relationType")), refs[text_in(row, "to")])
        for row in rows
        if row.get("type") == "relation" and text_in(row, "from") in refs and text_in(row, "to") in refs
    ]
    lost = sum(1 for row in rows if row.get("type") == "relation") - len(relations)
    notes = (f"{lost} relations lead to entities that are not there",) if lost else ()
    return Foreign(tuple(entries.values()), tuple(relations), notes=notes)


def read_zep(data: bytes, name: str) -> Foreign:
    """Nodes become entities, facts become memories that are valid for a time; a fact links the entities it is about."""
    plain = read_json(data, name, "graph.json", _ZEP_HINT)
    if not isinstance(plain, dict):
        plain = {"edges": plain}
    nodes = list_in(plain.get("nodes") or [], (), name, _ZEP_HINT)
    facts = list_in(next((plain[key] for key in ("edges", "facts") if plain.get(key)), []), (), name, _ZEP_HINT)
    if not any(text_in(one, key) for rows, key in ((nodes, "name"), (facts, "fact")) for one in rows):
        raise Unreadable(f"{name} holds neither nodes nor facts", hint=_ZEP_HINT)
    entries: list[Entry] = []
    refs: dict[str, str] = {}
    for node in nodes:
        title = text_in(node, "name")
        if not title:
            continue
        uuid = str(node.get("uuid") or "")
        ref = _ref("zep", title)
        if ref in refs.values() and uuid:  # another node of the same name
            ref = _ref("zep", f"{title} {uuid[:8]}")
        refs[uuid] = ref
        labels = tuple(str(one) for one in values_in(node, "labels") if one != "Entity")
        fields = {"title": title, "tags": labels, "source": "agent", "source_adapter": "zep"}
        entries.append(Entry(ref, text_in(node, "summary") or title, "entity", fields, "text", _times(node)))
    relations: list[Relation] = []
    for fact in facts:
        text = text_in(fact, "fact")
        if not text:
            continue
        ref = str(Ref("memory", f"/zep/{path_part(str(fact.get('uuid') or text[:60]))}"))
        entries.append(Entry(ref, text, "memory", _fact_fields(fact), "text", _times(fact)))
        ends = [refs.get(str(fact.get(f"{end}_node_uuid"))) for end in ("source", "target")]
        relations += [Relation(ref, "mentions", end) for end in ends if end]
        if ends[0] and ends[1]:
            relations.append(Relation(ends[0], link_type(text_in(fact, "name")), ends[1]))
    return Foreign(tuple(entries), tuple(relations))


def _fact_fields(fact: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {"source": "agent", "source_adapter": "zep"}
    for name, key in (("valid_from", "valid_at"), ("valid_until", "invalid_at")):
        if (moment := time_in(fact, key)) is not None:
            fields[name] = moment.isoformat()
    return fields


def _times(plain: dict[str, Any]) -> Any:
    return times_of(time_in(plain, "created_at"), None)


def _ref(program: str, name: str) -> str:
    return str(Ref("entity", f"/{program}/{path_part(name)}"))
