"""The toolset ``context``: items as files on drives: list, read, write, edit, move, search, refresh.

A write answers with a ``tree`` of the folder it wrote to, so that the agent need not ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricordo.errors import NotFound, StaleVersion, UsageError
from ricordo.mcp_server import shapes
from ricordo.mcp_server.core_tools import MOST_CHARACTERS
from ricordo.mcp_server.tool import (
    READS,
    REPLACES,
    WRITES,
    Effects,
    Tool,
    answer,
    boolean,
    choice,
    integer,
    rows,
    string,
    strings,
    tool,
)
from ricordo.values.hits import Answer, Filters
from ricordo.values.items import Ref
from ricordo.values.kinds import ON_CONFLICT

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.kinds import OnConflict

_REF = string("drive:/path or id.")
_LIMIT = integer("The most results.", minimum=1, maximum=100)
_WRITTEN = answer("ref", "status", "tree", ref="string", status="string", tree="string")
_FOUND = answer("results", results=rows("ref", "score", ref="string", title="string", score="number", snippet="string"))
MOST_LISTED = 50
_ATTEMPTS = 5


@tool(effects=READS, output=answer("drives", drives=rows("drive", "items", drive="string", items="integer")))
def context_list_drives(engine: Ricordo) -> dict[str, Any]:
    """List the drives and how many items each has."""
    counts: dict[str, int] = engine.status()["drives"]
    return {"drives": [{"drive": drive, "items": count} for drive, count in counts.items()]}


@tool(
    effects=READS,
    output=answer("tree", "items", tree="string", items="integer"),
    ref=string("A drive, or a folder such as disk:/notes; without it, all drives."),
    depth=integer("How many levels of folders.", minimum=1, maximum=20),
)
def context_tree(engine: Ricordo, ref: str | None = None, depth: int = 3) -> dict[str, Any]:
    """Show what there is as a tree of folders."""
    node = engine.tree(ref, depth=depth)
    return {"tree": shapes.tree_text(node), "items": node.items}


@tool(
    effects=READS,
    output=answer(
        "ref", "content", ref="string", content="string", lines="array", next_line="integer", next_char="integer"
    ),
    ref=_REF,
    from_line=integer("The line to start at.", minimum=1),
    from_char=integer("The characters of that line to leave out.", minimum=0),
    max_chars=integer("The most characters to read.", minimum=1, maximum=200_000),
)
def context_read(
    engine: Ricordo, ref: str, from_line: int | None = None, from_char: int = 0, max_chars: int = MOST_CHARACTERS
) -> dict[str, Any]:
    """Read an item. A long text is cut; go on at next_line (and next_char)."""
    item = engine.get(ref)
    return shapes.facts_of(item) | shapes.text_of(item, from_line=from_line, from_char=from_char, most=max_chars)


@tool(
    effects=Effects(destroys=True),
    output=_WRITTEN,
    ref=string("Such as agent:/notes/plan.md."),
    content=string("The text."),
    title=string("The title."),
    description=string("What it is, in a sentence."),
    tags=strings("Tags for it."),
    on_conflict=choice(ON_CONFLICT, "What to do if the ref exists; default: error."),
)
def context_write(
    engine: Ricordo, ref: str, content: str, on_conflict: OnConflict = "error", **fields: Any
) -> dict[str, Any]:
    """Write an item. A ref that is taken is a path_conflict unless on_conflict is overwrite or skip."""
    fields["source"] = "agent"
    place = shapes.place_for(ref)
    saved = engine.save(place, content, fields=fields, on_conflict=on_conflict, structure="markdown", wait=False)
    return shapes.written(engine, saved)


@tool(
    effects=Effects(destroys=True),
    output=_WRITTEN,
    ref=_REF,
    old_text=string("The text to replace; it must occur once, or pass replace_all."),
    new_text=string("What takes its place."),
    replace_all=boolean("Replace every occurrence."),
    title=string("The title."),
    description=string("What it is, in a sentence."),
    tags=strings("Tags for it."),
)
def context_edit(
    engine: Ricordo,
    ref: str,
    old_text: str | None = None,
    new_text: str | None = None,
    replace_all: bool = False,
    **fields: Any,
) -> dict[str, Any]:
    """Change part of an item's text, or its title, description or tags; the old version is kept."""
    if (old_text is None) != (new_text is None) or old_text == "" or (old_text is None and not fields):
        raise UsageError("there is nothing to change", hint="Give old_text and new_text, or a field.")
    if old_text is None or new_text is None:
        return shapes.written(engine, engine.edit(ref, None, fields, wait=False))
    for attempt in range(_ATTEMPTS):
        item = engine.get(ref, track=False)
        before = item.content
        if item.fields.source == "agent":
            fields["source"] = "agent"  # so that secrets are redacted, as they were when it was written
        count = before.count(old_text)
        if not count:
            raise NotFound(f"old_text is not in {ref}")
        if count > 1 and not replace_all:
            raise UsageError(
                f"old_text occurs {count} times in {ref}", hint="Give more of the text, or pass replace_all."
            )
        content = before.replace(old_text, new_text)
        try:
            return shapes.written(engine, engine.edit(ref, content, fields, base=item.version, wait=False))
        except StaleVersion:  # somebody else changed it meanwhile: replace in the new text
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


