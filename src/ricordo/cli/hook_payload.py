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
from ricordo.text.scripts import unspaced_runs
from ricordo.text.stopwords import STOP_WORDS

LARGEST = 8_000_000
"""Bytes of a payload; what is longer is no prompt a person wrote."""
LONGEST_TASK = 4_000
"""Characters of a task that are asked for: the beginning says what it is about, the end what is wanted."""

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
_COMMAND = re.compile(r"^/[A-Za-z][\w:-]*(?=\s|$)")
_WORD = re.compile(r"\w(?:[\w.'-]*\w)?")
_IDENTIFIER = re.compile(r"[\w.-]*[\d_.-][\w.-]*|.{8,}")
_UNSPACED_ENOUGH = 4
"""So many characters of a script without spaces are as good as two words."""
_CHATTER = """again ahead awesome carry check commit continue cool correct done exactly fine fix good go great
    hello hey hi keep let lets lgtm like looks make need next nice nope ok okay perfect please proceed push
    retry right run see sounds start stop sure thank thanks thing try undo use wait want way well work works
    yeah yep yes"""
_EMPTY_WORDS = STOP_WORDS["english"] | set(_CHATTER.split())


@frozen
class Payload:
    """What is asked: the event by the program's own name, where it happens, the task, and the transcript."""

    name: str
    folder: Path
    task: str = ""
    transcript: Path | None = None

    def answer(self, text: str) -> dict[str, Any]:
        """The answer that adds a text to what the model sees."""
        if self.name[:1].islower():  # Cursor's names, and its shape
            return {"additional_context": text}
        return {"hookSpecificOutput": {"hookEventName": self.name, "additionalContext": text}}


def read_payload(event: str, content: bytes) -> Payload:
    """The payload of an event; what is none is a usage error or a ``ValueError``."""
    if len(content) > LARGEST:
        raise UsageError(f"the payload is longer than {LARGEST} bytes")
    if not content.strip():
        raise UsageError("the payload is empty")
    given = json.loads(content)
    if not isinstance(given, dict):
        raise UsageError("the payload is no object")
    name = _text(given, "hook_event_name", "hookEventName")
    return Payload(
        name if re.fullmatch(r"[A-Za-z]{1,40}", name) else NAMES[event],
        _folder(given),
        _task(event, given),
        _file(_text(given, "transcript_path", "transcriptPath")),
    )


def is_worth_asking(task: str) -> bool:
    """Whether a task names anything to look for: not "yes, go on"."""
    words = [word for word in _WORD.findall(task.lower()) if word not in _EMPTY_WORDS]
    if sum(map(len, unspaced_runs().findall(task))) >= _UNSPACED_ENOUGH:
        return True
    return len(words) >= 2 or any(_IDENTIFIER.fullmatch(word) for word in words)


def _task(event: str, given: Mapping[str, Any]) -> str:
    task = _text(given, *_TASKS)
    if event == "before-agent-start" and not task:
        inside = given.get("tool_input")
        task = _text(inside, *_TASKS) if isinstance(inside, dict) else ""
        task = task or _delegated(_file(_text(given, "transcript_path")), _text(given, "agent_type"))
    task = _COMMAND.sub("", task.strip()).strip()
    if len(task) > LONGEST_TASK:
        task = task[: LONGEST_TASK * 3 // 4] + "\n" + task[-LONGEST_TASK // 4 :]
    return task


def _delegated(transcript: Path | None, agent: str) -> str:
    """The task that was last handed to an agent of this kind: Claude Code's payload does not hold it."""
    for call in _calls(transcript):
        task = _text(call, "prompt")
        if task and _text(call, "subagent_type") in (agent, ""):
            return task
    return ""


def _calls(transcript: Path | None) -> Iterator[dict[str, Any]]:
    """What was given to the tool that starts agents, the last call first."""
    if transcript is None:
        return
    with transcript.open("rb") as file:
        file.seek(max(0, transcript.stat().st_size - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).splitlines()
    for line in reversed(lines):
        if b'"tool_use"' not in line:
            continue
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError):  # a line of another kind, or the rest of one
            continue
        for block in reversed(content if isinstance(content, list) else []):
            if (
                isinstance(block, dict)
                and block.get("name") in ("Task", "Agent")
                and isinstance(block.get("input"), dict)
            ):
                yield block["input"]


def _folder(given: Mapping[str, Any]) -> Path:
    roots = given.get("workspace_roots")
    named = _text(given, "cwd", "workingDirectory") or (roots[0] if isinstance(roots, list) and roots else "")
    folder = Path(named) if isinstance(named, str) and named else None
    return folder if folder is not None and folder.is_absolute() and folder.is_dir() else Path.cwd()


def _file(name: str) -> Path | None:
    path = Path(name).expanduser() if name else None
    return path if path is not None and path.is_absolute() and path.is_file() else None


def _text(given: Mapping[str, Any], *names: str) -> str:
    """The first of the names that holds text, as text that can be stored and asked for."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return value.encode("utf-8", "replace").decode().replace("\x00", " ")
    return ""
