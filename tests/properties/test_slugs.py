"""Names of memories, over many texts: readable, never taken twice."""

from __future__ import annotations

import re
import string

from hypothesis import given
from hypothesis import strategies as st

from ricordo import Ref
from ricordo.memory.remember import LONGEST, free_name, slug


@given(st.text(max_size=200))
def test_a_slug_is_short_has_no_gaps_at_its_ends_and_makes_a_ref(text: str) -> None:
    name = slug(text)
    assert len(name) <= LONGEST
    assert not name.startswith("-")
    assert not name.endswith("-")
    assert "--" not in name
    assert "/" not in name
    assert name == name.casefold() or not name.isascii()
    assert str(Ref("memory", f"/{name}")) == f"memory:/{name}"


@given(st.text(alphabet=string.printable, max_size=200))
def test_a_slug_of_plain_text_is_small_letters_digits_and_dashes(text: str) -> None:
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?", slug(text))


@given(st.lists(st.sampled_from(["plan", "plan 2", "plan-2", "Plan", "", "the plan", "plan 2 2"]), max_size=40))
def test_names_given_one_after_another_are_all_different(titles: list[str]) -> None:
    taken: set[str] = set()
    for title in titles:
        name = free_name(slug(title) or "memory", taken)
        assert name not in taken
        taken.add(name)
    assert len(taken) == len(titles)
