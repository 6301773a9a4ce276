"""The results of an evaluation: values, the file that keeps them, tables, and whether two differ by chance.

A ranking is a sequence of document ids, best first; judgements map a document id to its grade, and a grade above zero
means relevant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.values.plain import NOT_SHOWN, Plain, named, rounded

METRICS: tuple[str, ...] = ("ndcg@10", "recall@10", "recall@100", "mrr@10")


def ndcg(ranked: Sequence[str], judged: Mapping[str, float], depth: int = 10) -> float:
    """Discounted gain of the first ``depth`` documents, divided by the best possible one; linear gain, as in trec_eval.

    The gain of a document is its grade, its discount log2(rank + 1); the ideal order includes all judged documents,
    also those that were not found.

    >>> ndcg(["a", "x"], {"a": 1, "b": 1})
    0.6131471927654584
    """
    best = sorted((grade for grade in judged.values() if grade > 0), reverse=True)[:depth]
    if not best:
        return 0.0
    found = [max(0.0, judged.get(document, 0.0)) for document in ranked[:depth]]
    return _discounted(found) / _discounted(best)


def _discounted(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


def recall(ranked: Sequence[str], judged: Mapping[str, float], depth: int) -> float:
    """The share of all relevant documents that are among the first ``depth``."""
    relevant = {document for document, grade in judged.items() if grade > 0}
    return len(relevant.intersection(ranked[:depth])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], judged: Mapping[str, float], depth: int = 10) -> float:
    """One over the rank of the first relevant document, or 0 when none is among the first ``depth``."""
    for rank, document in enumerate(ranked[:depth], start=1):
        if judged.get(document, 0.0) > 0:
            return 1.0 / rank
    return 0.0


def judge(ranked: Sequence[str], judged: Mapping[str, float]) -> dict[str, float]:
    """Every metric of one ranking, by the names in ``METRICS``."""
    return {
        "ndcg@10": ndcg(ranked, judged, 10),
        "recall@10": recall(ranked, judged, 10),
        "recall@100": recall(ranked, judged, 100),
        "mrr@10": reciprocal_rank(ranked, judged, 10),
    }


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, 0 for nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the values lie, interpolated; 0 for nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@frozen
class Significance(Plain):
    """Whether B differs from A on the same queries.

    ``p_value`` comes from a paired randomisation test (two-sided), ``confidence_95`` from a bootstrap of
    the mean difference. ``wins``, ``losses`` and ``ties`` count queries from B's point of view.
    """

    queries: int
    mean_a: float
    mean_b: float
    difference: float
    confidence_95: tuple[float, float]
    p_value: float
    wins: int
    losses: int
    ties: int

    @property
    def significant(self) -> bool:
        """Whether chance alone would give such a difference in fewer than one of twenty cases."""
        return self.p_value < 0.05

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"significant": self.significant}


def significance(a: Sequence[float], b: Sequence[float], *, rounds: int = 10_000, seed: int = 0) -> Significance:
    """Compare two scores per query, in the same order of queries.

    The randomisation test counts how often a difference at least as large arises when each query's pair is swapped at
    random; it assumes nothing about how the scores are distributed. The same seed gives the same answer.
    """
    import numpy as np

    if len(a) != len(b):
        raise ValueError(f"paired scores must be as many on both sides, got {len(a)} and {len(b)}")
    gains = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    count = len(gains)
    if count == 0:
        return Significance(0, 0.0, 0.0, 0.0, (0.0, 0.0), 1.0, 0, 0, 0)
    observed = float(gains.mean())
    random = np.random.default_rng(seed)
    at_least = 0
    resampled = np.empty(rounds)
    # Random numbers are made in blocks, so that they take only a few megabytes for a large set of queries.
    block = max(1, min(rounds, 2_000_000 // count))
    for start in range(0, rounds, block):
        size = min(block, rounds - start)
        signs = random.integers(0, 2, size=(size, count), dtype=np.int8) * 2 - 1
        # The tolerance lets a swap that only reorders the sum count as equal, despite rounding.
        at_least += int((np.abs(signs @ gains) / count >= abs(observed) - 1e-12).sum())
        picks = random.integers(0, count, size=(size, count))
        resampled[start : start + size] = gains[picks].mean(axis=1)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Significance(
        queries=count,
        mean_a=mean(a),
        mean_b=mean(b),
        difference=observed,
        confidence_95=(float(low), float(high)),
        p_value=(at_least + 1) / (rounds + 1),
        wins=int((gains > 1e-12).sum()),
        losses=int((gains < -1e-12).sum()),
        ties=int((np.abs(gains) <= 1e-12).sum()),
    )


COLUMNS: tuple[str, ...] = (*METRICS, "ms_p50")


@frozen
class QueryResult(Plain):
    """One query under one profile: its metrics, its time, and the ids of the best documents."""

    query: str
    profile: str
    metrics: Mapping[str, float] = field(metadata=NOT_SHOWN)
    milliseconds: float = field(metadata={**named("ms"), **rounded(3)})
    top: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | dict(self.metrics)


@frozen
class Report:
    """One set's results; ``profiles`` and ``to_dict`` give the means that scripts rely on."""

    dataset: str
    digest: str
    results: tuple[QueryResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def queries(self) -> int:
        return len({result.query for result in self.results})

    @property
    def profiles(self) -> dict[str, dict[str, float]]:
        """Each profile's mean metrics and median time, in the order they were run."""
        by_profile: dict[str, list[QueryResult]] = {}
        for result in self.results:
            by_profile.setdefault(result.profile, []).append(result)
        return {
            name: {metric: mean([result.metrics[metric] for result in results]) for metric in METRICS}
            | {"ms_p50": percentile([result.milliseconds for result in results], 0.5)}
            for name, results in by_profile.items()
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "queries": self.queries,
            "profiles": _rounded(self.profiles),
            "digest": self.digest,
            "notes": list(self.notes),
        }


@frozen
class Suite:
    """The results of several sets; every set has the same weight in the mean, however many queries it has."""

    reports: tuple[Report, ...]

    @property
    def profiles(self) -> dict[str, dict[str, float]]:
        """The mean over sets, for the profiles that every set was run with."""
        tables = [report.profiles for report in self.reports]
        shared = [name for name in tables[0] if all(name in table for table in tables)] if tables else []
        return {
            name: {column: mean([table[name][column] for table in tables]) for column in COLUMNS} for name in shared
        }

    def to_dict(self) -> dict[str, Any]:
        """The result of a single set; for several sets, the mean in the same form, with each set under ``sets``."""
        if len(self.reports) == 1:
            return self.reports[0].to_dict()
        return {
            "dataset": "mean",
            "queries": sum(report.queries for report in self.reports),
            "profiles": _rounded(self.profiles),
            "sets": [report.to_dict() for report in self.reports],
        }


def _rounded(profiles: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {name: {column: round(value, 6) for column, value in row.items()} for name, row in profiles.items()}


def write_results(reports: Sequence[Report], file: str | Path) -> None:
    """Write every query's result as one line of JSON; ``read_results`` reads the file."""
    lines = (
        json.dumps({"dataset": report.dataset, "digest": report.digest, **result.to_dict()}, ensure_ascii=False)
        for report in reports
        for result in report.results
    )
    Path(file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_results(file: str | Path) -> tuple[Report, ...]:
    """The reports in a file of ``write_results``, one per set."""
    path = Path(file)
    if not path.is_file():
        raise NotFound(
            f"there is no file '{path}'",
            hint="Write one with ‹:eval DIR --profile bm25 --per-query FILE›.",
        )
    sets: dict[tuple[str, str], list[QueryResult]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            result = QueryResult(
                query=str(row["query"]),
                profile=str(row["profile"]),
                metrics={metric: float(row[metric]) for metric in METRICS},
                milliseconds=float(row["ms"]),
                top=tuple(row["top"]),
            )
            key = (str(row["dataset"]), str(row["digest"]))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable(
                f"{path}, line {number} is not a query's result ({error})",
                hint="Give a file that ‹:eval DIR --per-query FILE› wrote.",
            ) from None
        sets.setdefault(key, []).append(result)
    return tuple(Report(name, digest, tuple(results)) for (name, digest), results in sets.items())


@frozen
class Compared(Plain):
    """One set under two profiles (or one profile in two runs), judged by one metric."""

    dataset: str
    profile_a: str
    profile_b: str
    metric: str
    outcome: Significance = field(metadata=NOT_SHOWN)

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | self.outcome.to_dict()


@frozen
class Comparison(Plain):
    """Every pair that could be formed, and what could not be paired."""

    rows: tuple[Compared, ...]
    notes: tuple[str, ...] = ()


def compare(
    a: Report | Sequence[Report], b: Report | Sequence[Report], *, metrics: Sequence[str] = ("ndcg@10",)
) -> Comparison:
    """Compare two runs, query by query, for each set and profile.

    Profiles are paired by name; where each run has just one, they are paired whatever their names. Queries
    that only one of the runs has are left out, with a note.
    """
    _check(metrics)
    notes: list[str] = []
    rows: list[Compared] = []
    others = {report.dataset: report for report in _several(b)}
    for left in _several(a):
        right = others.get(left.dataset)
        if right is None:
            notes.append(f"{left.dataset}: only in the first run")
            continue
        if left.digest != right.digest:
            notes.append(f"{left.dataset}: the set itself changed between the runs; equal query ids were compared")
        names_a, names_b = list(left.profiles), list(right.profiles)
        pairs = [(name, name) for name in names_a if name in names_b]
        if len(names_a) == len(names_b) == 1:
            pairs = [(names_a[0], names_b[0])]
        for name_a, name_b in pairs:
            rows += _compared(left, right, name_a, name_b, metrics=metrics, notes=notes)
    if not rows:
        raise UsageError(
            "the two runs have no set and profile in common",
            hint="Compare runs over the same sets, with one profile each or with the same profile names.",
        )
    return Comparison(tuple(rows), tuple(notes))


def compare_profiles(
    reports: Report | Sequence[Report], profile_a: str, profile_b: str, *, metrics: Sequence[str] = ("ndcg@10",)
) -> Comparison:
    """Compare two profiles of the same run."""
    _check(metrics)
    notes: list[str] = []
    rows: list[Compared] = []
    for report in _several(reports):
        names = report.profiles
        for name in (profile_a, profile_b):
            if name not in names:
                raise UsageError(
                    f"'{report.dataset}' was not run with the profile '{name}'",
                    hint=f"It was run with: {', '.join(names)}.",
                )
        rows += _compared(report, report, profile_a, profile_b, metrics=metrics, notes=notes)
    return Comparison(tuple(rows), tuple(notes))


def _check(metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in METRICS:
            raise UsageError(f"there is no metric '{metric}'", hint=f"One of: {', '.join(METRICS)}.")


def _several(reports: Report | Sequence[Report]) -> Sequence[Report]:
    return (reports,) if isinstance(reports, Report) else reports


def _compared(
    left: Report, right: Report, profile_a: str, profile_b: str, *, metrics: Sequence[str], notes: list[str]
) -> list[Compared]:
    scores_a, scores_b = _scores(left, profile_a), _scores(right, profile_b)
    shared = [query for query in scores_a if query in scores_b]
    unpaired = len(scores_a) + len(scores_b) - 2 * len(shared)
    if unpaired:
        notes.append(f"{left.dataset}: {unpaired} queries are in one run only and were left out")
    found = []
    for metric in metrics:
        a, b = ([scores[query][metric] for query in shared] for scores in (scores_a, scores_b))
        found.append(Compared(left.dataset, profile_a, profile_b, metric, significance(a, b)))
    return found


def _scores(report: Report, profile: str) -> dict[str, Mapping[str, float]]:
    return {result.query: result.metrics for result in report.results if result.profile == profile}


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Rows under a header; the first ``left`` columns are aligned left, the others right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *(line(row) for row in rows)])


def results_table(reports: Sequence[Report]) -> str:
    """Every set and profile, and the mean over sets when there are several."""
    rows = [
        [report.dataset, name, str(report.queries), *_figures(figures)]
        for report in reports
        for name, figures in report.profiles.items()
    ]
    if len(reports) > 1:
        total = str(sum(report.queries for report in reports))
        rows += [["mean", name, total, *_figures(figures)] for name, figures in Suite(tuple(reports)).profiles.items()]
    return aligned(("set", "profile", "queries", *COLUMNS), rows, left=2)


def _figures(figures: dict[str, float]) -> list[str]:
    return [f"{figures[column]:.1f}" if column == "ms_p50" else f"{figures[column]:.4f}" for column in COLUMNS]


def comparison_table(comparison: Comparison) -> str:
    """Both means, their difference with its 95 % interval, the p-value, and how many queries B won."""
    rows = []
    for row in comparison.rows:
        out, (low, high) = row.outcome, row.outcome.confidence_95
        figures = (f"{out.mean_a:.4f}", f"{out.mean_b:.4f}", f"{out.difference:+.4f}", f"{low:+.4f}..{high:+.4f}")
        chance = f"{out.p_value:.4f}{' *' if out.significant else '  '}"
        won = f"{out.wins}/{out.ties}/{out.losses}"
        names = (row.dataset, f"{row.profile_a} / {row.profile_b}", row.metric, str(out.queries))
        rows.append((*names, *figures, chance, won))
    header = ("set", "A / B", "metric", "queries", "A", "B", "B - A", "95 % of B - A", "p", "won/tied/lost")
    return aligned(header, rows, left=3)
