"""The toolset ``sessions``: what happened, in order, and where in earlier sessions a task is best continued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricordo.mcp_server import shapes
from ricordo.mcp_server.core_tools import events
from ricordo.mcp_server.tool import Arg, Tool, answer, mapped

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.plugins.sessions.values import Routes
    from ricordo.values.context import ContextReport


def _routes(engine: Ricordo, found: Routes) -> dict[str, Any]:
    plain = found.to_dict()
    rows = [shapes.without_empty(one) for one in plain["routes"]]
    return {"routes": rows} | shapes.without_empty({"notes": plain["notes"]})


def _gathered(engine: Ricordo, found: ContextReport) -> dict[str, Any]:
    facts = {"text": shapes.for_tools(found.text), "tokens": found.tokens, "budget": found.budget}
    return facts | shapes.without_empty({"warnings": list(found.warnings)})


TOOLS: tuple[Tool, ...] = (
    mapped(
        "gather",
        "context",
        "All evidence on a topic from memories, documents and sessions, oldest first, each piece once, with days and"
        " refs: for what happened, in which order, and summaries. For one fact, use search.",
        {
            "topic": Arg("task", "What it is about.", required=True),
            "budget": Arg("budget", "In tokens, default 2000.", high=100_000),
            "since": Arg("since", "How far back: a span such as 7d, or a day such as 2026-01-31."),
            "until": Arg("until", "Until when: a span such as 7d, or a day."),
            "kind": Arg("kinds", "Only this kind of item.", one=True, known=True),
        },
        output=answer("text", text="string"),
        shows=_gathered,
        fixed={"gather": True, "skills": False, "always": False},
    ),
    mapped(
        "timeline",
        "timeline",
        "List what happened, oldest first: what was said, saved, changed and archived.",
        {
            "since": Arg("since", "How far back: a span such as 7d, or a day such as 2026-01-31."),
            "thread": Arg("thread", "Only this session; its tool calls are listed, too."),
            "kind": Arg("kinds", "Only this kind of item.", one=True, known=True),
            "limit": Arg("limit", "The most events; default 50.", high=500),
        },
        output=answer("events", events="array"),
        shows=events,
    ),
    mapped(
        "route",
        "route",
        "Find points in earlier sessions from which a task could be continued, best first, with the session's id,"
        " the turn, the files it touched and how well it went.",
        {
            "task": Arg("task", "What is to be done."),
            "limit": Arg("limit", "The most points; default 5.", high=50),
        },
        output=answer("routes", routes="array"),
        shows=_routes,
    ),
)
