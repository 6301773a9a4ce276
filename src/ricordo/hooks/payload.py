"""What an agent's program sends to a hook, and the shape of the answer it understands.

Programs agree on a JSON object but not on every name in it: Claude Code, Codex, Gemini CLI and VS Code write
``hook_event_name`` and read ``hookSpecificOutput``; Cursor has names of its own. Nothing here looks into a store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.hooks.pipe import LARGEST_PAYLOAD

LONGEST_TASK = 4_000
"""The most characters of a task that are searched for. A longer one is cut in the middle: its beginning says what it is
about, its end what is wanted."""

NAMES: Mapping[str, str] = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "session-end": "SessionEnd",
    "before-agent-start": "SubagentStart",
}
"""The events, and what Claude Code calls them."""

_TASKS = ("prompt", "user_prompt", "userPrompt", "task", "message", "description")
_TAIL_BYTES = 500_000
_ADDED = re.compile(r"<(hook_context|system-reminder)>.*?(?:</\1>|\Z)", re.DOTALL)
"""What the program, not the person, put into a prompt: Gemini CLI puts there what hooks answered before."""
_COMMAND = re.compile(r"^/[A-Za-z][\w:-]*(?=\s|$)")


@frozen
class Payload:
    """What a program sends: the event's name, the folder, the tasks, the transcript and the session's id.

    There is more than one task when a sub-agent starts and the program does not say which of several it is for.
    """

    name: str
    folder: Path
    tasks: tuple[str, ...] = ()
    transcript: Path | None = None
    session: str = ""
    goes_on: bool = False
    """Whether a session starts that had begun before: it was compacted, resumed or cleared."""

    @property
    def task(self) -> str:
        return self.tasks[0] if self.tasks else ""

    def answer(self, text: str) -> dict[str, Any]:
        """The answer that adds a text to what the model sees."""
        if self.name[:1].islower():  # Cursor's names, and its shape
            goes_on = {"continue": True} if self.name == "beforeSubmitPrompt" else {}
            return {**goes_on, "additional_context": text}
        return {"hookSpecificOutput": {"hookEventName": self.name, "additionalContext": text}}


def read_payload(event: str, content: bytes, here: Path | None = None) -> Payload:
    """Read the payload of an event; one that cannot be read is a usage error or a ``ValueError``.

    ``here`` is the folder that is meant when the payload names none; without it, the current one.
    """
    if len(content) > LARGEST_PAYLOAD:
        raise UsageError(f"the payload is longer than {LARGEST_PAYLOAD} bytes")
    if not content.strip():
        raise UsageError("the payload is empty")
    given = json.loads(content)
    if not isinstance(given, dict):
        raise UsageError("the payload is not a JSON object")
    name = _text(given, "hook_event_name", "hookEventName")
    return Payload(
        name if re.fullmatch(r"[A-Za-z]{1,40}", name) else NAMES[event],
        _folder(given) or here or Path.cwd(),
        _tasks(event, given),
        _file(_text(given, "transcript_path", "transcriptPath")),
        _text(given, "session_id", "sessionId", "conversation_id"),
        _text(given, "source") in ("compact", "resume", "clear"),
    )


def _tasks(event: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    task = _text(given, *_TASKS)
    tasks = [task] if task else []
    if event == "before-agent-start" and not task:
        inside = given.get("tool_input")
        task = _text(inside, *_TASKS) if isinstance(inside, dict) else ""
        tasks = [task] if task else _delegated(_file(_text(given, "transcript_path")), _text(given, "agent_type"))
    return tuple(dict.fromkeys(filter(None, map(_own_words, tasks))))


def _own_words(task: str) -> str:
    """What the person wrote: without what the program added, the command word, and the middle of a long text."""
    task = _COMMAND.sub("", _ADDED.sub(" ", task).strip()).strip()
    if len(task) > LONGEST_TASK:
        task = task[: LONGEST_TASK * 3 // 4] + "\n" + task[-LONGEST_TASK // 4 :]
    return task


def _delegated(transcript: Path | None, agent: str) -> list[str]:
    """The tasks that agents of this kind are now being started for: Claude Code's payload does not name the task.

    Of several agents started in one message, the payload does not say which this is, so all tasks are returned. If no
    call is open, because the transcript is written late, the last call counts.
    """
    finished: set[str] = set()
    last = ""
    found: list[str] = []
    for block in _blocks(transcript):
        if block.get("type") == "tool_result":
            finished.add(str(block.get("tool_use_id")))
            continue
        given = block.get("input")
        if block.get("name") not in ("Task", "Agent") or not isinstance(given, dict):
            continue
        task = _text(given, "prompt")
        if not task or _text(given, "subagent_type") not in (agent, ""):
            continue
        last = last or task
        if block.get("id") is not None and str(block["id"]) not in finished:
            found.insert(0, task)
    return found or ([last] if last else [])


def _blocks(transcript: Path | None) -> Iterator[dict[str, Any]]:
    """The calls of tools and their results at the end of a transcript, the last first."""
    if transcript is None:
        return
    with transcript.open("rb") as file:
        file.seek(max(0, transcript.stat().st_size - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).splitlines()
    for line in reversed(lines):
        if b'"tool_use"' not in line and b'"tool_result"' not in line:
            continue
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError):  # a line of another kind, or a part of one
            continue
        if isinstance(content, list):
            yield from (block for block in reversed(content) if isinstance(block, dict))


def _folder(given: Mapping[str, Any]) -> Path | None:
    roots = given.get("workspace_roots")
    named = _text(given, "cwd", "workingDirectory") or (roots[0] if isinstance(roots, list) and roots else "")
    folder = Path(named) if isinstance(named, str) and named else None
    return folder if folder is not None and folder.is_absolute() and folder.is_dir() else None


def _file(name: str) -> Path | None:
    path = Path(name).expanduser() if name else None
    return path if path is not None and path.is_absolute() and path.is_file() else None


def _text(given: Mapping[str, Any], *names: str) -> str:
    """The text under the first of the names that has one, without what a store cannot keep."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return value.encode("utf-8", "replace").decode().replace("\x00", " ")
    return ""
