"""What each step of the default ranking is worth: every step left out in turn, on judged sets, in one run.

    python bench/ablation.py DIR [DIR ...]

Each DIR is a set as ``ricordo eval`` takes it. Prints nDCG@10 per set and the mean; stores are cached as eval's are.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ricordo.config.loading import load_config
from ricordo.evaluate import evaluate

STEPS = ("coverage", "neighbours", "evidence", "feedback", "questions")
VARIANTS: dict[str, tuple[str, ...]] = {
    "all steps": STEPS,
    **{f"without {step}": tuple(other for other in STEPS if other != step) for step in STEPS},
    "plain hybrid": (),
}


def main() -> None:
    """Measure every variant on every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    names = {label: label.replace(" ", "-") for label in VARIANTS}
    tables = {names[label]: {"base": "default", "refine": list(steps)} for label, steps in VARIANTS.items()}
    config = replace(load_config(), profiles=tables)
    rows: dict[str, list[float]] = {label: [] for label in VARIANTS}
    for folder in folders:
        report = evaluate(folder, profiles=tuple(tables), config=config).to_dict()
        for label, name in names.items():
            rows[label].append(report["profiles"][name]["ndcg@10"])
        print(f"{folder.name}: done", flush=True)
    print("| nDCG@10 | " + " | ".join(folder.name for folder in folders) + " | mean |")
    print("|---" * (len(folders) + 2) + "|")
    for label, figures in rows.items():
        cells = " | ".join(f"{figure:.3f}" for figure in (*figures, sum(figures) / len(figures)))
        print(f"| {label} | {cells} |")


if __name__ == "__main__":
    main()
