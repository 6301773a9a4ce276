"""Results as plain text in aligned columns, for a terminal, a file or a bench's output."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.evaluate.compare import Comparison
from ricordo.evaluate.report import COLUMNS, Report, Suite


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
    rows = [
        [
            row.dataset,
            f"{row.profile_a} / {row.profile_b}",
            row.metric,
            str(row.outcome.queries),
            f"{row.outcome.mean_a:.4f}",
            f"{row.outcome.mean_b:.4f}",
            f"{row.outcome.difference:+.4f}",
            f"{row.outcome.low:+.4f}..{row.outcome.high:+.4f}",
            f"{row.outcome.p_value:.4f}{' *' if row.outcome.significant else '  '}",
            f"{row.outcome.wins}/{row.outcome.ties}/{row.outcome.losses}",
        ]
        for row in comparison.rows
    ]
    header = ("set", "A / B", "metric", "queries", "A", "B", "B - A", "95 % of B - A", "p", "won/tied/lost")
    return aligned(header, rows, left=3)
