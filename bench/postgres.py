"""Hybrid search in PostgreSQL beside the plain way to do it (``ts_rank_cd`` and pgvector) and LanceDB, in one run.

    python bench/postgres.py postgresql://postgres@localhost/postgres --corpus DIR --chunks 100000 --out results.json

Passages are those of a folder with text files, each cut to ``--characters``. To reach the number asked for, copies
follow in which sentences change places and one word in eight is another (``corpus.py``). ``--real`` vectors are made by
the shipped model, the others from pairs of them (``embeddings.py``). All sides get the same.

Results are written to ``--out`` after every step. Steps that it holds already are left out, so that a long run can be
continued. LanceDB is left out if it is not installed, and the plain way with ``--without-plain``: with a million
passages it takes seconds for each question.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus import add_corpus_options
from team.clients import behind_a_slow_network, writers_beside_searchers
from team.passages import Passages
from team.sides import Lance, Plain, Ricordo, Side, measured
from team.whole import beside_the_file
from timing import machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dsn", help="a database in which schemas and tables can be made")
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=100_000, help="how many passages (100000)")
    parser.add_argument("--characters", type=int, default=350, help="how long a passage is at most (350)")
    parser.add_argument("--real", type=int, default=20_000, help="how many vectors the model makes (20000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long clients work beside each other (60)")
    parser.add_argument("--out", type=Path, default=Path("postgres.json"), help="where results are kept")
    parser.add_argument("--without-plain", action="store_true", help="leave the plain way out")
    parser.add_argument("--steps", nargs="*", help="only these steps")
    given = parser.parse_args()
    report = json.loads(given.out.read_text()) if given.out.exists() else {"machine": machine()}
    passages = Passages(given)
    ricordo = Ricordo(given.dsn, passages)
    plain = None if given.without_plain else Plain(given.dsn, passages)
    sides: list[Side] = [ricordo] if plain is None else [ricordo, plain]
    if Lance.is_installed():
        sides.append(Lance(given.out.with_suffix(".lance"), given.dsn, passages))
    else:
        print("LanceDB is not installed (pip install lancedb) and is left out", file=sys.stderr)
    steps: dict[str, Callable[[], Any]] = {
        "passages": passages.described,
        **{f"load {side.name}": side.load for side in sides},
        "search": lambda: measured(sides, passages),
        "beside the file": lambda: beside_the_file(ricordo, plain, passages, given.out.with_suffix(".db")),
        "20 ms away": lambda: behind_a_slow_network(given.dsn, ricordo.address, passages),
        "8 writers and 8 searchers": lambda: writers_beside_searchers(ricordo.address, passages, given.seconds),
    }
    for name, step in steps.items():
        if name in report or (given.steps and name not in given.steps):
            continue
        report[name] = step()
        print(name, json.dumps(report[name]), flush=True)
        kept = json.loads(given.out.read_text()) if given.out.exists() else {}  # another run may have added a step
        report = {**kept, **report}
        given.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
