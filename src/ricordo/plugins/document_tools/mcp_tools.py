"""The toolsets ``memory``, ``context``, ``vault`` and ``knowledge``, and the shapes of their answers.

Each tool is a row: its name, the verb that it calls, its arguments, the shape of its answer, and what is fixed. Only
where a tool does more than one verb is it a function. A write answers with a ``tree`` of the folder it wrote to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.engine.context import located
from ricordo.engine.setting_changes import change_setting
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
from ricordo.speaking import as_agent
from ricordo.values.field_checks import SEVERITIES
from ricordo.values.hits import Answer, Hit
from ricordo.values.items import Ref
from ricordo.values.kinds import KINDS, ON_CONFLICT

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.items import Item, Saved, TreeNode
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import AddReport, RefreshReport

REF = "drive:/path or id."
MOST_LISTED = 50
MOST_LINES = 200
"""A tree longer than this is cut."""
TYPES = ("memory", "entity", "note", "resource")
SAVED = answer("ref", "status", ref="string", status="string", tree="string", id="string")
ARGUMENTS: Mapping[str, Arg] = {
    "query": Arg("query", "What to look for.", required=True),
    "limit": Arg("limit", "The most results.", high=100),
    "type": Arg("kinds", "Only this type.", one=True, choices=TYPES),
    "mode": Arg("mode", "scan lists; full has whole entries and the score's breakdown.", repeated=True),
    "only_severity": Arg("severities", "Only these.", one=True, choices=SEVERITIES),
    "source": Arg("kinds", "Only this kind of item.", one=True),
    "drive": Arg("drives", "Only this drive, such as disk.", one=True),
    "tags_all": Arg("tags_all", "Only items with all these tags."),
    "only_category": Arg("categories", "Only items of this category.", one=True),
    "needed_title": Arg("title", "The title.", required=True),
    "tags": Arg("tags", "Tags for it."),
    "kind": Arg("category", "What kind of entry it is, such as pattern, rule or decision; kept as its category."),
    "days": Arg(
        "since", reads="{}d".format, schema=schema("How many days back.", "integer", minimum=1, maximum=36_500)
    ),
    "links": Arg("links", "Links to other items, each a type and a ref: 'supports memory:/x'."),
    "refs": Arg("refs", REF, one=True, required=True),
    "to_refresh": Arg("refs", "drive:/path, an id, or drive:/folder for all below.", one=True),
    "to_ref": Arg("new_ref", "The new ref.", reads=shapes.place_for),
    "place": Arg("ref", "Such as agent:/notes/plan.md.", reads=shapes.place_for),
    "folder": Arg("prefix", "A drive, or a folder such as disk:/notes; without it, all drives."),
    "glob": Arg("globs", "Paths, such as **/*.md.", one=True),
    "context_lines": Arg("context", high=20),
}
"""What agents read about arguments; a row says ``name=argument`` for another name. Others are as the verb has them."""
WHOLE = "id type content score data"
SHORT = "ref title score=short_score snippet lines"
RECALLED = "source=type path=ref title tags category snippet score"
SCANNED = "id title score type domain severity tags snippet=gist tokenEstimate"
BROKEN_DOWN = "entry score breakdown"
MEASURED = "total_candidates=candidates returned execution_time_ms=milliseconds weights"


HIT_COLUMNS: Mapping[str, Callable[[Hit], Any]] = {
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
    "breakdown": lambda hit: _signals(hit, "value", _FACTORS) | {"total": round(hit.score, 6)},
    "tokenEstimate": lambda hit: hit.token_estimate,
}
"""What a search can tell of a hit, besides its own attributes."""
_FACTORS = (
    "semantic vector severity temporalDecay=temporal_decay tagOverlap=tag_overlap domainMatch=domain_match "
    "graphProximity=graph_proximity"
)


def names_in(words: str) -> dict[str, str]:
    """``"id path=ref"`` as ``{"id": "id", "path": "ref"}``."""
    return {name: column or name for name, _, column in (word.partition("=") for word in words.split())}


def picked(plain: Mapping[str, Any], columns: str) -> dict[str, Any]:
    """Some values under other names."""
    return {name: plain[column] for name, column in names_in(columns).items()}


def hit_results(hits: Iterable[Hit], columns: str) -> dict[str, Any]:
    """Hits with the columns that are asked for."""

    def value(hit: Hit, column: str) -> Any:
        plain = HIT_COLUMNS[column](hit) if column in HIT_COLUMNS else getattr(hit, column) or ""
        return list(plain) if isinstance(plain, tuple) else plain

    return {"results": [{name: value(hit, column) for name, column in names_in(columns).items()} for hit in hits]}


def _fields_of(hit: Hit, *without: str) -> dict[str, Any]:
    plain = hit.item.to_dict() if hit.item else {}
    return shapes.without_empty({name: value for name, value in plain.items() if name not in without})


def _signals(hit: Hit, attribute: str, names: str) -> dict[str, float]:
    values = {share.name: getattr(share, attribute) for share in hit.explain.signals} if hit.explain else {}
    return {name: round(values.get(signal, 0.0), 6) for name, signal in names_in(names).items()}


def removed(engine: Ricordo, report: AddReport) -> dict[str, Any]:
    """What was removed, and the folder of the first of it."""
    refs = [saved.ref for saved in report.items]
    tree = shapes.neighbourhood(engine, refs[0]) if refs else ""
    return {"removed": refs[:MOST_LISTED], "count": len(refs), "tree": tree}


def facts_and_links(engine: Ricordo, item: Item) -> dict[str, Any]:
    """Everything about an item except its text."""
    linked = [f"{link.type} {link.direction} {link.ref}" for link in engine.links(str(item.ref), depth=1).links]
    return shapes.without_empty(item.to_dict(with_content=False) | {"links": linked[:MOST_LISTED]})


def refreshed(engine: Ricordo, report: RefreshReport) -> dict[str, Any]:
    """What was read again, changed items first."""
    plain = report.to_dict()
    items = sorted(plain["items"], key=lambda item: item["status"] == "unchanged")[:MOST_LISTED]
    tree = shapes.neighbourhood(engine, items[0]["ref"]) if items and Ref.looks_like(items[0]["ref"]) else ""
    counts = picked(plain, "checked updated unchanged missing reembedded chunks failed")
    return counts | {"items": items, "tree": tree}


def tree_text(node: TreeNode) -> str:
    """A tree as indented lines; a folder that is not opened shows how many items it has."""
    lines: list[str] = []

    def draw(part: TreeNode, depth: int) -> None:
        if len(lines) >= MOST_LINES:
            return
        folded = not part.children and part.ref is None and part.items
        title = f" - {shapes.short(part.title, 60)}" if part.ref and part.title and part.title != part.name else ""
        slash = "/" if part.children and not part.name.endswith("/") else ""
        lines.append(f"{'  ' * depth}{part.name}{slash}{title}{f' ({part.items} items)' if folded else ''}")
        for child in part.children:
            draw(child, depth + 1)

    draw(node, 0)
    return "\n".join([*lines, "…"] if len(lines) >= MOST_LINES else lines)


def _row(
    name: str, verb: str, description: str, arguments: str, *, output: Schema, shows: Shaper, effects: Effects = READS,
    adds: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda given: {}, **fixed: Any,
) -> Tool:  # fmt: skip
    args = {told: ARGUMENTS.get(key, Arg(key)) for told, key in names_in(arguments).items()}
    return mapped(name, verb, description, args, shows=shows, effects=effects, output=output, fixed=fixed, adds=adds)


def _searches(name: str, description: str, arguments: str, columns: str, **fixed: Any) -> Tool:
    """A search that shows these columns of each hit; one that shows whole items tells how they were found, too."""

    def shows(engine: Ricordo, found: Answer) -> dict[str, Any]:
        degraded = list(found.meta.degraded)
        if "distance" in columns and engine.config.embedding.provider == "none":
            degraded = ["vectors: switched off (embedding.provider = none), so nothing is found by meaning"]
        more = shapes.without_empty({"degraded": degraded})
        if columns.startswith(WHOLE):
            more = {"meta": picked(found.meta.to_dict(), MEASURED) | more}
        return hit_results(found, columns) | more

    results = answer("results", results="array", meta="object")
    return _row(
        name, "search", description, f"query {arguments} limit", output=results, shows=shows, tool=name, **fixed
    )


def _saves(name: str, kind: str, description: str, arguments: str, *, otherwise: str = "") -> Tool:
    """A tool that remembers its first argument, or what is given ``otherwise``; of a resource the address, too."""
    text = next(iter(names_in(arguments)))

    def adds(given: Mapping[str, Any]) -> dict[str, Any]:
        words = given.get(text) or given.get(otherwise, "")
        whole = "\n".join(filter(None, (words, given.get("url", "") if kind == "resource" else "")))
        return {"text": whole, "description": shapes.short(words) if kind == "entry" else None}

    def shows(engine: Ricordo, saved: Saved) -> dict[str, Any]:
        return shapes.written(engine, saved) | shapes.without_empty({"id": saved.id})

    return _row(
        name, "remember", description, f"{arguments} valid_from valid_until links on_duplicate", output=SAVED,
        shows=shows, effects=WRITES_ONCE, adds=adds, kind=kind, source="agent", wait=False,
    )  # fmt: skip


@tool(effects=WRITES_ONCE, output=answer("counts", counts="object", failed="integer"),
      type=schema("Only this type.", choices=TYPES), limit=schema("Per type.", "integer", minimum=1))  # fmt: skip
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
    scope = "project" if located(engine).location.origin == "project" else "user"
    with as_agent():
        start = Path(engine.location).parent
        changed = change_setting(key, value, scope=scope, start=start, config=lambda: engine.config)
    return {"key": changed.name, "value": changed.value, "scope": scope, "in_force": changed.in_force}


@tool(effects=READS, output=answer("ref", "content"), ref=schema(REF),
      from_line=schema("The line to start at.", "integer", minimum=1),
      from_char=schema("The characters of that line to leave out.", "integer", minimum=0),
      max_chars=schema("The most characters to read.", "integer", minimum=1, maximum=200_000))  # fmt: skip
def context_read(engine: Ricordo, ref: str, **part: int) -> dict[str, Any]:
    """Read an item. A long text is cut; go on at next_line (and next_char)."""
    item: dict[str, Any] = get.run(engine, [ref], **part)["items"][0]
    return item


@tool(effects=Effects(destroys=True), output=SAVED, ref=schema(REF), new_text=schema("What takes its place."),
      old_text=schema("The text to replace; it must occur once, or pass replace_all."),
      replace_all=schema("Replace every occurrence.", "boolean"), title=schema("The title."),
      description=schema("What it is, in a sentence."), tags=schema("Tags for it.", "array"))  # fmt: skip
def context_edit(
    engine: Ricordo, ref: str, old_text: str | None = None, new_text: str | None = None, *, replace_all: bool = False,
    **fields: Any,
) -> dict[str, Any]:  # fmt: skip
    """Change part of an item's text, or its title, description or tags; the old version is kept."""
    if (old_text is None) != (new_text is None) or old_text == "" or (old_text is None and not fields):
        raise UsageError("there is nothing to change", hint="Give old_text and new_text, or a field.")
    if old_text is None or new_text is None:
        return shapes.written(engine, engine.edit(ref, None, fields, wait=False))
    while True:
        item = engine.get(ref, track=False)
        if old_text not in item.content:
            raise NotFound(f"old_text is not in {ref}")
        if (count := item.content.count(old_text)) > 1 and not replace_all:
            raise UsageError(f"old_text occurs {count} times in {ref}", hint="Give more of it, or pass replace_all.")
        content = item.content.replace(old_text, new_text)
        with suppress(StaleVersion):  # somebody else changed it meanwhile: replace in the new text
            return shapes.written(engine, engine.edit(ref, content, fields, base=item.version, wait=False))


