"""Measures how well a profile ranks, on judged sets of queries.

``evaluate`` measures one set and ``evaluate_all`` several; ``compare`` and ``compare_profiles`` say whether a
difference is more than chance.
"""

from ricordo.evaluate.datasets import Dataset, Document, Question, read_dataset
from ricordo.evaluate.metrics import METRICS, Significance, judge, significance
from ricordo.evaluate.report import (
    Compared,
    Comparison,
    QueryResult,
    Report,
    Suite,
    compare,
    compare_profiles,
    comparison_table,
    read_results,
    results_table,
    write_results,
)
from ricordo.evaluate.run import BASELINES, evaluate, evaluate_all

__all__ = [
    "BASELINES",
    "METRICS",
    "Compared",
    "Comparison",
    "Dataset",
    "Document",
    "QueryResult",
    "Question",
    "Report",
    "Significance",
    "Suite",
    "compare",
    "compare_profiles",
    "comparison_table",
    "evaluate",
    "evaluate_all",
    "judge",
    "read_dataset",
    "read_results",
    "results_table",
    "significance",
    "write_results",
]
