"""Whether two versions give the same answers, hit by hit, and what the same searches cost each of them.

``python bench/versions.py --store FILE --before OLD --after NEW`` asks both for the questions of ``--questions FILE``
(one a line), or for half general ones and half of the headings of ``--corpus DIR``. A version is the interpreter of an
environment that it is installed in, or the folder that holds the package ``ricordo``. Each searches a copy of the
store, because a newer version may bring a store up to date. It prints the first hits that differ, and ends with an
error if any does.

Beside it stand the calls of functions and the processor time that a question takes when it is asked a second time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from corpus import add_corpus_options, questions_for, read_corpus
from timing import aligned, percentile, print_json

ASKS = """
import json, sys, time
from ricordo import Ricordo
store, limit, by, count = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None, [0]
def called(frame, event, what):
    count[0] += event == "call"
with Ricordo.open(store) as engine:
    for question in json.load(sys.stdin):
        ask = lambda: engine.search(question, limit=limit, by=by, track=False, literal=True)
        hits = ask().hits
        started = time.process_time()
        ask()
        seconds, count[0] = time.process_time() - started, 0
        sys.setprofile(called)
        ask()
        sys.setprofile(None)
        rows = [[hit.ref, round(hit.score, 6), list(hit.lines), hit.snippet] for hit in hits]
        print(json.dumps({"hits": rows, "calls": count[0], "ms": 1000 * seconds}), flush=True)
"""
SHOWN = 10


def answers(version: Path, store: Path, questions: Sequence[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """What a version finds for each question, with the calls and the milliseconds that it took."""
    is_folder = version.is_dir()
    env = os.environ | ({"PYTHONPATH": str(version.resolve())} if is_folder else {})
    python = sys.executable if is_folder else str(version)
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        copy = Path(folder) / "store.db"
        shutil.copyfile(store, copy)
        command = [python, "-P", "-c", ASKS, str(copy), str(options.limit), options.by]
        done = subprocess.run(
            command, input=json.dumps(questions), env=env, stdout=subprocess.PIPE, text=True, check=True
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def differences(question: str, before: dict[str, Any], after: dict[str, Any], within: float) -> list[str]:
    """Where two answers differ, place by place; a score may differ by a little."""
    found = []
    for place, (old, new) in enumerate(zip_longest(before["hits"], after["hits"]), start=1):
        if old is None or new is None or [old[0], *old[2:]] != [new[0], *new[2:]] or abs(old[1] - new[1]) > within:
            shown = (f"{hit[0]} {hit[1]:.4f} lines {hit[2]}" if hit else "nothing" for hit in (old, new))
            found.append(f"{question[:60]!r}, hit {place}: {' | '.join(shown)}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path, required=True, metavar="FILE", help="the store that both search")
    parser.add_argument("--before", type=Path, required=True, metavar="OLD", help="an interpreter, or a folder")
    parser.add_argument("--after", type=Path, required=True, metavar="NEW", help="the other one")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="how many hits are compared (10)")
    parser.add_argument("--by", default="", choices=("", "words", "meaning"), help="search by one of them alone")
    parser.add_argument("--within", type=float, default=0.001, metavar="X", help="how far scores may differ (0.001)")
    add_corpus_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    questions = questions_for(read_corpus(options.corpus), options.queries, file=options.questions, seed=options.seed)
    before, after = (answers(version, options.store, questions, options) for version in (options.before, options.after))
    rows = [differences(*asked, options.within) for asked in zip(questions, before, after, strict=True)]
    figures = {
        name: {what: percentile([answer[what] for answer in found], 0.5) for what in ("calls", "ms")}
        for name, found in (("before", before), ("after", after))
    }
    changed = [line for lines in rows for line in lines]
    if options.json:
        print_json({"questions": len(questions), "differ": sum(map(bool, rows)), "median": figures, "hits": changed})
    else:
        print(f"{sum(map(bool, rows))} of {len(questions)} answers differ, in {len(changed)} hits")
        print("\n".join(changed[:SHOWN]))
        table = [[name, f"{row['calls']:,.0f}", f"{row['ms']:.1f}"] for name, row in figures.items()]
        print(aligned(("version", "calls (p50)", "ms of the processor (p50)"), table))
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
