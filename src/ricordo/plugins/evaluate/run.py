"""Runs evaluations: of judged sets, of the user's own queries, and of passages in a folder of documents.

A file of questions about passages has one JSON object a line: ``{"question", "answers": [{"file", "quote"}], "part"}``.
``file`` is a path below the folder, ``quote`` a few words of the lines that answer, ``part`` an optional name by which
results are shown apart (questions that something was chosen by, and others that were held back).
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from ricordo.config.loading import Config, load_config
from ricordo.digests import hash_of
from ricordo.engine.ricordo import Ricordo
from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.plugins.evaluate.datasets import Dataset, Question, read_dataset
from ricordo.plugins.evaluate.report import QueryResult, Report, Suite, aligned, judge
from ricordo.plugins.evaluate.stores import (
    cached_store,
    default_cache_folder,
    index_settings,
    make_vectors,
    position_of,
    server_store,
)
from ricordo.search.profiles import find_profile
from ricordo.values.hits import Filters, Hit
from ricordo.values.plain import Plain, named
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
    store, the set's store is a schema there, and not a file. Use is never tracked.
    """
    if not profiles:
        raise UsageError("no profile to measure", hint="Name one, e.g. bm25 or default.")
    if limit_queries is not None and limit_queries < 1:
        raise UsageError(f"cannot ask {limit_queries} queries", hint="Give 1 or more, or leave it out for all.")
    settings = _settings(config, profiles)
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
            found, reasons = _measure(engine, questions, dataset.judgements, name, progress=progress, dataset=dataset)
            results += found
            notes += [f"{name}: {reason} ({count} queries)" for reason, count in reasons.items()]
    return Report(dataset.name, dataset.digest, tuple(results), tuple(notes))


def evaluate_all(folders: Sequence[str | Path], **options: Any) -> Suite:
    """Measure several sets with the same options as ``evaluate``."""
    return Suite(tuple(evaluate(folder, **options) for folder in folders))


def _settings(config: Config | None, profiles: Sequence[str]) -> Config:
    """The settings of a run, which leaves no trace; an unknown profile is an error before anything is built."""
    settings = config or load_config()
    in_store = replace(settings.knowledge, enabled=False)
    settings = replace(settings, usage=replace(settings.usage, log=False), knowledge=in_store)
    for name in profiles:
        if name not in BASELINES:
            find_profile(settings, name)
    return settings


