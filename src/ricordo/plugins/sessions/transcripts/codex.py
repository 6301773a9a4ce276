"""Codex's transcripts: ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl``.

In current files every line is ``{timestamp, type, payload}`` and ``response_item`` lines hold the conversation;
``event_msg`` lines repeat it for display and are left out. Older files begin with a line about the session, followed by
items without this frame.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from ricordo.plugins.sessions.transcripts.records import (
    Line,
    LineContent,
    call_text,
    clean,
    files_of,
    kept,
    key_of,
    result_text,
    text_of,
    time_of,
)
from ricordo.plugins.sessions.transcripts.written import written_by
from ricordo.plugins.sessions.values import SessionEvent, SessionHint, called_name

_WRAPPED = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_SILENT = frozenset({"reasoning", "ghost_snapshot", "compaction", "compaction_summary", "other"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "mcp_tool_call_output", "tool_search_output"})
_ITEMS = _CALLS | _RESULTS | _SILENT | {"message"}
_NOT_SAID = (
    "<environment_context>", "<user_instructions>", "<permissions instructions>", "<collaboration_mode>",
    "<turn_aborted>", "<subagent_notification>", "<skills_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
    "<user_shell_command>", "<skill>", "<apps_instructions>", "<plugins_instructions>", "<personality_spec>",
)  # fmt: skip
"""Beginnings of messages that the program sends in the user's name."""
_REQUEST = "## My request for Codex:"
"""Editors list the open files first; the request itself follows this line."""


def is_codex(line: Line) -> bool:
    """Whether a line is one of Codex's."""
    if line.get("type") in _WRAPPED and isinstance(line.get("payload"), Mapping):
        return True
    if "record_type" in line or (line.get("type") in _ITEMS - {"message"}):
        return True
    if "type" not in line and "role" not in line and isinstance(line.get("id"), str) and "timestamp" in line:
        return "instructions" in line or "git" in line
    return line.get("type") == "message" and isinstance(line.get("content"), list) and "timestamp" not in line


def named_session(line: Line) -> str:
    """The session that a first line names."""
    about = line.get("payload") if line.get("type") == "session_meta" else line if "type" not in line else None
    name = about.get("id") if isinstance(about, Mapping) else None
    return name if isinstance(name, str) else ""


class CodexFormat:
    """Reads one session of Codex."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._tools: dict[str, str] = {}
        self._at: datetime | None = None

    def read(self, line: Line) -> Iterable[LineContent] | None:
        kind, payload = line.get("type"), line.get("payload")
        self._at = (
            time_of(line.get("timestamp")) or self._at
        )  # older items have no time, so they get that of the item before
        if kind in _WRAPPED and isinstance(payload, Mapping):
            return self._wrapped(str(kind), line, payload)
        if kind in _ITEMS:
            return self._item(line, line)
        if "record_type" in line:
            return ()
        if kind is None and isinstance(line.get("id"), str):
            return self._about(line)
        return None

    def _wrapped(self, kind: str, line: Line, payload: Mapping[str, Any]) -> Iterable[LineContent] | None:
        if kind == "response_item":
            return self._item(line, payload)
        if kind == "compacted":
            text = kept(text_of(payload.get("message")))
            return [self._event(line, "system", text)] if text else ()
        return self._about(payload) if kind in ("session_meta", "turn_context") else ()

    def _about(self, payload: Mapping[str, Any]) -> Iterator[SessionHint]:
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, Mapping) else None
        folder = payload.get("cwd")
        named = (("folder", folder), ("branch", branch))
        given = {name: clean(value) for name, value in named if isinstance(value, str)}
        if any(given.values()):
            yield SessionHint(self.session, **given)

    def _event(self, line: Line, role: str, text: str, **more: Any) -> SessionEvent:
        direction = "sent" if more.pop("sent", role == "assistant") else "received"
        return SessionEvent(self.session, key_of(line), role, direction, text, self._at, **more)

    def _item(self, line: Line, item: Mapping[str, Any]) -> Iterable[LineContent] | None:
        kind = item.get("type")
        if kind == "message":
            return self._message(line, item)
        if kind in _CALLS:
            return self._call(line, item)
        if kind in _RESULTS:
            return self._result(line, item)
        return () if kind in _SILENT else None

    def _message(self, line: Line, item: Mapping[str, Any]) -> Iterator[SessionEvent]:
        role, text = item.get("role"), text_of(item.get("content")).strip()
        if role == "user" and not text.startswith(_NOT_SAID):
            text = kept(text.rpartition(_REQUEST)[2])
            if text:
                yield self._event(line, "user", text, is_request=True)
        elif role == "assistant" and text:
            yield self._event(line, "assistant", kept(text))

    def _call(self, line: Line, item: Mapping[str, Any]) -> Iterator[SessionEvent]:
        name = str(item.get("name") or str(item.get("type")).removesuffix("_call"))
        given = item.get("arguments", item.get("input", item.get("action")))
        if isinstance(given, str) and given.lstrip().startswith("{"):
            with suppress(ValueError):  # a call that was cut off is shown as it is
                given = json.loads(given)
        name = called_name(name, given, item.get("namespace"))
        self._tools[str(item.get("call_id") or item.get("id"))] = name
        yield self._event(
            line,
            "tool",
            call_text(name, given),
            tool=name,
            sent=True,
            files=files_of(given),
            wrote=written_by(given),
        )

    def _result(self, line: Line, item: Mapping[str, Any]) -> Iterator[SessionEvent]:
        output = item.get("output")
        failed = isinstance(output, Mapping) and output.get("success") is False
        if isinstance(output, str) and output.startswith("{"):
            try:
                answer = json.loads(output)
            except ValueError:
                answer = None
            if isinstance(answer, dict) and isinstance(answer.get("output"), str):
                about = answer.get("metadata")
                failed = isinstance(about, Mapping) and about.get("exit_code") not in (0, None)
                output = answer["output"]
        text = result_text(output)
        if text:
            name = self._tools.get(str(item.get("call_id")), "")
            yield self._event(line, "tool", text, tool=name, is_error=failed)
