"""opencode's sessions: a database since version 1.2 (``opencode.db``), before that a folder with JSON files.

Both hold the same records: a session, its messages, and the parts of each message. A text, a tool call with its
result, or a thought is a part. Only completed parts are read; one that is still being written waits for the next time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ricordo.errors import Unreadable
from ricordo.frozen import frozen
from ricordo.plugins.sessions.transcripts.records import (
    LineContent,
    Record,
    RecordsTranscript,
    call_text,
    clean,
    files_of,
    kept,
    result_text,
    session_id,
    time_of,
)
from ricordo.plugins.sessions.transcripts.written import written_by
from ricordo.plugins.sessions.values import SessionEvent, SessionHint

LARGEST_FILE = 32 << 20
"""The most bytes of a JSON file; a longer one is skipped."""
_SILENT = frozenset(
    {"reasoning", "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "subtask", "file"}
)
"""Kinds of parts that hold no message and no action."""
_UNTITLED = ("New session - ", "Child session - ")


@frozen
class _Session:
    """What is known of a session before its messages are read."""

    id: str
    title: str
    folder: str
    parent: str
    updated: int
    """Milliseconds since 1970."""
    size: int


@frozen
class _Message:
    """A message and its parts by id, in the order they were made; what is no JSON is None."""

    about: Any
    parts: Sequence[tuple[str, Any]]


def is_opencode(path: Path) -> bool:
    """Whether a file is opencode's database, or the JSON file of one of its sessions, by its name and place."""
    if path.suffix == ".db":
        return path.name.startswith("opencode")
    return path.suffix == ".json" and path.name.startswith("ses_") and path.parent.parent.name == "session"


def opencode_files(folder: Path) -> list[Path]:
    """Databases below a folder, and JSON files of sessions where no database lies above them that took them over."""
    databases = sorted(folder.rglob("opencode*.db"))
    taken = {file.parent for file in databases} | {file.parent for file in folder.parent.glob("opencode*.db")}
    files = (file for file in folder.rglob("ses_*.json") if is_opencode(file) and not taken.intersection(file.parents))
    return [*databases, *sorted(files)]


def opencode_transcripts(path: Path) -> Iterator[RecordsTranscript]:
    """The sessions that a file holds."""
    if path.suffix == ".json":
        yield _from_folder(path)
        return
    try:
        # For reading alone: opencode may be writing to it just now.
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            for session in _sessions(database):
                yield _transcript(path, session, partial(_from_database, database, session.id))
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        hint = "Close opencode and try again; 'opencode db path' says where its database is."
        raise Unreadable(f"{path} cannot be read as opencode's database: {error}", hint=hint) from None


def _sessions(database: sqlite3.Connection) -> list[_Session]:
    """All sessions, the oldest first."""
    rows = database.execute(
        "SELECT s.id, s.title, s.directory, coalesce(s.parent_id, ''),"
        " max(s.time_updated, coalesce(m.latest, 0), coalesce(p.latest, 0)), coalesce(p.count, 0) FROM session s"
        " LEFT JOIN (SELECT session_id, max(time_updated) latest FROM message GROUP BY 1) m ON m.session_id = s.id"
        " LEFT JOIN (SELECT session_id, max(time_updated) latest, count(*) count FROM part GROUP BY 1) p"
        " ON p.session_id = s.id ORDER BY s.time_created, s.id"
    )
    return [
        _Session(str(name), str(title), str(folder), str(parent), int(updated), int(size))
        for name, title, folder, parent, updated, size in rows
    ]


def _from_database(database: sqlite3.Connection, session: str) -> Iterator[_Message]:
    messages = database.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", [session]
    ).fetchall()
    for name, data in messages:
        parts = database.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", [name])
        yield _Message(_parsed(data), [(str(part), _parsed(inside)) for part, inside in parts])


