"""Names of days in other languages: which words they may begin with is known without making all of them."""

from __future__ import annotations

from ricordo.values import times


def test_every_name_of_a_day_begins_with_a_word_that_may_begin_one() -> None:
    names = [*times._english(), *times._BEFORE_NUMBERS]
    assert {name.split(" ")[0] for name in names} == times._first_words()
    assert all(times.may_begin(name.split(" ")[0]) for name in names)
