"""The tools of other MCP servers as items: taking them in, finding, showing and calling them (``Ricordo.tools``)."""

from __future__ import annotations

import builtins
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, NotFound, UsageError
from ricordo.plugins.gateway.index import (
    called_by,
    entries_from,
    entry_from,
    may_call,
    part_of,
    pick,
    refuse,
    tools_first,
)
from ricordo.plugins.gateway.mcp_config import is_switched_off
from ricordo.plugins.gateway.servers import (
    Registered,
    ServerFile,
    SettingsFile,
    check_startable,
    places,
    servers_of,
    shown_start,
    to_register,
)
from ricordo.plugins.gateway.values import TOOLS, ServerFound, ServerReport, ToolEntry, ToolResult, ToolsReport
from ricordo.values.hits import Filters, Hit
from ricordo.values.items import Item
from ricordo.values.reports import Refreshed, RefreshReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.plugins.gateway.calls import CallRecords
    from ricordo.plugins.gateway.engine import GatewayVerbs
    from ricordo.plugins.gateway.mcp_config import Result, ServerTool
    from ricordo.plugins.gateway.servers import OpenServers
    from ricordo.values.reports import Progress
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, LimitFlag, TaskText, Track, Wait


Agree = Callable[[ServerFound], bool]
_ALL = 1 << 30
_REST = re.compile(r"result/(\w{1,40})/(\d{1,9})")
SHOWN_CHARACTERS = 6_000
"""Characters of a result that are shown at once; the rest is kept and can be read later."""


