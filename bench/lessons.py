"""How many sentences worth keeping are proposed from sessions, how many proposals are worth it, and what it costs.

``python bench/lessons.py`` takes the sessions that trained the weights; ``python bench/lessons.py CASES.json …`` takes
others: a list of sessions, each a list of turns ``["u", text]``, ``["a", text]`` or
``["t", tool, arguments, output, is_error]``, with ``{{…}}`` around what is worth keeping. ``--plain`` does without the
model, ``--wrong`` lists what is proposed wrongly and what is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from ricordo.models.base import Embedder
from ricordo.models.local_onnx import LocalEmbedder
from ricordo.plugins.lessons.finder import MOST, SaidTurn, found_in, fresh
from train_lessons import DATA, overlaps

AT = datetime(2026, 1, 31, tzinfo=UTC)
ROLES = {"u": "user", "a": "assistant"}


def said(turns: Sequence[Sequence[Any]]) -> list[SaidTurn]:
    """The turns of a case, without marks."""
    made: list[SaidTurn] = []
    for role, text, *rest in turns:
        seq = len(made) + 1
        if role in ROLES:
            made.append(SaidTurn(seq, ROLES[role], text.replace("{{", "").replace("}}", ""), AT))
            continue
        arguments, output, is_error = rest
        told = f"{text}: {arguments.get('command') or json.dumps(arguments)}"
        files = tuple(filter(None, [arguments.get("file_path")]))
        made.append(SaidTurn(seq, "assistant", told, AT, text, files, is_call=True))
        made.append(SaidTurn(seq + 1, "tool", output, AT, text, is_error=is_error))
    return made


def marks(turns: Sequence[Sequence[Any]]) -> list[str]:
    """What is marked as worth keeping."""
    return [part.partition("}}")[0] for role, text, *_ in turns if role == "u" for part in text.split("{{")[1:]]


def measure(cases: Sequence[Any], embedder: Embedder | None, *, shows_wrong: bool) -> tuple[int, int, int, int]:
    """Proposals, right ones, marked sentences, and those proposed."""
    proposals = right = wanted = hit = 0
    for turns in cases:
        found = fresh(found_in(said(turns), session="s", embedder=embedder), (), lambda _: False, MOST)
        marked = marks(turns)
        wrong = [one.text for one in found if not any(overlaps(one.text, mark) for mark in marked)]
        missed = [mark for mark in marked if not any(overlaps(one.text, mark) for one in found)]
        proposals, right = proposals + len(found), right + len(found) - len(wrong)
        wanted, hit = wanted + len(marked), hit + len(marked) - len(missed)
        if shows_wrong:
            print(
                "".join([f"  proposed: {text}\n" for text in wrong] + [f"  missed: {text}\n" for text in missed]),
                end="",
            )
    return proposals, right, wanted, hit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", type=Path)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args()
    embedder = None if given.plain else LocalEmbedder()
    if embedder is not None:
        embedder.embed_query("so that the model is loaded")
    print("| cases | sessions | proposals | precision | recall | ms a session |\n|---|---|---|---|---|---|")
    for path in given.cases or sorted(DATA.glob("*_sessions.json")):
        cases = json.loads(path.read_text("utf-8"))
        started = time.perf_counter()
        proposals, right, wanted, hit = measure(cases, embedder, shows_wrong=given.wrong)
        spent = (time.perf_counter() - started) * 1000 / len(cases)
        figures = f"{right / max(1, proposals):.2f} | {hit / wanted:.2f} | {spent:.0f}"
        print(f"| {path.stem} | {len(cases)} | {proposals} | {figures} |")


if __name__ == "__main__":
    main()