def _from_folder(path: Path) -> RecordsTranscript:
    """A session of the older layout: ``session/PROJECT/ID.json``, ``message/ID/*.json``, ``part/MESSAGE/*.json``."""
    about = _file(path)
    if not isinstance(about, Mapping):
        raise Unreadable(f"{path} is not a session of opencode", hint="Name its folder 'storage'.")
    storage = path.parent.parent.parent
    files = {
        file: sorted((storage / "part" / file.stem).glob("*.json"))
        for file in sorted((storage / "message" / path.stem).glob("*.json"))
    }
    every = [path, *files, *(part for parts in files.values() for part in parts)]
    latest = max(file.stat().st_mtime_ns // 1_000_000 for file in every)
    title, folder, parent = (_string(about, name) for name in ("title", "directory", "parentID"))

    def messages() -> list[_Message]:
        found = [_Message(_file(file), [(part.stem, _file(part)) for part in parts]) for file, parts in files.items()]
        return sorted(found, key=lambda one: _time(one.about, "created"))

    return _transcript(path, _Session(path.stem, title, folder, parent, latest, len(every)), messages)


def _transcript(path: Path, session: _Session, messages: Callable[[], Iterable[_Message]]) -> RecordsTranscript:
    id = session_id(session.id)  # noqa: A001 - what everybody calls it
    session = replace(session, id=id)
    title = "" if session.title.startswith(_UNTITLED) else clean(session.title).strip()
    hint = SessionHint(id, title=title, folder=clean(session.folder), parent=session.parent)
    return RecordsTranscript(
        path,
        "opencode",
        id,
        session.updated * 1_000_000,
        size=session.size,
        load=lambda: _records(session, list(messages())),
        hints=(hint,),
        is_helpers=bool(session.parent),
    )


def _records(session: _Session, messages: Sequence[_Message]) -> list[Record]:
    records: list[Record] = []
    for message in messages:
        for name, part in message.parts:
            if not isinstance(part, Mapping) or not isinstance(message.about, Mapping):
                records.append(Record(name, None, "unreadable"))
                continue
            waits = message is messages[-1] and _is_unfinished(message.about, part)
            event = _part(session, name, message.about, part)
            records.append(Record(name, event, str(part.get("type")), waits))
    return records


def _is_unfinished(message: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether more of a part may come: only the last message can still be written."""
    if message.get("role") != "assistant" or "error" in message or _time(message, "completed"):
        return False
    state = part.get("state")
    if part.get("type") == "tool":
        return not isinstance(state, Mapping) or state.get("status") not in ("completed", "error")
    return part.get("type") == "text" and not _time(part, "end")


def _part(
    session: _Session, name: str, message: Mapping[str, Any], part: Mapping[str, Any]
) -> Iterable[LineContent] | None:
    kind = part.get("type")
    if kind in _SILENT:
        return ()
    at = time_of(_time(part, "start") or _time(message, "created") or None)
    aside = bool(session.parent)
    if kind == "text":
        return _text(session.id, name, message, part, shared={"at": at, "is_aside": aside})
    if kind != "tool":
        return None
    tool = str(part.get("tool") or "tool")
    state = part["state"] if isinstance(part.get("state"), Mapping) else {}
    given, at = state.get("input"), time_of(_time(state, "start") or None) or at
    shared: dict[str, Any] = {"tool": tool, "is_aside": aside}
    touched: dict[str, Any] = {"files": files_of(given), "wrote": written_by(given)}
    call = SessionEvent(session.id, name, "tool", "sent", call_text(tool, given), at, **touched, **shared)
    stopped = state.get("status") == "error"
    result = result_text(state.get("error") if stopped else state.get("output"))
    about = state.get("metadata")
    failed = stopped or (isinstance(about, Mapping) and about.get("exit") not in (0, None))
    ended = time_of(_time(state, "end") or None) or at
    answer = SessionEvent(session.id, f"{name}#1", "tool", "received", result, ended, is_error=failed, **shared)
    return (call, answer) if result else (call,)


def _text(
    session: str, name: str, message: Mapping[str, Any], part: Mapping[str, Any], *, shared: Mapping[str, Any]
) -> tuple[SessionEvent, ...]:
    """What somebody said; texts that the program adds in the person's name are marked as its own."""
    text = kept(part["text"]) if isinstance(part.get("text"), str) else ""
    if not text or part.get("synthetic") is True or part.get("ignored") is True:
        return ()
    if message.get("role") == "user":
        text = _unquoted(text)
        return (SessionEvent(session, name, "user", "received", text, is_request=not shared["is_aside"], **shared),)
    role = "system" if message.get("summary") is True else "assistant"  # a summary takes the place of what was said
    return (SessionEvent(session, name, role, "sent" if role == "assistant" else "received", text, **shared),)


def _unquoted(text: str) -> str:
    """A prompt as it was typed: ``opencode run`` puts quotation marks around it."""
    quoted = len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1].replace('\\"', "")
    return text[1:-1].replace('\\"', '"') if quoted else text


def _file(path: Path) -> Any:
    return _parsed(path.read_bytes()) if path.stat().st_size <= LARGEST_FILE else None


def _parsed(data: str | bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return None


def _time(record: Any, name: str) -> float:
    """A time of a record, in milliseconds; 0 where there is none."""
    times = record.get("time") if isinstance(record, Mapping) else None
    value = times.get(name) if isinstance(times, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _string(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
