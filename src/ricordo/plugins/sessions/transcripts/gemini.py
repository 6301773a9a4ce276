"""Transcripts of Gemini CLI and of Qwen Code, which began as a copy of it.

Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*.jsonl``. The first line names the session, a line with an ``id``
is a message (``user`` or ``gemini``, with its tool calls), and lines with ``$set`` hold internal state of the program.
A message is written a second time when its tools have answered. Older versions wrote one JSON object with the same
messages (``session-*.json``).

Qwen Code: ``~/.qwen/projects/<folder>/chats/<session>.jsonl``. A line is a message with a uuid, as in Claude Code, and
its content is in ``parts``, as in Gemini's API. Thoughts are left out of both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ricordo.errors import Unreadable
from ricordo.plugins.sessions.transcripts.records import (
    Line,
    LineContent,
    Record,
    RecordsTranscript,
    call_text,
    clean,
    files_of,
    kept,
    key_of,
    named_event,
    result_text,
    session_id,
    string_in,
    text_of,
)
from ricordo.plugins.sessions.transcripts.written import written_by
from ricordo.plugins.sessions.values import SessionEvent, SessionHint

_ADDED = ("<session_context>", "<system-reminder>", "<hook_context>")
"""Beginnings of texts that the program sends in the user's name."""
_WORKSPACE = re.compile(r"\A<session_context>.*?\n- \*\*Workspace Directories:\*\*\n\s*- ([^\n]+)", re.DOTALL)
_BLOCK = re.compile(r"<(session_context|system-reminder|hook_context)>.*?</\1>\s*", re.DOTALL)
"""Such a text as a whole; the person's own words may stand before or after it."""
_TOLD = re.compile(
    r"\s*(?:## (?:Always|Notes for tasks like this|From memory|Skills that may help|Lately)|# If your task is: )"
)
"""How the answer of a hook of Ricordo begins; Qwen Code makes it a part of the person's message."""
LARGEST_FILE = 64 << 20


def is_gemini(line: Line) -> bool:
    """Whether a line is one of Gemini CLI's."""
    if "projectHash" in line and "sessionId" in line:
        return True
    return "$set" in line or (line.get("type") == "gemini" and "id" in line)


def is_qwen(line: Line) -> bool:
    """Whether a line is one of Qwen Code's."""
    message = line.get("message")
    if "sessionId" not in line or "uuid" not in line:
        return False
    return "systemPayload" in line or (isinstance(message, Mapping) and isinstance(message.get("parts"), list))


