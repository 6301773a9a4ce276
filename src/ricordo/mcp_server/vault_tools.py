"""The toolset ``vault``: ranked search in two passes with a breakdown, verdicts, and capturing what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.mcp_server import shapes
from ricordo.mcp_server.mapped import Arg, mapped
from ricordo.mcp_server.tool import (
    READS,
    WRITES,
    WRITES_ONCE,
    Tool,
    answer,
    boolean,
    choice,
    integer,
    string,
    strings,
    tool,
)
from ricordo.values.field_checks import SEVERITIES
from ricordo.values.hits import Filters, Hit
from ricordo.values.kinds import KINDS, ON_DUPLICATE

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.kinds import Mode, OnDuplicate
    from ricordo.values.use import FeedbackReport

SNIPPET = 120
_FACTORS = {
    "semantic": "semantic",
    "vector": "vector",
    "severity": "severity",
    "temporalDecay": "temporal_decay",
    "tagOverlap": "tag_overlap",
    "domainMatch": "domain_match",
    "graphProximity": "graph_proximity",
}
"""The names of the factors here, and those of the profile's signals."""


@tool(
    effects=READS,
    output=answer("mode", "results", mode="string", results="array"),
    query=string("What to look for."),
    mode=choice(("scan", "full"), "scan lists; full has whole entries and the score's breakdown."),
    limit=integer("The most results.", minimum=1, maximum=100),
    type=choice(KINDS, "Only this kind of entry."),
    domain=string("Ranks entries of this domain higher."),
    tags=strings("Rank entries with these tags higher."),
    severity=choice(SEVERITIES, "Only these."),
    include_memories=boolean("Search memories and sessions, too."),
)
def search_intelligent(
    engine: Ricordo,
    query: str,
    mode: Mode = "scan",
    limit: int = 10,
    type: str | None = None,  # noqa: A002 - the argument's name
    domain: str | None = None,
    tags: Sequence[str] = (),
    severity: str | None = None,
    include_memories: bool = False,
) -> dict[str, Any]:
    """Search by seven factors: text, meaning, severity, time, tags, domain, links. Scan first, then load the best 2-4
    in full, or by id with get.
    """
    found = engine.search(
        query,
        limit=limit,
        mode=mode,
        filters=Filters(kinds=_kinds(type, include_memories), severities=(severity,) if severity else ()),
        profile="vault",
        explain=mode == "full",
        boost_tags=tags,
        boost_domain=domain,
        memories=include_memories,
        tool="search_intelligent",
    )
    row = _full if mode == "full" else _scan
    more = {"degraded": list(found.meta.degraded), "notes": list(found.meta.notes)}
    return {"mode": mode, "results": [row(hit) for hit in found.hits]} | shapes.without_empty(more)


def _kinds(type_: str | None, include_memories: bool) -> tuple[str, ...]:
    """Which kinds are searched: the one asked for, else all; memories and sessions only where they are wanted."""
    if type_:
        return (type_,)
    return () if include_memories else tuple(kind for kind in KINDS if kind not in ("memory", "session"))


def _scan(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "title": hit.title,
        "score": round(hit.score, 6),
        "type": hit.kind,
        "domain": hit.domain or "",
        "severity": hit.severity or "",
        "tags": list(hit.tags),
        "snippet": (hit.description or " ".join(hit.snippet.split()))[:SNIPPET],
        "tokenEstimate": hit.token_estimate,
    }


def _full(hit: Hit) -> dict[str, Any]:
    values = {share.name: share.value for share in hit.explain.signals} if hit.explain else {}
    breakdown = {factor: round(values.get(name, 0.0), 6) for factor, name in _FACTORS.items()}
    breakdown["total"] = round(hit.score, 6)
    entry = shapes.without_empty(hit.item.to_dict()) if hit.item else {}
    return {"entry": entry, "score": round(hit.score, 6), "breakdown": breakdown}


def _judged(engine: Ricordo, report: FeedbackReport) -> dict[str, Any]:
    plain = report.to_dict()
    kept = {name: plain[name] for name in ("ref", "counted", "changes")}
    return kept | {"action": plain["verdict"]}


search_feedback = mapped(
    "search_feedback",
    "feedback",
    "Say what became of an entry that a search found; from 30 verdicts on, the ranking adapts.",
    {
        "query": Arg("query", "What to look for."),
        "id": Arg("ref", "The entry's id or ref."),
        "action": Arg("verdict", "What became of it."),
    },
    effects=WRITES,
    output=answer("ref", "action", "counted", ref="string", action="string", counted="boolean", changes="array"),
    shows=_judged,
)


@tool(
    effects=WRITES_ONCE,
    output=answer("ref", "status", id="string", ref="string", status="string", tree="string"),
    title=string("The title."),
    description=string("The knowledge itself."),
    domain=string("The field it belongs to."),
    severity=choice(SEVERITIES, "How bad it is to miss it."),
    tags=strings("Tags for it."),
    context=string("When it holds, or why."),
    type=string("What kind of entry it is, such as pattern, rule or decision; kept as its category."),
    valid_from=shapes.VALID_FROM,
    valid_until=shapes.VALID_UNTIL,
    links=shapes.LINKS,
    on_duplicate=choice(ON_DUPLICATE, "What to do if nearly the same is stored."),
)
def capture_knowledge(
    engine: Ricordo,
    title: str,
    description: str,
    type: str | None = None,  # noqa: A002 - the argument's name
    links: Sequence[str] = (),
    on_duplicate: OnDuplicate | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Keep a pattern, rule or lesson as an entry. If nearly the same is stored, pass on_duplicate."""
    fields |= {"title": title, "description": shapes.short(description)} | ({"category": type} if type else {})
    saved = engine.remember(
        description, kind="entry", source="agent", links=shapes.links_of(links), on_duplicate=on_duplicate, wait=False,
        **fields,
    )  # fmt: skip
    return shapes.written(engine, saved) | ({"id": saved.id} if saved.id else {})


TOOLS: tuple[Tool, ...] = (search_intelligent, search_feedback, capture_knowledge)
