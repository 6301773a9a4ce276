"""Runs tools on a store, and turns errors into answers.

It knows nothing of MCP. ``call`` blocks and may be used from any number of threads at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, NotFound, PathConflict, UsageError
from ricordo.frozen import frozen
from ricordo.hosting.service import Service
from ricordo.mcp_server.shapes import answer_for_agents, for_agents
from ricordo.mcp_server.tool import BLOCKS, Tool, checked, generated
from ricordo.plugin import installed
from ricordo.trust.fence import Told, any_of, as_json, quoted, quoting

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.values.reports import Progress

OF_PLUGINS = {name: (plugin, tools) for plugin in installed().values() for name, tools in plugin.tools.items()}
TOOLSETS = ("core", *OF_PLUGINS, "verbs")
LARGEST_ARGUMENTS = 4 * 1024 * 1024
"""Bytes of the arguments of one call; larger ones are refused, over standard input as over HTTP."""


@frozen
class Outcome:
    """The result of a call: an answer, or an error in the documented form."""

    plain: Mapping[str, Any]
    is_error: bool = False
    blocks: Sequence[Mapping[str, Any]] = ()
    """Images and other content that stand beside the answer."""

    def text(self) -> Told:
        return as_json(self.plain)


def failure(code: str, message: str, hint: str, **more: Any) -> Outcome:
    """An error as an agent sees it. Message and hint are our own sentences; what they name of others is quoted."""
    plain = {"is_error": True, "error_type": code, "message": message, "next_action_hint": hint, **more}
    return Outcome(plain, is_error=True)


class ToolService(Service):
    """The chosen tools, on one store."""

    def __init__(
        self,
        toolsets: Sequence[str] = (),
        *,
        store: str | None = None,
        tier: str | None = None,
        config: Callable[[], Config] | None = None,
    ) -> None:
        super().__init__(store=store, tier=tier, config=config)
        self.tools: Mapping[str, Tool] = chosen(toolsets)
        self.alone = alone(toolsets)
        readers = [OF_PLUGINS[name][1].reader for name in toolsets if name in OF_PLUGINS]
        self._reader = next(filter(None, readers), "get")

    @property
    def has_memory_tools(self) -> bool:
        """Whether there are tools of our own."""
        return "search" in self.tools

    @property
    def answers_hooks(self) -> bool:
        """Whether hooks may ask this process: they are on, and it has a store of its own."""
        try:
            return self.has_memory_tools and self.settings().hooks.enabled
        except Error:
            return False  # each hook says itself that the settings cannot be read

    @property
    def seconds(self) -> float:
        """How long one call may take: the setting ``mcp.seconds``, read again for each call."""
        try:
            return self.settings().mcp.seconds
        except Error:
            return 30.0  # the call itself will report settings that cannot be read

    def call(
        self, name: str, arguments: Mapping[str, Any], progress: Callable[[Progress], None] | None = None
    ) -> Outcome:
        """Run a tool. An error becomes an outcome, too."""
        tool = self.tools.get(name)
        if tool is None:
            return self._unknown(name)
        try:
            words = list(texts_in(arguments))
            refuse_huge(words)
            engine = self.engine()
            given = checked(tool, arguments)
            if progress is not None and tool.reports_progress:
                given["progress"] = progress
            answer = tool.run(engine, **given)
        except Error as error:
            return self._failed(error, arguments)
        except OSError as error:
            where = f": {quoted(str(error.filename))}" if error.filename else ""
            hint = "Check that the file exists, that it may be used, and that the disk has room."
            return failure("system", f"{error.strerror or error}{where}", hint)
        self.wake()  # after a read too: it may have taken in knowledge files, or found what a hook left
        blocks = answer.pop(BLOCKS, ())
        return Outcome(answer_for_agents(answer, self.tools, words), blocks=blocks)

    def _unknown(self, name: str) -> Outcome:
        from ricordo.config.declare import nearest

        near = nearest(name, tuple(self.tools))
        hint = f"Did you mean '{near[0]}'? " if near else ""
        return failure("unknown_tool", f"there is no tool '{name[:80]}'", f"{hint}Tools: {', '.join(self.tools)}.")

    def _failed(self, error: Error, arguments: Mapping[str, Any]) -> Outcome:
        plain = error.to_dict("mcp")
        hint, more = plain["hint"], {}
        if isinstance(error, PathConflict):
            hint = f"Read it first with {self._reader}; then"
            hint += " pass on_conflict='overwrite' to replace it, or use another ref."
        elif isinstance(error, NotFound):
            near, advice = self._near(arguments)
            if near is not None:
                more = {"near": near} if near else {}
                hint = f"Did you mean {any_of(near)}?" if near else hint or advice
        for name in ("candidates", "said"):
            if (value := getattr(error, name, None)) is not None:
                more = {name: value}
        texts = list(texts_in(arguments))
        message, hint = (quoting(for_agents(text, self.tools), texts) for text in (plain["message"], hint))
        return failure(error.code, message, hint or "Change the call as the message says.", **more)

    def _near(self, arguments: Mapping[str, Any]) -> tuple[list[str] | None, str]:
        """Refs spelled like the one that was not found, and a hint if there are none; None if the ref does exist."""
        from ricordo.mcp_server.shapes import near_refs

        given = arguments.get("refs") or arguments.get("ref") or arguments.get("id") or arguments.get("from_ref")
        name = given[0] if isinstance(given, list) and given else given
        if not isinstance(name, str):
            return [], ""
        try:
            near = near_refs(self.engine(), name)
            return (None if name in near else near), "Find what there is with search."
        except Error:
            return [], ""


def refuse_huge(texts: Sequence[str]) -> None:
    """Refuse arguments whose texts are too large."""
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    if size > LARGEST_ARGUMENTS:
        raise UsageError(
            f"the arguments take {size:,} bytes, which is more than {LARGEST_ARGUMENTS:,}",
            hint="Write a long text to a file and add the file, or send it in parts.",
        )


def texts_in(value: Any) -> Iterator[str]:
    """All texts in the arguments of a call."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from texts_in(part)


def written(plain: Any) -> bytes:
    """JSON in UTF-8: half characters become question marks, times become texts."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


def chosen(names: Sequence[str]) -> dict[str, Tool]:
    """The core tools and those of the sets, by name; a tool that two sets share is there once.

    A set of a plugin may come without the core tools when it is asked for alone.
    """
    tools: dict[str, Tool] = {}
    for name in names if alone(names) else ("core", *names):
        for tool in _tools_of(name):
            tools.setdefault(tool.name, tool)
    return tools


def alone(names: Sequence[str]) -> str:
    """What an agent is told about a server that offers one set without the core tools; empty for others."""
    return OF_PLUGINS[names[0]][1].alone if len(set(names)) == 1 and names[0] in OF_PLUGINS else ""


def _tools_of(name: str) -> Sequence[Tool]:
    """The tools of a set; its module is imported only now."""
    if name not in TOOLSETS:
        raise UsageError(f"there is no toolset '{name}'", hint=f"One of: {', '.join(TOOLSETS)}.")
    if name in OF_PLUGINS:
        plugin, toolset = OF_PLUGINS[name]
        tools: Sequence[Tool] = plugin.load(toolset.place)
        return tools
    if name == "verbs":
        return generated()
    from ricordo.mcp_server.core_tools import CORE

    return CORE