@tool(effects=REPLACES, output=answer("removed", "tree", removed="array", tree="string"), ref=_REF)
def context_delete(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Remove an item, or with a / at the end all below; it stays in the bin for a while."""
    report = engine.rm(ref)
    removed = [saved.ref for saved in report.items]
    tree = shapes.neighbourhood(engine, removed[0]) if removed else ""
    return {"removed": removed[:MOST_LISTED], "count": len(removed), "tree": tree}


@tool(
    effects=WRITES,
    output=_WRITTEN,
    from_ref=_REF,
    to_ref=string("The new ref."),
    on_conflict=choice(ON_CONFLICT, "What to do if the ref exists; default: error."),
)
def context_copy(engine: Ricordo, from_ref: str, to_ref: str, on_conflict: OnConflict = "error") -> dict[str, Any]:
    """Copy an item to another ref."""
    item = engine.get(from_ref)
    kept = {name: value for name, value in item.fields.to_dict().items() if name not in ("is_textual", "seq")}
    if not item.fields.is_textual:
        raise UsageError(f"{item.ref} has no text to copy", hint="Add the file again under the other ref.")
    kept["immutable"] = False
    place = shapes.place_for(to_ref)
    saved = engine.save(place, item.content, fields=kept, on_conflict=on_conflict, structure="markdown", wait=False)
    return shapes.written(engine, saved)


@tool(effects=WRITES, output=_WRITTEN, from_ref=_REF, to_ref=string("The new ref."))
def context_move(engine: Ricordo, from_ref: str, to_ref: str) -> dict[str, Any]:
    """Give an item another ref; its history goes with it."""
    return shapes.written(engine, engine.mv(from_ref, shapes.place_for(to_ref), wait=False))


@tool(effects=READS, output=answer("ref", "kind", "version", ref="string", kind="string", version="integer"), ref=_REF)
def context_info(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Show everything about an item except its text: fields, version, size, links."""
    item = engine.get(ref, track=False)
    plain = item.to_dict(with_content=False)
    linked = [f"{link.type} {link.direction} {link.ref}" for link in engine.links(str(item.ref), depth=1).links]
    return shapes.without_empty(plain) | shapes.without_empty({"links": linked[:MOST_LISTED]})


@tool(effects=READS, output=answer("ref", "exists", ref="string", exists="boolean"), ref=_REF)
def context_exists(engine: Ricordo, ref: str) -> dict[str, Any]:
    """Say whether an item with that ref exists."""
    try:
        item = engine.get(ref, track=False)
    except NotFound:
        return {"ref": ref, "exists": False} | shapes.without_empty({"near": shapes.near_refs(engine, ref)})
    return {"ref": str(item.ref), "exists": True}


@tool(
    effects=READS,
    output=_FOUND,
    query=string("What to look for."),
    limit=_LIMIT,
    drive=string("Only this drive, such as disk."),
)
def context_search(engine: Ricordo, query: str, limit: int = 10, drive: str | None = None) -> dict[str, Any]:
    """Find items by words and meaning."""
    filters = Filters(drives=(drive,)) if drive else None
    return _results(engine.search(query, limit=limit, filters=filters, tool="context_search"))


@tool(
    effects=READS,
    output=answer("matches", matches=rows("ref", "line", "text", ref="string", line="integer", text="string")),
    pattern=string("A regular expression."),
    drive=string("Only this drive, such as disk."),
    glob=string("Paths, such as **/*.md."),
    ignore_case=boolean("Capital and small letters are the same."),
    context_lines=integer("How many lines around each match.", minimum=0, maximum=20),
    limit=_LIMIT,
)
def search_grep(
    engine: Ricordo,
    pattern: str,
    drive: str | None = None,
    glob: str | None = None,
    ignore_case: bool = False,
    context_lines: int = 0,
    limit: int = 20,
) -> dict[str, Any]:
    """Find lines of stored text by a regular expression."""
    matches = engine.grep(
        pattern,
        context=context_lines,
        globs=(glob,) if glob else (),
        drives=(drive,) if drive else (),
        ignore_case=ignore_case,
        limit=limit,
    )
    return {"matches": [shapes.without_empty(match.to_dict()) | {"text": match.text[:500]} for match in matches]}


@tool(
    effects=READS,
    output=_FOUND,
    query=string("What to look for."),
    limit=_LIMIT,
    drive=string("Only this drive, such as disk."),
)
def search_semantic(engine: Ricordo, query: str, limit: int = 10, drive: str | None = None) -> dict[str, Any]:
    """Find items by keyword and meaning, fused by rank."""
    filters = Filters(drives=(drive,)) if drive else None
    return _results(engine.search(query, limit=limit, filters=filters, profile="rrf", tool="search_semantic"))


def _results(found: Answer) -> dict[str, Any]:
    rows_ = [
        {
            "ref": hit.ref,
            "title": hit.title,
            "score": round(hit.score, 4),
            "snippet": shapes.short(hit.snippet),
            "lines": list(hit.lines),
        }
        for hit in found.hits
    ]
    return {"results": rows_} | shapes.without_empty({"degraded": list(found.meta.degraded)})


_SUMMARY = ("checked", "updated", "unchanged", "missing", "reembedded", "chunks", "failed")


@tool(
    effects=Effects(destroys=True, repeatable=True, reaches_out=True),
    output=answer(
        "checked",
        "items",
        "tree",
        **dict.fromkeys(_SUMMARY, "integer"),
        items=rows("ref", "status", ref="string", status="string"),
        tree="string",
    ),
    ref=string("drive:/path, an id, or drive:/folder for all below."),
    all=boolean("All items that can be read again."),
)
def context_refresh(
    engine: Ricordo,
    ref: str | None = None,
    all: bool = False,  # noqa: A002 - the argument's name
) -> dict[str, Any]:
    """Read items again from their file or page, and index what changed."""
    if (ref is None) == (not all):
        raise UsageError("say what to refresh: either a ref or all", hint="Pass ref, or all: true, not both.")
    report = engine.refresh(all=True) if all else engine.refresh(ref or "")
    plain = report.to_dict()
    listed = sorted(plain["items"], key=lambda item: item["status"] == "unchanged")[:MOST_LISTED]
    first = listed[0]["ref"] if listed and Ref.looks_like(listed[0]["ref"]) else None
    tree = shapes.neighbourhood(engine, first) if first else ""
    return {name: plain[name] for name in _SUMMARY} | {"items": listed, "tree": tree}


TOOLS: tuple[Tool, ...] = (
    context_list_drives, context_tree, context_read, context_write, context_edit, context_delete, context_copy,
    context_move, context_info, context_exists, context_search, context_refresh, search_grep, search_semantic,
)  # fmt: skip
