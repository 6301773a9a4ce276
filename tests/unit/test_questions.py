"""What counts as several questions in one query."""

from __future__ import annotations

import pytest

from ricordo.search.refine import MOST_QUESTIONS, questions_in


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("Find a paper on sleep. Recommend calm music.", ("Find a paper on sleep.", "Recommend calm music.")),
        ("book a flight to Rome, and find a cheap hotel", ("book a flight to Rome", "and find a cheap hotel")),
        ("show me the weather and also what to wear", ("show me the weather", "and also what to wear")),
        ("Parse the script file\nWrite a graph of it", ("Parse the script file", "Write a graph of it")),
        ("harbour lantern", ()),
        ("fish and chips and peas", ()),
        ("read config.toml of version 1.2.3", ()),
        ("Really? yes. no!", ()),
        ("", ()),
    ],
)
def test_a_query_is_taken_apart_where_another_question_begins(query: str, parts: tuple[str, ...]) -> None:
    assert questions_in(query) == parts


def test_a_long_text_gives_its_first_questions_only() -> None:
    assert questions_in(" ".join(f"This is sentence {number}." for number in range(50))) == tuple(
        f"This is sentence {number}." for number in range(MOST_QUESTIONS)
    )
