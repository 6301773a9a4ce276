"""What skills cost an agent's prompt, and whether the right ones are found.

``python bench/skills.py DIR`` takes in a folder of SKILL.md files and says what listing all of them in a prompt would
cost (195 + Σ (97 + name + description + location) characters, four to a token) beside what ``context`` spends on
skills for sample tasks. When DIR is a judged set (corpus.jsonl with titles "name. description", queries.jsonl,
qrels.tsv), its documents are written out as skills first, and recall of ``skills search`` on its queries is reported.
``--store FILE`` keeps the store, so that a second run makes no vectors again; ``--words`` makes none at all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ricordo import ConfigProvider, Ricordo
from ricordo.evaluate.datasets import Dataset, read_dataset
from ricordo.values.reports import Progress
from timing import print_json

TASKS = (
    "fill in the form in invoice.pdf and mail it",
    "deploy the web service to production and watch the logs",
    "write unit tests for the parser",
    "our SQL query is slow, find out why",
    "review this pull request for security problems",
    "make a slide deck from the quarterly numbers",
    "set up continuous integration for a Python package",
    "refactor the login component to use hooks",
    "plan the migration from REST to GraphQL",
    "write a blog post that announces the release",
)
BUDGET = 2000
DEPTHS = (5, 10)


def written_out(dataset: Dataset, folder: Path) -> dict[str, str]:
    """The documents as SKILL.md files; by name, the document's id. A name that is taken gets a number."""
    ids: dict[str, str] = {}
    for document in dataset.documents:
        own, _, description = document.title.partition(". ")
        base = own.strip().replace("/", "-") or "skill"
        name, number = base, 1
        while name in ids:
            number += 1
            name = f"{base}-{number}"
        ids[name] = document.id
        quoted = description.replace("\\", "\\\\").replace('"', '\\"')
        path = folder / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f'---\nname: "{name}"\ndescription: "{quoted}"\n---\n{document.text}', encoding="utf-8")
    return ids


def listing_tokens(engine: Ricordo) -> int:
    """What naming every skill in a prompt costs."""
    skills = engine.skills()
    return (195 + sum(97 + len(one.name) + len(one.description) + len(one.location) for one in skills)) // 4


def context_costs(engine: Ricordo, tasks: Sequence[str]) -> dict[str, Any]:
    """Tokens that ``context`` takes in a store of nothing but skills, heading included."""
    contexts = [engine.context(task, budget=BUDGET) for task in tasks]
    costs = [one.tokens for one in contexts]
    lines = [len(one.parts) for one in contexts]
    return {
        "tasks": len(costs),
        "mean": round(sum(costs) / len(costs)),
        "max": max(costs),
        "skills_mean": round(sum(lines) / len(lines), 1),
    }


def recall(engine: Ricordo, dataset: Dataset, ids: Mapping[str, str]) -> dict[str, float]:
    """Of the skills that are relevant to a query, the share among the first few found; the mean over queries."""
    sums = dict.fromkeys(DEPTHS, 0.0)
    for question in dataset.questions:
        relevant = {one for one, grade in dataset.judgements[question.id].items() if grade > 0}
        found = [ids[skill.name] for skill in engine.skills_search(question.text, max(DEPTHS), track=False)]
        for depth in DEPTHS:
            sums[depth] += len(relevant & set(found[:depth])) / len(relevant)
    return {f"recall@{depth}": round(total / len(dataset.questions), 4) for depth, total in sums.items()}


def progress_line(progress: Progress) -> None:
    if progress.done % 200 == 0:
        print(f"{progress.phase} {progress.done}/{progress.total or '?'}", file=sys.stderr)


def measure(folder: Path, store: Path, scratch: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    dataset = read_dataset(folder) if (folder / "corpus.jsonl").is_file() else None
    ids = written_out(dataset, scratch) if dataset is not None else {}
    with Ricordo.open(store, config=ConfigProvider(settings)) as engine:
        started = time.perf_counter()
        report = engine.skills_add(scratch if dataset is not None else folder, progress=progress_line)
        figures: dict[str, Any] = {
            "skills": len(engine.skills()),
            "shadowed": sum("shadowed" in (saved.reason or "") for saved in report.items),
            "failed": report.failed,
            "seconds_to_add": round(time.perf_counter() - started, 1),
            "tokens_of_listing_all": listing_tokens(engine),
            "tokens_in_context": context_costs(engine, TASKS),
        }
        if dataset is not None:
            figures |= {"queries": len(dataset.questions)} | recall(engine, dataset, ids)
            asked = [question.text for question in dataset.questions]
            figures["tokens_in_context_for_queries"] = context_costs(engine, asked)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--store", type=Path, help="keep the store in this file")
    parser.add_argument("--words", action="store_true", help="make no vectors")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    settings = {"embedding.provider": "none"} if given.words else {}
    with tempfile.TemporaryDirectory() as scratch:
        store = given.store or Path(scratch) / "store.db"
        figures = measure(given.folder, store, Path(scratch) / "skills", settings)
    if given.json:
        print_json(figures)
        return
    for name, value in figures.items():
        shown = ", ".join(f"{key} {part}" for key, part in value.items()) if isinstance(value, dict) else value
        print(f"{name.replace('_', ' '):32} {shown}")


if __name__ == "__main__":
    main()
