"""What a session is told after it was compacted, judged: what a person wants told, and what would be false then.

``python bench/compaction.py`` makes a transcript of Claude Code of each session in ``compaction.txt`` up to the line
where it is cut, and asks ``hook session-start`` as Claude Code does after a compaction. It prints how many marked
parts are told (nine in ten of the words of one in a line), how many of the changed files are named, how many parts are
told that are false by then, and the tokens. ``--wrong`` lists what is missing and what is false. All of these sessions
are short; the last figures are of the twenty in a row as one session, of which by far not all has room.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ricordo import ConfigProvider, Ricordo
from ricordo.hooks.answers import run
from ricordo.hooks.pipe import Outlet
from ricordo.registry import token_counter
from timing import percentile

CASES = Path(__file__).with_name("compaction.txt")
MARK = re.compile(r"\{\{(.*?)\}\}|\[\[(.*?)\]\]")
SESSION = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11"
ENOUGH = 0.9


class Case(NamedTuple):
    """A session up to its cut: its name, the lines of its transcript, and what is marked in it."""

    name: str
    lines: list[dict[str, Any]]
    wanted: list[str]
    false: list[str]
    files: set[str]


def cases() -> Iterator[Case]:
    """The sessions of the file."""
    for text in CASES.read_text("utf-8").split("\n== ")[1:]:
        name, _, rest = text.partition("\n")
        said = rest.partition("\n---\n")[0].splitlines()
        marks = [found for line in said for found in MARK.finditer(line)]
        wanted = [found[1] for found in marks if found[1]]
        false = [found[2] for found in marks if found[2]]
        files = {line[3:] for line in said if line.startswith(("e: ", "w: "))}
        lines = [line for n, words in enumerate(said) for line in transcript_lines(n, words)]
        yield Case(name, lines, wanted, false, files)


def transcript_lines(n: int, words: str) -> Iterator[dict[str, Any]]:
    """What Claude Code writes for one line of a session."""

    def line(role: str, content: Any) -> dict[str, Any]:
        about = {"uuid": f"{n}-{role}", "sessionId": SESSION, "timestamp": f"2026-10-01T10:{n:02}:00Z", "cwd": "/w"}
        return {"type": role, **about, "message": {"role": role, "content": content}}

    plain = MARK.sub(lambda found: found[1] or found[2], words[2:].strip())
    if words.startswith("u:"):
        yield line("user", plain)
    elif words.startswith("a:"):
        yield line("assistant", [{"type": "text", "text": plain}])
    else:
        tool, _, output = plain.partition(" => ")
        name = {"e:": "Edit", "w:": "Write"}.get(words[:2], "Bash")
        given = {"command": tool} if name == "Bash" else {"file_path": f"/w/{tool}"}
        yield line("assistant", [{"type": "tool_use", "id": f"t{n}", "name": name, "input": given}])
        yield line("user", [{"type": "tool_result", "tool_use_id": f"t{n}", "content": output or "ok"}])


def told(engine: Ricordo, folder: Path, case: Case) -> tuple[str, float]:
    """What the hook tells after the compaction, and in how many milliseconds."""

    @contextmanager
    def warm(*_: object) -> Iterator[Ricordo]:
        yield engine

    transcript = folder / f"{SESSION}.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in case.lines), "utf-8")
    payload = {"session_id": SESSION, "transcript_path": str(transcript), "source": "compact", "cwd": str(folder)}
    parts: list[bytes] = []
    start = time.perf_counter()
    run("session-start", json.dumps(payload).encode(), Outlet(parts.append, time.monotonic(), 60.0), warm=warm)
    took = (time.perf_counter() - start) * 1000
    answers = [json.loads(part[7:]) for part in parts if part.startswith(b"answer ")]
    return (answers[-1]["hookSpecificOutput"]["additionalContext"] if answers[-1:] != [{}] else ""), took


def is_told(part: str, text: str) -> bool:
    """Whether a line has nearly all words of a part."""
    words = re.findall(r"\w+", part.lower())
    lines = [set(re.findall(r"\w+", line.lower())) for line in text.splitlines()]
    return any(sum(word in line for word in words) >= ENOUGH * len(words) for line in lines)


class Figures(NamedTuple):
    """How many marked parts, changed files and false parts there are, and how many were told."""

    wanted: int
    told: int
    files: int
    named: int
    false: int
    told_false: int
    tokens: int
    milliseconds: float


def measured(engine: Ricordo, folder: Path, case: Case, *, shows_wrong: bool) -> Figures:
    text, milliseconds = told(engine, folder, case)
    missed = [part for part in case.wanted if not is_told(part, text)]
    wrong = [part for part in case.false if is_told(part, text)]
    lost = [file for file in case.files if file not in text]
    for kind, parts in (("missing", missed), ("false", wrong), ("file", lost)):
        for part in parts if shows_wrong else ():
            print(f"{case.name}: {kind}: {part}")
    return Figures(
        len(case.wanted), len(case.wanted) - len(missed), len(case.files), len(case.files) - len(lost),
        len(case.false), len(wrong), token_counter().count_tokens([text])[0], milliseconds,
    )  # fmt: skip


def show(name: str, figures: list[Figures]) -> None:
    wanted, shown, files, named, false, told_false = (sum(column) for column in list(zip(*figures, strict=True))[:6])
    tokens, took = [one.tokens for one in figures], [one.milliseconds for one in figures]
    print(
        f"{name}: told {shown} of {wanted} ({shown / wanted:.2f}), files {named} of {files},"
        f" false {told_false} of {false}"
    )
    print(f"  tokens {sum(tokens) // len(tokens)} on average, {max(tokens)} at most; {percentile(took, 0.5):.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wrong", action="store_true", help="list what is missing and what is false")
    shows_wrong = parser.parse_args().wrong
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Ricordo.open(folder / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
            every = list(cases())
            show("each alone", [measured(engine, folder, case, shows_wrong=shows_wrong) for case in every])
            lines, wanted, false = (list(chain.from_iterable(one[n] for one in every)) for n in (1, 2, 3))
            joined = Case("in a row", lines, wanted, false, set(chain.from_iterable(one.files for one in every)))
            show("all in a row", [measured(engine, folder, joined, shows_wrong=False)])


if __name__ == "__main__":
    main()
