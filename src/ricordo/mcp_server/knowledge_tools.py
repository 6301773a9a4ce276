"""The toolset ``knowledge``: recalling and saving memories and articles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ricordo.mcp_server import shapes
from ricordo.mcp_server.mapped import Arg, mapped
from ricordo.mcp_server.memory_tools import KEPT, SAVED, save_memory
from ricordo.mcp_server.tool import READS, WRITES_ONCE, Tool, answer, rows

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.hits import Answer

_QUERY = Arg("query", "What to look for.", required=True)
_TAGS = Arg("tags_all", "Only items with all these tags.")
_CATEGORY = Arg("categories", "Only items of this category.", one=True)
_LIMIT = Arg("limit", "The most results.", high=100, default=5)
_FOUND = answer(
    "results",
    results=rows(
        "source", "path", "title", "score",
        source="string", path="string", title="string", tags="array", snippet="string", score="number",
    ),
)  # fmt: skip


def _recalled(engine: Ricordo, found: Answer) -> dict[str, Any]:
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


def _recalls(name: str, description: str, arguments: Mapping[str, Arg], kinds: tuple[str, ...] = ()) -> Tool:
    fixed = {"mode": "full", "profile": "knowledge", "tool": name, "kinds": kinds or None}
    return mapped(name, "search", description, arguments, effects=READS, output=_FOUND, shows=_recalled, fixed=fixed)


_BY_WORDS = {"query": _QUERY, "tags": _TAGS, "category": _CATEGORY, "limit": _LIMIT}

TOOLS: tuple[Tool, ...] = (
    _recalls("recall_memory", "Find memories, by meaning and words.", _BY_WORDS, ("memory",)),
    _recalls("recall_article", "Find articles, by meaning and words.", _BY_WORDS, ("article",)),
    _recalls(
        "search_knowledge",
        "Find anything that is kept, of one source (kind) or of all.",
        {"query": _QUERY, "source": Arg("kinds", "Only this kind of item.", one=True), "tags": _TAGS, "limit": _LIMIT},
    ),
    save_memory,
    mapped(
        "save_article",
        "remember",
        "Save an article: a longer text worth keeping whole.",
        {
            "title": Arg("title", "The title.", required=True),
            "content": Arg("text", "The text."),
            "tags": Arg("tags", "Tags for it."),
            "category": Arg("category", "A category of your own."),
            "url": Arg("source_url", "Where it is from."),
            **KEPT,
        },
        effects=WRITES_ONCE,
        output=SAVED,
        shows=shapes.written,
        fixed={"kind": "article", "source": "agent", "wait": False},
    ),
)
