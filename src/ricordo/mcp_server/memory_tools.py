"""The toolset ``memory``: search that shows its signals, saving of four kinds, vectors, settings, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import UsageError
from ricordo.mcp_server import shapes
from ricordo.mcp_server.mapped import Arg, mapped
from ricordo.mcp_server.tool import (
    READS,
    REPLACES,
    WRITES_ONCE,
    Tool,
    answer,
    choice,
    integer,
    mapping,
    rows,
    string,
    strings,
    tool,
)
from ricordo.values.hits import Answer, Filters, Hit
from ricordo.values.kinds import ON_DUPLICATE

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.kinds import OnDuplicate

TYPES = ("memory", "entity", "note", "resource")
SIGNALS = ("vector", "fts", "recency", "importance")
_LIMIT = integer("The most results.", minimum=1, maximum=100)
_TYPE = choice(TYPES, "Only this type.")
SAVED = answer("ref", "status", ref="string", status="string", tree="string")
_META = answer("returned", total_candidates="integer", returned="integer", execution_time_ms="number", weights="object")


def _row(hit: Hit) -> dict[str, Any]:
    item = hit.item
    assert item is not None, "the search was for whole items"
    plain = {name: value for name, value in item.to_dict().items() if name not in ("content", "content_hash")}
    return {"id": hit.id, "type": hit.kind, "content": item.content, "data": shapes.without_empty(plain)}


def _filters(type_: str | None) -> Filters:
    return Filters(kinds=(type_,) if type_ else TYPES)


@tool(
    effects=READS,
    output=answer(
        "results",
        "meta",
        results=rows(
            "id", "type", "content", "score", "signals", "data",
            id="string", type="string", content="string", score="number", signals="object", data="object",
        ),
        meta=_META,
    ),
    query=string("What to look for."),
    type=_TYPE,
    limit=_LIMIT,
    weights=mapping("Such as {vector: 0.5, fts: 0.2}; 0 means 0."),
)  # fmt: skip
def hybrid_search(
    engine: Ricordo,
    query: str,
    type: str | None = None,  # noqa: A002 - the argument's name
    limit: int = 20,
    weights: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Search memories, entities, notes and resources by meaning, words, recency and importance; each result shows what
    every signal gave.
    """
    found = engine.search(
        query,
        limit=limit,
        mode="full",
        filters=_filters(type),
        profile="brain",
        weights=_weights(weights or {}),
        explain=True,
        tool="hybrid_search",
    )
    results = []
    for hit in found.hits:
        shares = {share.name: share.contribution for share in hit.explain.signals} if hit.explain else {}
        signals = {name: round(shares.get(name, 0.0), 6) for name in SIGNALS}
        results.append(_row(hit) | {"score": round(hit.score, 6), "signals": signals})
    return {"results": results, "meta": _meta(found)}


def _meta(found: Answer) -> dict[str, Any]:
    meta = {
        "total_candidates": found.meta.candidates,
        "returned": found.meta.returned,
        "execution_time_ms": found.meta.milliseconds,
        "weights": dict(found.meta.weights),
    }
    return meta | shapes.without_empty({"degraded": list(found.meta.degraded)})


def _weights(given: Mapping[str, Any]) -> dict[str, float]:
    for name, value in given.items():
        if name not in SIGNALS or isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"weights cannot have {name}={value!r}"[:120], hint=f"Numbers for: {', '.join(SIGNALS)}.")
    return dict(given)


@tool(
    effects=READS,
    output=answer(
        "results",
        results=rows(
            "id", "type", "content", "distance", id="string", type="string", content="string", distance="number"
        ),
        meta=_META,
    ),
    query=string("What to look for."),
    type=_TYPE,
    limit=_LIMIT,
)
def semantic_search(
    engine: Ricordo,
    query: str,
    type: str | None = None,  # noqa: A002 - the argument's name
    limit: int = 20,
) -> dict[str, Any]:
    """Search memories, entities, notes and resources by meaning alone, nearest first (distance: lower is nearer)."""
    found = engine.semantic(query, limit=limit, mode="full", filters=_filters(type), opens=True, tool="semantic_search")
    results = [_row(hit) | {"distance": round(1 - hit.score, 6), "score": round(hit.score, 6)} for hit in found.hits]
    meta = _meta(found)
    if engine.config.embedding.provider == "none":
        meta["degraded"] = ["vectors: switched off (embedding.provider = none), so nothing is found by meaning"]
    return {"results": results, "meta": meta}


@tool(
    effects=WRITES_ONCE,
    output=answer("counts", counts="object", failed="integer"),
    type=_TYPE,
    limit=integer("Per type.", minimum=1, maximum=10_000),
)
def batch_embed(
    engine: Ricordo,
    type: str | None = None,  # noqa: A002 - the argument's name
    limit: int = 100,
) -> dict[str, Any]:
    """Make missing vectors; returns how many were made, by type."""
    counts: dict[str, int] = {}
    failed, stopped = 0, ""
    for kind in (type,) if type else TYPES:
        done = engine.embed(kinds=(kind,), limit=limit)
        counts[kind] = done.embedded + done.cached
        failed += done.failed
        stopped = stopped or done.stopped
    return {"counts": counts, "failed": failed} | shapes.without_empty({"stopped": stopped})