@tool(effects=WRITES, output=SAVED, from_ref=schema(REF), to_ref=schema("The new ref."),
      on_conflict=schema("What to do if the ref exists.", choices=ON_CONFLICT))  # fmt: skip
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


@tool(effects=READS, output=answer("ref", "exists", ref="string", exists="boolean"), ref=schema(REF))
def context_exists(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Say whether an item with that ref exists."""
    try:
        return {"ref": str(engine.get(ref, track=False).ref), "exists": True}
    except NotFound:
        return {"ref": ref, "exists": False} | shapes.without_empty({"near": shapes.near_refs(engine, ref)})


def _entries(given: Mapping[str, Any]) -> dict[str, Any]:
    """Memories and sessions are left out unless they are asked for."""
    kinds = () if given.get("include_memories") else tuple(kind for kind in KINDS if kind not in ("memory", "session"))
    return {"kinds": (given["type"],) if "type" in given else kinds}


def _found_entries(engine: Ricordo, found: Answer) -> dict[str, Any]:
    is_full = any(hit.item for hit in found)
    meta = {name: list(getattr(found.meta, name)) for name in ("degraded", "notes")}
    return hit_results(found, BROKEN_DOWN if is_full else SCANNED) | shapes.without_empty(meta)


save_memory = _saves(
    "save_memory", "memory",
    "Save a memory: one fact, preference or decision. If nearly the same is stored, pass on_duplicate.",
    "content=text importance title tags category",
)  # fmt: skip
MEMORY = (
    _searches("hybrid_search", "Search memories, entities, notes and resources by meaning, words, recency and "
              "importance; each result shows what every signal gave.", "type weights", f"{WHOLE} signals",
              limit=20, kinds=TYPES, mode="full", profile="brain", explain=True),
    _searches("semantic_search", "Search memories, entities, notes and resources by meaning alone, nearest first "
              "(distance: lower is nearer).", "type", f"{WHOLE} distance",
              limit=20, kinds=TYPES, mode="full", by="meaning", opens=True),
    batch_embed,
    save_memory,
    _saves("create_entity", "entity", "Save a person, project, place or thing; texts that name it are linked to "
           "it.", "description name=needed_title tags category", otherwise="name"),
    _saves("save_note", "note", "Save a note.", "content=text title tags category"),
    _saves("save_resource", "resource", "Save a pointer to something, such as a page or a tool. To make the page "
           "itself searchable, use add.", "description title=needed_title url=source_url tags category",
           otherwise="title"),
    set_config,
    _row("get_query_stats", "log", "Show which queries were asked: the most frequent, the slowest, those without "
         "results.", "days by=summary limit", output=answer("queries", "rows", queries="integer", rows="array"),
         shows=lambda engine, report: report.summary.to_dict(), since="30d", summary="query", limit=10),
)  # fmt: skip
CONTEXT = (
    _row("context_list_drives", "status", "List the drives and how many items each has.", "", output=answer("drives"),
         shows=lambda engine, status: {
             "drives": [{"drive": drive, "items": count} for drive, count in status["drives"].items()]}),
    _row("context_tree", "tree", "Show what there is as a tree of folders.", "ref=folder depth",
         output=answer("tree", "items"), shows=lambda engine, node: {"tree": tree_text(node), "items": node.items},
         depth=3),
    context_read,
    _row("context_write", "save", "Write an item. A ref that is taken is a path_conflict unless on_conflict is "
         "overwrite or skip.", "ref=place content on_conflict title description tags", output=SAVED,
         shows=shapes.written, effects=Effects(destroys=True), fields={"source": "agent"}, structure="markdown",
         wait=False),
    context_edit,
    _row("context_delete", "rm", "Remove an item, or with a / at the end all below; it stays in the bin for a "
         "while.", "ref=refs", output=answer("removed", "tree", removed="array", tree="string"), shows=removed,
         effects=REPLACES),
    context_copy,
    _row("context_move", "mv", "Give an item another ref; its history goes with it.", "from_ref=ref to_ref",
         output=SAVED, shows=shapes.written, effects=WRITES, wait=False),
    _row("context_info", "get", "Show everything about an item except its text: fields, version, size, links.",
         "ref", output=answer("ref", "kind", "version"), shows=facts_and_links, track=False),
    context_exists,
    _searches("context_search", "Find items by words and meaning.", "drive", SHORT, limit=10),
    _row("context_refresh", "refresh", "Read items again from their file or page, and index what changed.",
         "ref=to_refresh all", output=answer("checked", "items", "tree"), shows=refreshed,
         effects=Effects(destroys=True, repeatable=True, reaches_out=True)),
    _row("search_grep", "grep", "Find lines of stored text by a regular expression.",
         "pattern drive glob ignore_case context_lines limit", output=answer("matches"),
         shows=lambda engine, found: {
             "matches": [shapes.without_empty(match.to_dict()) | {"text": match.text[:500]} for match in found]},
         limit=20),
    _searches("search_semantic", "Find items by keyword and meaning, fused by rank.", "drive", SHORT,
              limit=10, profile="rrf"),
)  # fmt: skip
VAULT = (
    _row("search_intelligent", "search", "Search by seven factors: text, meaning, severity, time, tags, domain, "
         "links. Scan first, then load the best 2-4 in full, or by id with get.",
         "query mode type=source domain=boost_domain tags=boost_tags severity=only_severity "
         "include_memories=memories limit", output=answer("mode", "results", mode="string", results="array"),
         shows=_found_entries, adds=_entries, limit=10, profile="vault", tool="search_intelligent"),
    _row("search_feedback", "feedback", "Say what became of an entry that a search found; from 30 verdicts on, the "
         "ranking adapts.", "query id=ref action=verdict", output=answer("ref", "action", "counted"),
         shows=lambda engine, report: picked(report.to_dict(), "ref counted changes action=verdict"), effects=WRITES),
    _saves("capture_knowledge", "entry", "Keep a pattern, rule or lesson as an entry. If nearly the same is "
           "stored, pass on_duplicate.",
           "description=text title=needed_title domain severity context type=kind tags"),
)  # fmt: skip
KNOWLEDGE = (
    _searches("recall_memory", "Find memories, by meaning and words.", "tags=tags_all category=only_category",
              RECALLED, limit=5, kinds=("memory",), mode="full", profile="knowledge"),
    _searches("recall_article", "Find articles, by meaning and words.", "tags=tags_all category=only_category",
              RECALLED, limit=5, kinds=("article",), mode="full", profile="knowledge"),
    _searches("search_knowledge", "Find anything that is kept, of one source (kind) or of all.",
              "tags=tags_all source", RECALLED, limit=5, mode="full", profile="knowledge"),
    save_memory,
    _saves("save_article", "article", "Save an article: a longer text worth keeping whole.",
           "content=text title=needed_title url=source_url tags category"),
)  # fmt: skip
