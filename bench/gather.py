"""How much of the evidence ``gather`` tells within a budget, against ten hits, by kind of question.

``python bench/gather.py DIR [DIR ...]`` takes judged sets in the format of ``ricordo eval``, and asks each question
inside its conversation, if the set has any. It prints, for each category of questions, the share of the judged pieces

- among ten hits;
- among the best hits, whole, as many as fit into the budget;
- among the pieces that ``gather`` shows within the budget, and the share of the judged text that is shown.

``--categories`` names some categories, ``--limit`` asks only that many questions of each, the first ones.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from ricordo import registry
from ricordo.config.loading import Config, load_config
from ricordo.engine import Ricordo
from ricordo.evaluate.datasets import Dataset, Question, read_dataset
from ricordo.evaluate.stores import cached_store, make_vectors, position_of
from ricordo.values.hits import Filters

TEN = 10
DEPTH = 100
COLUMNS = ("ten hits", "best whole", "gather", "text", "pieces", "tokens")


def settings() -> Config:
    config = load_config()
    return replace(config, usage=replace(config.usage, log=False), knowledge=replace(config.knowledge, enabled=False))


def category_of(question: Question) -> str:
    about = question.metadata
    return str(about.get("category_name") or about.get("category") or "all")


def measured(engine: Ricordo, dataset: Dataset, question: Question, budget: int) -> dict[str, float]:
    """The figures of one question."""
    gold = {document for document, grade in dataset.judgements[question.id].items() if grade > 0}
    filters = Filters(threads=(question.thread,)) if question.thread is not None else None
    answer = engine.search(question.text, limit=DEPTH, filters=filters, track=False, literal=True, snippets=False)
    ranked = [dataset.documents[position_of(hit.ref)] for hit in answer.hits]
    costs = registry.token_counter().count_tokens([one.text for one in ranked])
    whole, spent = set(), 0
    for one, cost in zip(ranked, costs, strict=True):
        spent += cost
        if spent > budget:
            break
        whole.add(one.id)
    found = engine.gather(question.text, budget=budget, filters=filters)
    shown: dict[str, int] = defaultdict(int)
    for piece in found.pieces:
        shown[dataset.documents[position_of(piece.ref)].id] += len(piece.text)
    sizes = {one.id: len(" ".join(one.text.split())) for one in dataset.documents if one.id in gold}
    return {
        "ten hits": len(gold & {one.id for one in ranked[:TEN]}) / len(gold),
        "best whole": len(gold & whole) / len(gold),
        "gather": len(gold & shown.keys()) / len(gold),
        "text": fmean(min(1.0, shown[one] / max(1, sizes[one])) for one in gold),
        "pieces": len(found.pieces),
        "tokens": found.tokens,
    }


def measure(folder: Path, categories: list[str], limit: int, budget: int) -> Mapping[str, list[dict[str, float]]]:
    dataset, config = read_dataset(folder), settings()
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    with Ricordo.open(cached_store(dataset, config), config=config, create=False) as engine:
        make_vectors(engine, dataset)
        for question in dataset.questions:
            category = category_of(question)
            if (categories and category not in categories) or (limit and len(rows[category]) >= limit):
                continue
            rows[category].append(measured(engine, dataset, question, budget))
    return {category: found for category, found in rows.items() if found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--categories", default="", help="a,b,c")
    parser.add_argument("--limit", type=int, default=0, help="questions of each category; 0 is all")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    categories = [name for name in given.categories.split(",") if name]
    for folder in given.folders:
        found = measure(folder, categories, given.limit, given.budget)
        means = {
            name: {"questions": len(rows)} | {one: round(fmean(row[one] for row in rows), 3) for one in COLUMNS}
            for name, rows in found.items()
        }
        if given.json:
            print(json.dumps({folder.name: means}))
            continue
        print(f"{folder.name:<28}{'questions':>10}" + "".join(f"{one:>12}" for one in COLUMNS))
        for name, row in means.items():
            print(f"{name:<28}{row['questions']:>10}" + "".join(f"{row[one]:>12.3f}" for one in COLUMNS))


if __name__ == "__main__":
    main()
