"""Chooses the constants of the default ranking by all sets, and says what the choice is worth on sets it has not seen.

    python bench/shares.py DIR [DIR ...] [--passages FOLDER FILE ...] [--queries 100] [--log FILE]

Every combination of keyword share, evidence and feedback is measured on every set: nDCG@10 of a judged set (``ricordo
eval DIR``; conversations are such sets, too), and of a folder with questions the share of which the first three hits
show an answering passage (``ricordo eval FOLDER --passages FILE``). Then, for each set, the combination with the best
mean over the others is taken, and its figure on the set itself is printed: what to expect of sets nobody has tuned on.
Sets whose names start alike (``metatool_single``, ``metatool_multi``) are left out together. ``--log`` also writes all
of it to a file, with the figure of every combination; ours is ``bench/shares.log``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean

from gather import settings
from ricordo.config.loading import Config
from ricordo.evaluate import evaluate
from ricordo.evaluate.passages import evaluate_passages
from ricordo.search import refine

SHARES = (0.7, 0.85, 1.0)
EVIDENCE = (0.01, 4.0, 6.0)  # next to nothing is the step left out
FEEDBACK = (0.4, 0.6)
PRESENT = (0.85, 6.0, 0.6)
Choice = tuple[float, float, float]
"""Keyword share, evidence, feedback."""
Measure = Callable[[Config], float]


def of_judged_set(folder: Path, queries: int) -> Measure:
    """nDCG@10 of the profile ``tried`` on a judged set."""

    def measure(config: Config) -> float:
        report = evaluate(folder, profiles=("tried",), config=config, limit_queries=queries).to_dict()
        figure: float = report["profiles"]["tried"]["ndcg@10"]
        return figure

    return measure


def of_questions(folder: Path, file: Path) -> Measure:
    """How often the profile ``tried`` shows an answering passage among three hits; held-back questions do not count."""

    def measure(config: Config) -> float:
        parts = evaluate_passages(folder, file, profiles=("tried",), config=config).rows["tried"]
        return parts.get("chosen on", next(iter(parts.values())))["passage@3"]

    return measure


def figures_of(measures: Mapping[str, Measure], tell: Callable[[str], None]) -> dict[str, dict[Choice, float]]:
    """By set, the figure of every combination."""
    found: dict[str, dict[Choice, float]] = {name: {} for name in measures}
    for name, measure in measures.items():
        for choice in product(SHARES, EVIDENCE, FEEDBACK):
            share, refine.EVIDENCE, refine.FEEDBACK = choice
            table = {"base": "default", "weights": {"lexical": share}}
            found[name][choice] = measure(replace(settings(), profiles={"tried": table}))
        best = max(found[name], key=found[name].__getitem__)
        tell(f"{name}: {' '.join(f'{value:.3f}' for value in found[name].values())} (best {best})")
    return found


def choose(figures: Mapping[str, Mapping[Choice, float]], names: Sequence[str]) -> Choice:
    """The combination with the best mean over some sets."""
    choices = next(iter(figures.values()))
    return max(choices, key=lambda choice: fmean(figures[name][choice] for name in names))


def tell_choices(figures: Mapping[str, Mapping[Choice, float]], tell: Callable[[str], None]) -> None:
    """The choice by all sets, the present one, and for each set the choice by the others."""
    everything = choose(figures, list(figures))
    for what, choice in (("best on all", everything), ("present", PRESENT)):
        tell(f"{what}: {choice}, mean {fmean(row[choice] for row in figures.values()):.4f}")
    unseen = []
    for name in figures:
        family = name.partition("_")[0]
        others = [other for other in figures if other.partition("_")[0] != family] or list(figures)
        choice = choose(figures, others)
        unseen.append(figures[name][choice])
        tell(f"{name} left out: {choice} gives {unseen[-1]:.4f}, the present {figures[name][PRESENT]:.4f}")
    tell(f"mean of sets left out {fmean(unseen):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", nargs=2, type=Path, action="append", default=[], metavar=("FOLDER", "FILE"))
    parser.add_argument("--queries", type=int, default=100, help="so many of each judged set, evenly spread (100)")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    measures = {folder.name: of_judged_set(folder, options.queries) for folder in options.folders}
    measures |= {f"passages-{file.stem}": of_questions(folder, file) for folder, file in options.passages}
    tell(f"queries of each judged set: {options.queries}")
    tell(f"the order of the figures: {' '.join(map(str, product(SHARES, EVIDENCE, FEEDBACK)))}")
    tell_choices(figures_of(measures, tell), tell)
    if options.log:
        options.log.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
