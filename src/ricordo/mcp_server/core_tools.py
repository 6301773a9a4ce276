"""The eight tools every agent gets: search, get, add, remember, context, recent, feedback, status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import NotFound, UsageError
from ricordo.mcp_server import shapes
from ricordo.mcp_server.tool import (
    READS,
    WRITES,
    WRITES_ONCE,
    Effects,
    answer,
    boolean,
    choice,
    integer,
    rows,
    string,
    strings,
    tool,
)
from ricordo.values.hits import Filters
from ricordo.values.kinds import KINDS, REMEMBERED_KINDS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

REMEMBERED = (*REMEMBERED_KINDS, "article")
ON_CONFLICT = ("error", "overwrite", "skip")
ON_DUPLICATE = ("save", "skip", "merge", "supersede")
VERDICTS = ("accepted", "modified", "dismissed", "failed")
MOST_CHARACTERS = 20_000
MOST_REFS = 100
FACTS = ("store", "items", "chunks", "kinds", "drives", "archived", "in_bin", "backend", "profile", "secrets")


@tool(
    effects=READS,
    output=answer("hits", hits=rows(ref="string", title="string", score="number", snippet="string")),
    query=string(),
    limit=integer(minimum=1, maximum=50),
    kind=string(known=KINDS),
    tags=strings(),
)
def search(
    engine: Ricordo, query: str, limit: int | None = None, kind: str | None = None, tags: Sequence[str] = ()
) -> dict[str, Any]:
    """Find stored knowledge by words and meaning. Ask a question or name a thing; "phrase", -word and filters such as
    drive:disk path:docs/* after:2026-01-31 work. Kinds: document, memory, note, article, entity, skill, session. Then
    get the few refs worth reading.
    """
    filters = Filters(kinds=(kind,) if kind else (), tags_all=tuple(tags))
    found = engine.search(query, limit=limit, filters=filters, tool="mcp.search")
    said = {"degraded": list(found.meta.degraded), "notes": list(found.meta.notes)}
    tiered = len(found.meta.tiers) > 1
    return {"hits": [shapes.hit_row(hit, tiered=tiered) for hit in found.hits]} | shapes.without_empty(said)


@tool(
    effects=READS,
    output=answer("items", items="array"),
    refs=strings(),
    from_line=integer(minimum=1),
    max_chars=integer(minimum=1, maximum=200_000),
)
def get(
    engine: Ricordo, refs: Sequence[str], from_line: int | None = None, max_chars: int = MOST_CHARACTERS
) -> dict[str, Any]:
    """Read items by ref, id or file path. A long text is cut; go on at its next_line."""
    if not refs:
        raise UsageError("there is nothing to get", hint="Name refs, as search shows them.")
    if len(refs) > MOST_REFS:
        raise UsageError(f"{len(refs):,} refs are too many for one call", hint=f"Get at most {MOST_REFS} at a time.")
    items: list[dict[str, Any]] = []
    missing: list[dict[str, Any]] = []
    room = max_chars
    for ref in dict.fromkeys(refs):
        try:
            item = engine.get(ref)
        except NotFound as error:
            if len(refs) == 1:
                raise
            missing.append({"ref": ref, "message": error.message, "near": shapes.near_refs(engine, ref)})
            continue
        said = shapes.text_of(item, from_line=from_line, most=max(room, 1))
        room -= len(said["content"])
        items.append(shapes.facts_of(item) | said)
    if not items:
        raise NotFound(f"none of these is there: {shapes.short(', '.join(dict.fromkeys(refs)))}")
    return {"items": items} | ({"missing": missing} if missing else {})


@tool(
    effects=Effects(destroys=True, reaches_out=True),
    output=answer("items", items="array", tree="string"),
    sources=strings(),
    text=string(),
    ref=string(),
    title=string(),
    tags=strings(),
    on_conflict=choice(ON_CONFLICT),
)
def add(
    engine: Ricordo,
    sources: Sequence[str] = (),
    text: str | None = None,
    ref: str | None = None,
    title: str | None = None,
    tags: Sequence[str] = (),
    on_conflict: str = "error",
) -> dict[str, Any]:
    """Take in documents to search later: sources are files, folders or URLs; or a text with a ref such as agent:/plan.
    A ref that is taken is an error unless on_conflict says otherwise.
    """
    fields = shapes.without_empty({"title": title, "tags": list(tags)})
    if text is not None:
        if ref is None or sources:
            raise UsageError(
                "a text needs a ref, and goes without sources", hint="Name where it is kept, such as agent:/plan."
            )
        fields["source"] = "agent"
        place = shapes.place_for(ref)
        saved = engine.save(place, text, fields=fields, on_conflict=on_conflict, structure="markdown", wait=False)
        row = shapes.written(engine, saved)
        tree = row.pop("tree")
        counts = {name: int(saved.status == name) for name in ("created", "updated", "skipped", "failed")}
        return counts | {"items": [row], "tree": tree}
    if not sources:
        raise UsageError("there is nothing to add", hint="Give sources (files, folders, URLs), or text and ref.")
    report = engine.add(*sources, fields=fields, on_conflict=on_conflict, as_ref=ref, wait=False)
    return shapes.written_all(engine, report)


@tool(
    effects=WRITES_ONCE,
    output=answer("ref", "status", ref="string", status="string"),
    text=string(),
    kind=choice(REMEMBERED),
    title=string(),
    tags=strings(),
    importance=integer(minimum=1, maximum=5),
    on_duplicate=choice(ON_DUPLICATE),
)
def remember(
    engine: Ricordo, text: str, kind: str = "memory", on_duplicate: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Save a fact, decision, preference or lesson for later sessions: one thought per call, clear without this
    conversation. What is nearly known needs on_duplicate.
    """
    saved = engine.remember(text, kind=kind, source="agent", on_duplicate=on_duplicate, wait=False, **fields)
    return shapes.written(engine, saved)


@tool(
    effects=READS,
    output=answer("text", "tokens", text="string", tokens="integer"),
    task=string(),
    budget=integer(minimum=50, maximum=100_000),
    recent=boolean(),
)
def context(engine: Ricordo, task: str, budget: int = 2000, recent: bool = False) -> dict[str, Any]:
    """What to know before a task, within a budget of tokens: standing rules, the best passages with their refs,
    skills; with recent, also what happened lately.
    """
    plain = engine.context(task, budget=budget, recent=recent).to_dict()
    kept = ("text", "tokens", "budget")
    return {name: plain[name] for name in kept} | shapes.without_empty(
        {name: plain.get(name) for name in ("left_out", "warnings")}
    )


@tool(
    effects=READS,
    output=answer("events", events="array"),
    limit=integer(minimum=1, maximum=200),
    since=string(),
    kind=string(known=KINDS),
)
def recent(engine: Ricordo, limit: int = 20, since: str | None = None, kind: str | None = None) -> dict[str, Any]:
    """What happened lately, since 7d or 2026-01-31: items that changed, things remembered, turns of sessions."""
    timeline = engine.recent(limit=limit, since=since, kinds=(kind,) if kind else ())
    return {"events": [shapes.event_row(event) for event in timeline.to_dict()["events"]]}


@tool(
    effects=WRITES,
    output=answer("counted", counted="boolean"),
    query=string(),
    ref=string(),
    verdict=choice(VERDICTS),
)
def feedback(engine: Ricordo, query: str, ref: str, verdict: str) -> dict[str, Any]:
    """Say whether an item that a query found was of use; ranking learns from it."""
    plain = engine.feedback(query, ref, verdict).to_dict()
    return {name: plain[name] for name in ("ref", "verdict", "counted")}


@tool(effects=READS, output=answer("items", items="integer"))
def status(engine: Ricordo) -> dict[str, Any]:
    """What the store holds, and how it is."""
    plain = engine.status()
    backlog = engine.jobs().to_dict()
    kept = {name: plain[name] for name in ("store", "items")}
    more = {name: plain[name] for name in FACTS} | {f"vectors_{name}": backlog[name] for name in ("pending", "failed")}
    return kept | {name: value for name, value in shapes.without_empty(more).items() if value != 0}


TOOLS = (search, get, add, remember, context, recent, feedback, status)