KEPT = {
    "valid_from": Arg("valid_from", shapes.VALID_FROM["description"]),
    "valid_until": Arg("valid_until", shapes.VALID_UNTIL["description"]),
    "links": Arg("links", str(shapes.LINKS["description"])),
    "on_duplicate": Arg("on_duplicate", "What to do if nearly the same is stored."),
}
"""Arguments of all tools that keep a text."""


def _keeps(name: str, kind: str, description: str, arguments: Mapping[str, Arg]) -> Tool:
    fixed = {"kind": kind, "source": "agent", "wait": False}
    return mapped(
        name, "remember", description, arguments, effects=WRITES_ONCE, output=SAVED, shows=shapes.written, fixed=fixed
    )


save_memory = _keeps(
    "save_memory",
    "memory",
    "Save a memory: one fact, preference or decision. If nearly the same is stored, pass on_duplicate.",
    {
        "content": Arg("text", "The text."),
        "tags": Arg("tags", "Tags for it."),
        "category": Arg("category", "A category of your own."),
        "importance": Arg("importance", "1 to 5."),
        **KEPT,
    },
)
save_note = _keeps(
    "save_note",
    "note",
    "Save a note.",
    {
        "title": Arg("title", "The title."),
        "content": Arg("text", "The text."),
        "tags": Arg("tags", "Tags for it."),
        "category": Arg("category", "A category of your own."),
        **KEPT,
    },
)


@tool(
    effects=WRITES_ONCE,
    output=SAVED,
    name=string("Its name."),
    description=string("What it is, in a sentence."),
    category=string("What it is: person, project, tool…"),
    tags=strings("Tags for it."),
    links=shapes.LINKS,
    on_duplicate=choice(ON_DUPLICATE, "What to do if nearly the same is stored."),
)
def create_entity(
    engine: Ricordo, name: str, description: str = "", on_duplicate: OnDuplicate | None = None, **fields: Any
) -> dict[str, Any]:
    """Save a person, project, place or thing; texts that name it are linked to it."""
    fields |= {"title": name}
    return _kept(engine, description or name, "entity", on_duplicate, fields)


@tool(
    effects=WRITES_ONCE,
    output=SAVED,
    title=string("The title."),
    url=string("The address of the page."),
    description=string("What it is, in a sentence."),
    tags=strings("Tags for it."),
    category=string("A category of your own."),
    valid_from=shapes.VALID_FROM,
    valid_until=shapes.VALID_UNTIL,
    links=shapes.LINKS,
    on_duplicate=choice(ON_DUPLICATE, "What to do if nearly the same is stored."),
)
def save_resource(
    engine: Ricordo,
    title: str,
    url: str | None = None,
    description: str = "",
    on_duplicate: OnDuplicate | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Save a pointer to something, such as a page or a tool. To make the page itself searchable, use add."""
    fields |= {"title": title} | ({"source_url": url} if url else {})
    text = "\n".join(filter(None, (description or title, url)))
    return _kept(engine, text, "resource", on_duplicate, fields)


def _kept(
    engine: Ricordo, text: str, kind: str, on_duplicate: OnDuplicate | None, fields: dict[str, Any]
) -> dict[str, Any]:
    links = shapes.links_of(fields.pop("links", ()))
    saved = engine.remember(
        text, kind=kind, source="agent", links=links, on_duplicate=on_duplicate, wait=False, **fields
    )
    return shapes.written(engine, saved)


@tool(
    effects=REPLACES,
    output=answer("key", "value", "in_force", key="string", value={}, in_force="boolean"),
    key=string("Such as retrieval.vector_weight."),
    value=string("The new value."),
)
def set_config(engine: Ricordo, key: str, value: str) -> dict[str, Any]:
    """Change a setting of this project, or of the user outside of projects; it takes effect with the next query.
    Settings that choose models, hosts or folders, or what is kept and told, can only be changed by the user.
    """
    from ricordo.engine.lending import located
    from ricordo.engine.setting_changes import change_setting
    from ricordo.speaking import as_agent

    scope = "project" if located(engine).location.origin == "project" else "user"
    start = Path(engine.location).parent
    with as_agent():
        changed = change_setting(key, value, scope=scope, start=start, config=lambda: engine.config)
    return {"key": changed.name, "value": changed.value, "scope": scope, "in_force": changed.in_force}


get_query_stats = mapped(
    "get_query_stats",
    "stats",
    "Show which queries were asked: the most frequent, the slowest, those without results.",
    {
        "days": Arg("days", "How many days back."),
        "by": Arg("by", "How to group the rows."),
        "limit": Arg("limit", "The most results.", high=100),
    },
    effects=READS,
    output=answer("queries", "rows", queries="integer", rows="array"),
    shows=lambda engine, report: report.to_dict(),
)


TOOLS: tuple[Tool, ...] = (
    hybrid_search, semantic_search, batch_embed, save_memory, create_entity, save_note, save_resource, set_config,
    get_query_stats,
)  # fmt: skip
