"""The results of an evaluation by query, profile and set, and the file that keeps them for a later comparison.

These are only values; ``run`` makes them, ``compare`` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ricordo.errors import NotFound, Unreadable
from ricordo.evaluate.metrics import METRICS, mean, percentile
from ricordo.frozen import frozen

COLUMNS: tuple[str, ...] = (*METRICS, "ms_p50")


@frozen
class QueryResult:
    """One query under one profile: its metrics, its time, and the ids of the best documents."""

    query: str
    profile: str
    metrics: Mapping[str, float]
    milliseconds: float
    top: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "profile": self.profile,
            **self.metrics,
            "ms": round(self.milliseconds, 3),
            "top": list(self.top),
        }


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
    """Round to six digits, which is enough for any comparison; files of two runs then differ only if their results
    do.
    """
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
