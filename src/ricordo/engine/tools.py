"""The engine's verbs for tools of other MCP servers: add, find, show, call. They are reached as ``Ricordo.tools``.

It uses other verb classes to store and find items, and the package ``tools`` for servers and calls.
"""

from __future__ import annotations

import builtins
import re
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ricordo.engine.tool_index import IndexedTools
from ricordo.errors import Error, NotFound
from ricordo.tools.index import called_by, may_call, part_of, plain_hints, refuse
from ricordo.values.tools import ToolEntry, ToolResult
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.sources.mcp_config import Result
    from ricordo.tools.calls import CallRecords
    from ricordo.values.reports import Progress
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import LimitFlag, ToolName

_REST = re.compile(r"result/(\w{1,40})/(\d{1,9})")
__all__ = ["Tools", "may_call", "parameters_in_words", "plain_hints"]


SHOWN_CHARACTERS = 6_000
"""Characters of a result that are shown at once; the rest is kept and can be read later."""


class Tools(IndexedTools):
    """Tools, resources and prompts of the servers that the user took in.

    >>> memory.tools.add(agree=lambda found: found.name == "time")             # doctest: +SKIP
    >>> memory.tools.find("what time is it in Tokyo")[0].name                  # doctest: +SKIP
    'time/get_current_time'
    >>> memory.tools.call("time/get_current_time", {"timezone": "Asia/Tokyo"}) # doctest: +SKIP
    """

    @cached_property
    def records(self) -> CallRecords:
        """The log of calls, and whole results."""
        from ricordo.keys.seal import seal_of
        from ricordo.tools.calls import CallRecords

        return CallRecords(seal=seal_of(self._context.location))

    @verb(
        "write",
        "agents",
        "Call a tool.",
        path="tools call",
        is_long=True,
        examples=("""ricordo tools call time/get_current_time '{"timezone": "Asia/Tokyo"}'""",),
    )
    def call(
        self,
        name: ToolName,
        arguments: Annotated[object, Say("Its arguments, as an object.", kind="object", shown="JSON")] = None,
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool that only reads, or that the user allowed; every call, refused ones too, is logged.

        The arguments are checked against the tool's schema before they are sent. An error of the other server is a
        result with ``failed``. A long result is cut; calling ``result/ID/START`` reads on in it.
        """
        from ricordo.tools.calls import given_arguments

        if rest := _REST.fullmatch(name.strip()):
            return self.result(rest[1], int(rest[2]))
        started = time.perf_counter()
        given: dict[str, Any] = {}
        called, outcome = name, "refused"
        size = 0
        try:
            entry = self.show(name)
            called = entry.name
            given = given_arguments(arguments)
            answer = self._called(entry, given, progress)
            outcome = "failed" if answer.failed else "answered"
            size = len(answer.content)
            return self._as_result(called, answer, (time.perf_counter() - started) * 1000)
        except Error as error:
            outcome = error.code
            raise
        finally:
            self.records.note(called[:200], given, outcome, (time.perf_counter() - started) * 1000, chars=size)

    def _called(
        self, entry: ToolEntry, given: Mapping[str, Any], progress: Callable[[Progress], None] | None
    ) -> Result:
        """Check that the user allows the call, what the server says about the tool now, and the arguments; then call
        it.
        """
        from ricordo.tools.calls import check_arguments
        from ricordo.tools.index import unfit

        allow = self._context.config.tools.allow
        if not entry.callable:
            raise refuse(entry.name, allow)
        server = self._file.get(entry.server)
        name = entry.name.removeprefix(called_by(entry.server, "", entry.what))
        tool, changed = self._running.tool(server, entry.what, name)
        if changed:
            self._index(server, self._running.offered(server), wait=False)
        if not may_call(entry.name, tool.hints, allow):
            raise refuse(entry.name, allow)
        if problem := unfit(tool):
            raise NotFound(f"{entry.name} cannot be used: {problem}", hint="Use another tool.")
        check_arguments(entry.name, given, tool.schema)
        return self._running.call(server, tool, given, progress)

    def _as_result(self, name: str, answer: Result, ms: float) -> ToolResult:
        from ricordo.tools.calls import LARGEST_RESULT

        if isinstance(answer.content, bytes):
            kind = answer.mime_type or "bytes"
            text = f"({len(answer.content):,} bytes of {kind}, which is not a text)"
            return ToolResult(
                name,
                text,
                answer.failed,
                chars=len(text),
                mime_type=answer.mime_type,
                ms=round(ms, 1),
                blocks=answer.blocks,
            )
        whole = answer.content[:LARGEST_RESULT]
        text, more = part_of(whole, 0, SHOWN_CHARACTERS)
        kept = self.records.keep(whole) if more is not None else ""
        return ToolResult(
            name, text, answer.failed, kept, len(whole), more, answer.mime_type, round(ms, 1), answer.blocks
        )

    def result(self, id: str, start: int = 0) -> ToolResult:  # noqa: A002 - as results say it
        """Read on in a result that was too long to be given at once."""
        whole = self.records.result(id)
        text, more = part_of(whole, start, SHOWN_CHARACTERS)
        return ToolResult("", text, False, id, len(whole), more)

    @verb(
        "read",
        "agents",
        "Show which tools were called.",
        path="tools log",
        answers="calls",
        examples=("ricordo tools log",),
    )
    def log(self, limit: LimitFlag = 50) -> builtins.list[dict[str, Any]]:
        """The last calls, newest first: time, tool, arguments and outcome."""
        return self.records.calls(limit)


def parameters_in_words(entry: ToolEntry, longest: int) -> str:
    """The parameters of a tool in one line; what a server says in them is cleaned."""
    from ricordo.tools.calls import summary
    from ricordo.tools.index import clean

    return clean(summary(entry.schema, longest))
