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


NOW = datetime(2026, 11, 18, 9)  # a Wednesday


def days(question: str) -> str:
    """The first and the last day that a question names, as local days."""
    named = time_in(question, NOW)
    if named is None:
        return "none"
    first, last = named.start.astimezone(), named.end.astimezone() - timedelta(seconds=1)
    return f"{first:%Y-%m-%d} {last:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("question", "first_and_last"),
    [
        ("what broke on 2025-10-04?", "2025-10-04 2025-10-04"),
        ("the talk of 9 October 2025 about cranes", "2025-10-09 2025-10-09"),
        ("what did Ada say on October 9th, 2025", "2025-10-09 2025-10-09"),
        ("the 2nd of Sept 2024, what was it", "2024-09-02 2024-09-02"),
        ("the delivery of 24.12.2025", "2025-12-24 2025-12-24"),
        ("the delivery of 12/24/2025", "2025-12-24 2025-12-24"),
        ("what did we plan on December 24", "2025-12-24 2025-12-24"),
        ("decisions from October 2025", "2025-10-01 2025-10-31"),
        ("what did we build in february", "2026-02-01 2026-02-28"),
        ("what did we build in december", "2025-12-01 2025-12-31"),
        ("what did we build in 2024", "2024-01-01 2024-12-31"),
        ("between October 30 and November 2, 2025", "2025-10-30 2025-11-02"),
        ("who came last weekend", "2026-11-14 2026-11-15"),
        ("was war letztes Wochenende", "2026-11-14 2026-11-15"),
        ("was haben wir gestern, am Dienstag, besprochen", "2026-11-17 2026-11-17"),
        ("die Lieferung vom 4. Oktober 2025", "2025-10-04 2025-10-04"),
        ("las notas del 4 de octubre de 2025", "2025-10-04 2025-10-04"),
        ("ce qui a cassé en août 2025", "2025-08-01 2025-08-31"),
        ("что сломалось 4 октября 2025", "2025-10-04 2025-10-04"),
        ("2025年10月4日に何を決めたか", "2025-10-04 2025-10-04"),
        ("10月4日我们决定了什么", "2026-10-04 2026-10-04"),
        ("我们昨天决定了什么", "2026-11-17 2026-11-17"),
        ("五天前我们决定了什么", "2026-11-13 2026-11-13"),
        ("지난주에 무엇을 결정했나", "2026-11-09 2026-11-15"),
        ("what did we eat three days ago", "2026-11-15 2026-11-15"),
        ("we talked about it a couple of days ago", "2026-11-15 2026-11-17"),
        ("what was bought a few weeks ago", "2026-10-14 2026-11-04"),
        ("the past two weeks of work", "2026-11-04 2026-11-18"),
        ("who wrote yesterday's summary", "2026-11-17 2026-11-17"),
    ],
)
def test_days_of_the_calendar_and_loose_times_are_understood(question: str, first_and_last: str) -> None:
    assert days(question) == first_and_last


@pytest.mark.parametrize(
    "question",
    [
        "may we leave early", "we march on", "a window of 2024 words", "uses 1999 tokens",
        "the delivery of 30 February 2025", "the delivery of 04/05/2025", "what is in log-2025-10-04.txt",
        "is version 1.10.2025.3 out", "friday night songs",
        "for a few people", "the last three chapters", "wer wohnt hier", "is there life on mars", "13月 und 20年",
        "die Sitzung im März der Gefühle",
    ],
)  # fmt: skip
def test_words_and_numbers_that_only_look_like_a_time_name_none(question: str) -> None:
    assert days(question) == "none"


def test_a_filter_takes_a_day_of_the_calendar(decisions: Ricordo) -> None:
    day = datetime.now() - timedelta(days=7)
    assert refs(decisions, f'harbour crane after:"{day.day} {day:%B %Y}"') == ["b-week", "c-day"]
    assert refs(decisions, 'harbour crane before:"past three weeks"') == ["a-year"]


def test_the_latest_is_looked_for_only_among_what_fits_nearly_as_well_as_the_best(decisions: Ricordo) -> None:
    """A newer memory that has one word of the question says nothing about it."""
    decisions.save("memory:/d-today", "The crane is yellow, like the buses of the town in summer.", kind="memory")
    answer = decisions.search("the latest decision about the harbour crane gearbox", explain=True)
    scores = {hit.ref.removeprefix("memory:/"): hit.score for hit in answer.hits}
    assert scores["d-today"] < 0.6 * scores["a-year"], "or it would be no example"
    assert next(iter(scores)) == "c-day"
    assert not any("newest" in why for hit in answer.hits if hit.ref.endswith("d-today") for why, _ in gains(hit))
