"""A day from end to end: sessions teach, a person accepts, and the next days' prompts are told what they need.

``python bench/day.py`` takes four people with three sessions each (``judged/day.json``; ``{{…}}`` marks what is worth
keeping). The sessions are written as Claude Code writes its transcripts, taken in as the hook of their end does, and of
what is proposed a person accepts what is marked and refuses the rest. Then a session starts, and ten prompts of each
person are asked through the hooks. It prints, of what was marked, how much was proposed; of what was proposed, how much
was right; of the prompts that something is known about, how many were told it, at the start or with the prompt; of the
others, how many got nothing; and what that takes in tokens. ``--wrong`` lists what goes wrong. Nothing was changed
because of these sessions and prompts; but one author wrote all four people, and knew the code. ``--cases`` takes
others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from ricordo import Ricordo
from telling import asked_of_hook, opened
from timing import print_json
from train_lessons import overlaps

CASES = Path(__file__).with_name("judged") / "day.json"
MORNING = datetime(2026, 10, 5, 9, 0, tzinfo=UTC)


class Day(NamedTuple):
    """What came of one person's sessions and prompts, as counts."""

    marked: int = 0
    found: int = 0
    proposed: int = 0
    right: int = 0
    known: int = 0
    told: int = 0
    idle: int = 0
    silent: int = 0
    start_tokens: int = 0
    prompt_tokens: int = 0

    def plus(self, other: Day) -> Day:
        return Day(*map(sum, zip(self, other, strict=True)))


def transcript(turns: Sequence[Sequence[Any]], folder: Path, name: str, at: datetime) -> Path:
    """A session as Claude Code writes it, a line for each message, call and result."""
    lines: list[dict[str, Any]] = []

    def line(kind: str, content: Any) -> None:
        number = len(lines)
        lines.append(
            {
                "parentUuid": lines[-1]["uuid"] if lines else None, "isSidechain": False, "userType": "external",
                "cwd": str(folder), "sessionId": name, "version": "2.1.12", "gitBranch": "main", "type": kind,
                "message": {"role": kind, "content": content}, "uuid": f"{name}-{number}",
                "timestamp": (at + timedelta(seconds=30 * number)).isoformat().replace("+00:00", "Z"),
            }
        )  # fmt: skip

    for role, text, *rest in turns:
        if role == "u":
            line("user", text.replace("{{", "").replace("}}", ""))
        elif role == "a":
            line("assistant", [{"type": "text", "text": text}])
        else:
            given, output, failed = rest
            call = f"toolu_{len(lines)}"
            line("assistant", [{"type": "tool_use", "id": call, "name": text, "input": given}])
            line("user", [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}])
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    return path


def marks(sessions: Sequence[Sequence[Sequence[Any]]]) -> list[str]:
    """What is marked as worth keeping."""
    said = [text for turns in sessions for role, text, *_ in turns if role == "u"]
    return [part.partition("}}")[0] for text in said for part in text.split("{{")[1:]]


def decided(memory: Ricordo, marked: Sequence[str], wrong: list[str]) -> tuple[int, int, int]:
    """Accept what is marked and refuse the rest, as a person would; how many were proposed, right and found."""
    proposals = memory.review().proposals
    right = [one for one in proposals if any(overlaps(one.text, mark) for mark in marked)]
    wrong += [f"proposed: {one.text}" for one in proposals if one not in right]
    missed = [mark for mark in marked if not any(overlaps(one.text, mark) for one in proposals)]
    wrong += [f"missed: {mark}" for mark in missed]
    for one in proposals:
        memory.review(one.ref, "accept" if one in right else "refuse")
    return len(proposals), len(right), len(marked) - len(missed)


def day(person: dict[str, Any], folder: Path, wrong: list[str]) -> Day:
    """One person's sessions, decisions and prompts."""
    from ricordo import registry

    def tokens(text: str) -> int:
        return registry.token_counter().count_tokens([text])[0] if text else 0

    folder.mkdir()
    sessions = person["sessions"]
    with opened(folder, "day", hooks=False) as memory:
        for number, turns in enumerate(sessions):
            path = transcript(turns, folder, f"session-{number}", MORNING + timedelta(hours=number))
            memory.sessions_add(str(path))
        marked = marks(sessions)
        proposed, right, found = decided(memory, marked, wrong)
    result = Day(marked=len(marked), found=found, proposed=proposed, right=right)
    with opened(folder, "day") as memory:
        start = asked_of_hook(memory, "session-start", "next")
        result = result.plus(Day(start_tokens=tokens(start)))
        for number, case in enumerate(person["prompts"]):
            answer = asked_of_hook(memory, "user-prompt", f"next-{number}", case["text"])
            heard = f"{start}\n{answer}".casefold()
            good = all(part.casefold() in heard for part in case["tell"]) if case["tell"] else not answer.strip()
            asked = Day(known=1, told=int(good)) if case["tell"] else Day(idle=1, silent=int(good))
            result = result.plus(asked).plus(Day(prompt_tokens=tokens(answer)))
            if not good:
                wrong.append(f"prompt: {case['text']!r} wants {case['tell']}, got {' '.join(answer.split())[:200]!r}")
    return result


def figures(of: Day, people: int) -> dict[str, Any]:
    """The shares, and the tokens of a start and of a prompt."""
    prompts = of.known + of.idle
    return {
        "worth keeping, proposed": f"{of.found} of {of.marked}",
        "proposed, worth keeping": f"{of.right} of {of.proposed}",
        "prompts told what is known": f"{of.told} of {of.known}",
        "prompts rightly told nothing": f"{of.silent} of {of.idle}",
        "tokens of a start": round(of.start_tokens / people, 1),
        "tokens of a prompt": round(of.prompt_tokens / prompts, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="other people's days, in the same form")
    parser.add_argument("--wrong", action="store_true", help="list what goes wrong")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    people = json.loads(options.cases.read_text("utf-8"))["people"]
    whole, wrong = Day(), list[str]()
    with tempfile.TemporaryDirectory() as temporary:
        for number, person in enumerate(people):
            wrong.append(f"-- {person['who']}")
            whole = whole.plus(day(person, Path(temporary) / str(number), wrong))
    result = figures(whole, len(people))
    if options.json:
        print_json(result)
        return
    for name, value in result.items():
        print(f"{name:32} {value}")
    if options.wrong:
        print("\n".join(wrong))


if __name__ == "__main__":
    main()
