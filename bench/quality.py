"""How good answers are, in one table: known items, passages, conversations, many pieces, and judged sets.

    python bench/quality.py --tree FOLDER [...] [--questions FILE ...] [--conversations DIR ...] [--sets DIR ...]

- ``--tree``: a documentation tree. Queries are made from it by a program (``known_items.py``), and hit@1 and hit@5 are
  printed by kind of query, for words alone and for the default profile. ``--known 300`` is how many.
- ``--questions``: a file of questions for the tree at the same place, as ``ricordo eval --passages`` takes it:
  whether the passage that is shown answers, for the questions that were chosen on and those that were held back.
  Ours are in ``bench/questions``; the pages they are about are not in this repository.
- ``--conversations``: judged sets whose documents are turns: nDCG@10 by category, recall@10 and recall@20 of all judged
  pieces, and the share that ``context --gather`` shows in 2,000 tokens for the ``--pieces`` categories. With
  ``--diverse``, the hits are chosen to differ.
- ``--sets``: judged sets, as ``ricordo eval`` takes them: nDCG@10 and recall@10.

Each prints its own table; at the end, one table has the figures of all of them. ``--limit`` asks about so many
questions of each set and conversation. Stores are built once and kept in the cache folder.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from known_items import known_items
from ricordo.config.loading import Config, load_config
from ricordo.context.gather import Gatherer
from ricordo.context.passages import Tokens, passages_of
from ricordo.engine.ricordo import Ricordo
from ricordo.plugins.evaluate.datasets import Question, read_dataset
from ricordo.plugins.evaluate.report import aligned, ndcg, recall
from ricordo.plugins.evaluate.run import BASELINES, evaluate, evaluate_passages, folder_store
from ricordo.plugins.evaluate.stores import cached_store, make_vectors, position_of
from ricordo.registry import token_counter
from ricordo.values.hits import Filters

PIECES = "event_ordering,summarization,multi_session_reasoning,multi-hop"
PROFILES = ("bm25", "default")
SHOWN_OF_PASSAGES = ("page@1", "passage", "one of three", "words")


class Summary:
    """The figures of all parts: what was measured, on how many questions, for words alone and by default."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []

    def add(self, what: str, figure: str, number: int, default: float, words: float | None = None) -> None:
        self.rows.append([what, figure, str(number), "" if words is None else f"{words:.3f}", f"{default:.3f}"])

    def table(self) -> str:
        return aligned(("what", "figure", "questions", "words alone", "default"), self.rows, left=2)


def settings() -> Config:
    config = load_config()
    return replace(config, usage=replace(config.usage, log=False), knowledge=replace(config.knowledge, enabled=False))


def category_of(question: Question) -> str:
    about = question.metadata
    return str(about.get("category_name") or about.get("category") or "all")


def known(tree: Path, count: int, summary: Summary) -> str:
    """How often the page that holds what was typed is first, and among five."""
    items, config = known_items(tree, count), settings()
    rows = []
    found: dict[str, dict[str, list[float]]] = {}
    numbers: dict[str, int] = {}
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
            for kind, places in ranks.items():
                hits = [fmean(rank < depth for rank in places) for depth in (1, 5)]
                found.setdefault(kind, {})[profile], numbers[kind] = hits, len(places)
                rows.append([tree.name, profile, kind, str(len(places)), *(f"{hit:.3f}" for hit in hits)])
    for kind, by_profile in found.items():
        for at, figure in enumerate(("hit@1", "hit@5")):
            words, default = (by_profile[profile][at] for profile in PROFILES)
            summary.add(f"known items, {tree.name}, {kind}", figure, numbers[kind], default, words)
    return aligned(("tree", "profile", "queries", "number", "hit@1", "hit@5"), rows, left=3)


def passages(trees: Sequence[Path], files: Sequence[Path], summary: Summary) -> list[str]:
    """Whether the passage that is shown answers, for each tree; the summary has all trees together."""
    reports = [
        evaluate_passages(tree, file, profiles=PROFILES, config=settings())
        for tree, file in zip(trees, files, strict=False)
    ]
    for part in dict.fromkeys(part for report in reports for part in report.rows["default"]):
        told = {name: [report.rows[name][part] for report in reports if part in report.rows[name]] for name in PROFILES}
        number = int(sum(row["queries"] for row in told["default"]))
        for figure in SHOWN_OF_PASSAGES:
            words, default = (sum(row[figure] * row["queries"] for row in told[name]) / number for name in PROFILES)
            summary.add(f"passages, {part}", figure, number, default, words)
    return [report.table() for report in reports]


def gathered(engine: Ricordo, topic: str, filters: Filters | None) -> list[str]:
    """The refs that ``context --gather`` shows of a conversation in 2,000 tokens."""
    answer = engine.search(topic, limit=100, filters=filters, literal=True, track=False, turns=True)
    passages = passages_of(answer.hits, dict.fromkeys({hit.tier for hit in answer.hits}, engine.store))
    _, parts = Gatherer(passages, 2_000, Tokens(token_counter())).gather()
    return [part.ref for part in parts]


def conversations(folder: Path, limit: int, pieces: set[str], summary: Summary, *, diverse: bool) -> str:
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
                shown = [dataset.documents[position_of(ref)].id for ref in gathered(engine, question.text, filters)]
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
    summary.add(
        f"conversations, {folder.name}", "nDCG@10", len(found["all"]["nDCG@10"]), fmean(found["all"]["nDCG@10"])
    )
    for category in pieces & found.keys():
        for figure in names[1:]:
            values = found[category][figure]
            summary.add(f"many pieces, {folder.name}, {category}", figure, len(values), fmean(values))
    return aligned(("set", "category", "queries", *names), rows, left=2)


def sets(folders: Sequence[Path], limit: int, summary: Summary) -> None:
    """nDCG@10 of judged sets, and their mean."""
    means: dict[str, list[float]] = defaultdict(list)
    for folder in folders:
        report = evaluate(folder, profiles=PROFILES, config=settings(), limit_queries=limit or None).to_dict()
        words, default = (report["profiles"][name]["ndcg@10"] for name in PROFILES)
        means["bm25"].append(words)
        means["default"].append(default)
        summary.add(f"set, {folder.name}", "nDCG@10", report["queries"], default, words)
    if folders:
        summary.add("sets, mean", "nDCG@10", len(folders), fmean(means["default"]), fmean(means["bm25"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, nargs="+", action="extend", default=[])
    parser.add_argument("--questions", type=Path, nargs="+", action="extend", default=[])
    parser.add_argument("--known", type=int, default=300, help="queries made from each tree; 0 is none")
    parser.add_argument("--conversations", type=Path, nargs="+", action="extend", default=[])
    parser.add_argument("--sets", type=Path, nargs="+", default=[])
    parser.add_argument("--limit", type=int, default=0, help="about so many questions of each set; 0 is all")
    parser.add_argument("--diverse", action="store_true", help="search conversations for hits that differ")
    parser.add_argument("--pieces", default=PIECES, help="the categories that many pieces are wanted for")
    given = parser.parse_args()
    summary = Summary()
    for tree in given.tree if given.known else ():
        print(known(tree, given.known, summary), end="\n\n", flush=True)
    for table in passages(given.tree, given.questions, summary):
        print(table, end="\n\n", flush=True)
    for folder in given.conversations:
        table = conversations(folder, given.limit, set(given.pieces.split(",")), summary, diverse=given.diverse)
        print(table, end="\n\n", flush=True)
    sets(given.sets, given.limit, summary)
    print(summary.table())


if __name__ == "__main__":
    main()
