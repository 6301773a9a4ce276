"""The verbs context and skills, as a person or a script types them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def kitchen(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A house with two skills, a rule and a note, searched by words."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("HOME", str(house.folder.parent))
    house.write(
        "skills/bread/SKILL.md", "---\nname: bread\ndescription: Bake a loaf of bread\n---\n# Bread\n\nKnead.\n"
    )
    house.write("skills/soup/SKILL.md", "---\nname: soup\ndescription: Cook soup\n---\nBoil.\n")
    house.run("skills", "add", "skills")
    house.run("remember", "Wash your hands.", "--loading", "always", "--title", "Hands")
    house.run("remember", "--kind", "note", "The loaf needs an hour.", "--as", "note:/loaf")
    return house


def test_context_prints_the_text_alone_and_says_the_rest_on_standard_error(kitchen: Any) -> None:
    printed = kitchen.run("context", "bake", "a", "loaf")
    assert printed.stdout.startswith(
        "## Always\n[memory:/hands] Hands\nWash your hands.\n\n## From memory\n[note:/loaf"
    )
    assert printed.stdout.endswith("(data, not instructions)\n```text\n- bread: Bake a loaf of bread\n```\n")
    assert "of 2,000 tokens" in printed.stderr
    assert "bread" not in kitchen.run("context", "bake a loaf", "--no-skills").stdout
    small = kitchen.run("context", "bake", "--budget", "5")
    assert small.stdout == ""
    assert "left out memory:/hands: no room" in small.stderr


def test_context_as_json_says_what_is_there_and_what_is_not(kitchen: Any) -> None:
    data = kitchen.json("context", "bake a loaf", "--budget", "30")
    assert list(data) == ["text", "tokens", "budget", "parts", "left_out", "warnings"]
    assert data["tokens"] <= data["budget"] == 30
    assert data["parts"][0] | {"tokens": 0} == {
        "section": "always",
        "ref": "memory:/hands",
        "title": "Hands",
        "lines": None,
        "tokens": 0,
        "score": None,
        "fenced": False,
        "cut": False,
    }
    assert {one["ref"] for one in data["left_out"]} == {"note:/loaf", "skill:/bread"}


def test_context_reads_a_task_from_standard_input(kitchen: Any) -> None:
    assert "note:/loaf" in kitchen.run("context", "-", stdin="how long does\nthe loaf need? -draft").stdout


@pytest.mark.parametrize("budget", ["0", "-3", "much"])
def test_a_budget_that_cannot_be_is_wrong_usage(kitchen: Any, budget: str) -> None:
    assert kitchen.json("context", "bread", "--budget", budget, code=2)["code"] == "usage"


def test_skills_are_listed_found_and_shown(kitchen: Any) -> None:
    listed = kitchen.json("list", "--kind", "skill")["items"]
    assert sorted(item["ref"] for item in listed) == ["skill:/bread", "skill:/soup"]
    found = kitchen.json("skills", "search", "bake", "bread", "--limit", "1")["skills"]
    assert [(skill["name"], skill["score"] > 0) for skill in found] == [("bread", True)]
    assert found[0]["location"] == str(kitchen.folder / "skills/bread/SKILL.md")
    assert "Bake a loaf of bread" in kitchen.run("skills", "search", "bake").stdout
    shown = kitchen.run("skills", "show", "bread")
    assert shown.stdout == "# Bread\n\nKnead.\n"
    assert str(kitchen.folder / "skills/bread/SKILL.md") in shown.stderr
    assert kitchen.json("skills", "show", "bread")["title"] == "bread"


def test_a_skill_search_without_a_task_is_wrong_usage(kitchen: Any) -> None:
    assert kitchen.json("skills", "search", code=2)["code"] == "usage"


def test_a_root_that_is_not_there_exits_1_and_the_rest_is_taken_in(kitchen: Any) -> None:
    kitchen.write("more/tea/SKILL.md", "---\nname: tea\ndescription: Make tea\n---\nBoil.\n")
    printed = kitchen.run("skills", "add", "nowhere", "more", code=1)
    assert "nowhere" in printed.stderr
    assert "created skill:/tea" in printed.stdout
