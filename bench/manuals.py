"""What a reader of a manual sees: is a question noticed that nothing answers, and does a snippet hold the answer?

    ricordo --store manual.db add FOLDER
    python bench/manuals.py --store manual.db --questions FILE --unanswered FILE [--snippets 240 480] [--wrong]

``--questions`` is a file of questions that the store answers, as ``ricordo eval --passages`` takes it; ``--unanswered``
has a question of the same field on each line that it does not answer, the first half to choose by, the second held
back. Ours are in ``bench/questions``; the pages that they are about are not in this repository.

A question counts as noticed if its best hit has a fit below ``search.min_fit``. With ``--snippets``, it is counted how
often the snippet of the first hit holds the quoted answer if it has so many characters.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

from ricordo.config.loading import load_config
from ricordo.engine.ricordo import Ricordo
from ricordo.plugins.evaluate.report import aligned
from ricordo.search import present

PARTS = ("chosen on", "held back")
SHARE, BOUND = 0.4, 0.65
"""The bound of bench/NOTES.md: on the most that cosine + ``SHARE`` · share of words comes to, beside the fit."""


def asked(questions: Path, unanswered: Path) -> list[tuple[str, bool, str]]:
    """The questions, each with whether it has an answer and the part that it is of."""
    good = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    none = unanswered.read_text("utf-8").splitlines()
    return [
        *((one["question"], True, one["part"]) for one in good),
        *((text, False, PARTS[2 * at >= len(none)]) for at, text in enumerate(none)),
    ]


def figures(engine: Ricordo, text: str) -> tuple[float, float]:
    """How well the best hit fits, and the most that cosine and words come to."""
    answer = engine.search(text, explain=True, track=False)
    parts = [{part.name: part.value for part in hit.explain.fit} for hit in answer.hits if hit.explain is not None]
    return answer.meta.fit or 0.0, max((one["meaning"] + SHARE * one["words"] for one in parts), default=0.0)


def plain(text: str) -> str:
    """A text without what a snippet or a quotation may leave out."""
    return " ".join(re.sub(r"[*`_\[\]()]", " ", text).lower().split())


def answering(engine: Ricordo, questions: Path, size: int) -> tuple[int, int, float]:
    """Of how many questions the first hit's snippet holds the answer if it is so long, and its length in the mean."""
    present.window_of.__defaults__ = (size,)
    right, sizes = 0, []
    for line in questions.read_text("utf-8").splitlines():
        one = json.loads(line)
        hit = engine.search(one["question"], limit=1, track=False).hits[0]
        here = [answer["quote"] for answer in one["answers"] if hit.ref.endswith(f"/{answer['file']}")]
        right += any(plain(quote) in plain(hit.snippet) for quote in here)
        sizes.append(len(hit.snippet))
    return right, len(sizes), fmean(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--unanswered", type=Path, required=True)
    parser.add_argument("--wrong", action="store_true", help="name the questions that the fit judges wrongly")
    parser.add_argument("--snippets", type=int, nargs="*", default=(), help="lengths of snippets to try")
    given = parser.parse_args()
    least = load_config().search.min_fit
    counts: Counter[tuple[str, bool, str]] = Counter()
    with Ricordo.open(given.store, create=False) as engine:
        for text, answered, part in asked(given.questions, given.unanswered):
            fit, both = figures(engine, text)
            counts.update(((part, answered, "all"),))
            counts.update(
                (part, answered, name) for name, is_low in (("fit", fit < least), ("both", both < BOUND)) if is_low
            )
            if given.wrong and (fit < least) == answered:
                print(f"{'called unfit' if answered else 'not noticed'}: {text}")
        lengths = [(size, *answering(engine, given.questions, size)) for size in given.snippets]
    rows = [
        [
            part,
            name,
            *(f"{counts[part, answered, name]} of {counts[part, answered, 'all']}" for answered in (False, True)),
        ]
        for part in PARTS
        for name in ("fit", "both")
    ]
    print(aligned(("part", "by", "unanswered, noticed", "good, called unfit"), rows, left=2))
    for size, right, number, mean in lengths:
        print(f"snippets of {size}: {right} of {number} hold the answer, {mean:.0f} characters in the mean")


if __name__ == "__main__":
    main()
