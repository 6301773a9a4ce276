"""The tool names of the documents that Ricordo grew from: toolsets ``memory``, ``context``, ``vault``, ``knowledge``.

Each is a row: its name, the verb that it calls, what is fixed, and the shape of its answer. Only where a tool does more
than one verb is it a function. A write answers with a ``tree`` of the folder it wrote to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import NotFound, StaleVersion, UsageError
from ricordo.mcp_server import shapes
from ricordo.mcp_server.core_tools import MOST_CHARACTERS
from ricordo.mcp_server.tool import (
    READS,
    REPLACES,
    WRITES,
    WRITES_ONCE,
    Arg,
    Effects,
    Shaper,
    Tool,
    answer,
    mapped,
    schema,
    tool,
)
from ricordo.values.field_checks import SEVERITIES
from ricordo.values.hits import Answer, Filters, Hit
from ricordo.values.items import Ref
from ricordo.values.kinds import KINDS, ON_CONFLICT, ON_DUPLICATE

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.items import Saved
    from ricordo.values.kinds import LogSummary, Mode, OnConflict

TYPES = ("memory", "entity", "note", "resource")
SIGNALS = {name: name for name in ("vector", "fts", "recency", "importance")}
FACTORS = {
    "semantic": "semantic",
    "vector": "vector",
    "severity": "severity",
    "temporalDecay": "temporal_decay",
    "tagOverlap": "tag_overlap",
    "domainMatch": "domain_match",
    "graphProximity": "graph_proximity",
}
"""The factors of ``search_intelligent``, and the profile's signals that they are."""
SUMMARY = ("checked", "updated", "unchanged", "missing", "reembedded", "chunks", "failed")
SNIPPET = 120
MOST_LISTED = 50
ATTEMPTS = 5
SAVED = answer("ref", "status", ref="string", status="string", tree="string", id="string")
RESULTS = answer("results", results="array", meta="object")
_QUERY = Arg("query", "What to look for.", required=True)
_LIMIT = Arg("limit", "The most results.", high=100)
_TYPE = Arg("kinds", "Only this type.", one=True, choices=TYPES, default=TYPES)
_DRIVE = Arg("drives", "Only this drive, such as disk.", one=True)
_TITLE = Arg("title", "The title.", required=True)
_TAGS = Arg("tags_all", "Only items with all these tags.")
_REF = schema("drive:/path or id.")
_TO = schema("The new ref.")
_ON_CONFLICT = schema("What to do if the ref exists; default: error.", choices=ON_CONFLICT)
_FIELDS = {
    "title": Arg("title", "The title."),
    "tags": Arg("tags", "Tags for it."),
    "category": Arg("category", "A category of your own."),
    "valid_from": Arg("valid_from", "The first day on which it is valid, such as 2026-01-31."),
    "valid_until": Arg("valid_until", "The day until which it is valid."),
    "links": Arg("links", "Links to other items, each a type and a ref: 'supports memory:/x'."),
    "on_duplicate": Arg("on_duplicate", "What to do if nearly the same is stored.", choices=ON_DUPLICATE),
}
"""What every tool that saves takes."""


def _searches(
    name: str, description: str, arguments: Mapping[str, Arg], shows: Shaper, limit: int, **fixed: Any
) -> Tool:
    arguments = {"query": _QUERY, **arguments, "limit": _LIMIT._replace(default=limit)}
    fixed |= {"tool": name}
    return mapped(name, "search", description, arguments, effects=READS, output=RESULTS, shows=shows, fixed=fixed)


def _saves(name: str, kind: str, description: str, text: Sequence[str] = ("content",), /, **arguments: Arg) -> Tool:
    """A tool that remembers a text: the first argument of ``text`` that is given."""
    said = Arg("text", "The text.") if len(text) == 1 else Arg("description", "What it is, in a sentence.")
    fields = {told: arg for told, arg in _FIELDS.items() if arg.param not in {arg.param for arg in arguments.values()}}

    def saved(given: Mapping[str, Any]) -> dict[str, Any]:
        words = next((given[part] for part in text if given.get(part)), "")
        whole = "\n".join(filter(None, (words, given.get("url", "") if kind == "resource" else "")))
        return {"text": whole, "description": shapes.short(words) if kind == "entry" else None}

    return mapped(
        name, "remember", description, {text[0]: said, **arguments, **fields}, effects=WRITES_ONCE, output=SAVED,
        shows=_written, fixed={"kind": kind, "source": "agent", "wait": False}, adds=saved,
    )  # fmt: skip


