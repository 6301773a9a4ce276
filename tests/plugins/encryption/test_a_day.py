"""A day's use of an encrypted store, at every face, leaves none of its words readable in any file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .planted import found_in, words

pytest.importorskip("cryptography", reason="the extra 'encryption' is not installed")
pytest.importorskip("fastapi", reason="the extra 'server' is not installed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="temporary files are in memory on Linux alone")

PATIENCE = 300


class Day:
    """Runs commands as processes, in homes of their own; what is put in lies outside of them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.work, self.papers = place / "work", place / "papers"
        for folder in (self.work, self.papers, place / "temp", place / "keys"):
            folder.mkdir()
        self.env = {
            **os.environ,
            **{f"RICORDO_{name}_HOME": str(place / name.lower()) for name in ("DATA", "STATE", "CONFIG")},
            "XDG_CACHE_HOME": str(place / "cache"),
            "TMPDIR": str(place / "temp"),
            "RICORDO_EMBEDDING_PROVIDER": "none",
            "RICORDO_HOOKS_MIN_FIT": "0",
            "RICORDO_HOOKS_SECONDS": "60",
        }

    @property
    def looked_at(self) -> list[Path]:
        """Every folder that Ricordo writes to."""
        names = ("work", "data", "state", "config", "cache", "temp", "backups")
        return [self.place / name for name in names if (self.place / name).exists()]

    def run(self, *args: str, given: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ricordo", *args],
            input=given.encode(), capture_output=True, cwd=self.work, env=self.env, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout.decode()

    def hook(self, event: str, **payload: Any) -> str:
        given = json.dumps({"cwd": str(self.work), "session_id": "s1", **payload})
        return self.run("hook", event, "--within", "120", given=given)

    def talk(self, *requests: tuple[str, Any]) -> list[dict[str, Any]]:
        """What an MCP server answers."""
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}]
        lines.append({"jsonrpc": "2.0", "method": "notifications/initialized"})
        lines += [
            {"jsonrpc": "2.0", "id": at, "method": name, "params": params}
            for at, (name, params) in enumerate(requests, 1)
        ]
        answers = self.run("mcp", given="".join(json.dumps(line) + "\n" for line in lines))
        return [one for line in answers.splitlines() if "id" in (one := json.loads(line))]


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    one = Day(tmp_path)
    yield one
    if (tmp_path / "state" / "server.json").exists():
        one.run("serve", "stop")


def test_none_of_a_thousand_words_lies_readable_after_a_days_use(day: Day) -> None:
    planted = words(1_000)
    parts = [planted[at : at + 100] for at in range(0, 1_000, 100)]
    documents, memories, turns, edits, asked, removed, by_agent, titles, tools, served = parts
    day.run("init", "--encrypt", "--key", str(day.place / "keys" / "store.key"))
    for at in range(4):
        (day.papers / f"{at}.md").write_text(f"# About {at}\n\n" + " ".join(documents[at * 25 : at * 25 + 25]))
    day.run("add", str(day.papers))
    for at in range(0, 100, 50):
        day.run("remember", " ".join(memories[at : at + 50]), "--title", f"{titles[at]} {titles[at + 1]}")
    lines = [
        {"type": "user", "message": {"role": "user", "content": " ".join(turns)}, "sessionId": "s1", "uuid": "u1"},
        {"type": "assistant", "message": {"role": "assistant", "content": "Yes."}, "sessionId": "s1", "uuid": "u2"},
    ]
    (day.papers / "s1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    day.run("sessions", "add", str(day.papers / "s1.jsonl"))
    day.run("save", "note:/plan", "-", given=" ".join(edits[:50]))
    day.run("edit", "note:/plan", "--content", " ".join(edits[50:]), "--title", " ".join(titles[2:50]))
    day.run("save", f"note:/{removed[0]}", "-", given=" ".join(removed))
    day.run("rm", f"note:/{removed[0]}")
    day.run("search", " ".join(asked[:60]))
    day.run("search", memories[3])
    day.run("get", "1")
    assert memories[5] in day.hook("user-prompt", prompt=f"What do we know about {memories[5]} {memories[6]}?")
    day.hook("user-prompt", prompt=f"What about {' '.join(asked[60:])}?")
    day.hook("session-start", source="startup")
    answers = day.talk(
        ("tools/call", {"name": "remember", "arguments": {"text": " ".join(by_agent)}}),
        ("resources/list", {}),
        ("tools/call", {"name": "search", "arguments": {"query": tools[0]}}),
    )
    assert len(answers) == 4
    assert "page-" not in " ".join(path.name for path in day.place.rglob("mcp/*"))
    day.run("serve", "start", "--port", "0")
    day.run("save", "note:/served", "-", given=" ".join([*served, *tools, *titles[50:]]))
    assert served[4] in day.run("search", served[4])
    day.hook("user-prompt", prompt=f"What about {served[7]}?")
    assert found_in(day.looked_at, planted) == {}  # while the server has its log open
    day.run("serve", "stop")
    (day.place / "backups").mkdir()
    day.run("backup", str(day.place / "backups" / "today.db"))
    day.run("doctor", "--repair")
    day.run("doctor")
    assert found_in(day.looked_at, planted) == {}

    day.run("migrate", "--decrypt")  # so that it is certain that the words were there, and would have been found
    readable = set().union(*found_in(day.looked_at, planted).values())
    assert readable >= set(planted) - set(asked[60:])  # prompts are stored nowhere
    assert found_in([day.place / "backups"], planted) == {}
