"""The tools that every agent gets (search, get, add, remember, forget, context, recent, feedback, status)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, NotFound, UsageError
from ricordo.mcp_server import shapes
from ricordo.mcp_server.tool import (
    OBJECT,
    READS,
    WRITES,
    Arg,
    Effects,
    mapped,
    schema,
    tool,
)
from ricordo.plugin import ask
from ricordo.values.kinds import ON_CONFLICT, ON_DUPLICATE, REMEMBERED_KINDS

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.hits import Answer
    from ricordo.values.kinds import OnConflict, OnDuplicate
    from ricordo.values.log import Timeline
    from ricordo.values.reports import Progress
    from ricordo.values.use import FeedbackReport


def events(engine: Ricordo, timeline: Timeline) -> dict[str, Any]:
    """What happened, an event in a few dozen tokens."""
    return {"events": [shapes.event_row(event) for event in timeline.to_dict()["events"]]}


REMEMBERED = (*REMEMBERED_KINDS, "article")
MOST_CHARACTERS = 20_000
MOST_REFS = 100
FACTS = ("store", "items", "chunks", "kinds", "drives", "archived", "in_bin", "backend", "profile", "secrets")


def _hits(engine: Ricordo, answer: Answer) -> dict[str, Any]:
    more = {"degraded": list(answer.meta.degraded), "notes": list(answer.meta.notes)}
    tiered = len(answer.meta.tiers) > 1
    return {"hits": [shapes.hit_row(hit, tiered=tiered) for hit in answer.hits]} | shapes.without_empty(more)


search = mapped(
    "search",
    "search",
    "Find stored knowledge; then get the few refs worth reading.",
    {
        "query": Arg(
            "query",
            'A question or a name. "phrase", -word and filters such as path:docs/* after:2026-01-31 work.',
        ),
        "limit": Arg("limit", "Default 10.", high=50),
        "kind": Arg(
            "kinds", "Only this: document, memory, note, article, entity, skill, session.", one=True, known=True
        ),
        "tags": Arg("tags_all", "Only items with all these tags."),
    },
    shows=_hits,
    fixed={"tool": "mcp.search"},
)


@tool(
    effects=READS,
    output=OBJECT,
    refs=schema("Refs, ids, paths, FILE:LINE.", "array"),
    from_line=schema("Go on there.", "integer", minimum=1),
    from_char=schema("In that line.", "integer", minimum=0),
    max_chars=schema("Default 20000.", "integer", minimum=1, maximum=200_000),
)
def get(
    engine: Ricordo,
    refs: Sequence[str],
    from_line: int | None = None,
    from_char: int = 0,
    *,
    max_chars: int = MOST_CHARACTERS,
) -> dict[str, Any]:
    """Read items. Long ones are cut at next_line, next_char."""
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
        except NotFound as not_found:
            error: Error = not_found
            try:
                if place := next(filter(None, ask("read_place", engine, ref)), None):
                    items.append({"ref": ref} | place)
                    continue
            except Error as wrong:  # such as a line that the file does not have
                error = wrong
            if len(refs) == 1:
                raise error from None
            near = shapes.without_empty({"near": shapes.near_refs(engine, ref)})
            missing.append({"ref": ref, "message": error.message} | near)
            continue
        text = shapes.text_of(item, from_line=from_line, from_char=from_char, most=max(room, 1))
        room -= len(text["content"])
        items.append(shapes.facts_of(item) | text)
    if not items:
        raise NotFound(f"none of these exists: {shapes.short(', '.join(dict.fromkeys(refs)))}")
    return {"items": items} | ({"missing": missing} if missing else {})


@tool(
    effects=Effects(destroys=True, reaches_out=True),
    output=OBJECT,
    sources=schema("Files, folders or URLs.", "array"),
    text=schema("Or a text, kept at ref."),
    ref=schema("Such as agent:/plan."),
    title=schema("Title."),
    tags=schema("Tags.", "array"),
    on_conflict=schema("If the ref exists.", choices=ON_CONFLICT),
)
def add(
    engine: Ricordo,
    sources: Sequence[str] = (),
    text: str | None = None,
    ref: str | None = None,
    *,
    title: str | None = None,
    tags: Sequence[str] = (),
    on_conflict: OnConflict | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Take in documents to search later."""
    fields = shapes.without_empty({"title": title, "tags": list(tags)})
    if text is not None:
        if ref is None or sources:
            raise UsageError(
                "a text needs a ref, and cannot be given together with sources",
                hint="Name where it is kept, such as agent:/plan.",
            )
        fields["source"] = "agent"
        place = shapes.place_for(ref)
        saved = engine.save(
            place, text, fields=fields, on_conflict=on_conflict or "error", structure="markdown", wait=False
        )
        row = shapes.written(engine, saved)
        tree = row.pop("tree")
        counts = {name: int(saved.status == name) for name in ("created", "updated", "skipped", "failed")}
        return counts | {"items": [row], "tree": tree}
    if not sources:
        raise UsageError("there is nothing to add", hint="Give sources (files, folders, URLs), or text and ref.")
    # A folder that is added again is no conflict: what is known is skipped, what is new comes in.
    taken = on_conflict or ("error" if ref is not None else "skip")
    report = engine.add(*sources, fields=fields, on_conflict=taken, as_ref=ref, wait=False, progress=progress)
    return shapes.written_all(engine, report)


