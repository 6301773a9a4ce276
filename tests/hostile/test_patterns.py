"""Patterns and queries made to be slow end in time, and the rest of the process goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from ricordo import Ricordo, UsageError
from ricordo.search.exact import time_in
from ricordo.search.words import topic_of

from ..growth import TOO_MUCH, growth

SLOW = "a" * 40 + " " + "ab," * 20_000


@pytest.fixture
def engine(tmp_path: Path, open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch) -> Ricordo:
    (tmp_path / "slow.txt").write_text(f"{SLOW}\nplain line\nother line\n", encoding="utf-8")
    monkeypatch.setattr("ricordo.search.grep.PATTERN_SECONDS", 0.5)
    engine = open_engine()
    engine.add(tmp_path / "slow.txt")
    return engine


@pytest.mark.parametrize("pattern", [r"((a{1,50}){1,50}){1,50}b$", r"(?:.*?,){11}P"])
def test_a_pattern_that_would_take_years_is_ended_in_time(engine: Ricordo, pattern: str) -> None:
    with pytest.raises(UsageError, match=r"took longer than 0\.5 s"):
        engine.grep(pattern)


def test_other_threads_go_on_while_a_slow_pattern_runs(engine: Ricordo) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.01):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.raises(UsageError):
            engine.grep(r"(?:.*?,){11}P")
    finally:
        done.set()
        thread.join()
    assert ticks >= 3


def test_a_start_or_end_of_line_is_found_in_the_middle_of_a_text(engine: Ricordo) -> None:
    assert [match.line for match in engine.grep("^plain")] == [2]
    assert [match.line for match in engine.grep("line$")] == [2, 3]
    assert [match.line for match in engine.grep(r"\Aother line\Z")] == [3]
    assert [match.line for match in engine.grep("(?i)^OTHER")] == [3]


@pytest.mark.parametrize(
    "pattern", ["(" * 3000, "(" * 1500 + ")" * 1500, "a" * 6000, "[z-a]", "a{99999999999}b", "(?P<x"]
)
def test_what_is_no_pattern_is_told_so(engine: Ricordo, pattern: str) -> None:
    with pytest.raises(UsageError):
        engine.grep(pattern)


@pytest.mark.parametrize(
    "query",
    [
        "a* " * 5000,
        " ".join(f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{i}*" for i in range(4000)),
        '"a b" ' * 3000,
        " ".join(f'"{i} b"' for i in range(2500)),
        " ".join(f"-x{i}" for i in range(4000)),
        " ".join(f"w{i}" for i in range(4000)),
        '"' * 19_999,
        "kind:" * 4000,
        "tag:a " * 3000,
        "\u202e\u0000\ud800 *" * 1000,
    ],
    ids=["one prefix", "prefixes", "one phrase", "phrases", "excluded", "words", "quotes", "names", "tags", "odd"],
)
def test_the_work_for_a_query_made_to_be_slow_grows_with_its_length_only(engine: Ricordo, query: str) -> None:
    engine.search("plain")
    assert growth(lambda size: engine.search(query[:size]), len(query)) < TOO_MUCH


def test_an_answer_says_that_only_some_of_the_prefixes_were_used(engine: Ricordo) -> None:
    answer = engine.search(" ".join(f"p{i}*" for i in range(100)))
    assert any("only the first 64 beginnings of words were used" in note for note in answer.meta.notes)


@pytest.mark.parametrize("row", [" ", "\v", "?", ", ", "in order ", "in ", "please ", "last "])
def test_a_long_row_of_marks_or_words_does_not_slow_down_what_a_question_is_about(row: str) -> None:
    def read(size: int) -> None:
        text = f"x{row * (size // len(row))}x"
        topic_of(text)
        time_in(text, datetime(2026, 11, 18, 9))

    assert growth(read, 8_000) < TOO_MUCH


@pytest.mark.parametrize("row", ["x", "@", "-", "$", "a.", "a::"])
def test_a_long_row_without_a_space_does_not_slow_down_what_a_memory_is_looked_through_for(
    engine: Ricordo, row: str
) -> None:
    engine.remember("Lunch is at noon.")
    assert growth(lambda size: engine.remember(row * (size // len(row))), 8_000) < TOO_MUCH


@pytest.mark.parametrize("last", ["e", "f"])
def test_a_long_text_of_one_letter_is_found_without_an_expression(
    open_engine: Callable[..., Ricordo], last: str
) -> None:
    engine = open_engine()  # an expression takes a minute for it
    engine.save("note:/letters", f"{'e' * 5_000}\nWhat of e.g. this?\n")
    assert len(engine.grep("e" * 4_999 + last)) == (last == "e")
    assert [match.text for match in engine.grep("e.g.", fixed=True)] == ["What of e.g. this?"]
    assert len(engine.grep("e.g.")) == 1
    assert len(engine.grep("WHAT OF", ignore_case=True)) == 1
    assert engine.grep("WHAT OF") == []
