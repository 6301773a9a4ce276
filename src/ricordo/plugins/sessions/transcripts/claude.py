"""Claude Code's transcripts: ``~/.claude/projects/<folder>/<session>.jsonl``.

A line is a message with a uuid; an answer with several blocks may take several lines. Texts that the program sends to
the model in the user's name (reminders, notices, output of local commands) are left out, because the user did not write
them; so is thinking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ricordo.plugins.sessions.transcripts.records import (
    Line,
    LineContent,
    call_text,
    files_of,
    kept,
    named_event,
    result_text,
    string_in,
    text_of,
)
from ricordo.plugins.sessions.transcripts.written import Written, written_as_told, written_by
from ricordo.plugins.sessions.values import SessionEvent, SessionHint, called_name

_READERS = frozenset({"Read", "NotebookRead"})
"""The tools that return what is in a file."""
_SILENT = frozenset(
    {
        "agent-name", "agent-color", "ai-title", "attachment", "attribution-snapshot", "bridge-session",
        "content-replacement", "file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link", "progress",
        "queue-operation", "result", "saved_hook_context", "speculation-accept", "started", "system", "tag",
        "task-summary", "worktree-state",
    }
)  # fmt: skip
"""Kinds of lines that hold no conversation."""
_ADDED = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|local-command-caveat)>.*?</\1>", re.DOTALL
)
_OUTPUT = re.compile(
    r"^\s*<(?:local-command-stdout|local-command-stderr|bash-stdout|bash-stderr|task-notification|user-memory-input)>"
)
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_BASH = re.compile(r"^\s*<bash-input>(.*?)</bash-input>", re.DOTALL)
INTERRUPTED = "[Request interrupted by user"


def is_claude(line: Line) -> bool:
    """Whether a line is one of Claude Code's."""
    kind = line.get("type")
    if kind in ("user", "assistant") and isinstance(line.get("message"), Mapping):
        return "sessionId" in line or "uuid" in line or "parentUuid" in line
    if kind == "file-history-snapshot" and "messageId" in line:
        return True  # a session without any message yet may begin with one of these
    return (kind == "summary" and "leafUuid" in line) or (isinstance(kind, str) and "sessionId" in line)


class ClaudeFormat:
    """Reads one session of Claude Code."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._tools: dict[str, tuple[str, tuple[str, ...], Written]] = {}
        """By the calls, the names of their tools, the files that they were to read, and what they were to write."""

    def read(self, line: Line) -> Iterable[LineContent] | None:
        kind = line.get("type")
        if kind == "summary":
            return [SessionHint(self.session, title=string_in(line, "summary"), about=string_in(line, "leafUuid"))]
        if kind == "custom-title":
            return [SessionHint(self.session, title=string_in(line, "customTitle"))]
        if kind in _SILENT:
            return ()
        message = line.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, Mapping):
            return None
        if line.get("isMeta") is True or line.get("isApiErrorMessage") is True:
            return ()
        events = self._user(line, message) if kind == "user" else self._assistant(line, message)
        return [*self._hints(line), *events]

    def _hints(self, line: Line) -> Iterator[SessionHint]:
        folder, branch = string_in(line, "cwd"), string_in(line, "gitBranch")
        parent = string_in(line, "sessionId")
        if folder or branch:
            parent = parent if line.get("isSidechain") is True and parent != self.session else ""
            yield SessionHint(self.session, folder=folder, branch=branch, parent=parent)

    def _event(self, line: Line, place: int, role: str, text: str, **more: Any) -> SessionEvent:
        return named_event(self.session, line, place, role, text=text, is_aside=line.get("isSidechain") is True, **more)

    def _user(self, line: Line, message: Mapping[str, Any]) -> Iterator[SessionEvent]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_result"]
        text = kept(_own_words(text_of([b for b in blocks if b not in results] if blocks else content)))
        if text:
            summary = line.get("isCompactSummary") is True
            own = not summary and line.get("isSidechain") is not True and not text.startswith(INTERRUPTED)
            yield self._event(line, 0, "system" if summary else "user", text, is_request=own)
        for place, block in enumerate(results, start=1):
            name, read, asked = self._tools.get(str(block.get("tool_use_id")), ("", (), {}))
            result = result_text(block.get("content"))
            if result:
                error = block.get("is_error") is True
                told = written_as_told(line.get("toolUseResult")) if len(results) == 1 else None
                wrote: Written = {} if error else asked if told is None else told
                yield self._event(line, place, "tool", result, tool=name, files=read, is_error=error, wrote=wrote)

    def _assistant(self, line: Line, message: Mapping[str, Any]) -> Iterator[SessionEvent]:
        content = message.get("content")
        text = kept(text_of(content))
        if text:
            yield self._event(line, 0, "assistant", text)
        for place, block in enumerate(content if isinstance(content, list) else (), start=1):
            if isinstance(block, Mapping) and block.get("type") in ("tool_use", "server_tool_use"):
                given = block.get("input")
                name = called_name(str(block.get("name") or "tool"), given)
                files = files_of(given)
                self._tools[str(block.get("id"))] = name, files if name in _READERS else (), written_by(given)
                yield self._event(line, place, "tool", call_text(name, given), tool=name, files=files, sent=True)


def _own_words(text: str) -> str:
    """What the user typed, without what the program put around it; a slash command is kept with its arguments."""
    if "<" not in text:
        return text
    text = _ADDED.sub("", text)
    command = _COMMAND.search(text)
    if command is not None:
        given = _COMMAND_ARGS.search(text)
        words = given.group(1).strip() if given else ""
        return f"{command.group(1).strip()} {words}" if words else ""
    shell = _BASH.match(text)
    if shell is not None:
        return f"! {shell.group(1).strip()}"
    return "" if _OUTPUT.match(text) else text