def _written(engine: Ricordo, saved: Saved) -> dict[str, Any]:
    return shapes.written(engine, saved) | ({"id": saved.id} if saved.id else {})


COLUMNS: Mapping[str, Callable[[Hit], Any]] = {
    "type": lambda hit: hit.kind,
    "category": lambda hit: hit.item.fields.category if hit.item else None,
    "content": lambda hit: hit.item.content if hit.item else "",
    "data": lambda hit: _fields_of(hit, "content", "content_hash"),
    "entry": lambda hit: _fields_of(hit),
    "snippet": lambda hit: shapes.short(hit.snippet),
    "gist": lambda hit: (hit.description or " ".join(hit.snippet.split()))[:SNIPPET],
    "score": lambda hit: round(hit.score, 6),
    "short_score": lambda hit: round(hit.score, 4),
    "distance": lambda hit: round(1 - hit.score, 6),
    "signals": lambda hit: _signals(hit, "contribution", SIGNALS),
    "breakdown": lambda hit: _signals(hit, "value", FACTORS) | {"total": round(hit.score, 6)},
    "tokenEstimate": lambda hit: hit.token_estimate,
}
"""What a search can tell of a hit, besides its own attributes."""
WHOLE = "id type content score data"
SHORT = "ref title score=short_score snippet lines"
RECALLED = "source=type path=ref title tags category snippet score"
SCANNED = "id title score type domain severity tags snippet=gist tokenEstimate"
BROKEN_DOWN = "entry score breakdown"


def _fields_of(hit: Hit, *without: str) -> dict[str, Any]:
    plain = hit.item.to_dict() if hit.item else {}
    return shapes.without_empty({name: value for name, value in plain.items() if name not in without})


def _signals(hit: Hit, attribute: str, names: Mapping[str, str]) -> dict[str, float]:
    values = {share.name: getattr(share, attribute) for share in hit.explain.signals} if hit.explain else {}
    return {name: round(values.get(signal, 0.0), 6) for name, signal in names.items()}


def _results(columns: str, *, measured: bool = False) -> Shaper:
    """The shape of a search: of each hit these columns, ``name=column`` under another name. ``measured`` tells besides
    how it was found.
    """
    pairs = [(name, column or name) for name, _, column in (part.partition("=") for part in columns.split())]

    def value(hit: Hit, column: str) -> Any:
        plain = COLUMNS[column](hit) if column in COLUMNS else getattr(hit, column) or ""
        return list(plain) if isinstance(plain, tuple) else plain

    def shaped(engine: Ricordo, found: Answer) -> dict[str, Any]:
        results = {"results": [{name: value(hit, column) for name, column in pairs} for hit in found.hits]}
        degraded = shapes.without_empty({"degraded": list(found.meta.degraded)})
        if not measured:
            return results | degraded
        if "distance" in columns and engine.config.embedding.provider == "none":
            degraded = {
                "degraded": ["vectors: switched off (embedding.provider = none), so nothing is found by meaning"]
            }
        meta = {
            "total_candidates": found.meta.candidates,
            "returned": found.meta.returned,
            "execution_time_ms": found.meta.milliseconds,
            "weights": dict(found.meta.weights),
        }
        return results | {"meta": meta | degraded}

    return shaped


@tool(effects=WRITES_ONCE, output=answer("counts", counts="object", failed="integer"),
      type=schema("Only this type.", choices=TYPES),
      limit=schema("Per type.", "integer", minimum=1, maximum=10_000))  # fmt: skip
