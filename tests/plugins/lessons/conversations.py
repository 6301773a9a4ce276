"""Writes transcripts as Claude Code does, line by line, and hands them to the hooks as it does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

Answer = TypeVar("Answer")
PATIENCE = 120.0
"""Seconds after which what should happen certainly does not."""


@dataclass
class Conversation:
    """A session of Claude Code in a folder."""

    folder: Path
    home: Path
    branch: str = "main"
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    lines: list[dict[str, Any]] = field(default_factory=list)
    at: datetime = datetime(2026, 10, 5, 9, 0, tzinfo=UTC)

    @property
    def path(self) -> Path:
        return self.home / ".claude" / "projects" / "-work" / f"{self.id}.jsonl"

    def _line(self, kind: str, content: Any, **more: Any) -> None:
        self.at += timedelta(seconds=20)
        message: dict[str, Any] = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"model": "claude-sonnet-4-5", "type": "message", "usage": more.pop("usage", {})}
        self.lines.append(
            {
                "parentUuid": self.lines[-1]["uuid"] if self.lines else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": str(self.folder),
                "sessionId": self.id,
                "version": "2.1.12",
                "gitBranch": self.branch,
                "type": kind,
                "message": message,
                "uuid": str(uuid.uuid4()),
                "timestamp": self.at.isoformat().replace("+00:00", "Z"),
                **more,
            }
        )

    def user(self, text: str) -> Conversation:
        self._line("user", text)
        return self

    def agent(self, text: str, **usage: int) -> Conversation:
        self._line("assistant", [{"type": "text", "text": text}], usage=usage)
        return self

    def tool(self, name: str, given: Mapping[str, Any], result: str, *, failed: bool = False) -> Conversation:
        call = f"toolu_{len(self.lines)}"
        self._line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": dict(given)}])
        self._line("user", [{"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}])
        return self

    def run(self, command: str, result: str, *, failed: bool = False) -> Conversation:
        return self.tool("Bash", {"command": command}, result, failed=failed)

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(f"{json.dumps(line)}\n" for line in self.lines), encoding="utf-8")
        return self.path

    def payload(self, event: str, **more: Any) -> dict[str, Any]:
        """What Claude Code sends to a hook."""
        about = {"session_id": self.id, "transcript_path": str(self.path), "cwd": str(self.folder)}
        return {**about, "hook_event_name": event, **more}

    def hook(self, event: str, name: str, **more: Any) -> Any:
        """Call a hook as Claude Code does, in a process of its own; returns its answer."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ricordo", "hook", event, "--within", "120"],
            input=json.dumps(self.payload(name, **more)).encode(),
            cwd=self.folder,
            capture_output=True,
            check=True,
            timeout=300,
        )
        return json.loads(done.stdout or b"{}")

    def end(self) -> None:
        self.write()
        self.hook("session-end", "SessionEnd", reason="exit")


def awaited(look: Callable[[], Answer], *, least: Callable[[Answer], bool] = bool) -> Answer:
    """The answer of a look, once it is as it should be; fails if it does not become so."""
    until = time.monotonic() + PATIENCE
    while not least(answer := look()):
        assert time.monotonic() < until, answer
        time.sleep(0.1)
    return answer
