"""Times that a question names: what is of that time comes first among what fits alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ricordo import Ricordo
from ricordo.search.exact import time_in
from ricordo.values.hits import Hit
from ricordo.values.items import Entry

TEXT = "The harbour crane gets a new gearbox, we decided."
DAYS = {"a-year": 400, "b-week": 7, "c-day": 1}


@pytest.fixture
def decisions(engine: Ricordo) -> Ricordo:
    """The same decision, remembered on three days; without a time the oldest is first, by its ref."""
    now = datetime.now().astimezone(UTC)
    for name, days in DAYS.items():
        at = now - timedelta(days=days)
        engine.save_many([Entry(f"memory:/{name}", f"{TEXT} ({name})", kind="memory", times=(at, at))])
    return engine


def refs(engine: Ricordo, question: str) -> list[str]:
    return [hit.ref.removeprefix("memory:/") for hit in engine.search(question).hits]


def gains(hit: Hit) -> list[tuple[str, float]]:
    assert hit.explain is not None
    return list(hit.explain.steps)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("what did we decide about the harbour crane", "a-year"),
        ("what did we decide last week about the harbour crane", "b-week"),
        ("what did we decide yesterday about the harbour crane", "c-day"),
        ("what did we decide since last month about the harbour crane", "b-week"),
        ("what did we decide about the harbour crane before last month", "a-year"),
        ("was haben wir letzte Woche entschieden, harbour crane", "b-week"),
        ("harbour crane, qu'avons-nous décidé la semaine dernière", "b-week"),
        ("harbour crane il y a 7 jours", "b-week"),
        ("the latest decision about the harbour crane", "c-day"),
        ("when did we first decide about the harbour crane", "a-year"),
    ],
)
def test_what_is_of_the_time_that_a_question_names_comes_first(decisions: Ricordo, question: str, first: str) -> None:
    assert refs(decisions, question)[0] == first


def test_the_explanation_names_the_time_and_ends_with_the_score(decisions: Ricordo) -> None:
    first, *others = decisions.search("what did we decide last week about the harbour crane", explain=True).hits
    why, score = gains(first)[-1]
    assert "last week" in why
    assert score == pytest.approx(first.score)
    assert first.score > first.explain.value if first.explain is not None else False
    assert all("asked for" not in step for hit in others for step, _ in gains(hit))


def test_files_and_questions_without_a_time_gain_nothing(engine: Ricordo) -> None:
    engine.save("note:/page", "The harbour crane gets a new gearbox today.", kind="document")
    for question in ("harbour crane today", "harbour crane"):
        assert gains(engine.search(question, explain=True).hits[0]) == []


def test_before_a_time_means_all_that_was_earlier() -> None:
    said = time_in("what did we decide before last week", datetime(2026, 11, 18, 9))
    assert said is not None
    assert said.has(datetime(2026, 10, 1, tzinfo=UTC))
    assert not said.has(datetime(2026, 11, 11, tzinfo=UTC))


def test_the_latest_is_looked_for_only_among_what_fits_nearly_as_well_as_the_best(decisions: Ricordo) -> None:
    """A newer memory that has one word of the question says nothing about it."""
    decisions.save("memory:/d-today", "The crane is yellow, like the buses of the town in summer.", kind="memory")
    answer = decisions.search("the latest decision about the harbour crane gearbox", explain=True)
    scores = {hit.ref.removeprefix("memory:/"): hit.score for hit in answer.hits}
    assert scores["d-today"] < 0.6 * scores["a-year"], "or it would be no example"
    assert next(iter(scores)) == "c-day"
    assert not any("newest" in why for hit in answer.hits if hit.ref.endswith("d-today") for why, _ in gains(hit))