def batch_embed(engine: Ricordo, limit: int = 100, **only: str) -> dict[str, Any]:
    """Make missing vectors; returns how many were made, by type."""
    done = {kind: engine.embed(kinds=(kind,), limit=limit) for kind in only.values() or TYPES}
    counts = {kind: one.embedded + one.cached for kind, one in done.items()}
    stopped = next((one.stopped for one in done.values() if one.stopped), "")
    failed = sum(one.failed for one in done.values())
    return {"counts": counts, "failed": failed} | shapes.without_empty({"stopped": stopped})


@tool(effects=REPLACES, output=answer("key", "value", "in_force", key="string", value={}, in_force="boolean"),
      key=schema("Such as retrieval.vector_weight."), value=schema("The new value."))  # fmt: skip
def set_config(engine: Ricordo, key: str, value: str) -> dict[str, Any]:
    """Change a setting of this project, or of the user outside of projects; it takes effect with the next query.
    Settings that choose models, hosts or folders, or what is kept and told, can only be changed by the user.
    """
    from ricordo.engine.context import located
    from ricordo.engine.setting_changes import change_setting
    from ricordo.speaking import as_agent

    scope = "project" if located(engine).location.origin == "project" else "user"
    start = Path(engine.location).parent
    with as_agent():
        changed = change_setting(key, value, scope=scope, start=start, config=lambda: engine.config)
    return {"key": changed.name, "value": changed.value, "scope": scope, "in_force": changed.in_force}


@tool(effects=READS, output=answer("ref", "content"), ref=_REF,
      from_line=schema("The line to start at.", "integer", minimum=1),
      from_char=schema("The characters of that line to leave out.", "integer", minimum=0),
      max_chars=schema("The most characters to read.", "integer", minimum=1, maximum=200_000))  # fmt: skip
def context_read(
    engine: Ricordo, ref: str, from_line: int | None = None, from_char: int = 0, max_chars: int = MOST_CHARACTERS
) -> dict[str, Any]:
    """Read an item. A long text is cut; go on at next_line (and next_char)."""
    item = engine.get(ref)
    return shapes.facts_of(item) | shapes.text_of(item, from_line=from_line, from_char=from_char, most=max_chars)


_DESCRIBED: dict[str, Any] = {
    "title": schema("The title."),
    "description": schema("What it is, in a sentence."),
    "tags": schema("Tags for it.", "array"),
}


@tool(effects=Effects(destroys=True), output=SAVED, ref=schema("Such as agent:/notes/plan.md."),
      content=schema("The text."), on_conflict=_ON_CONFLICT, **_DESCRIBED)  # fmt: skip
def context_write(
    engine: Ricordo, ref: str, content: str, on_conflict: OnConflict = "error", **fields: Any
) -> dict[str, Any]:
    """Write an item. A ref that is taken is a path_conflict unless on_conflict is overwrite or skip."""
    return _put(engine, ref, content, on_conflict, fields | {"source": "agent"})


def _put(engine: Ricordo, ref: str, content: str, on_conflict: OnConflict, fields: dict[str, Any]) -> dict[str, Any]:
    place = shapes.place_for(ref)
    saved = engine.save(place, content, fields=fields, on_conflict=on_conflict, structure="markdown", wait=False)
    return shapes.written(engine, saved)


@tool(effects=Effects(destroys=True), output=SAVED, ref=_REF, new_text=schema("What takes its place."),
      old_text=schema("The text to replace; it must occur once, or pass replace_all."),
      replace_all=schema("Replace every occurrence.", "boolean"), **_DESCRIBED)  # fmt: skip
