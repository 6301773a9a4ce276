"""What all formats of transcripts need: the text of blocks, tool calls as one line, the files they name, times, keys.

Programs that keep sessions in databases or JSON files give transcripts that are read whole, as a list of records.
Reading goes on behind the last record that was complete, as it does behind the last whole line of a file of lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from ricordo.frozen import frozen
from ricordo.plugins.sessions.values import LONGEST_RESULT, ReadCounts, SessionEvent, SessionHint, shortened
from ricordo.values.provenance import is_own_tool

LineContent = SessionEvent | SessionHint
Line = Mapping[str, Any]

LONGEST_TEXT = 60_000
"""Of a longer message (mostly a pasted file) only the beginning and the end are kept."""
LONGEST_CALL = 600
CLEARANCE = 4_000
"""This many more characters of a tool's output are read than are kept, so that a secret at the cut is found whole."""

_ARGUMENTS = (
    "command", "cmd", "file_path", "filePath", "absolute_path", "notebook_path", "path", "pattern", "query", "url",
    "prompt", "description", "skill", "input",
)  # fmt: skip
_FILES = ("file_path", "filePath", "notebook_path", "path", "filename", "target_file", "absolute_path")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
MOST_FILES = 40


class Format(Protocol):
    """Reads the lines of one transcript, in order."""

    def read(self, line: Line) -> Iterable[LineContent] | None:
        """The events of a line: none for lines known to hold no event, None for a line of an unknown kind."""
        ...


def clean(text: str) -> str:
    """The text without NUL and lone surrogates, which a store cannot keep."""
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def time_of(value: object) -> datetime | None:
    """A time as transcripts write it: ISO 8601, or seconds or milliseconds since 1970; UTC unless marked."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def string_in(line: Line, name: str) -> str:
    """The text under a name; empty where something else stands there."""
    value = line.get(name)
    return clean(value).strip() if isinstance(value, str) else ""


def named_event(session: str, line: Line, place: int, role: str, *, text: str, **more: Any) -> SessionEvent:
    """An event of a line that has an id, a place for each of its events, and a time."""
    name = line.get("uuid") or line.get("id")
    key = (f"{name}#{place}" if place else name) if isinstance(name, str) and name else key_of(line, place)
    direction = "sent" if more.pop("sent", role == "assistant") else "received"
    return SessionEvent(session, key, role, direction, text, time_of(line.get("timestamp")), **more)


def text_of(content: object) -> str:
    """The text of a message: a string, or the text blocks of a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = content.get("content") or content.get("text") or ""
        return content if isinstance(content, str) else text_of(content)
    if not isinstance(content, (list, tuple)):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping):
            if isinstance(block.get("text"), str) and block.get("type") != "thinking":
                parts.append(block["text"])
            elif "image" in str(block.get("type")):
                parts.append("[image]")
    return "\n".join(parts)


def kept(text: str) -> str:
    """The part of a message that is kept."""
    return shortened(clean(text).strip(), LONGEST_TEXT)


def result_text(content: object) -> str:
    """A tool's output; it is shortened later, after secrets are removed."""
    text = clean(text_of(content)).strip()
    return text if len(text) <= LONGEST_RESULT + CLEARANCE else shortened(text, LONGEST_RESULT + CLEARANCE)


def call_text(name: str, given: object) -> str:
    """A tool call as one line: its name and its most telling argument."""
    if isinstance(given, str):
        argument = given
    elif isinstance(given, Mapping):
        found = [given[key] for key in _ARGUMENTS if given.get(key)]
        first = found[0] if found else dict(given)
        if isinstance(first, (list, tuple)):
            argument = " ".join(map(str, first))
        else:
            argument = first if isinstance(first, str) else json.dumps(first, ensure_ascii=False, default=str)
    else:
        argument = "" if given is None else str(given)
    return f"{name}: {shortened(clean(argument).strip(), LONGEST_CALL)}".strip().rstrip(":")


def files_of(given: object) -> tuple[str, ...]:
    """The files that a tool call names, in an argument or in a patch."""
    found: dict[str, None] = {}
    if isinstance(given, Mapping):
        for key in _FILES:
            value = given.get(key)
            if isinstance(value, str) and value and "\n" not in value:
                found[clean(value)] = None
        given = " ".join(_strings(given)) if "*** Begin Patch" in str(given) else ""
    if isinstance(given, str) and "*** Begin Patch" in given:
        found |= {clean(added or moved).strip(): None for added, moved in _PATCHED.findall(given)}
    return tuple(found)[:MOST_FILES]


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)


def key_of(line: Line, place: int = 0) -> str:
    """A key made from the content of a line, for formats whose lines have no id."""
    plain = json.dumps([place, line], sort_keys=True, ensure_ascii=True, default=str)
    return f"~{hashlib.blake2b(plain.encode(), digest_size=9).hexdigest()}"


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def session_id(name: str) -> str:
    """A name as part of a ref; a name that had to be changed gets a suffix, so that two names never become the same."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:80]
    if safe == name:
        return safe
    mark = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{safe or 'session'}-{mark}"


@frozen
class Record:
    """One record: its id, what it says (None: it is of an unknown kind), and whether it is still being written."""

    id: str
    events: Iterable[LineContent] | None
    kind: str
    is_unfinished: bool = False


class RecordsTranscript:
    """One session, as ``context.sessions`` reads it. ``is_helpers`` says that the person took no part in it.

    ``mtime`` and ``size`` tell whether it changed; only then are the records loaded.
    """

    def __init__(
        self,
        path: Path,
        adapter: str,
        session: str,
        mtime: int,
        *,
        size: int,
        load: Callable[[], Sequence[Record]],
        hints: Sequence[SessionHint] = (),
        is_helpers: bool = False,
    ) -> None:
        self.path = path
        self.adapter = adapter
        self.session = session
        self.mtime = mtime
        self.size = size
        self.counts = ReadCounts()
        self.offset = 0
        self.check = ""
        self.before = 0
        self.is_helpers = is_helpers
        self._load = load
        self._hints = hints

    @cached_property
    def _records(self) -> Sequence[Record]:
        return self._load()

    def check_at(self, offset: int) -> str:
        """A check value for the records before a position."""
        ids = "\n".join(record.id for record in self._records[:offset])
        return hashlib.blake2b(ids.encode("utf-8", "replace"), digest_size=16).hexdigest()

    def grew_from(self, offset: int, check: str) -> bool:
        """Whether the session begins with the records that were read before."""
        return 0 < offset <= len(self._records) and self.check_at(offset) == check

    def events(self, start: int = 0) -> Iterator[LineContent]:
        """The events of the records from a position on, without calls and results of Ricordo's own tools."""
        self.offset = start
        yield from self._hints
        for place, record in enumerate(self._records[start:], start=start):
            if record.is_unfinished:
                break
            self.before = place
            self.offset = place + 1
            if record.events is None:
                self.counts.skip(record.kind[:40])
                continue
            for one in record.events:
                if not (isinstance(one, SessionEvent) and is_own_tool(one.tool)):
                    yield one
        self.check = self.check_at(self.offset)
