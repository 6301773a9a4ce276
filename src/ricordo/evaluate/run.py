"""Runs every query of a set with each profile, with the search that users have, and scores the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.loading import Config, load_config
from ricordo.engine import Ricordo
from ricordo.errors import UsageError
from ricordo.evaluate.datasets import Dataset, Question, read_dataset
from ricordo.evaluate.metrics import judge
from ricordo.evaluate.report import QueryResult, Report, Suite
from ricordo.evaluate.stores import cached_store, make_vectors, position_of, server_store
from ricordo.search.profiles import find_profile
from ricordo.values.hits import Filters
from ricordo.values.reports import Progress

DEPTH = 100
"""How many hits are asked for: recall@100 needs that many."""

TOP = 10
"""How many document ids a query's result keeps."""

BASELINES: Mapping[str, Mapping[str, Any]] = {
    "grep": {"by": "text"},
    "bm25": {"by": "words", "profile": "bm25"},
    "vector": {"profile": "vector"},
}
"""Ways to search that profiles are compared with: substring, keywords alone, meaning alone."""

WORDS_ALONE = frozenset({"grep", "bm25"})
"""Baselines that need no vectors; a run with only these does not compute any."""

DEFAULT_PROFILES: tuple[str, ...] = ("grep", "bm25", "default")


def evaluate(
    folder: str | Path,
    *,
    profiles: Sequence[str] = DEFAULT_PROFILES,
    config: Config | None = None,
    cache_dir: Path | None = None,
    limit_queries: int | None = None,
    server: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Measure one set. ``profiles`` are names of ``BASELINES`` or of ranking profiles, each measured once.

    ``limit_queries`` asks only that many, spread evenly over the set. With ``server``, the address of a PostgreSQL
    store, the set's store is a workspace there, and not a file. Use is never tracked.
    """
    if not profiles:
        raise UsageError("no profile to measure", hint="Name one, e.g. bm25 or default.")
    if limit_queries is not None and limit_queries < 1:
        raise UsageError(f"cannot ask {limit_queries} queries", hint="Give 1 or more, or leave it out for all.")
    settings = config or load_config()
    in_store = replace(settings.knowledge, enabled=False)
    settings = replace(settings, usage=replace(settings.usage, log=False), knowledge=in_store)
    for name in profiles:
        if name not in BASELINES:
            find_profile(settings, name)  # an unknown profile is an error before anything is built
    dataset = read_dataset(folder)
    store: str | Path
    if server is not None:
        store = server_store(dataset, settings, server, progress=progress)
    else:
        store = cached_store(dataset, settings, cache_dir=cache_dir, progress=progress)
    questions = _spread(dataset.questions, limit_queries)
    results: list[QueryResult] = []
    notes = list(dataset.notes)
    with Ricordo.open(store, config=settings, create=False) as engine:
        if not WORDS_ALONE.issuperset(profiles):
            stopped = make_vectors(engine, dataset, cache_dir=cache_dir, progress=progress)
            notes += [f"vectors: {stopped}"] if stopped else []
        for name in dict.fromkeys(profiles):
            results += _measure(engine, dataset, questions, name, notes, progress)
    return Report(dataset.name, dataset.digest, tuple(results), tuple(notes))


def evaluate_all(folders: Sequence[str | Path], **options: Any) -> Suite:
    """Measure several sets with the same options as ``evaluate``."""
    return Suite(tuple(evaluate(folder, **options) for folder in folders))


def _spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """Queries spread evenly over the set; the first ones would be a poor sample, because sets are often sorted by
    topic.
    """
    if limit is None or limit >= len(questions):
        return questions
    return [questions[place * len(questions) // limit] for place in range(limit)]


def _measure(
    engine: Ricordo,
    dataset: Dataset,
    questions: Sequence[Question],
    name: str,
    notes: list[str],
    progress: Callable[[Progress], None] | None,
) -> list[QueryResult]:
    options = BASELINES.get(name, {"profile": name})
    results = []
    degraded: dict[str, int] = {}
    for done, question in enumerate(questions, start=1):
        filters = Filters(threads=(question.thread,)) if question.thread is not None else None
        started = time.perf_counter()
        answer = engine.search(question.text, limit=DEPTH, filters=filters, track=False, literal=True, **options)
        milliseconds = (time.perf_counter() - started) * 1000
        ranked = [dataset.documents[position_of(hit.ref)].id for hit in answer.hits]
        for reason in answer.meta.degraded:
            degraded[reason] = degraded.get(reason, 0) + 1
        metrics = judge(ranked, dataset.judgements[question.id])
        results.append(QueryResult(question.id, name, metrics, milliseconds, tuple(ranked[:TOP])))
        if progress is not None:
            progress(Progress(done, len(questions), label=dataset.name, phase=f"searching: {name}"))
    notes += [f"{name}: {reason} ({count} queries)" for reason, count in degraded.items()]
    return results