def _spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """Queries spread evenly over the set; the first ones would be a poor sample, because sets are often sorted by
    topic.
    """
    if limit is None or limit >= len(questions):
        return questions
    return [questions[place * len(questions) // limit] for place in range(limit)]


def _measure(
    engine: Ricordo,
    questions: Sequence[Question],
    judgements: Mapping[str, Mapping[str, float]],
    name: str,
    *,
    progress: Callable[[Progress], None] | None,
    dataset: Dataset | None = None,
) -> tuple[list[QueryResult], Counter[str]]:
    """The results of one profile, and how often each thing could not be used; without a set, of the user's queries."""
    options = {**BASELINES.get(name, {"profile": name}), "literal": dataset is not None}
    label = dataset.name if dataset else ""
    results = []
    degraded: Counter[str] = Counter()
    for done, question in enumerate(questions, start=1):
        filters = Filters(threads=(question.thread,)) if question.thread is not None else None
        started = time.perf_counter()
        answer = engine.search(question.text, limit=DEPTH, filters=filters, track=False, **options)
        milliseconds = (time.perf_counter() - started) * 1000
        ranked = [dataset.documents[position_of(hit.ref)].id if dataset else hit.ref for hit in answer.hits]
        degraded.update(answer.meta.degraded)
        metrics = judge(ranked, judgements[question.id])
        results.append(QueryResult(question.id, name, metrics, milliseconds, tuple(ranked[:TOP])))
        if progress is not None:
            progress(Progress(done, len(questions), label=label, phase=f"searching: {name}"))
    return results, degraded


SOON = 30 * 60.0
"""An item that is opened within this many seconds after a query showed it counts as relevant."""

ENOUGH_QUERIES = 30
"""With fewer queries, the difference between two profiles is mostly chance."""

GRADES = {"": 1.0, "accepted": 2.0, "modified": 1.0, "dismissed": 0.0}
OWN_PROFILES = ("bm25", "vector", "default")


def own_judgements(engine: Ricordo) -> dict[str, dict[str, float]]:
    """The relevant items of each query, with their grades; a verdict takes precedence over an opening."""
    judged: dict[str, dict[str, float]] = {}
    for one in engine.store.usage.judged(within_seconds=SOON):
        if one.verdict in GRADES:
            judged.setdefault(one.query, {})[one.ref] = GRADES[one.verdict]
    return {query: grades for query, grades in judged.items() if any(grades.values())}


def evaluate_own(
    engine: Ricordo,
    *,
    profiles: Sequence[str] = OWN_PROFILES,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Measure profiles on the user's own queries, in the store as it is. This is not recorded as use."""
    _settings(engine.config, profiles)
    judged = own_judgements(engine)
    if not judged:
        raise NotFound(
            "the log holds no query after which something was opened or judged",
            hint="Search, open hits with ‹:get› or ‹:open›, or say ‹:feedback QUERY REF accepted›.",
        )
    questions = [Question(query, query) for query in judged]
    results: list[QueryResult] = []
    for name in dict.fromkeys(profiles):
        results += _measure(engine, questions, judged, name, progress=progress)[0]
    notes = ["openings favour what was shown first, so that the profile you used then has an advantage"]
    if (count := len(judged)) < ENOUGH_QUERIES:
        few = f"fewer than {ENOUGH_QUERIES} are too few to tell profiles apart"
        notes.insert(0, f"only {count} of your queries can be judged: {few}")
    return Report("own", "", tuple(results), tuple(notes))


PASSAGE_DEPTH = 10
FIGURES = ("page@1", "page@3", "page@10", "passage", "one of three", "words", "passage@1", "passage@3")
_SHAPE = 'A line is {"question": "…", "answers": [{"file": "guide/setup.md", "quote": "a few words of the answer"}]}.'


@frozen
class Answering:
    """Lines of a page that answer a question, and the words that were quoted."""

    path: Path
    lines: tuple[int, int]
    quote: str


@frozen
class PassageQuestion:
    """A question with all lines that are known to answer it."""

    text: str
    part: str
    answers: tuple[Answering, ...]


@frozen
class PassageReport(Plain):
    """By profile and part: how many questions there were, and the figures."""

    dataset: str
    rows: Mapping[str, Mapping[str, Mapping[str, float]]] = field(metadata=named("passages"))
    queries: int

    def table(self) -> str:
        rows = [
            [self.dataset, name, part, str(int(row["queries"])), *(f"{row[one]:.3f}" for one in FIGURES)]
            for name, parts in self.rows.items()
            for part, row in parts.items()
        ]
        return aligned(("folder", "profile", "part", "questions", *FIGURES), rows, left=3)


def read_questions(file: str | Path, folder: Path) -> list[PassageQuestion]:
    """The questions of a file; a quotation that its page does not have is an error with the line's number."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise NotFound(f"there is no file '{path}'", hint=_SHAPE)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            pairs = [(str(one["file"]), str(one["quote"])) for one in row["answers"]]
            question, part = str(row["question"]), str(row.get("part", "all"))
        except (ValueError, KeyError, TypeError):
            raise Unreadable(f"{path}, line {number} is not a question with its answers", hint=_SHAPE) from None
        answers = [_answering(folder, name, quote, f"{path}, line {number}") for name, quote in pairs]
        found.append(PassageQuestion(question, part, tuple(answers)))
    if not found:
        raise UsageError(f"'{path}' holds no question", hint=_SHAPE)
    return found


def _answering(folder: Path, name: str, quote: str, where: str) -> Answering:
    path = folder / name
    if not path.is_file():
        raise NotFound(
            f"{where} names '{name}', which is not in '{folder}'", hint="Name the folder it was written for."
        )
    text = path.read_text(encoding="utf-8", errors="replace")
    match = re.search(r"\s+".join(map(re.escape, quote.split())), text) if quote.strip() else None
    if match is None:
        raise Unreadable(
            f"{where}: '{name}' does not say '{quote}'", hint="Quote it as it stands there, marks included."
        )
    return Answering(path, (text.count("\n", 0, match.start()) + 1, text.count("\n", 0, match.end()) + 1), quote)


def evaluate_passages(
    folder: str | Path,
    questions: str | Path,
    *,
    profiles: Sequence[str] = ("default",),
    config: Config | None = None,
    cache_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PassageReport:
    """Ask every question of a store that holds the folder, and look at the first passage of each hit.

    ``passage`` and ``one of three`` are counted among the questions of which an answering page is among ten hits;
    the other figures among all.
    """
    root = Path(folder).expanduser().resolve()
    if not root.is_dir():
        raise NotFound(f"there is no folder '{root}'", hint="Name the folder that the questions are about.")
    settings = _settings(config, profiles)
    asked = read_questions(questions, root)
    rows: dict[str, dict[str, dict[str, float]]] = {}
    with Ricordo.open(folder_store(root, settings, cache_dir=cache_dir, progress=progress), config=settings) as engine:
        for name in dict.fromkeys(profiles):
            parts: dict[str, list[dict[str, float]]] = {}
            for question in asked:
                options = BASELINES.get(name, {"profile": name})
                answer = engine.search(question.text, limit=PASSAGE_DEPTH, track=False, literal=True, **options)
                parts.setdefault(question.part, []).append(judged(answer.hits, question))
            rows[name] = {part: _means(found) for part, found in parts.items()}
    return PassageReport(root.name, rows, len(asked))


def folder_store(
    root: Path,
    config: Config,
    *,
    cache_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """The file of a store that holds a folder as ``add`` reads it; built when its files or the settings change."""
    state = sorted((file.as_posix(), file.stat().st_size, file.stat().st_mtime_ns) for file in root.rglob("*"))
    known = json.dumps([state, index_settings(config)])
    store = (cache_dir or default_cache_folder()) / f"folder-{hash_of(known.encode())[:24]}"
    store.mkdir(parents=True, exist_ok=True)
    file = store / "store.db"
    with Ricordo.open(file, config=config) as engine:
        engine.add(root, progress=progress)  # adds nothing that is there already
    return file


def judged(hits: Sequence[Hit], question: PassageQuestion) -> dict[str, float]:
    """The figures of one question."""
    found = [
        (rank, hit, one)
        for rank, hit in enumerate(hits, start=1)
        for one in question.answers
        if hit.ref.endswith(one.path.as_posix())
    ]
    rank = found[0][0] if found else PASSAGE_DEPTH + 1
    pages = [(at, hit, one) for at, hit, one in found if at == rank]
    shown = any(_shows(hit.evidence[0].lines, one) for _, hit, one in pages if hit.evidence)
    among = any(_shows(evidence.lines, one) for _, hit, one in pages for evidence in hit.evidence)
    words = any(_plain(one.quote) in _plain(hit.snippet) for _, hit, one in pages)
    first = {
        depth: any(at <= depth and hit.evidence and _shows(hit.evidence[0].lines, one) for at, hit, one in found)
        for depth in (1, 3)
    }
    return {
        "page@1": rank == 1,
        "page@3": rank <= 3,
        "page@10": rank <= PASSAGE_DEPTH,
        "passage": shown,
        "one of three": among,
        "words": words,
        "passage@1": first[1],
        "passage@3": first[3],
    }


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found = [row for row in rows if row["page@10"]]
    means = {}
    for figure in FIGURES:
        among = found if figure in ("passage", "one of three", "words") else rows
        means[figure] = sum(row[figure] for row in among) / len(among) if among else 0.0
    return {"queries": float(len(rows)), **means}


def _shows(lines: tuple[int, int], one: Answering) -> bool:
    return lines[0] <= one.lines[1] and one.lines[0] <= lines[1]


def _plain(text: str) -> str:
    return " ".join(text.split())
