"""Reads transcripts from where reading stopped the last time: finds the format, whether the file only grew, and the
events.

A file is read line by line, never whole. A last line that is not complete yet is left for the next time.

The plain format, which docs/sessions.md describes, is one JSON object per line with ``role`` and ``content``; all else
is optional: ``timestamp``, ``id``, ``thread``, ``title``, ``tool``, ``files``, ``error``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ricordo.errors import NotFound, Unreadable
from ricordo.plugins.sessions.transcripts.claude import ClaudeFormat, is_claude
from ricordo.plugins.sessions.transcripts.codex import CodexFormat, is_codex, named_session
from ricordo.plugins.sessions.transcripts.gemini import (
    GeminiFormat,
    QwenFormat,
    gemini_file,
    is_gemini,
    is_gemini_file,
    is_qwen,
)
from ricordo.plugins.sessions.transcripts.opencode import is_opencode, opencode_files, opencode_transcripts
from ricordo.plugins.sessions.transcripts.records import (
    Format,
    Line,
    LineContent,
    RecordsTranscript,
    clean,
    kept,
    key_of,
    result_text,
    session_id,
    text_of,
    time_of,
)
from ricordo.plugins.sessions.values import ReadCounts, SessionEvent, SessionHint
from ricordo.values.provenance import is_own_tool

LONGEST_LINE = 32 << 20
"""Longer lines are skipped, because no message is that long and images in lines are not read."""
LINES_LOOKED_AT = 60
CHECKED = 4_096
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WIDE = (b"\xff\xfe", b"\xfe\xff")


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


@dataclass(slots=True)
class Transcript:
    """A file with the events of a session, opened by ``open_transcript``."""

    path: Path
    adapter: str
    session: str
    mtime: int
    size: int
    format: Format
    counts: ReadCounts = field(default_factory=ReadCounts)
    offset: int = 0
    """How far it was read, once ``events`` is at its end."""
    check: str = ""
    """What the file looked like up to there."""
    before: int = 0
    """The position of the line that is being read. All lines before it were already reported."""
    is_helpers: bool = False

    def grew_from(self, offset: int, check: str) -> bool:
        """Whether the file begins with what was read before."""
        if not 0 < offset <= self.size:
            return False
        with self.path.open("rb") as file:
            if file.read(2) in _WIDE:
                return False  # a file in UTF-16 is read whole each time
            return _check(file, offset) == check

    def check_at(self, offset: int) -> str:
        """A check value for the file up to a position."""
        with self.path.open("rb") as file:
            return _check(file, offset)

    def events(self, start: int = 0) -> Iterator[LineContent]:
        """The events of the file from a position on, without calls and results of Ricordo's own tools.

        Those repeat what the store already holds; taken in, they would be found in place of their sources.
        """
        with self.path.open("rb") as file:
            wide = file.read(2) in _WIDE
            file.seek(0 if wide else start)
            self.offset = start
            lines = _wide_lines(file, self) if wide else _lines(file, self)
            for number, raw in enumerate(lines, start=1):
                line = _parsed(raw)
                if line is None:
                    self.counts.bad_total += 1
                    if len(self.counts.bad) < 5:
                        self.counts.bad.append(number)
                    continue
                found = self.format.read(line)
                if found is None:
                    self.counts.skip(str(line.get("type") or "other")[:40])
                else:
                    yield from (one for one in found if not (isinstance(one, SessionEvent) and is_own_tool(one.tool)))
            self.check = _check(file, self.offset)


def open_transcripts(path: Path) -> Iterator[Transcript | RecordsTranscript]:
    """The sessions of a file: a database holds many, other files one. A file that holds none is refused."""
    try:
        if is_opencode(path):
            yield from opencode_transcripts(path)
            return
        yield gemini_file(path) if is_gemini_file(path) else open_transcript(path)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", hint="Check the spelling.") from None


def open_transcript(path: Path) -> Transcript:
    """Find the format of a file from its first lines; a file that holds no session is an error."""
    try:
        state = path.stat()
        head = _head(path)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", hint="Check the spelling.") from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}", hint="Check its permissions.") from None
    for adapter, belongs, session, makes in _FORMATS:
        if any(belongs(line) for line in head):
            name = session(path, head)
            form = makes(name)
            return Transcript(path, adapter, name, state.st_mtime_ns, state.st_size, form, is_helpers=is_helpers(path))
    with path.open("rb") as file:
        is_blank = not head and not file.read(CHECKED).strip()
    if is_blank:  # the transcript of a session that has just started
        name = session_id(path.stem)
        return Transcript(path, "jsonl", name, state.st_mtime_ns, state.st_size, PlainFormat(name))
    raise Unreadable(
        "it is not a transcript of a session",
        hint="It reads those of Claude Code, Codex, Gemini CLI, Qwen Code and opencode, and JSON lines with role and"
        " content.",
    )


def _claude_session(path: Path, head: list[Line]) -> str:
    """The session is named by the file, because lines that were copied from an earlier session name that session."""
    is_named = _UUID.fullmatch(path.stem) or path.stem.startswith("agent-")
    return session_id(path.stem) if is_named else _named_session(path, head)


def _named_session(path: Path, head: list[Line]) -> str:
    """The session that a line names."""
    named = next((line["sessionId"] for line in head if isinstance(line.get("sessionId"), str)), "")
    return session_id(named or path.stem)


def _codex_session(path: Path, head: list[Line]) -> str:
    named = next(filter(None, map(named_session, head)), "")
    in_name = _UUID.findall(path.stem)
    return session_id(named or (in_name[-1] if in_name else path.stem))


def _plain_session(path: Path, head: list[Line]) -> str:
    """The first thread that a line names, else the file's name with a suffix made from its folder, because many files
    are called chat.jsonl.
    """
    first = next((line for line in head if is_plain(line)), {})
    thread = first.get("thread")
    if isinstance(thread, str) and thread:
        return session_id(thread)
    place = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=4).hexdigest()
    return session_id(f"{path.stem}-{place}")


def _head(path: Path) -> list[Line]:
    """The first lines of a file, up to one that says which format it has and which session it is."""
    probe = Transcript(path, "", "", 0, 0, PlainFormat(""))
    found: list[Line] = []
    with path.open("rb") as file:
        wide = file.read(2) in _WIDE
        file.seek(0)
        for number, raw in enumerate(_wide_lines(file, probe) if wide else _lines(file, probe)):
            line = _parsed(raw)
            if line is not None:
                found.append(line)
                ours = is_codex(line) or is_plain(line) or is_gemini(line)
                if ours or (is_claude(line) and "sessionId" in line):
                    break
            if number >= LINES_LOOKED_AT:
                break
    return found


def _lines(file: BinaryIO, progress: Transcript) -> Iterator[bytes]:
    """Complete lines, one at a time; ``progress.offset`` is the end of the last one that was read."""
    while raw := file.readline(LONGEST_LINE):
        progress.before = progress.offset
        if not raw.endswith(b"\n"):
            if len(raw) == LONGEST_LINE:
                progress.counts.skip("too long")
                while raw and not raw.endswith(b"\n"):
                    raw = file.readline(LONGEST_LINE)
                progress.offset = file.tell()
                continue
            if _parsed(raw) is None:  # an incomplete JSON object cannot be parsed
                return
        progress.offset = file.tell()
        if raw.strip():
            yield raw


def _wide_lines(file: BinaryIO, progress: Transcript) -> Iterator[bytes]:
    """The lines of a file in UTF-16, as some shells write it; such a file is read whole each time."""
    text = file.read().decode("utf-16", "replace")
    progress.offset = file.tell()
    for line in text.splitlines():
        if line.strip():
            yield line.encode()


def _parsed(raw: bytes) -> Line | None:
    for encoding in ("utf-8-sig", "cp1252", "latin-1"):
        try:
            line = json.loads(raw.decode(encoding))
        except UnicodeDecodeError:
            continue
        except (ValueError, RecursionError):
            return None
        return line if isinstance(line, dict) else None
    return None


def _check(file: BinaryIO, offset: int) -> str:
    """A check value for the bytes before a position: their number, the first ones and the last ones."""
    file.seek(0)
    digest = hashlib.blake2b(f"{offset}\n".encode(), digest_size=16)
    digest.update(file.read(min(CHECKED, offset)))
    file.seek(max(0, offset - CHECKED))
    digest.update(file.read(min(CHECKED, offset)))
    return digest.hexdigest()


def find_transcripts(path: Path) -> list[Path]:
    """The files that may hold sessions: the one named, or those below a folder that are named like transcripts."""
    if not path.is_dir():
        return [path]
    found = [*path.rglob("*.jsonl"), *filter(is_gemini_file, path.rglob("session-*.json")), *opencode_files(path)]
    return sorted(file for file in found if file.is_file())


def is_helpers(path: Path) -> bool:
    """Whether a file is the transcript of a sub-agent, in which the user took no part."""
    return path.stem.startswith("agent-") or "subagents" in path.parts


_FORMATS: tuple[tuple[str, Callable[[Line], bool], Callable[[Path, list[Line]], str], Callable[[str], Format]], ...] = (
    ("codex", is_codex, _codex_session, CodexFormat),
    ("gemini-cli", is_gemini, _named_session, GeminiFormat),
    ("qwen-code", is_qwen, _named_session, QwenFormat),
    ("claude-code", is_claude, _claude_session, ClaudeFormat),
    ("jsonl", is_plain, _plain_session, PlainFormat),
)