class Tools:
    """Tools, resources and prompts of the servers that the user took in.

    >>> memory.tools.add(agree=lambda found: found.name == "time")             # doctest: +SKIP
    >>> memory.tools.find("what time is it in Tokyo")[0].name                  # doctest: +SKIP
    'time/get_current_time'
    >>> memory.tools.call("time/get_current_time", {"timezone": "Asia/Tokyo"}) # doctest: +SKIP
    """

    def __init__(self, engine: GatewayVerbs) -> None:
        self._engine = engine
        self._context = engine._context
        self._file = ServerFile()
        self._warm: OpenServers | None = None

    def close(self) -> None:
        if self._warm is not None:
            self._warm.close()

    @property
    def _running(self) -> OpenServers:
        if self._warm is None:
            from ricordo.plugins.gateway.servers import OpenServers

            self._warm = OpenServers(lambda: self._context.config.tools.seconds)
        return self._warm

    def servers(self) -> tuple[ServerFound, ...]:
        """The servers that were taken in, and what each starts. Keys in it are masked."""
        known = self._file.all().values()
        return tuple(ServerFound(one.name, one.program, one.path, shown_start(one.entry), True) for one in known)

    def found(self, *files: str | Path) -> tuple[tuple[ServerFound, ...], tuple[str, ...]]:
        """The servers that the user's programs know (or those of the files), and notes. Nothing is started."""
        notes: builtins.list[str] = []
        pairs = self._candidates(files, notes)
        return tuple(found for found, _ in pairs), tuple(notes)

    @verb(
        "read",
        "agents",
        "List all tools by name.",
        path="tools list",
        answers="tools",
        examples=("ricordo tools list",),
    )
    def list(
        self, server: Annotated[str, Say("Only of this server.", longest=NAME_TEXT, shown="SERVER")] | None = None
    ) -> tuple[ToolEntry, ...]:
        """All tools, by name."""
        allow = self._context.config.tools.allow
        found = [entry_from(item, allow) for item in self._items(server)]
        return tuple(sorted(found, key=lambda one: one.name))

    @verb(
        "read",
        "agents",
        "Find the tools that fit a task.",
        path="tools find",
        answers="tools",
        examples=("ricordo tools find what time is it in Tokyo",),
        needs_model=True,
    )
    def find(self, task: TaskText, limit: LimitFlag = 5, *, track: Track | None = None) -> tuple[ToolEntry, ...]:
        """The tools that fit a task best, judged by name, description and parameters."""
        if not task.strip():
            raise UsageError("there is no task", hint="Say what is to be done; ‹:tools list› shows them all.")
        # Tools are described in few words. A word of a task that is in none of them is mostly right, not mistyped.
        allow = self._context.config.tools.allow

        def shown(hits: Sequence[Hit]) -> builtins.list[Hit]:
            by_ref = {hit.ref: hit for hit in hits}
            return [by_ref[entry.ref] for entry in tools_first(entries_from(hits, allow), limit)]

        hits = self._engine._matching_tools(
            task, limit, shown=shown, asked=True, respell=False, track=track, tool="tools"
        )
        return tuple(entries_from(hits, allow))

    @verb(
        "read", "agents", "Show a tool with its schema.", path="tools show", examples=("ricordo tools show time/now",)
    )
    def show(
        self, name: Annotated[str, Say("The tool, as SERVER/NAME.", longest=NAME_TEXT, shown="SERVER/NAME")]
    ) -> ToolEntry:
        """One tool with its schema, by ``SERVER/NAME``, ref, or its bare name where that is clear."""
        return pick(name, self.list())

    def text(self, entry: ToolEntry) -> str:
        """All that is known about a tool, as one text."""
        return self._engine.get(entry.ref).content

    def _items(self, server: str | None) -> builtins.list[Item]:
        filters = Filters(kinds=("tool",), domains=(server,)) if server else TOOLS
        return self._engine.list(filters=filters, limit=_ALL)

    @verb(
        "admin",
        "agents",
        "Index the tools of MCP servers that your programs know.",
        path="tools add",
        not_on={"http": "somebody must be asked", "mcp": "somebody must be asked"},
        examples=("ricordo tools add", "ricordo tools add time git"),
        creates=True,
    )
    def add(
        self,
        *names: Annotated[str, Say("The name of a server.", longest=NAME_TEXT, shown="SERVER")],
        agree: Agree,
        files: Annotated[
            Iterable[str | Path], Say("Settings files to read servers from.", name="from", kind="path")
        ] = (),
        wait: Wait = True,
    ) -> ToolsReport:
        """Take in servers that the user's programs know: all, or those by these names; each only if ``agree`` says so.

        ``agree`` is called before anything is started, but not again for a server that was allowed before and has not
        changed.
        """
        notes: builtins.list[str] = []
        pairs = self._candidates(tuple(files), notes)
        if names:
            missing = [name for name in names if all(name not in (one.name, found.name) for found, one in pairs)]
            if missing:
                known = ", ".join(found.name for found, _ in pairs)
                hint = f"Known are: {known}." if known else "Name a file that has it: ‹:tools add --from FILE›"
                raise NotFound(f"none of your programs has a server '{missing[0]}'", hint=hint)
            pairs = [(found, one) for found, one in pairs if found.name in names]
        chosen = [one for found, one in pairs if found.known or agree(found)]
        self._file.put(chosen)
        reports = []
        for one in chosen:
            try:
                reports.append(self.index(one.name, self._running.offered(one), wait=wait))
            except Error as error:
                reports.append(ServerReport(one.name, "unavailable", problem=error.message))
        return ToolsReport(tuple(reports), tuple(notes))

    @verb("admin", "agents", "Remove servers and their tools.", path="tools rm", examples=("ricordo tools rm time",))
    def remove(
        self, *names: Annotated[str, Say("The name of a server.", longest=NAME_TEXT, shown="SERVER")]
    ) -> ToolsReport:
        """Forget servers and their tools."""
        servers = [self._file.get(name) for name in names]
        reports = []
        for one in servers:
            if self._warm is not None:
                self._warm.end(one.name)
            gone = [item.ref for item in self._items(one.name)]
            if gone:
                self._engine.rm(*gone)
            reports.append(ServerReport(one.name, "removed", removed=len(gone)))
        self._file.drop(*names)
        return ToolsReport(tuple(reports))

    def _candidates(
        self, files: tuple[str | Path, ...], notes: builtins.list[str]
    ) -> builtins.list[tuple[ServerFound, Registered]]:
        """Each server once; if two entries start the same server, the first."""
        taken = self._file.all()
        start = self._context.start
        listed = [_place(Path(file)) for file in files] if files else places(start)
        found: dict[str, tuple[ServerFound, Registered]] = {}
        for one in (entry for place in listed for entry in servers_of(place, start, notes.append)):
            if is_switched_off(one.entry):
                continue
            new = to_register(one, {**taken, **{name: pair[1] for name, pair in found.items()}})
            if problem := check_startable(new):
                if "is Ricordo itself" not in problem:
                    notes.append(f"{new.path}: {problem}")
                continue
            if new.name in found:
                continue
            before = taken.get(new.name)
            known = before is not None and dict(before.entry) == dict(new.entry)
            is_projects = one.place.project is not None
            candidate = ServerFound(new.name, new.program, new.path, new.starts, known, from_project=is_projects)
            found[new.name] = (candidate, new)
        return builtins.list(found.values())

    def index(self, server: str, offered: Iterable[ServerTool], *, wait: bool = True) -> ServerReport:
        """Keep what a server offers as items: new ones, changed ones as versions; those that are gone go to the bin."""
        return self._kept(server, offered, wait)[0]

    def _kept(
        self, server: str, offered: Iterable[ServerTool], wait: bool
    ) -> tuple[ServerReport, builtins.list[Refreshed]]:
        from ricordo.plugins.gateway.index import listing_of

        entries, notes = listing_of(server, offered)
        before = {str(item.ref) for item in self._items(server)}
        saved = self._engine.save_many(entries, on_conflict="overwrite", wait=wait)
        gone = sorted(before - {entry.ref for entry in entries})
        if gone:
            self._engine.rm(*gone)
        kinds = [entry.fields["category"] for entry in entries]
        failed = tuple(f"{one.ref}: {one.error['message']}" for one in saved.items if one.error)
        report = ServerReport(
            server,
            "listed",
            tools=kinds.count("tool"),
            resources=kinds.count("resource"),
            prompts=kinds.count("prompt"),
            created=saved.count("created"),
            updated=saved.count("updated"),
            removed=len(gone),
            notes=(*notes, *failed),
        )
        items = [
            Refreshed(one.ref, "unchanged" if one.status == "skipped" else one.status, one.error, one.chunks)
            for one in saved.items
        ]
        return report, items + [Refreshed(ref, "removed") for ref in gone]

    def asked_again(self, report: RefreshReport) -> RefreshReport:
        """The report of a refresh, in which the tools that it came by were asked for again at their servers."""
        registered = self._file.all()
        tools = {one.ref: one.ref.split("/")[1] for one in report.items if one.ref.startswith("tool:/")}
        items = [one for one in report.items if tools.get(one.ref) not in registered]
        notes = builtins.list(report.notes)
        for name in dict.fromkeys(server for server in tools.values() if server in registered):
            try:
                listed, found = self._kept(name, self._running.offered(registered[name]), True)
            except Error as error:
                items.append(Refreshed(f"tool:/{name}", "failed", error.to_dict()))
                continue
            items += found
            notes.append(
                f"the MCP server '{name}' was asked again for what it offers: {listed.created} new,"
                f" {listed.updated} changed, {listed.removed} gone"
            )
            notes += [f"{name}: left out: {note}" for note in listed.notes]
        return replace(report, items=tuple(items), notes=tuple(notes)) if tools else report

    @cached_property
    def records(self) -> CallRecords:
        """The log of calls, and whole results."""
        from ricordo.plugins.gateway.calls import CallRecords
        from ricordo.vault import seal_of

        return CallRecords(seal_of(self._context.location))

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
        name: Annotated[str, Say("The tool, as SERVER/NAME.", longest=NAME_TEXT, shown="SERVER/NAME")],
        arguments: Annotated[
            object, Say("Its arguments, as an object.", kind="object", shown="JSON|-|NAME=VALUE")
        ] = None,
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """It must only read, or the user must have allowed it; every call, refused ones too, is logged. The arguments
        are checked against the tool's schema before they are sent. An error of the other server is a result with
        ``failed``. A long result is cut; calling ``result/ID/START`` reads on in it.
        """
        from ricordo.plugins.gateway.calls import given_arguments

        if rest := _REST.fullmatch(name.strip()):
            return self.result(rest[1], int(rest[2]))
        started = time.perf_counter()
        given: dict[str, Any] = {}
        called, outcome = name, "refused"
        size = 0
        try:
            entry = self.show(name)
            called = entry.name
            given = given_arguments(arguments, entry.schema)
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
        from ricordo.plugins.gateway.calls import check_arguments
        from ricordo.plugins.gateway.index import unfit

        allow = self._context.config.tools.allow
        if not entry.callable:
            raise refuse(entry.name, allow)
        server = self._file.get(entry.server)
        name = entry.name.removeprefix(called_by(entry.server, "", entry.what))
        tool, changed = self._running.tool(server, entry.what, name)
        if changed:
            self.index(server.name, self._running.offered(server), wait=False)
        if not may_call(entry.name, tool.hints, allow):
            raise refuse(entry.name, allow)
        if problem := unfit(tool):
            raise NotFound(f"{entry.name} cannot be used: {problem}", hint="Use another tool.")
        check_arguments(entry.name, given, tool.schema)
        return self._running.call(server, tool, given, progress)

    def _as_result(self, name: str, answer: Result, ms: float) -> ToolResult:
        from ricordo.plugins.gateway.calls import LARGEST_RESULT

        if isinstance(answer.content, bytes):
            kind = answer.mime_type or "bytes"
            whole = f"({len(answer.content):,} bytes of {kind}, which is not a text)"
        else:
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


def _place(path: Path) -> SettingsFile:
    """A file that the user names; if it is where a program looks for the servers of a project, it is the project's."""
    key = {".toml": "mcp_servers"}.get(path.suffix, "servers" if path.parent.name == ".vscode" else "mcpServers")
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="Name a file that has MCP servers, such as .mcp.json.")
    known = (one for one in places(path.absolute().parent) if one.project and one.path == path.absolute())
    return next(known, SettingsFile("file", path.absolute(), key))
