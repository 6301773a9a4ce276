"""The plain format: one JSON object per line with ``role`` and ``content``; docs/sessions.md describes it.

Everything else is optional: ``timestamp``, ``id``, ``thread``, ``title``, ``tool``, ``files``, ``error``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ricordo.sources.sessions.records import (
    Line,
    LineContent,
    clean,
    kept,
    key_of,
    result_text,
    session_id,
    text_of,
    time_of,
)
from ricordo.values.sessions import SessionEvent, SessionHint

ROLES: Mapping[str, str] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "agent": "assistant",
    "model": "assistant", "tool": "tool", "function": "tool", "system": "system", "developer": "system",
}  # fmt: skip
_TIMES = ("timestamp", "at", "time", "created_at")


def is_plain(line: Line) -> bool:
    """Whether a line is one of the plain format."""
    role = line.get("role")
    return isinstance(role, str) and role.lower() in ROLES and "content" in line


class PlainFormat:
    """Reads one file; a line that names a ``thread`` belongs to that session."""

    def __init__(self, session: str) -> None:
        self.session = session

    def read(self, line: Line) -> Iterable[LineContent] | None:
        if not is_plain(line):
            title = line.get("title")
            if isinstance(title, str) and "role" not in line:
                return [SessionHint(self._session(line), title=clean(title).strip())]
            return None
        role = ROLES[str(line["role"]).lower()]
        text = result_text(line["content"]) if role == "tool" else kept(text_of(line["content"]))
        return [self._event(line, role, text)] if text else ()

    def _event(self, line: Line, role: str, text: str) -> SessionEvent:
        name = line.get("id")
        named = isinstance(name, (str, int)) and not isinstance(name, bool) and name != ""
        files = line.get("files")
        given: dict[str, Any] = {}
        if isinstance(files, list):
            given["files"] = tuple(clean(file) for file in files if isinstance(file, str))
        return SessionEvent(
            self._session(line),
            f"id:{clean(str(name))}" if named else key_of(line),
            role,
            "sent" if role == "assistant" or line.get("direction") == "sent" else "received",
            text,
            next((at for key in _TIMES if (at := time_of(line.get(key))) is not None), None),
            tool=clean(str(line.get("tool") or line.get("name") or "")) if role == "tool" else "",
            is_request=role == "user",
            is_error=line.get("error") is True,
            **given,
        )

    def _session(self, line: Line) -> str:
        thread = line.get("thread")
        return session_id(thread) if isinstance(thread, str) and thread else self.session
