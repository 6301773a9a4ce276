"""The figures of the log of questions, as tests look at them."""

from __future__ import annotations

from typing import Any

from ricordo import Ricordo
from ricordo.values.use import StatsReport


def figures(engine: Ricordo, **asked: Any) -> StatsReport:
    """How often what was asked, by query unless something else is said."""
    summary = engine.log(**{"summary": "query", "limit": 10, **asked}).summary
    assert summary is not None
    return summary
