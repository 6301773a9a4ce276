"""The verbs feedback, learn and stats, as people and scripts use them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def notes(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A house with two notes, found by their words."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    house.env["RICORDO_EMBEDDING_PROVIDER"] = "none"
    house.write("keys.md", "Rotate the signing keys every quarter.\n")
    house.write("lunch.md", "The canteen serves soup on Tuesdays.\n")
    house.run("add", "keys.md", "lunch.md")
    return house


def disk(house: Any, name: str) -> str:
    return f"disk:{house.folder / name}"


def learned(house: Any, profile: str = "vault") -> dict[str, Any]:
    return next(one for one in house.json("learn", "status")["profiles"] if one["profile"] == profile)


def test_feedback_takes_a_query_of_several_words(notes: Any) -> None:
    plain = notes.json("feedback", "rotate", "the", "keys", "keys.md", "accepted")
    assert plain == {
        "query": "rotate the keys", "ref": disk(notes, "keys.md"), "verdict": "accepted", "counted": True,
        "changes": [],
    }  # fmt: skip
    assert notes.run("feedback", "-x keys", "keys.md", "failed").stdout == "noted: failed keys.md\n"
    assert "1 accepted, 1 failed" in notes.run("learn").stdout


def test_feedback_says_what_is_wrong(notes: Any) -> None:
    error = notes.json("feedback", "keys", "keys.md", "great", code=2)
    assert error["hint"] == "One of: accepted, modified, dismissed, failed."
    assert notes.json("feedback", "keys.md", "accepted", code=2)["code"] == "usage"
    assert notes.json("feedback", "keys", "nothing.md", "accepted", code=3)["code"] == "not_found"


def test_learning_is_frozen_and_thawed(notes: Any) -> None:
    assert notes.json("learn", "freeze") == {"frozen": True}
    assert "learning is frozen" in notes.run("learn").stdout
    printed = notes.run("feedback", "keys", "keys.md", "accepted")
    assert "does not count" in printed.stderr
    assert notes.json("learn", "freeze", "--off") == {"frozen": False}
    assert notes.json("feedback", "keys", "keys.md", "accepted")["counted"]


def test_stats_count_queries_results_and_items(notes: Any) -> None:
    notes.run("search", "keys")
    notes.run("search", "keys")
    notes.run("search", "xylophone")
    notes.run("search", "soup", "--no-track")
    notes.run("get", "keys.md")
    plain = notes.json("log", "--summary", "query")["summary"]
    assert (plain["queries"], plain["zero_results"], plain["by"]) == (3, 1, "query")
    assert plain["rows"][0]["name"] == "keys"
    assert [row["name"] for row in plain["zero_result"]] == ["xylophone"]
    assert [(one["ref"], one["count"]) for one in plain["most_retrieved"]] == [(disk(notes, "keys.md"), 3)]
    assert plain["never_retrieved"] == [disk(notes, "lunch.md")]
    assert [row["name"] for row in notes.json("log", "--summary", "tool")["summary"]["rows"]] == ["search"]
    assert len(notes.json("log", "--summary", "day", "--since", "2d")["summary"]["rows"]) == 1
    shown = notes.run("log", "--summary", "query").stdout
    for part in (
        "3 queries in 30 days",
        "most frequent, by query",
        "without result",
        "slowest",
        "never retrieved: 1",
    ):
        assert part in shown


def test_stats_are_cleared_on_request(notes: Any) -> None:
    notes.run("search", "keys")
    assert notes.json("log", "--clear")["erased"] == 1
    assert notes.json("log")["questions"] == []
    assert notes.json("get", "keys.md", "--no-track")["retrieval_count"] == 1


def test_stats_refuse_other_groupings(notes: Any) -> None:
    assert notes.json("log", "--summary", "moon", code=2)["code"] == "usage"
    assert notes.json("log", "changed", "--clear", code=2)["code"] == "usage"
