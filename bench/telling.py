"""What hooks and ``context`` tell an agent of what is remembered, judged: the right thing, or rightly nothing.

``python bench/telling.py`` saves the memories and documents of ``judged/telling.json``, asks its prompts of ``hook
user-prompt`` and its tasks of ``context``, and prints two shares: of those with an answer how many got all of it, and
of the others how many got nothing. The cases of "others' words" are about memories that several other authors wrote
down. ``--wrong`` lists what goes wrong of one half; but the words of acts were chosen while looking at the cases, so
neither half says how prompts fare that nobody saw. The last line says how many of the rules that the user accepted are
told when the next session starts, after twelve other notes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ricordo import Ricordo
from ricordo.config.loading import Config, ConfigProvider
from ricordo.hooks.answers import for_hooks, run
from ricordo.hooks.pipe import Outlet
from ricordo.values.log import Proposal
from timing import percentile, print_json

CASES = Path(__file__).with_name("judged") / "telling.json"
RULES = ("main", "lint", "pnpm", "short")
"""Of the memories, those that are accepted in a review; the last one is about the user."""


class Case(NamedTuple):
    """What is asked, and the names of the memories that should be told; without any, nothing should."""

    text: str
    tell: Sequence[str]
    half: str


class Outcome(NamedTuple):
    """What was told for a case, in how many tokens or letters, and in how many milliseconds."""

    case: Case
    text: str
    tokens: int
    milliseconds: float


class Figures(NamedTuple):
    """The shares of cases that went right, and what it took."""

    told: float
    silent: float
    tokens: float
    p50_ms: float


def figures(outcomes: Sequence[Outcome], memories: dict[str, str]) -> Figures:
    answered = [is_right(outcome, memories) for outcome in outcomes if outcome.case.tell]
    unanswered = [is_right(outcome, memories) for outcome in outcomes if not outcome.case.tell]
    return Figures(
        round(sum(answered) / len(answered), 3),
        round(sum(unanswered) / len(unanswered), 3),
        round(sum(outcome.tokens for outcome in outcomes if outcome.case.tell) / len(answered), 1),
        round(percentile([outcome.milliseconds for outcome in outcomes], 0.5), 1),
    )


def is_right(outcome: Outcome, memories: dict[str, str]) -> bool:
    """Whether all that should be told was told, or nothing where nothing should."""
    if not outcome.case.tell:
        return not outcome.text.strip()
    return all(memories[name] in outcome.text for name in outcome.case.tell)


def asked_of_hook(memory: Ricordo, event: str, session: str, prompt: str = "") -> str:
    """What a hook that a running program answers tells."""

    @contextmanager
    def warm(*_: object) -> Iterator[Ricordo]:
        yield memory

    offered: list[bytes] = []
    payload = {"hook_event_name": event, "session_id": session, "prompt": prompt}
    run(event, json.dumps(payload).encode(), Outlet(offered.append, time.monotonic() + 3600), warm=warm)
    answers = [line.removeprefix(b"answer ") for line in offered if line.startswith(b"answer ")]
    answer: dict[str, Any] = json.loads(answers[-1]) if answers else {}
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def prompts(memory: Ricordo, cases: Sequence[Case]) -> list[Outcome]:
    from ricordo import registry

    counter, outcomes = registry.token_counter(), []
    for number, case in enumerate(cases):
        started = time.perf_counter()
        text = asked_of_hook(memory, "user-prompt", f"bench-{number}", case.text)
        taken = (time.perf_counter() - started) * 1000
        outcomes.append(Outcome(case, text, counter.count_tokens([text])[0] if text else 0, taken))
    return outcomes


def tasks(memory: Ricordo, cases: Sequence[Case]) -> list[Outcome]:
    outcomes = []
    for case in cases:
        started = time.perf_counter()
        report = memory.context(case.text, always=False)
        told = report.text if report.parts else ""
        outcomes.append(Outcome(case, told, report.tokens, (time.perf_counter() - started) * 1000))
    return outcomes


def rules_at_next_start(folder: Path, memories: dict[str, str]) -> str:
    """How many of the accepted rules are told at the next start of a session, after twelve other notes."""
    with opened(folder, "rules") as memory:
        store = memory.store
        for name in RULES:
            scope = "user" if name == RULES[-1] else "project"
            store.proposals.add(
                [Proposal(memories[name], "rule", scope, memories[name], "first", 1, datetime.now(UTC))]
            )
        for proposal in memory.review().proposals:
            memory.review(proposal.ref, "accept")
        others = [text for name, text in memories.items() if name not in RULES]
        for text in others[:12]:
            memory.remember(text, on_duplicate="save")
        text = asked_of_hook(memory, "session-start", "second")
        return f"{sum(memories[name] in text for name in RULES)} of {len(RULES)}"


def cases_of(rows: Sequence[dict[str, Any]], half: str) -> list[Case]:
    return [Case(**row) for row in rows if row["half"] == half]


def save(folder: Path, name: str, memories: dict[str, str], documents: dict[str, str] | None = None) -> None:
    """Make a store of memories and documents."""
    with opened(folder, name, hooks=False) as memory:
        for path, text in (documents or {}).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, "utf-8")
            memory.add(str(folder / path))
        for text in memories.values():
            memory.remember(text, on_duplicate="save")


@contextmanager
def opened(folder: Path, name: str, *, hooks: bool = True) -> Iterator[Ricordo]:
    provider = ConfigProvider(start=folder)

    def config() -> Config:
        return for_hooks(provider()) if hooks else provider()

    with Ricordo.open(str(folder / f"{name}.db"), config=config, start=folder) as memory:
        yield memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choose", "report"), help="only this half")
    parser.add_argument("--wrong", action="store_true", help="list what of the half for choosing went wrong")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    given = json.loads(CASES.read_text("utf-8"))
    memories: dict[str, str] = given["memories"]
    halves = (options.half,) if options.half else ("choose", "report")
    others: dict[str, str] = given["others"]["memories"]
    result: dict[str, Any] = {}

    def report(what: str, half: str, outcomes: Sequence[Outcome], texts: dict[str, str]) -> None:
        result[f"{what}, {half}"] = figures(outcomes, texts)._asdict()
        if options.wrong and half == "choose":
            show_wrong(what, outcomes, texts)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save(folder, "others", others)
        save(folder, "shop", memories, given["documents"])
        for half in halves:
            with opened(folder, "shop", hooks=False) as memory:
                report("context", half, tasks(memory, cases_of(given["tasks"], half)), memories)
            with opened(folder, "shop") as memory:
                report("prompt hook", half, prompts(memory, cases_of(given["prompts"], half)), memories)
            with opened(folder, "others") as memory:
                report(
                    "the same, others' words", half, prompts(memory, cases_of(given["others"]["prompts"], half)), others
                )
        result["accepted rules told at the next start"] = rules_at_next_start(folder, memories)
    if options.json:
        print_json(result)
    else:
        for name, value in result.items():
            print(f"{name:40} {value}")


def show_wrong(what: str, outcomes: Sequence[Outcome], memories: dict[str, str]) -> None:
    for outcome in outcomes:
        if not is_right(outcome, memories):
            missing = [memories[name] for name in outcome.case.tell if memories[name] not in outcome.text]
            print(f"{what}: {outcome.case.text!r} missing {missing}\n    told: {' | '.join(outcome.text.split())[:0]}")
            print("    " + "\n    ".join(line for line in outcome.text.splitlines() if line.strip())[:700])


if __name__ == "__main__":
    main()