def context_edit(
    engine: Ricordo, ref: str, old_text: str | None = None, new_text: str | None = None, replace_all: bool = False,
    **fields: Any,
) -> dict[str, Any]:  # fmt: skip
    """Change part of an item's text, or its title, description or tags; the old version is kept."""
    if (old_text is None) != (new_text is None) or old_text == "" or (old_text is None and not fields):
        raise UsageError("there is nothing to change", hint="Give old_text and new_text, or a field.")
    if old_text is None or new_text is None:
        return shapes.written(engine, engine.edit(ref, None, fields, wait=False))
    attempts = ATTEMPTS
    while True:
        item = engine.get(ref, track=False)
        if item.fields.source == "agent":
            fields["source"] = "agent"  # so that secrets are redacted, as they were when it was written
        count = item.content.count(old_text)
        if not count:
            raise NotFound(f"old_text is not in {ref}")
        if count > 1 and not replace_all:
            hint = "Give more of the text, or pass replace_all."
            raise UsageError(f"old_text occurs {count} times in {ref}", hint=hint)
        content = item.content.replace(old_text, new_text)
        try:
            return shapes.written(engine, engine.edit(ref, content, fields, base=item.version, wait=False))
        except StaleVersion:  # somebody else changed it meanwhile: replace in the new text
            attempts -= 1
            if not attempts:
                raise


