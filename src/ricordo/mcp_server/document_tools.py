"""The tool names of the documents that Ricordo grew from: toolsets ``memory``, ``context``, ``vault``, ``knowledge``.

Each is a row of ``TOOLS``: its name, the verb that it calls, its arguments, the shape of its answer, and what is fixed.
Only where a tool does more than one verb is it a function. A write answers with a ``tree`` of the folder it wrote to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import NotFound, StaleVersion, UsageError
from ricordo.mcp_server import shapes
from ricordo.mcp_server.core_tools import get
from ricordo.mcp_server.tool import (
    READS,
    REPLACES,
    WRITES,
    WRITES_ONCE,
    Arg,
    Effects,
    Schema,
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
from ricordo.values.kinds import KINDS, ON_CONFLICT

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.items import Item, Saved
    from ricordo.values.kinds import LogSummary, Mode, OnConflict
    from ricordo.values.reports import AddReport, RefreshReport

TYPES = ("memory", "entity", "note", "resource")
MOST_LISTED = 50
ATTEMPTS = 5
SAVED = answer("ref", "status", ref="string", status="string", tree="string", id="string")
RESULTS = answer("results", results="array", meta="object")
_REF = schema("drive:/path or id.")
ON_CONFLICTS = "What to do if the ref exists; default: error."

ARGUMENTS: Mapping[str, Arg] = {
    "query": Arg("query", "What to look for.", required=True),
    "limit": Arg("limit", "The most results.", high=100),
    "type": Arg("kinds", "Only this type.", one=True, choices=TYPES),
    "source": Arg("kinds", "Only this kind of item.", one=True),
    "drive": Arg("drives", "Only this drive, such as disk.", one=True),
    "tags_all": Arg("tags_all", "Only items with all these tags."),
    "only_category": Arg("categories", "Only items of this category.", one=True),
    "weights": Arg("weights", "Such as {vector: 0.5, fts: 0.2}; 0 means 0."),
    "description": Arg("description", "What it is, in a sentence."),
    "title": Arg("title", "The title."),
    "needed_title": Arg("title", "The title.", required=True),
    "name": Arg("title", "Its name.", required=True),
    "tags": Arg("tags", "Tags for it."),
    "kind": Arg("category", "What kind of entry it is, such as pattern, rule or decision; kept as its category."),
    "domain": Arg("domain", "The field it belongs to."),
    "severity": Arg("severity", "How bad it is to miss it."),
    "context": Arg("context", "When it holds, or why."),
    "importance": Arg("importance", "1 to 5."),
    "url": Arg("source_url", "The address of the page."),
    "origin": Arg("source_url", "Where it is from."),
    "valid_from": Arg("valid_from", "The first day on which it is valid, such as 2026-01-31."),
    "valid_until": Arg("valid_until", "The day until which it is valid."),
    "links": Arg("links", "Links to other items, each a type and a ref: 'supports memory:/x'."),
    "on_duplicate": Arg("on_duplicate", "What to do if nearly the same is stored."),
    "ref": Arg("ref", "drive:/path or id."),
    "refs": Arg("refs", "drive:/path or id.", one=True, required=True),
    "to_refresh": Arg("refs", "drive:/path, an id, or drive:/folder for all below.", one=True),
    "all": Arg("all", "All items that can be read again."),
    "to_ref": Arg("new_ref", "The new ref.", reads=shapes.place_for),
    "place": Arg("ref", "Such as agent:/notes/plan.md.", reads=shapes.place_for),
    "folder": Arg("prefix", "A drive, or a folder such as disk:/notes; without it, all drives."),
    "on_conflict": Arg("on_conflict", ON_CONFLICTS),
    "depth": Arg("depth", "How many levels of folders."),
    "pattern": Arg("pattern", "A regular expression."),
    "glob": Arg("globs", "Paths, such as **/*.md.", one=True),
    "ignore_case": Arg("ignore_case", "Capital and small letters are the same."),
    "context_lines": Arg("context", "How many lines around each match.", high=20),
    "id": Arg("ref", "The entry's id or ref."),
    "action": Arg("verdict", "What became of it."),
}
"""What agents read about arguments; a row says ``name=argument`` for another name. Others are as the verb has them."""
COLUMNS: Mapping[str, Callable[[Hit], Any]] = {
    "type": lambda hit: hit.kind,
    "category": lambda hit: hit.item.fields.category if hit.item else None,
    "content": lambda hit: hit.item.content if hit.item else "",
    "data": lambda hit: _fields_of(hit, "content", "content_hash"),
    "entry": lambda hit: _fields_of(hit),
    "snippet": lambda hit: shapes.short(hit.snippet),
    "gist": lambda hit: (hit.description or " ".join(hit.snippet.split()))[:120],
    "score": lambda hit: round(hit.score, 6),
    "short_score": lambda hit: round(hit.score, 4),
    "distance": lambda hit: round(1 - hit.score, 6),
    "signals": lambda hit: _signals(hit, "contribution", "vector fts recency importance"),
    "breakdown": lambda hit: _signals(hit, "value", FACTORS) | {"total": round(hit.score, 6)},
    "tokenEstimate": lambda hit: hit.token_estimate,
}
"""What a search can tell of a hit, besides its own attributes."""
FACTORS = (
    "semantic vector severity temporalDecay=temporal_decay tagOverlap=tag_overlap domainMatch=domain_match "
    "graphProximity=graph_proximity"
)
WHOLE = "id type content score data"
SHORT = "ref title score=short_score snippet lines"
RECALLED = "source=type path=ref title tags category snippet score"
SCANNED = "id title score type domain severity tags snippet=gist tokenEstimate"
BROKEN_DOWN = "entry score breakdown"
MEASURED = "total_candidates=candidates returned execution_time_ms=milliseconds weights"


def _named(words: str) -> dict[str, str]:
    """``"id path=ref"`` as ``{"id": "id", "path": "ref"}``."""
    return {name: column or name for name, _, column in (word.partition("=") for word in words.split())}


def _picked(plain: Mapping[str, Any], columns: str) -> dict[str, Any]:
    return {name: plain[column] for name, column in _named(columns).items()}


def _fields_of(hit: Hit, *without: str) -> dict[str, Any]:
    plain = hit.item.to_dict() if hit.item else {}
    return shapes.without_empty({name: value for name, value in plain.items() if name not in without})


def _signals(hit: Hit, attribute: str, names: str) -> dict[str, float]:
    values = {share.name: getattr(share, attribute) for share in hit.explain.signals} if hit.explain else {}
    return {name: round(values.get(signal, 0.0), 6) for name, signal in _named(names).items()}


def _results(found: Answer, columns: str) -> dict[str, Any]:
    def value(hit: Hit, column: str) -> Any:
        plain = COLUMNS[column](hit) if column in COLUMNS else getattr(hit, column) or ""
        return list(plain) if isinstance(plain, tuple) else plain

    return {"results": [{name: value(hit, column) for name, column in _named(columns).items()} for hit in found.hits]}


def _row(
    name: str, verb: str, description: str, arguments: str, output: Schema, shows: Shaper, effects: Effects = READS,
    adds: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda given: {}, **fixed: Any,
) -> Tool:  # fmt: skip
    args = {told: ARGUMENTS.get(key, Arg(key)) for told, key in _named(arguments).items()}
    return mapped(name, verb, description, args, shows=shows, effects=effects, output=output, fixed=fixed, adds=adds)


def _searches(name: str, description: str, arguments: str, columns: str, **fixed: Any) -> Tool:
    """A search that shows these columns of each hit; one that shows whole items tells how they were found, too."""

    def shows(engine: Ricordo, found: Answer) -> dict[str, Any]:
        degraded = list(found.meta.degraded)
        if "distance" in columns and engine.config.embedding.provider == "none":
            degraded = ["vectors: switched off (embedding.provider = none), so nothing is found by meaning"]
        more = shapes.without_empty({"degraded": degraded})
        if columns.startswith(WHOLE):
            more = {"meta": _picked(found.meta.to_dict(), MEASURED) | more}
        return _results(found, columns) | more

    return _row(name, "search", description, f"query {arguments} limit", RESULTS, shows, tool=name, **fixed)


def _saves(name: str, kind: str, description: str, arguments: str, otherwise: str = "") -> Tool:
    """A tool that remembers its first argument, or what is given ``otherwise``; of a resource the address, too."""
    text = next(iter(_named(arguments)))

    def adds(given: Mapping[str, Any]) -> dict[str, Any]:
        words = given.get(text) or given.get(otherwise, "")
        whole = "\n".join(filter(None, (words, given.get("url", "") if kind == "resource" else "")))
        return {"text": whole, "description": shapes.short(words) if kind == "entry" else None}

    def shows(engine: Ricordo, saved: Saved) -> dict[str, Any]:
        return shapes.written(engine, saved) | ({"id": saved.id} if saved.id else {})

    return _row(
        name, "remember", description, f"{arguments} valid_from valid_until links on_duplicate", SAVED, shows,
        WRITES_ONCE, adds, kind=kind, source="agent", wait=False,
    )  # fmt: skip


@tool(effects=WRITES_ONCE, output=answer("counts", counts="object", failed="integer"),
      type=schema("Only this type.", choices=TYPES),
      limit=schema("Per type.", "integer", minimum=1, maximum=10_000))  # fmt: skip
def batch_embed(engine: Ricordo, limit: int = 100, **only: str) -> dict[str, Any]:
    """Make missing vectors; returns how many were made, by type."""
    reports = {kind: engine.embed(kinds=(kind,), limit=limit) for kind in only.values() or TYPES}
    counts = {kind: report.embedded + report.cached for kind, report in reports.items()}
    stopped = next((report.stopped for report in reports.values() if report.stopped), "")
    failed = sum(report.failed for report in reports.values())
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


@tool(effects=READS, output=answer("queries", "rows", queries="integer", rows="array"),
      days=schema("How many days back.", "integer", minimum=1, maximum=36_500),
      by=schema("How to group the rows.", choices=("query", "tool", "day")),
      limit=schema("The most results.", "integer", minimum=1, maximum=100))  # fmt: skip
def get_query_stats(engine: Ricordo, days: int = 30, by: LogSummary = "query", limit: int = 10) -> dict[str, Any]:
    """Show which queries were asked: the most frequent, the slowest, those without results."""
    report = engine.log(since=f"{days}d", summary=by, limit=limit).summary
    assert report is not None
    return report.to_dict()


@tool(effects=READS, output=answer("ref", "content"), ref=_REF,
      from_line=schema("The line to start at.", "integer", minimum=1),
      from_char=schema("The characters of that line to leave out.", "integer", minimum=0),
      max_chars=schema("The most characters to read.", "integer", minimum=1, maximum=200_000))  # fmt: skip
def context_read(engine: Ricordo, ref: str, **part: int) -> dict[str, Any]:
    """Read an item. A long text is cut; go on at next_line (and next_char)."""
    item: dict[str, Any] = get.run(engine, [ref], **part)["items"][0]
    return item


@tool(effects=Effects(destroys=True), output=SAVED, ref=_REF, new_text=schema("What takes its place."),
      old_text=schema("The text to replace; it must occur once, or pass replace_all."),
      replace_all=schema("Replace every occurrence.", "boolean"), title=schema("The title."),
      description=schema("What it is, in a sentence."), tags=schema("Tags for it.", "array"))  # fmt: skip
def context_edit(
    engine: Ricordo, ref: str, old_text: str | None = None, new_text: str | None = None, replace_all: bool = False,
    **fields: Any,
) -> dict[str, Any]:  # fmt: skip
    """Change part of an item's text, or its title, description or tags; the old version is kept."""
    if (old_text is None) != (new_text is None) or old_text == "" or (old_text is None and not fields):
        raise UsageError("there is nothing to change", hint="Give old_text and new_text, or a field.")
    if old_text is None or new_text is None:
        return shapes.written(engine, engine.edit(ref, None, fields, wait=False))
    for attempts_left in reversed(range(ATTEMPTS)):
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
            if not attempts_left:
                raise
    raise AssertionError("the last attempt returns or raises")


