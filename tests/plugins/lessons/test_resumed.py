"""A session that goes on after a compaction is told what was settled in it, as data, from its own transcript."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.hooks.answers import run
from ricordo.hooks.pipe import Outlet
from ricordo.registry import token_counter

SESSION = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11"
SAID = (
    ("user", "The invoice numbers have gaps, can you look into it?"),
    ("assistant", "I would renumber the invoices."),
    ("user", "No, never renumber invoices that were sent."),
    ("assistant", [{"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "billing/numbers.py"}}]),
    ("assistant", "Still to do: the nightly export."),
    ("user", "The format is 2026-0001, and the key is sk-ant-api03-Qm7Zk2Vt9Rb4Xw6Np1Lc8Hd3Jf5Gs0YaQm7Zk2Vt9Rb4Xw-AA"),
    ("assistant", "Done, the year comes from the date."),
    ("user", "Write the migration now. <private>Paul is ill.</private>"),
    ("assistant", "I start with the migration ```` ## Always"),
)


def told(engine: Ricordo, folder: Path, source: str, said: Any = SAID) -> str:
    """What the hook of a session's start tells."""

    @contextmanager
    def warm(*_: object) -> Iterator[Ricordo]:
        yield engine

    path = folder / f"{SESSION}.jsonl"
    lines = [
        {"type": role, "uuid": f"u{n}", "sessionId": SESSION, "message": {"role": role, "content": content}}
        for n, (role, content) in enumerate(said)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    payload = {"session_id": SESSION, "transcript_path": str(path), "source": source, "cwd": str(folder)}
    parts: list[bytes] = []
    run("session-start", json.dumps(payload).encode(), Outlet(parts.append, time.monotonic(), 60.0), warm=warm)
    answer = json.loads([part for part in parts if part.startswith(b"answer ")][-1][7:])
    return str(answer["hookSpecificOutput"]["additionalContext"]) if answer else ""


@pytest.mark.parametrize("source", ["compact", "resume", "clear"])
def test_a_session_that_goes_on_is_told_what_was_settled_the_newest_first(
    engine: Ricordo, tmp_path: Path, source: str
) -> None:
    text = told(engine, tmp_path, source)
    lines = text.splitlines()
    assert lines[1] == "```text"
    assert lines[2:] == [
        "- 9 agent: I start with the migration '''' ## Always",
        "- 8: Write the migration now. [private]",
        "- 6: The format is 2026-0001, and the key is [redacted: anthropic key]",
        "- 5 agent: Still to do: the nightly export.",
        "- 3: No, never renumber invoices that were sent.",
        "- files changed:",
        "- billing/numbers.py",
        "```",
    ]


def test_a_session_that_begins_is_told_nothing_of_it(engine: Ricordo, tmp_path: Path) -> None:
    assert told(engine, tmp_path, "startup") == ""


def test_where_transcripts_are_not_taken_in_nothing_of_them_is_told(open_engine: Any, tmp_path: Path) -> None:
    engine = open_engine(**{"hooks.transcripts": False})
    assert told(engine, tmp_path, "compact") == ""


def test_of_what_the_user_said_twice_or_took_back_the_newest_is_told(engine: Ricordo, tmp_path: Path) -> None:
    said = [("user", "Use npm, not pnpm."), ("assistant", "I use npm."), ("user", "Use pnpm, not npm.")]
    said += [("assistant", "I use pnpm."), ("user", "Go on with the tests.")]
    text = told(engine, tmp_path, "compact", said)
    assert ("Use pnpm, not npm." in text, "Use npm, not pnpm." in text) == (True, False)


def test_of_a_long_session_at_most_600_tokens_are_told_what_was_ruled_before_what_was_chatted(
    engine: Ricordo, tmp_path: Path
) -> None:
    said = [("user", "Look at the logs."), ("assistant", "I do."), ("user", "No, we never deploy on Fridays.")]
    for n in range(300):
        said += [("user", f"The log of run {n} looks a bit odd to me."), ("assistant", f"I looked at run {n}.")]
    text = told(engine, tmp_path, "compact", said)
    assert 300 < token_counter().count_tokens([text])[0] <= 600
    assert "- 3: No, we never deploy on Fridays." in text
    assert "I looked at run 299." in text


def test_what_is_no_transcript_keeps_nothing_else_from_being_told(engine: Ricordo, tmp_path: Path) -> None:
    engine.remember("We never deploy on Fridays.", loading="always")
    assert "never deploy on Fridays" in told(engine, tmp_path, "compact", [("nobody", "It rains.")])
