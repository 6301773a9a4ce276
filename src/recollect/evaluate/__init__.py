"""How well a profile ranks: retrieval sets in, figures out.

``evaluate`` measures one set and ``evaluate_all`` several; ``compare`` and ``compare_profiles`` say whether a
difference is more than chance.
"""

from recollect.evaluate.compare import Compared, Comparison, compare, compare_profiles
from recollect.evaluate.datasets import Dataset, Document, Question, read_dataset
from recollect.evaluate.metrics import METRICS, Significance, judge, significance
from recollect.evaluate.report import QueryResult, Report, Suite, read_results, write_results
from recollect.evaluate.run import BASELINES, evaluate, evaluate_all
from recollect.evaluate.tables import comparison_table, results_table

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