@tool(effects=REPLACES, output=answer("removed", "tree", removed="array", tree="string"), ref=_REF)
def context_delete(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Remove an item, or with a / at the end all below; it stays in the bin for a while."""
    removed = [saved.ref for saved in engine.rm(ref).items]
    tree = shapes.neighbourhood(engine, removed[0]) if removed else ""
    return {"removed": removed[:MOST_LISTED], "count": len(removed), "tree": tree}


@tool(effects=WRITES, output=SAVED, from_ref=_REF, to_ref=_TO, on_conflict=_ON_CONFLICT)
def context_copy(engine: Ricordo, from_ref: str, to_ref: str, on_conflict: OnConflict = "error") -> dict[str, Any]:
    """Copy an item to another ref."""
    item = engine.get(from_ref)
    if not item.fields.is_textual:
        raise UsageError(f"{item.ref} has no text to copy", hint="Add the file again under the other ref.")
    fields = {name: value for name, value in item.fields.to_dict().items() if name not in ("is_textual", "seq")}
    return _put(engine, to_ref, item.content, on_conflict, fields | {"immutable": False})


@tool(effects=WRITES, output=SAVED, from_ref=_REF, to_ref=_TO)
def context_move(engine: Ricordo, from_ref: str, to_ref: str) -> dict[str, Any]:
    """Give an item another ref; its history goes with it."""
    return shapes.written(engine, engine.mv(from_ref, shapes.place_for(to_ref), wait=False))


@tool(effects=READS, output=answer("ref", "kind", "version"), ref=_REF)
def context_info(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Show everything about an item except its text: fields, version, size, links."""
    item = engine.get(ref, track=False)
    linked = [f"{link.type} {link.direction} {link.ref}" for link in engine.links(str(item.ref), depth=1).links]
    return shapes.without_empty(item.to_dict(with_content=False) | {"links": linked[:MOST_LISTED]})


@tool(effects=READS, output=answer("ref", "exists", ref="string", exists="boolean"), ref=_REF)
def context_exists(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Say whether an item with that ref exists."""
    try:
        return {"ref": str(engine.get(ref, track=False).ref), "exists": True}
    except NotFound:
        return {"ref": ref, "exists": False} | shapes.without_empty({"near": shapes.near_refs(engine, ref)})


@tool(effects=Effects(destroys=True, repeatable=True, reaches_out=True), output=answer("checked", "items", "tree"),
      ref=schema("drive:/path, an id, or drive:/folder for all below."),
      all=schema("All items that can be read again.", "boolean"))  # fmt: skip
def context_refresh(engine: Ricordo, ref: str = "", **every: bool) -> dict[str, Any]:
    """Read items again from their file or page, and index what changed."""
    if bool(ref) == every.get("all", False):
        raise UsageError("say what to refresh: either a ref or all", hint="Pass ref, or all: true, not both.")
    plain = (engine.refresh(ref) if ref else engine.refresh(all=True)).to_dict()
    listed = sorted(plain["items"], key=lambda item: item["status"] == "unchanged")[:MOST_LISTED]
    first = listed[0]["ref"] if listed and Ref.looks_like(listed[0]["ref"]) else None
    tree = shapes.neighbourhood(engine, first) if first else ""
    return {name: plain[name] for name in SUMMARY} | {"items": listed, "tree": tree}


@tool(effects=READS, output=answer("mode", "results", mode="string", results="array"),
      query=schema("What to look for."), limit=schema("The most results.", "integer", minimum=1, maximum=100),
      mode=schema("scan lists; full has whole entries and the score's breakdown.", choices=("scan", "full")),
      type=schema("Only this kind of entry.", choices=KINDS), domain=schema("Ranks entries of this domain higher."),
      tags=schema("Rank entries with these tags higher.", "array"), severity=schema("Only these.", choices=SEVERITIES),
      include_memories=schema("Search memories and sessions, too.", "boolean"))  # fmt: skip
def search_intelligent(
    engine: Ricordo, query: str, mode: Mode = "scan", limit: int = 10, domain: str | None = None,
    tags: Sequence[str] = (), severity: str | None = None, include_memories: bool = False, **only: str,
) -> dict[str, Any]:  # fmt: skip
    """Search by seven factors: text, meaning, severity, time, tags, domain, links. Scan first, then load the best 2-4
    in full, or by id with get.
    """
    without = () if include_memories else ("memory", "session")
    kinds = tuple(only.values()) or tuple(kind for kind in KINDS if without and kind not in without)
    found = engine.search(
        query, limit=limit, mode=mode, profile="vault", explain=mode == "full", boost_tags=tags, boost_domain=domain,
        filters=Filters(kinds=kinds, severities=(severity,) if severity else ()), memories=include_memories,
        tool="search_intelligent",
    )  # fmt: skip
    notes = shapes.without_empty({"notes": list(found.meta.notes)})
    return _results(BROKEN_DOWN if mode == "full" else SCANNED)(engine, found) | {"mode": mode} | notes


@tool(effects=READS, output=answer("queries", "rows", queries="integer", rows="array"),
      days=schema("How many days back.", "integer", minimum=1, maximum=36_500),
      by=schema("How to group the rows.", choices=("query", "tool", "day")),
      limit=schema("The most results.", "integer", minimum=1, maximum=100))  # fmt: skip
def get_query_stats(engine: Ricordo, days: int = 30, by: LogSummary = "query", limit: int = 10) -> dict[str, Any]:
    """Show which queries were asked: the most frequent, the slowest, those without results."""
    report = engine.log(since=f"{days}d", summary=by, limit=limit).summary
    assert report is not None
    return report.to_dict()


def _drives(engine: Ricordo, status: Mapping[str, Any]) -> dict[str, Any]:
    return {"drives": [{"drive": drive, "items": count} for drive, count in status["drives"].items()]}


def _matches(engine: Ricordo, found: Sequence[Any]) -> dict[str, Any]:
    return {"matches": [shapes.without_empty(match.to_dict()) | {"text": match.text[:500]} for match in found]}


def _judged(engine: Ricordo, report: Any) -> dict[str, Any]:
    plain = report.to_dict()
    return {name: plain[name] for name in ("ref", "counted", "changes")} | {"action": plain["verdict"]}


def _reads(name: str, verb: str, description: str, shows: Shaper, *required: str, **arguments: Arg) -> Tool:
    return mapped(name, verb, description, arguments, effects=READS, output=answer(*required), shows=shows)


def _recalls(name: str, description: str, kinds: tuple[str, ...] = (), **arguments: Arg) -> Tool:
    fixed = {"mode": "full", "profile": "knowledge"} | ({"kinds": kinds} if kinds else {})
    return _searches(name, description, {"tags": _TAGS, **arguments}, _results(RECALLED), 5, **fixed)


_CATEGORY = Arg("categories", "Only items of this category.", one=True)
_ENTRY = {
    "domain": Arg("domain", "The field it belongs to."),
    "severity": Arg("severity", "How bad it is to miss it."),
    "context": Arg("context", "When it holds, or why."),
    "type": Arg("category", "What kind of entry it is, such as pattern, rule or decision; kept as its category."),
}
save_memory = _saves(
    "save_memory", "memory",
    "Save a memory: one fact, preference or decision. If nearly the same is stored, pass on_duplicate.",
    importance=Arg("importance", "1 to 5."),
)  # fmt: skip

TOOLS: Mapping[str, tuple[Tool, ...]] = {
    "memory": (
        _searches(
            "hybrid_search",
            "Search memories, entities, notes and resources by meaning, words, recency and importance; each result "
            "shows what every signal gave.",
            {"type": _TYPE, "weights": Arg("weights", "Such as {vector: 0.5, fts: 0.2}; 0 means 0.")},
            _results(f"{WHOLE} signals", measured=True), 20, mode="full", profile="brain",
            explain=True,
        ),
        _searches(
            "semantic_search",
            "Search memories, entities, notes and resources by meaning alone, nearest first (distance: lower is "
            "nearer).",
            {"type": _TYPE}, _results(f"{WHOLE} distance", measured=True), 20, mode="full",
            by="meaning", opens=True,
        ),
        batch_embed,
        save_memory,
        _saves("create_entity", "entity", "Save a person, project, place or thing; texts that name it are linked to "
               "it.", ("description", "name"), name=_TITLE._replace(says="Its name.")),
        _saves("save_note", "note", "Save a note."),
        _saves("save_resource", "resource", "Save a pointer to something, such as a page or a tool. To make the page "
               "itself searchable, use add.", ("description", "title"), title=_TITLE,
               url=Arg("source_url", "The address of the page.")),
        set_config,
        get_query_stats,
    ),
    "context": (
        _reads("context_list_drives", "status", "List the drives and how many items each has.", _drives, "drives"),
        _reads("context_tree", "tree", "Show what there is as a tree of folders.",
               lambda engine, node: {"tree": shapes.tree_text(node), "items": node.items}, "tree", "items",
               ref=Arg("prefix", "A drive, or a folder such as disk:/notes; without it, all drives."),
               depth=Arg("depth", "How many levels of folders.", default=3)),
        context_read, context_write, context_edit, context_delete, context_copy, context_move, context_info,
        context_exists,
        _searches("context_search", "Find items by words and meaning.", {"drive": _DRIVE}, _results(SHORT), 10),
        context_refresh,
        _reads("search_grep", "grep", "Find lines of stored text by a regular expression.", _matches, "matches",
               pattern=Arg("pattern", "A regular expression."), drive=_DRIVE,
               glob=Arg("globs", "Paths, such as **/*.md.", one=True),
               ignore_case=Arg("ignore_case", "Capital and small letters are the same."),
               context_lines=Arg("context", "How many lines around each match.", high=20),
               limit=_LIMIT._replace(default=20)),
        _searches("search_semantic", "Find items by keyword and meaning, fused by rank.", {"drive": _DRIVE},
                  _results(SHORT), 10, profile="rrf"),
    ),
    "vault": (
        search_intelligent,
        mapped("search_feedback", "feedback",
               "Say what became of an entry that a search found; from 30 verdicts on, the ranking adapts.",
               {"query": Arg("query", "What to look for."), "id": Arg("ref", "The entry's id or ref."),
                "action": Arg("verdict", "What became of it.")},
               effects=WRITES, output=answer("ref", "action", "counted"), shows=_judged),
        _saves("capture_knowledge", "entry", "Keep a pattern, rule or lesson as an entry. If nearly the same is "
               "stored, pass on_duplicate.", ("description",), title=_TITLE, **_ENTRY),
    ),
    "knowledge": (
        _recalls("recall_memory", "Find memories, by meaning and words.", ("memory",), category=_CATEGORY),
        _recalls("recall_article", "Find articles, by meaning and words.", ("article",), category=_CATEGORY),
        _recalls("search_knowledge", "Find anything that is kept, of one source (kind) or of all.",
                 source=Arg("kinds", "Only this kind of item.", one=True)),
        save_memory,
        _saves("save_article", "article", "Save an article: a longer text worth keeping whole.",
               title=_TITLE, url=Arg("source_url", "Where it is from.")),
    ),
}  # fmt: skip
