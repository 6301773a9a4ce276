"""Counting terms takes a short cut; it must count what reading word by word does."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.words import Analyzer, folded_words, runs, words_in

PIECES = (
    "it's",
    "--flag",
    "'quoted'",
    "well-known",
    "a--b",
    "snake_case",
    "parseHTTP2",
    "don't",
    "-",
    "'",
    "_",
    "é",
    "’",
)
texts = st.lists(
    st.one_of(st.sampled_from(PIECES), st.sampled_from((" ", "\n", "\t", ".", "/", "\x1f")), st.text(max_size=6)),
    max_size=20,
).map("".join)


@given(texts)
def test_terms_are_counted_as_they_are_read(text: str) -> None:
    assert Analyzer().counts(text) == Counter(Analyzer().terms(text))


@given(texts)
def test_the_runs_of_a_text_hold_its_words_and_no_others(text: str) -> None:
    assert [word for run in runs(text) for word in words_in(run)] == words_in(text)


@given(texts)
def test_the_words_of_a_phrase_are_letters_and_digits_in_lower_case(text: str) -> None:
    plain = "".join(sign for sign in text if sign.isascii())
    assert folded_words(plain) == re.findall(r"[a-z0-9]+", plain.lower())
