"""The results of an evaluation: values, the file that keeps them, tables, and whether two differ by chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.plugins.evaluate.metrics import METRICS, Significance, mean, percentile, significance
from ricordo.values.plain import NOT_SHOWN, Plain, named, rounded

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
