"""How well the fit tells answerable questions from those of other sets, asked of the same store.

    python bench/fit.py DIR [DIR ...]

Each DIR is a set as ``ricordo eval`` takes it. Of every set, its own questions that have a right answer among the first
ten hits count as good, and the questions of the other sets as foreign. Prints, per set and for all together, the AUC of
the answers' fit (how often a good answer fits better than a foreign one), how many good answers are called unfit, and
how many foreign ones are noticed, at the default bound; then, for prompts instead of questions, how many of the good
ones a hook tells something about, and at how many foreign ones it stays silent. Stores are cached as eval's are.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ricordo.config.loading import load_config
from ricordo.config.settings import Config
from ricordo.engine import Ricordo
from ricordo.evaluate.datasets import Dataset, Question, read_dataset
from ricordo.evaluate.stores import cached_store, make_vectors, position_of
from ricordo.search.fit import FITS

Fits = npt.NDArray[np.float64]
COLUMNS = (
    "set", "passages", "good", "foreign", "AUC", "good called unfit", "foreign noticed", "hook tells", "hook is silent",
)  # fmt: skip
HOOK_FITS = Config().hooks.min_fit
"""From here on a hook tells what it found."""


def main() -> None:
    """Ask every store every set's questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=120, help="questions of each set (120)")
    parser.add_argument("--foreign", type=int, default=30, help="questions of each other set (30)")
    parser.add_argument("--cache", type=Path, help="where stores are kept")
    options = parser.parse_args()
    config = load_config()
    off = replace(config.usage, log=False), replace(config.knowledge, enabled=False)
    config = replace(config, usage=off[0], knowledge=off[1])
    sets = [read_dataset(folder) for folder in options.folders]
    every: list[tuple[Fits, Fits]] = []
    print(f"| {' | '.join(COLUMNS)} |")
    print("|" + "---|" * len(COLUMNS))
    for one in sets:
        others = [question for other in sets if other is not one for question in spread(other, options.foreign)]
        size, good, foreign = fits_of(one, spread(one, options.queries), others, config, options.cache)
        every.append((good, foreign))
        print(row(one.name, size, good, foreign), flush=True)
    print(row("all", "", *(np.concatenate(column) for column in zip(*every, strict=True))))


def spread(one: Dataset, count: int) -> list[Question]:
    """Questions of a set, spread evenly over it."""
    questions = one.questions
    count = min(count, len(questions))
    return [questions[place * len(questions) // count] for place in range(count)]


def fits_of(
    one: Dataset, own: list[Question], others: list[Question], config: Config, cache: Path | None
) -> tuple[str, Fits, Fits]:
    """The number of passages of a set's store, and the fits of its answers to its own questions and to others."""
    good = []
    with Ricordo.open(cached_store(one, config, cache_dir=cache), config=config, create=False) as engine:
        make_vectors(engine, one, cache_dir=cache)
        for question in own:
            answer = engine.search(question.text, limit=10, track=False, literal=True)
            right = {name for name, grade in one.judgements[question.id].items() if grade > 0}
            if any(one.documents[position_of(hit.ref)].id in right for hit in answer):
                good.append(answer.meta.fit or 0.0)
        answers = (engine.search(question.text, limit=10, track=False, literal=True) for question in others)
        foreign = [answer.meta.fit or 0.0 for answer in answers]
        size = f"{engine.status()['chunks']:,}"
    return size, np.array(good), np.array(foreign)


def row(name: str, size: str, good: Fits, foreign: Fits) -> str:
    """A line of the table."""
    above = (good[:, None] > foreign).mean() + (good[:, None] == foreign).mean() / 2
    unfit, noticed = (good < FITS).mean(), (foreign < FITS).mean()
    tells, silent = (good >= HOOK_FITS).mean(), (foreign < HOOK_FITS).mean()
    return (
        f"| {name} | {size} | {len(good)} | {len(foreign)} | {above:.3f} | {unfit:.1%} | {noticed:.1%}"
        f" | {tells:.1%} | {silent:.1%} |"
    )


if __name__ == "__main__":
    main()
