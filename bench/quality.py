"""How good answers are beyond judged sets, in one table: known items, passages, conversations, many pieces.

    python bench/quality.py --tree FOLDER [--tree FOLDER ...] [--questions FILE ...] [--conversations DIR ...]

- ``--tree``: a documentation tree. Queries are made from it by a program (``known_items.py``), and hit@1 and hit@5 are
  printed by kind of query, for words alone and for the default profile. ``--known 300`` is how many.
- ``--questions``: a file of questions for the tree at the same place, as ``ricordo eval --passages`` takes it:
  whether the passage that is shown answers, for the questions that were chosen on and those that were held back.
  Ours are in ``bench/questions``; the pages they are about are not in this repository.
- ``--conversations``: judged sets whose documents are turns: nDCG@10 by category, recall@10 and recall@20 of all judged
  pieces, and the share that ``gather`` shows in 2,000 tokens for the ``--pieces`` categories. With ``--diverse``, the
  hits are chosen to differ.

Stores are built once and kept in the cache folder.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from gather import category_of, settings
from known_items import known_items
from ricordo.engine import Ricordo
from ricordo.evaluate.datasets import read_dataset
from ricordo.evaluate.metrics import ndcg, recall
from ricordo.evaluate.passages import evaluate_passages, folder_store
from ricordo.evaluate.run import BASELINES
from ricordo.evaluate.stores import cached_store, make_vectors, position_of
from ricordo.evaluate.tables import aligned
from ricordo.values.hits import Filters

PIECES = "event_ordering,summarization,multi_session_reasoning,multi-hop"
PROFILES = ("bm25", "default")


def known(tree: Path, count: int) -> str:
    """How often the page that holds what was typed is first, and among five."""
    items, config = known_items(tree, count), settings()
    rows = []
    with Ricordo.open(folder_store(tree.resolve(), config), config=config) as engine:
        for profile in PROFILES:
            ranks: dict[str, list[int]] = defaultdict(list)
            for item in items:
                options = BASELINES.get(profile, {"profile": profile})
                answer = engine.search(item.query, track=False, literal=True, snippets=False, **options)
                right = [
                    place
                    for place, hit in enumerate(answer.hits)
                    if hit.ref.endswith(tuple(f"/{page}" for page in item.pages))
                ]
                ranks[item.kind].append(right[0] if right else 99)
            ranks["all"] = [rank for found in ranks.values() for rank in found]
            for kind, found in ranks.items():
                hits = [fmean(rank < depth for rank in found) for depth in (1, 5)]
                rows.append([tree.name, profile, kind, str(len(found)), *(f"{hit:.3f}" for hit in hits)])
    return aligned(("tree", "profile", "queries", "number", "hit@1", "hit@5"), rows, left=3)


def conversations(folder: Path, limit: int, pieces: set[str], *, diverse: bool) -> str:
    """The figures of turns by category; ``gather`` only where many pieces are wanted."""
    dataset, config = read_dataset(folder), settings()
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with Ricordo.open(cached_store(dataset, config), config=config, create=False) as engine:
        make_vectors(engine, dataset)
        step = max(1, len(dataset.questions) // limit) if limit else 1
        for question in dataset.questions[::step]:
            judged, category = dataset.judgements[question.id], category_of(question)
            filters = Filters(threads=(question.thread,)) if question.thread is not None else None
            answer = engine.search(
                question.text, limit=20, filters=filters, track=False, literal=True, snippets=False, diverse=diverse
            )
            ranked = [dataset.documents[position_of(hit.ref)].id for hit in answer.hits]
            figures = {"nDCG@10": ndcg(ranked, judged), **{f"recall@{n}": recall(ranked, judged, n) for n in (10, 20)}}
            if category in pieces:
                told = engine.gather(question.text, filters=filters).pieces
                shown = [dataset.documents[position_of(piece.ref)].id for piece in told]
                figures["gather"] = recall(shown, judged, len(shown))
            for name in (category, "all"):
                for figure, value in figures.items():
                    found[name][figure].append(value)
    names = ("nDCG@10", "recall@10", "recall@20", "gather")
    rows = [
        [folder.name, category, str(len(row["nDCG@10"]))]
        + [f"{fmean(row[one]):.3f}" if row[one] and (one != "gather" or category != "all") else "" for one in names]
        for category, row in found.items()
    ]
    return aligned(("set", "category", "queries", *names), rows, left=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, action="append", default=[])
    parser.add_argument("--questions", type=Path, action="append", default=[])
    parser.add_argument("--known", type=int, default=300, help="queries made from each tree; 0 is none")
    parser.add_argument("--conversations", type=Path, action="append", default=[])
    parser.add_argument(
        "--limit", type=int, default=0, help="about so many questions of each conversation set; 0 is all"
    )
    parser.add_argument("--diverse", action="store_true", help="search conversations for hits that differ")
    parser.add_argument("--pieces", default=PIECES, help="the categories that many pieces are wanted for")
    given = parser.parse_args()
    for tree in given.tree if given.known else ():
        print(known(tree, given.known), end="\n\n", flush=True)
    for tree, questions in zip(given.tree, given.questions, strict=False):
        report = evaluate_passages(tree, questions, profiles=PROFILES, config=settings())
        print(report.table(), end="\n\n", flush=True)
    for folder in given.conversations:
        table = conversations(folder, given.limit, set(given.pieces.split(",")), diverse=given.diverse)
        print(table, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
