"""Runs tools on a store: opens the store at the first call, turns errors into answers, makes vectors afterwards.

It knows nothing of MCP. ``call`` blocks and may be used from any number of threads at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, NotFound, PathConflict, UsageError
from ricordo.frozen import frozen
from ricordo.log import report
from ricordo.mcp_server import toolsets
from ricordo.mcp_server.tool import Tool

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.engine import Ricordo
    from ricordo.values.reports import Progress

MOST_BYTES = 4 * 1024 * 1024
"""Arguments larger than this are refused, over standard input as over HTTP."""
AT_A_TIME = 64
"""How many texts of the backlog are embedded before the thread checks whether it should stop."""


@frozen
class Outcome:
    """The result of a call: an answer, or an error in the documented form."""

    plain: Mapping[str, Any]
    is_error: bool = False

    def text(self) -> str:
        return json.dumps(self.plain, ensure_ascii=False, separators=(",", ":"), default=str)


def failure(code: str, message: str, hint: str, **more: Any) -> Outcome:
    """An error as an agent sees it."""
    plain = {"is_error": True, "error_type": code, "message": message, "next_action_hint": hint, **more}
    return Outcome(plain, is_error=True)


class Service:
    """The chosen tools, on one store."""

    def __init__(
        self,
        chosen: Sequence[str] = (),
        *,
        store: str | None = None,
        tier: str | None = None,
        config: Callable[[], Config] | None = None,
    ) -> None:
        self.tools: Mapping[str, Tool] = toolsets.chosen(chosen)
        self.where = (store, tier)
        self._config = config
        self._engine: Ricordo | None = None
        self._opening = threading.Lock()
        self._closed = False
        self._backlog = BacklogThread(self.engine)

    @property
    def seconds(self) -> float:
        """How long one call may take: the setting ``mcp.seconds``, read again for each call."""
        try:
            return self.settings().mcp.seconds
        except Error:
            return 30.0  # the call itself will report settings that cannot be read

    def settings(self) -> Config:
        """The settings in force now."""
        if self._config is None:
            from ricordo.config.loading import ConfigProvider

            self._config = ConfigProvider()
        return self._config()

    def engine(self) -> Ricordo:
        """The engine, opened at the first call; if opening fails, the next call tries again."""
        with self._opening:
            if self._engine is None:
                if self._closed:
                    raise UsageError("the server is shutting down", hint="Start it again.")
                from ricordo.engine import Ricordo

                self.settings()
                store, tier = self.where
                self._engine = Ricordo.open(store, config=self._config, tier=tier)
            return self._engine

    def wake(self) -> None:
        """Say that texts may wait for their vectors."""
        self._backlog.wake()

    def close(self) -> None:
        """Close the store, if it was opened."""
        self._backlog.stop()
        with self._opening:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def call(
        self, name: str, arguments: Mapping[str, Any], progress: Callable[[Progress], None] | None = None
    ) -> Outcome:
        """Run a tool. An error becomes an outcome, too."""
        tool = self.tools.get(name)
        if tool is None:
            return self._unknown(name)
        try:
            refuse_huge(arguments)
            answer = tool(self.engine(), arguments, progress)
        except Error as error:
            return self._failed(error, arguments)
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            hint = "Check that the file exists, that it may be used, and that the disk has room."
            return failure("system", f"{error.strerror or error}{where}", hint)
        except Exception as error:  # noqa: BLE001 - a bug must not end the server: the log has the trace
            report(f"the tool {name} failed", error)
            message = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            return failure("unexpected", message, "This is a bug in Ricordo; its log has the details. Try another way.")
        self.wake()  # after a read too: it may have taken in knowledge files, or found what a hook left
        return Outcome(printable(answer))

    def _unknown(self, name: str) -> Outcome:
        from ricordo.config.rules import nearest

        near = nearest(name, tuple(self.tools))
        hint = f"Did you mean '{near[0]}'? " if near else ""
        return failure("unknown_tool", f"there is no tool '{name[:80]}'", f"{hint}Tools: {', '.join(self.tools)}.")

    def _failed(self, error: Error, arguments: Mapping[str, Any]) -> Outcome:
        hint, more = error.hint, {}
        if isinstance(error, PathConflict):
            reader = "context_read" if "context_read" in self.tools else "get"
            hint = f"Read it first with {reader}; then pass on_conflict='overwrite' to replace it, or use another ref."
        elif isinstance(error, NotFound):
            near, known = self._near(arguments)
            if near is not None:
                more = {"near": near} if near else {}
                hint = f"Did you mean {' or '.join(near)}?" if near else known or hint
        if (candidates := getattr(error, "candidates", None)) is not None:
            more = {"candidates": candidates}
        return failure(error.code, error.message, hint or "Change the call as the message says.", **printable(more))

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


def refuse_huge(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that are too large."""
    size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise UsageError(
            f"the arguments take {size:,} bytes, which is more than {MOST_BYTES:,}",
            hint="Write a long text to a file and add the file, or send it in parts.",
        )


def printable(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The same in what JSON and UTF-8 can hold: half characters become question marks, times become texts."""
    text = json.dumps(plain, ensure_ascii=False, default=str).encode("utf-8", "replace")
    clean: dict[str, Any] = json.loads(text)
    return clean


class BacklogThread:
    """A thread that makes the vectors of what was written or taken in, after the answer; the first call starts it."""

    def __init__(self, engine: Callable[[], Ricordo]) -> None:
        self._engine = engine
        self._wanted = threading.Event()
        self._ending = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Tell the thread that there may be texts to embed."""
        with self._lock:
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._work, name="ricordo-backlog", daemon=True)
                self._thread.start()
        self._wanted.set()

    def stop(self, seconds: float = 2.0) -> None:
        """End after the current batch; the rest stays in the backlog."""
        with self._lock:
            self._ending = True
            thread = self._thread
        self._wanted.set()
        if thread is not None:
            thread.join(seconds)

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._ending:
                return
            try:
                self._drain()
            except Error as error:
                report(f"vectors stay in the backlog: {error}")
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread; the texts stay in the backlog
                report("vectors stay in the backlog", error)

    def _drain(self) -> None:
        engine = self._engine()
        if engine.config.embedding.provider == "none":
            return
        while not self._ending and engine.see_to_waiting(few=0):
            done = engine.embed(limit=AT_A_TIME, search_missing=False)
            if done.stopped or not done.embedded + done.cached:
                return