class GeminiFormat:
    """Reads one session of Gemini CLI."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._keys_seen: set[str] = set()

    def read(self, line: Line) -> Iterable[LineContent] | None:
        if folder := _folder(line.get("$set")):
            return [SessionHint(self.session, folder=folder)]
        if "$set" in line or "$rewindTo" in line or ("sessionId" in line and "type" not in line):
            return ()
        kind = line.get("type")
        if kind in ("info", "error", "warning"):
            return ()
        if kind not in ("user", "gemini"):
            return None
        events = list(self._message(line, "user" if kind == "user" else "assistant"))
        fresh = [event for event in events if event.key not in self._keys_seen]  # the file repeats the same message
        self._keys_seen.update(event.key for event in fresh)
        return fresh

    def _message(self, line: Line, role: str) -> Iterator[SessionEvent]:
        text = kept(_own_words(line.get("content")))
        if text and not text.startswith(_ADDED):
            yield named_event(self.session, line, 0, role, text=text, is_request=role == "user")
        calls = line.get("toolCalls")
        for place, call in enumerate(calls if isinstance(calls, list) else (), start=1):
            if not isinstance(call, Mapping):
                continue
            event = _called(self.session, line, 2 * place - 1, call)
            yield event
            if result := _result(call.get("result")):
                failed = call.get("status") == "error"
                yield named_event(self.session, line, 2 * place, "tool", text=result, tool=event.tool, is_error=failed)


def gemini_file(path: Path) -> RecordsTranscript:
    """A session that an older version wrote as one JSON object."""
    state = path.stat()
    try:
        plain = json.loads(path.read_bytes()) if state.st_size <= LARGEST_FILE else None
    except (ValueError, RecursionError):
        plain = None
    messages = plain.get("messages") if isinstance(plain, Mapping) else None
    if not isinstance(plain, Mapping) or not is_gemini(plain) or not isinstance(messages, list):
        raise Unreadable("it is not a session of Gemini CLI", hint="Name a file session-….json in a folder 'chats'.")
    session = session_id(string_in(plain, "sessionId"))
    reads = GeminiFormat(session)

    def records() -> list[Record]:
        lines = [line for line in messages if isinstance(line, Mapping)]
        # A message may grow while the session goes on; the key says what it holds, so that it is then read again.
        return [Record(key_of(line), reads.read(line), str(line.get("type"))) for line in lines]

    return RecordsTranscript(path, "gemini-cli", session, state.st_mtime_ns, size=state.st_size, load=records)


def is_gemini_file(path: Path) -> bool:
    """Whether a file is one of those, by its name and place."""
    return path.suffix == ".json" and path.name.startswith("session-") and path.parent.name == "chats"


class QwenFormat:
    """Reads one session of Qwen Code."""

    def __init__(self, session: str) -> None:
        self.session = session

    def read(self, line: Line) -> Iterable[LineContent] | None:
        kind = line.get("type")
        if kind == "system":
            return ()
        message = line.get("message")
        if kind not in ("user", "assistant", "tool_result") or not isinstance(message, Mapping):
            return None
        parts = [part for part in message.get("parts") or () if isinstance(part, Mapping)]
        hint = SessionHint(self.session, folder=string_in(line, "cwd"), branch=string_in(line, "gitBranch"))
        return [hint, *self._parts(line, "assistant" if kind == "assistant" else "user", parts)]

    def _parts(self, line: Line, role: str, parts: list[Mapping[str, Any]]) -> Iterator[SessionEvent]:
        said = [part for part in parts if part.get("thought") is not True]
        text = kept(_own_words([part for part in said if "text" in part]))
        if text and not text.startswith(_ADDED):
            yield named_event(self.session, line, 0, role, text=text, is_request=role == "user")
        for place, part in enumerate(said, start=1):
            call, answer = part.get("functionCall"), part.get("functionResponse")
            if isinstance(call, Mapping):
                yield _called(self.session, line, place, call)
            elif isinstance(answer, Mapping) and (result := _result(answer)):
                failed = isinstance(answer.get("response"), Mapping) and "error" in answer["response"]
                name = str(answer.get("name") or "tool")
                yield named_event(self.session, line, place, "tool", text=result, tool=name, is_error=failed)


def _own_words(content: object) -> str:
    """The text of a message without what programs and hooks put into it."""
    parts = content if isinstance(content, list) else [content]
    texts = [_BLOCK.sub("", text_of(part)).strip() for part in parts]
    return "\n".join(text for text in texts if text and not _TOLD.match(text))


def _called(session: str, line: Line, place: int, call: Mapping[str, Any]) -> SessionEvent:
    """A call of a tool."""
    name, given = str(call.get("name") or "tool"), call.get("args")
    about = {"tool": name, "files": files_of(given), "wrote": written_by(given)}
    return named_event(session, line, place, "tool", text=call_text(name, given), sent=True, **about)


def _result(value: object) -> str:
    """What a tool answered: a text, or the content of ``functionResponse.response``."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_result, value)))
    if isinstance(value, Mapping):
        inside = value.get("functionResponse", value)
        response = inside.get("response", inside) if isinstance(inside, Mapping) else inside
        if isinstance(response, Mapping):
            response = response.get("output") or response.get("error") or response.get("text") or ""
        return result_text(response if isinstance(response, str | list) else "")
    return result_text(value) if isinstance(value, str) else ""


def _folder(books: object) -> str:
    """The folder that the program names in its first words to the model."""
    messages = books.get("messages") if isinstance(books, Mapping) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    found = _WORKSPACE.search(text_of(first.get("content"))) if isinstance(first, Mapping) else None
    return clean(found[1]).strip() if found else ""
