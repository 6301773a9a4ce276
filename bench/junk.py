"""What becomes of junk: ten thousand worthless memories on top of good ones, saved as agents save them.

``python bench/junk.py`` saves the memories of ``judged/telling.json`` as the user's, and measures how well its prompts
find them (nDCG at 10, and how often a hook stays silent where nothing should be told). Then an agent remembers junk of
five kinds: restated lines of an instruction file, heartbeats, invented profiles, what it just recalled, and
near-duplicates of what is stored; and sessions full of the same are taken in. It prints of each kind how much was
kept, how much was skipped as known and how much was refused until somebody decides, how many proposals the sessions
made, and both figures again.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from day import MORNING, transcript
from ricordo import Ricordo
from ricordo.speaking import as_agent
from telling import CASES, Case, asked_of_hook, cases_of, opened
from timing import print_json

COUNT = 10_000
SESSIONS = 40
AT = 10
RULES = (
    "run the tests before you finish", "keep functions short", "use the logger, not print",
    "ask before you delete files", "write docstrings for public functions", "do not touch the generated code",
    "prefer small commits",
    "answer in English", "check the types", "never commit secrets", "read the whole file before you edit it",
    "explain what you changed", "keep the changelog up to date", "do not add dependencies",
    "follow the style of the file",
)  # fmt: skip
LEADS = (
    "According to AGENTS.md, I should {}.", "The instructions say: {}.", "Reminder to self: {}.",
    "Note: {} (boot file).", "I loaded my instructions. Among them: {}.",
    "System rule number {n}: {}.", "In this workspace one has to {}.",
)  # fmt: skip
STATES = (
    "all systems nominal",
    "nothing to report",
    "waiting for tasks",
    "queue empty",
    "still alive",
    "no new messages",
)
NAMES = ("Alex", "Sam", "Kim", "Noor", "Lena", "Ravi", "Marek", "Yuki", "Bea", "Tomas", "Ifeoma", "Jules")
TOWNS = ("Lyon", "Graz", "Leeds", "Porto", "Turku", "Ghent", "Split", "Cork", "Brno", "Aarhus")
WORK = ("nurse", "plumber", "pilot", "student", "baker", "lawyer", "teacher", "florist", "designer", "retired engineer")
LIKES = ("chess", "sailing", "jazz", "gardening", "cycling", "old films", "board games", "ceramics", "bird watching")


def junk(memories: Sequence[str], seed: int = 1) -> dict[str, Callable[[int], str]]:
    """What makes the n-th junk text of each kind."""
    chance = random.Random(seed)

    def near(_: int) -> str:
        words = chance.choice(memories).split()
        place = chance.randrange(len(words))
        words[place] = chance.choice((f"{words[place]},", words[place].upper(), f"really {words[place]}"))
        return " ".join(words)

    return {
        "restated instructions": lambda n: chance.choice(LEADS).format(chance.choice(RULES), n=n % 90),
        "heartbeats": lambda n: (
            f"Heartbeat {n}: {chance.choice(STATES)}, {chance.randrange(9)} jobs, load {n % 7}.{n % 10}."
        ),
        "invented profiles": lambda _: (
            f"The user {chance.choice(NAMES)} is a {chance.randrange(20, 80)}-year-old {chance.choice(WORK)} from"
            f" {chance.choice(TOWNS)} who likes {chance.choice(LIKES)}."
        ),
        "what was recalled": lambda n: f"{('I recalled: ', 'From memory: ', '')[n % 3]}{chance.choice(memories)}",
        "near-duplicates": near,
    }


def ndcg(memory: Ricordo, cases: Sequence[Case], texts: dict[str, str]) -> float:
    """How near to the top the wanted memories stand among the first ten hits, on average; equal texts count once."""
    values = []
    for case in cases:
        seen: dict[str, None] = {}
        for hit in memory.search(case.text, limit=5 * AT, track=False, literal=True).hits:
            seen.setdefault(memory.get(hit.ref).content)
        wanted = {texts[name] for name in case.tell}
        gained = sum(1 / math.log2(2 + place) for place, text in enumerate(list(seen)[:AT]) if text in wanted)
        values.append(gained / sum(1 / math.log2(2 + place) for place in range(min(AT, len(wanted)))))
    return sum(values) / len(values)


def silence(folder: Path, cases: Sequence[Case]) -> float:
    """The share of prompts without an answer with which a hook tells nothing."""
    with opened(folder, "junk") as memory:
        silent = [not asked_of_hook(memory, "user-prompt", f"p{n}", case.text).strip() for n, case in enumerate(cases)]
    return sum(silent) / len(silent)


def junk_sessions(folder: Path, kinds: dict[str, Callable[[int], str]], count: int) -> Iterator[Path]:
    """Sessions in which a program asks for signs of life and an agent says junk."""
    for number in range(count):
        turns: list[list[str]] = []
        for n, make in enumerate(kinds.values()):
            turns += [["u", "HEARTBEAT: report your state."], ["a", make(10 * number + n)]]
        yield transcript(turns, folder, f"junk-{number}", MORNING)


def measure(folder: Path, given: dict[str, Any], count: int) -> dict[str, Any]:
    memories: dict[str, str] = given["memories"]
    cases = [*cases_of(given["prompts"], "choose"), *cases_of(given["prompts"], "report")]
    wanted, idle = ([case for case in cases if bool(case.tell) is known] for known in (True, False))
    kinds = junk(list(memories.values()))
    result: dict[str, Any] = {}
    with opened(folder, "junk", hooks=False) as memory:
        for text in memories.values():
            memory.remember(text, on_duplicate="save")
        result["nDCG@10, before"] = round(ndcg(memory, wanted, memories), 3)
    result["silent hooks, before"] = round(silence(folder, idle), 3)
    with opened(folder, "junk", hooks=False) as memory:
        for kind, make in kinds.items():
            became: Counter[str] = Counter()
            for n in range(count // len(kinds)):
                with as_agent("junk"):
                    became[memory.remember(make(n), wait=False).status] += 1
            result[kind] = dict(became)
        memory.embed()
        for path in junk_sessions(folder, kinds, SESSIONS):
            memory.sessions_add(str(path))
        result["proposed by the sessions"] = len(memory.review(kinds=("proposals",)).proposals)
        result["told at a start"] = len(memory.context("").parts)
        result["nDCG@10, after"] = round(ndcg(memory, wanted, memories), 3)
    result["silent hooks, after"] = round(silence(folder, idle), 3)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many junk memories")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    given = json.loads(CASES.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        result = measure(Path(temporary), given, options.count)
    if options.json:
        print_json(result)
        return
    for name, value in result.items():
        print(f"{name:28} {value}")


if __name__ == "__main__":
    main()
