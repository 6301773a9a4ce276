"""Makes a judged set from the user's own log: past queries, with items that were opened after them or got a verdict.

It shows which profile suits this user best. People mostly open what was shown first, so openings favour the profile
that was used then; small differences mean little, and with few queries no difference means anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ricordo.engine import Ricordo
from ricordo.errors import NotFound
from ricordo.evaluate.metrics import judge
from ricordo.evaluate.report import QueryResult, Report
from ricordo.evaluate.run import BASELINES, DEPTH, TOP
from ricordo.search.profiles import find_profile
from ricordo.values.reports import Progress

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
    for name in profiles:
        if name not in BASELINES:
            find_profile(engine.config, name)
    judged = own_judgements(engine)
    if not judged:
        raise NotFound(
            "the log holds no query after which something was opened or judged",
            hint="Search, open hits with ‹:get› or ‹:open›, or say ‹:feedback QUERY REF accepted›.",
        )
    results: list[QueryResult] = []
    for name in dict.fromkeys(profiles):
        for done, (query, grades) in enumerate(judged.items(), start=1):
            started = time.perf_counter()
            answer = engine.search(query, limit=DEPTH, track=False, **BASELINES.get(name, {"profile": name}))
            milliseconds = (time.perf_counter() - started) * 1000
            ranked = [hit.ref for hit in answer]
            results.append(QueryResult(query, name, judge(ranked, grades), milliseconds, tuple(ranked[:TOP])))
            if progress is not None:
                progress(Progress(done, len(judged), phase=f"searching: {name}"))
    return Report("own", "", tuple(results), _notes(len(judged)))


def _notes(queries: int) -> tuple[str, ...]:
    bias = "openings favour what was shown first, so that the profile you used then has an advantage"
    if queries >= ENOUGH_QUERIES:
        return (bias,)
    return (
        f"only {queries} of your queries can be judged: fewer than {ENOUGH_QUERIES} are too few to tell profiles apart",
        bias,
    )
