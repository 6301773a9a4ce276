"""Compares two rankings of the same queries: how large the difference is, and whether it may be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ricordo.errors import UsageError
from ricordo.evaluate.metrics import METRICS, Significance, significance
from ricordo.evaluate.report import Report
from ricordo.frozen import frozen


@frozen
class Compared:
    """One set under two profiles (or one profile in two runs), judged by one metric."""

    dataset: str
    profile_a: str
    profile_b: str
    metric: str
    outcome: Significance

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "profile_a": self.profile_a,
            "profile_b": self.profile_b,
            "metric": self.metric,
            **self.outcome.to_dict(),
        }


@frozen
class Comparison:
    """Every pair that could be formed, and what could not be paired."""

    rows: tuple[Compared, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [row.to_dict() for row in self.rows], "notes": list(self.notes)}


def compare(
    a: Report | Sequence[Report],
    b: Report | Sequence[Report],
    *,
    metrics: Sequence[str] = ("ndcg@10",),
    seed: int = 0,
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
        for name_a, name_b in _profile_pairs(left, right):
            rows += _compared(left, right, name_a, name_b, metrics, seed, notes)
    if not rows:
        raise UsageError(
            "the two runs have no set and profile in common",
            hint="Compare runs over the same sets, with one profile each or with the same profile names.",
        )
    return Comparison(tuple(rows), tuple(notes))


def compare_profiles(
    reports: Report | Sequence[Report],
    profile_a: str,
    profile_b: str,
    *,
    metrics: Sequence[str] = ("ndcg@10",),
    seed: int = 0,
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
        rows += _compared(report, report, profile_a, profile_b, metrics, seed, notes)
    return Comparison(tuple(rows), tuple(notes))


def _check(metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in METRICS:
            raise UsageError(f"there is no metric '{metric}'", hint=f"One of: {', '.join(METRICS)}.")


def _several(reports: Report | Sequence[Report]) -> Sequence[Report]:
    return (reports,) if isinstance(reports, Report) else reports


def _profile_pairs(left: Report, right: Report) -> list[tuple[str, str]]:
    names_a, names_b = list(left.profiles), list(right.profiles)
    if len(names_a) == len(names_b) == 1:
        return [(names_a[0], names_b[0])]
    return [(name, name) for name in names_a if name in names_b]


def _compared(
    left: Report,
    right: Report,
    profile_a: str,
    profile_b: str,
    metrics: Sequence[str],
    seed: int,
    notes: list[str],
) -> list[Compared]:
    scores_a, scores_b = _scores(left, profile_a), _scores(right, profile_b)
    shared = [query for query in scores_a if query in scores_b]
    unpaired = len(scores_a) + len(scores_b) - 2 * len(shared)
    if unpaired:
        notes.append(f"{left.dataset}: {unpaired} queries are in one run only and were left out")
    return [
        Compared(
            left.dataset,
            profile_a,
            profile_b,
            metric,
            significance(
                [scores_a[query][metric] for query in shared],
                [scores_b[query][metric] for query in shared],
                seed=seed,
            ),
        )
        for metric in metrics
    ]


def _scores(report: Report, profile: str) -> dict[str, Mapping[str, float]]:
    return {result.query: result.metrics for result in report.results if result.profile == profile}
