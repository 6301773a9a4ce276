"""The toolset ``sessions``: what happened, in order, and where in earlier sessions a task is best continued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricordo.mcp_server import shapes
from ricordo.mcp_server.tool import READS, Tool, answer, integer, string, tool
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo


@tool(
    effects=READS,
    output=answer("events", events="array"),
    since=string("How far back: a span such as 7d, or a day such as 2026-01-31."),
    thread=string("Only this session; its tool calls are listed, too."),
    kind=string("Only this kind of item.", known=KINDS),
    limit=integer("The most events; default 50.", minimum=1, maximum=500),
)
def timeline(
    engine: Ricordo, since: str | None = None, thread: str | None = None, kind: str | None = None, limit: int = 50
) -> dict[str, Any]:
    """List what happened, oldest first: what was said, saved, changed and archived."""
    found = engine.timeline(since=since, thread=thread, kinds=(kind,) if kind else (), limit=limit)
    return {"events": [shapes.event_row(event) for event in found.to_dict()["events"]]}


@tool(
    effects=READS,
    output=answer("routes", routes="array"),
    task=string("What is to be done."),
    limit=integer("The most points; default 5.", minimum=1, maximum=50),
)
def route(engine: Ricordo, task: str, limit: int = 5) -> dict[str, Any]:
    """Find points in earlier sessions from which a task could be continued, best first, with the session's id, the
    turn, the files it touched and how well it went.
    """
    plain = engine.route(task, limit).to_dict()
    return {"routes": [shapes.without_empty(one) for one in plain["routes"]]} | shapes.without_empty(
        {"notes": plain["notes"]}
    )


TOOLS: tuple[Tool, ...] = (timeline, route)
