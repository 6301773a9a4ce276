"""What the gateway adds to every engine. All that a tool needs is imported when one is looked at."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ricordo.engine.ingest import AddVerbs
from ricordo.engine.tiers import any_item
from ricordo.plugins.gateway.values import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ricordo.plugins.gateway.verbs import Tools
    from ricordo.values.context import LineSection
    from ricordo.values.hits import Hit
    from ricordo.values.reports import RefreshReport

SUGGESTED = 3
"""How many fitting tools a context names: each costs a line of every context."""
MOST_FOR_TOOLS = 300
NEAR, FAR = 0.4, 0.05
"""Who asks for tools gets some if the fit of the best is at least ``NEAR`` of ``search.min_fit``, and then all that
have ``FAR`` of it: tools are described in few words, and one of several that a task needs shares little with all of it.
"""
HEADING = "## Tools of other servers that may help, by call_tool or: ricordo tools call NAME"


class GatewayVerbs(AddVerbs):
    """Holds the tools of other servers, and asks for them again when they are refreshed."""

    @cached_property
    def tools(self) -> Tools:
        """Tools of other MCP servers: find, show and call them.

        In a project they are those of the user's own store, so that every folder has the same.
        """
        if self._context.located.location.origin == "project":
            return self.tier("agent").tools
        from ricordo.plugins.gateway.verbs import Tools

        return Tools(self)

    def _after_refresh(self, report: RefreshReport) -> RefreshReport:
        is_needed = any(item.ref.startswith("tool:/") for item in report.items)
        return self.tools.asked_again(report) if is_needed else report

    def close(self) -> None:
        """End the servers that run, and close all stores."""
        if "tools" in self.__dict__:
            self.tools.close()
        super().close()

    def _matching_tools(
        self,
        task: str,
        limit: int,
        *,
        shown: Callable[[Sequence[Hit]], Sequence[Hit]] = tuple,
        asked: bool = False,
        **how: Any,
    ) -> tuple[Hit, ...]:
        """The hits that fit a task, more than are wanted: ``shown`` moves resources and prompts among them back, and
        says which are shown. Whoever ``asked`` for tools gets all that are near if one of them comes near a fit.
        """
        from ricordo.plugins.gateway.index import MORE, in_general
        from ricordo.search.fit import fitting

        least = self._context.config.search.min_fit

        def fit(hits: Sequence[Hit]) -> Sequence[Hit]:
            if not asked:
                return fitting(hits, least)
            return fitting(hits, FAR * least) if fitting(hits, NEAR * least) else ()

        return self.search(
            in_general(task), limit=limit * MORE, filters=TOOLS, literal=True, mode="full",
            shown=lambda hits: shown(fit(hits)), **how,
        ).hits  # fmt: skip


def suggested(engine: GatewayVerbs, task: str) -> LineSection | None:
    """The tools that a context names: those that can be called and come near the best one."""
    from ricordo.context.passages import WEAK
    from ricordo.plugins.gateway.index import entries_from, tools_first
    from ricordo.values.context import ContextPart, LineSection

    context = engine._context
    if not any_item(context.tiers.reachable(), TOOLS):
        return None
    hits = engine._matching_tools(task, SUGGESTED, track=False)
    if context.located.location.origin == "project":
        hits = tuple(hit for hit in hits if hit.tier == "agent")  # the store that tools are called from
    tools = entries_from(hits, context.config.tools.allow)
    best = max((tool.score or 0.0 for tool in tools), default=0.0)
    near = tools_first([tool for tool in tools if tool.callable and (tool.score or 0.0) >= WEAK * best], SUGGESTED)
    rows = [
        (ContextPart("tool", tool.ref, tool.name, score=tool.score), (tool.name, tool.description or tool.title))
        for tool in near
    ]
    return LineSection("tool", HEADING, MOST_FOR_TOOLS, rows, outside=True)  # other servers wrote the descriptions