@tool(effects=WRITES, output=SAVED, from_ref=_REF, to_ref=schema("The new ref."),
      on_conflict=schema(ON_CONFLICTS, choices=ON_CONFLICT))  # fmt: skip
def context_copy(engine: Ricordo, from_ref: str, to_ref: str, on_conflict: OnConflict = "error") -> dict[str, Any]:
    """Copy an item to another ref."""
    item = engine.get(from_ref)
    if not item.fields.is_textual:
        raise UsageError(f"{item.ref} has no text to copy", hint="Add the file again under the other ref.")
    fields = {name: value for name, value in item.fields.to_dict().items() if name not in ("is_textual", "seq")}
    saved = engine.save(
        shapes.place_for(to_ref), item.content, fields=fields | {"immutable": False}, on_conflict=on_conflict,
        structure="markdown", wait=False,
    )  # fmt: skip
    return shapes.written(engine, saved)


@tool(effects=READS, output=answer("ref", "exists", ref="string", exists="boolean"), ref=_REF)
def context_exists(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Say whether an item with that ref exists."""
    try:
        return {"ref": str(engine.get(ref, track=False).ref), "exists": True}
    except NotFound:
        return {"ref": ref, "exists": False} | shapes.without_empty({"near": shapes.near_refs(engine, ref)})


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
    results = _results(found, BROKEN_DOWN if mode == "full" else SCANNED)
    degraded, notes = ({name: list(getattr(found.meta, name))} for name in ("degraded", "notes"))
    return results | shapes.without_empty(degraded) | {"mode": mode} | shapes.without_empty(notes)


def _removed(engine: Ricordo, report: AddReport) -> dict[str, Any]:
    refs = [saved.ref for saved in report.items]
    tree = shapes.neighbourhood(engine, refs[0]) if refs else ""
    return {"removed": refs[:MOST_LISTED], "count": len(refs), "tree": tree}


def _info(engine: Ricordo, item: Item) -> dict[str, Any]:
    linked = [f"{link.type} {link.direction} {link.ref}" for link in engine.links(str(item.ref), depth=1).links]
    return shapes.without_empty(item.to_dict(with_content=False) | {"links": linked[:MOST_LISTED]})


def _either(given: Mapping[str, Any]) -> dict[str, Any]:
    if bool(given.get("ref")) == given.get("all", False):
        raise UsageError("say what to refresh: either a ref or all", hint="Pass ref, or all: true, not both.")
    return {}


def _refreshed(engine: Ricordo, report: RefreshReport) -> dict[str, Any]:
    plain = report.to_dict()
    listed = sorted(plain["items"], key=lambda item: item["status"] == "unchanged")[:MOST_LISTED]
    first = listed[0]["ref"] if listed and Ref.looks_like(listed[0]["ref"]) else None
    tree = shapes.neighbourhood(engine, first) if first else ""
    return _picked(plain, "checked updated unchanged missing reembedded chunks failed") | {
        "items": listed,
        "tree": tree,
    }


save_memory = _saves(
    "save_memory", "memory",
    "Save a memory: one fact, preference or decision. If nearly the same is stored, pass on_duplicate.",
    "content=text importance title tags category",
)  # fmt: skip
TOOLS: Mapping[str, tuple[Tool, ...]] = {
    "memory": (
        _searches("hybrid_search", "Search memories, entities, notes and resources by meaning, words, recency and "
                  "importance; each result shows what every signal gave.", "type weights", f"{WHOLE} signals",
                  limit=20, kinds=TYPES, mode="full", profile="brain", explain=True),
        _searches("semantic_search", "Search memories, entities, notes and resources by meaning alone, nearest first "
                  "(distance: lower is nearer).", "type", f"{WHOLE} distance",
                  limit=20, kinds=TYPES, mode="full", by="meaning", opens=True),
        batch_embed,
        save_memory,
        _saves("create_entity", "entity", "Save a person, project, place or thing; texts that name it are linked to "
               "it.", "description name tags category", otherwise="name"),
        _saves("save_note", "note", "Save a note.", "content=text title tags category"),
        _saves("save_resource", "resource", "Save a pointer to something, such as a page or a tool. To make the page "
               "itself searchable, use add.", "description title=needed_title url tags category", otherwise="title"),
        set_config,
        get_query_stats,
    ),
    "context": (
        _row("context_list_drives", "status", "List the drives and how many items each has.", "", answer("drives"),
             lambda engine, status: {
                 "drives": [{"drive": drive, "items": count} for drive, count in status["drives"].items()]}),
        _row("context_tree", "tree", "Show what there is as a tree of folders.", "ref=folder depth",
             answer("tree", "items"), lambda engine, node: {"tree": shapes.tree_text(node), "items": node.items},
             depth=3),
        context_read,
        _row("context_write", "save", "Write an item. A ref that is taken is a path_conflict unless on_conflict is "
             "overwrite or skip.", "ref=place content on_conflict title description tags", SAVED, shapes.written,
             Effects(destroys=True), fields={"source": "agent"}, structure="markdown", wait=False),
        context_edit,
        _row("context_delete", "rm", "Remove an item, or with a / at the end all below; it stays in the bin for a "
             "while.", "ref=refs", answer("removed", "tree", removed="array", tree="string"), _removed, REPLACES),
        context_copy,
        _row("context_move", "mv", "Give an item another ref; its history goes with it.", "from_ref=ref to_ref", SAVED,
             shapes.written, WRITES, wait=False),
        _row("context_info", "get", "Show everything about an item except its text: fields, version, size, links.",
             "ref", answer("ref", "kind", "version"), _info, track=False),
        context_exists,
        _searches("context_search", "Find items by words and meaning.", "drive", SHORT, limit=10),
        _row("context_refresh", "refresh", "Read items again from their file or page, and index what changed.",
             "ref=to_refresh all", answer("checked", "items", "tree"), _refreshed,
             Effects(destroys=True, repeatable=True, reaches_out=True), _either),
        _row("search_grep", "grep", "Find lines of stored text by a regular expression.",
             "pattern drive glob ignore_case context_lines limit", answer("matches"),
             lambda engine, found: {
                 "matches": [shapes.without_empty(match.to_dict()) | {"text": match.text[:500]} for match in found]},
             limit=20),
        _searches("search_semantic", "Find items by keyword and meaning, fused by rank.", "drive", SHORT,
                  limit=10, profile="rrf"),
    ),
    "vault": (
        search_intelligent,
        _row("search_feedback", "feedback", "Say what became of an entry that a search found; from 30 verdicts on, the "
             "ranking adapts.", "query id action", answer("ref", "action", "counted"),
             lambda engine, report: _picked(report.to_dict(), "ref counted changes action=verdict"), WRITES),
        _saves("capture_knowledge", "entry", "Keep a pattern, rule or lesson as an entry. If nearly the same is "
               "stored, pass on_duplicate.",
               "description=text title=needed_title domain severity context type=kind tags"),
    ),
    "knowledge": (
        _searches("recall_memory", "Find memories, by meaning and words.", "tags=tags_all category=only_category",
                  RECALLED, limit=5, kinds=("memory",), mode="full", profile="knowledge"),
        _searches("recall_article", "Find articles, by meaning and words.", "tags=tags_all category=only_category",
                  RECALLED, limit=5, kinds=("article",), mode="full", profile="knowledge"),
        _searches("search_knowledge", "Find anything that is kept, of one source (kind) or of all.",
                  "tags=tags_all source", RECALLED, limit=5, mode="full", profile="knowledge"),
        save_memory,
        _saves("save_article", "article", "Save an article: a longer text worth keeping whole.",
               "content=text title=needed_title url=origin tags category"),
    ),
}  # fmt: skip
