"""The toolset ``knowledge``: recalling and saving memories and articles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.mcp_server import shapes
from ricordo.mcp_server.memory_tools import save_memory
from ricordo.mcp_server.tool import READS, WRITES_ONCE, Tool, answer, choice, integer, rows, string, strings, tool
from ricordo.values.choices import ON_DUPLICATE
from ricordo.values.hits import Filters
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.choices import OnDuplicate

_QUERY = string("What to look for.")
_TAGS = strings("Only items with all these tags.")
_CATEGORY = string("Only items of this category.")
_LIMIT = integer("The most results.", minimum=1, maximum=100)
_FOUND = answer(
    "results",
    results=rows(
        "source", "path", "title", "score",
        source="string", path="string", title="string", tags="array", snippet="string", score="number",
    ),
)  # fmt: skip


def _recalled(
    engine: Ricordo,
    query: str,
    kinds: tuple[str, ...],
    tags: Sequence[str],
    category: str | None,
    limit: int,
    name: str,
) -> dict[str, Any]:
    filters = Filters(kinds=kinds, tags_all=tuple(tags), categories=(category,) if category else ())
    found = engine.search(query, limit=limit, mode="full", filters=filters, profile="knowledge", tool=name)
    results = [
        {
            "source": hit.kind,
            "path": hit.ref,
            "title": hit.title,
            "tags": list(hit.tags),
            "category": hit.item.fields.category if hit.item else None,
            "snippet": shapes.short(hit.snippet),
            "score": round(hit.score, 6),
        }
        for hit in found.hits
    ]
    return {"results": results} | shapes.without_empty({"degraded": list(found.meta.degraded)})


@tool(effects=READS, output=_FOUND, query=_QUERY, tags=_TAGS, category=_CATEGORY, limit=_LIMIT)
def recall_memory(
    engine: Ricordo, query: str, tags: Sequence[str] = (), category: str | None = None, limit: int = 5
) -> dict[str, Any]:
    """Find memories, by meaning and words."""
    return _recalled(engine, query, ("memory",), tags, category, limit, "recall_memory")


@tool(effects=READS, output=_FOUND, query=_QUERY, tags=_TAGS, category=_CATEGORY, limit=_LIMIT)
def recall_article(
    engine: Ricordo, query: str, tags: Sequence[str] = (), category: str | None = None, limit: int = 5
) -> dict[str, Any]:
    """Find articles, by meaning and words."""
    return _recalled(engine, query, ("article",), tags, category, limit, "recall_article")


@tool(
    effects=READS,
    output=_FOUND,
    query=_QUERY,
    source=choice(KINDS, "Only this kind of item."),
    tags=_TAGS,
    limit=_LIMIT,
)
def search_knowledge(
    engine: Ricordo, query: str, source: str | None = None, tags: Sequence[str] = (), limit: int = 5
) -> dict[str, Any]:
    """Find anything that is kept, of one source (kind) or of all."""
    return _recalled(engine, query, (source,) if source else (), tags, None, limit, "search_knowledge")


@tool(
    effects=WRITES_ONCE,
    output=answer("ref", "status", ref="string", status="string", tree="string"),
    title=string("The title."),
    content=string("The text."),
    tags=strings("Tags for it."),
    category=string("A category of your own."),
    url=string("Where it is from."),
    valid_from=shapes.VALID_FROM,
    valid_until=shapes.VALID_UNTIL,
    links=shapes.LINKS,
    on_duplicate=choice(ON_DUPLICATE, "What to do if nearly the same is stored."),
)
def save_article(
    engine: Ricordo,
    title: str,
    content: str,
    url: str | None = None,
    on_duplicate: OnDuplicate | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Save an article: a longer text worth keeping whole."""
    fields |= {"title": title} | ({"source_url": url} if url else {})
    links = shapes.links_of(fields.pop("links", ()))
    saved = engine.remember(
        content, kind="article", source="agent", links=links, on_duplicate=on_duplicate, wait=False, **fields
    )
    return shapes.written(engine, saved)


TOOLS: tuple[Tool, ...] = (recall_memory, recall_article, search_knowledge, save_memory, save_article)