@tool(
    effects=WRITES,
    output=OBJECT,
    text=schema("One thought, clear without this conversation."),
    kind=schema("memory (default), note, entity, resource, entry, article", known=REMEMBERED),
    title=schema("Title."),
    tags=schema("Words to filter by.", "array"),
    importance=schema("1 to 5.", "integer", minimum=1, maximum=5),
    corrects=schema("A wrong item's ref: this replaces it."),
    on_duplicate=schema("If nearly the same is stored.", choices=ON_DUPLICATE),
)
def remember(
    engine: Ricordo,
    text: str,
    kind: str | None = None,
    on_duplicate: OnDuplicate | None = None,
    *,
    corrects: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Save a fact, decision or lesson for later sessions."""
    if corrects is not None:
        if kind is not None or on_duplicate is not None:
            raise UsageError(
                "a correction takes the place of the item it corrects, with the same kind",
                hint="Leave out kind and on_duplicate, or leave out corrects.",
            )
        saved = engine.correct(corrects, text, source="agent", wait=False, **fields)
    else:
        saved = engine.remember(
            text, kind=kind or "memory", source="agent", on_duplicate=on_duplicate, wait=False, **fields
        )
    return shapes.written(engine, saved)


@tool(effects=Effects(destroys=True), output=OBJECT, refs=schema("Items that are wrong or obsolete.", "array"))
def forget(engine: Ricordo, refs: Sequence[str]) -> dict[str, Any]:
    """Archive items: search no longer finds them."""
    if not refs:
        raise UsageError("there is nothing to forget", hint="Name refs, as search shows them.")
    return shapes.written_all(engine, engine.forget(*dict.fromkeys(refs)))


@tool(
    effects=READS,
    output=OBJECT,
    task=schema("What you are about to do."),
    budget=schema("In tokens, default 2000.", "integer", minimum=50, maximum=100_000),
    recent=schema("Also what happened lately.", "boolean"),
    gather=schema("All evidence, oldest first.", "boolean"),
)
def context(
    engine: Ricordo, task: str, budget: int = 2000, recent: bool = False, *, gather: bool = False
) -> dict[str, Any]:
    """What to know before a task: rules, passages, skills."""
    plain = engine.context(task, budget=budget, recent=recent, gather=gather).to_dict()
    plain["text"] = shapes.for_tools(plain["text"])
    kept = ("text", "tokens", "budget")
    return {name: plain[name] for name in kept} | shapes.without_empty(
        {name: plain.get(name) for name in ("left_out", "warnings")}
    )


recent = mapped(
    "recent",
    "timeline",
    "What happened lately.",
    {
        "limit": Arg("limit", "Default 20.", high=200),
        "since": Arg("since", "Such as 7d or 2026-01-31."),
        "kind": Arg("kinds", "A kind, as in search.", one=True, known=True),
    },
    shows=events,
    fixed={"newest_first": True, "limit": 20},
)


def _verdict(engine: Ricordo, report: FeedbackReport) -> dict[str, Any]:
    plain = report.to_dict()
    return {name: plain[name] for name in ("ref", "verdict", "counted")}


feedback = mapped(
    "feedback",
    "feedback",
    "Say whether a find was of use: ranking learns.",
    {
        "query": Arg("query", "What was searched for."),
        "ref": Arg("ref", "What was found."),
        "verdict": Arg("verdict", "Was it of use?"),
    },
    effects=WRITES,
    output=OBJECT,
    shows=_verdict,
)


@tool(effects=READS, output=OBJECT)
def status(engine: Ricordo) -> dict[str, Any]:
    """What the store holds."""
    plain = engine.status()
    backlog = engine.embed(status=True).to_dict()
    always = {name: plain[name] for name in ("store", "items")}
    more = {name: plain.get(name) for name in (*FACTS, "not_trusted", "review")} | {
        f"vectors_{name}": backlog[name] for name in ("pending", "failed")
    }
    return always | {name: value for name, value in shapes.without_empty(more).items() if value != 0}


CORE = (search, get, add, remember, forget, context, recent, feedback, status)
