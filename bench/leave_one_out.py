"""Would the constants of the default ranking have been chosen without the set they are measured on?

    python bench/leave_one_out.py DIR [DIR ...] [--queries 100]

Every combination of keyword share, evidence and feedback is measured on every set. For each set the combination with
the best mean over the others is taken, and its nDCG@10 on the set itself is printed: what to expect of sets nobody has
tuned on. Sets whose names start alike (``metatool_single``, ``metatool_multi``) are left out together.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path

from ricordo.config.loading import load_config
from ricordo.evaluate import evaluate
from ricordo.search import refine

SHARES = (0.7, 0.85, 1.0)
EVIDENCE = (0.01, 4.0, 6.0)  # next to nothing is the step left out
FEEDBACK = (0.4, 0.6)
Choice = tuple[float, float, float]


def measure(folder: Path, choice: Choice, queries: int | None) -> float:
    """nDCG@10 of one combination on one set."""
    share, refine.EVIDENCE, refine.FEEDBACK = choice
    table = {"base": "default", "weights": {"lexical": share}}
    config = replace(load_config(), profiles={"tried": table})
    report = evaluate(folder, profiles=("tried",), config=config, limit_queries=queries).to_dict()
    figure: float = report["profiles"]["tried"]["ndcg@10"]
    return figure


def main() -> None:
    """Measure all, then choose for each set without it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=100, help="so many of each set, evenly spread (100)")
    options = parser.parse_args()
    choices: list[Choice] = list(product(SHARES, EVIDENCE, FEEDBACK))
    figures: dict[str, dict[Choice, float]] = {}
    for folder in options.folders:
        figures[folder.name] = {choice: measure(folder, choice, options.queries) for choice in choices}
        print(f"{folder.name}: done", flush=True)

    def mean(choice: Choice, names: list[str]) -> float:
        return sum(figures[name][choice] for name in names) / len(names)

    everything = max(choices, key=lambda choice: mean(choice, list(figures)))
    print(f"nothing left out: {everything}, mean {mean(everything, list(figures)):.4f}")
    held = []
    for name in figures:
        family = name.partition("_")[0]
        others = [other for other in figures if other.partition("_")[0] != family] or list(figures)
        chosen = max(choices, key=lambda choice, others=others: mean(choice, others))  # type: ignore[misc]
        held.append(figures[name][chosen])
        print(f"{name} left out: {chosen} gives {figures[name][chosen]:.4f}")
    print(f"mean of those {sum(held) / len(held):.4f}")


if __name__ == "__main__":
    main()
