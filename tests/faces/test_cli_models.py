"""The verb models as a person or a script uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

WORDS = str(Path(__file__).parents[1] / "fixtures" / "sentence_model")


@pytest.fixture
def kitchen(house: Any) -> Any:
    """A store with words of the fixture's vocabulary, embedded by nothing."""
    house.run("config", "set", "embedding.provider", "none")
    house.write("tea.md", "# Tea\n\nfresh hot tea with water\n")
    house.write("pot.md", "# Pot\n\nan old iron pot on the stove\n")
    house.run("add", ".")
    return house


def test_the_list_marks_what_is_used_and_needs_no_store(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    shown = house.run("models").stdout
    assert "local *" in shown
    assert "lacks the key VOYAGE_API_KEY" in shown
    rows = {row["provider"]: row for row in house.json("models", "list")["models"]}
    assert rows["local"]["role"] == "in use"
    assert rows["openai"] | {"lacks": None} == {
        "provider": "openai", "model": "text-embedding-3-small", "dimensions": 1536, "batch": 2048,
        "key_variable": "OPENAI_API_KEY", "has_key": False, "role": None, "lacks": None,
        "about": "and any compatible embedding.base_url",
    }  # fmt: skip
    assert not (house.folder.parent / "data" / "ricordo.db").exists()


def test_a_model_is_tested_and_what_fails_says_what_to_do(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ", 32 dimensions" in house.run("models", "use", "hub", "--model", WORDS, "--dry-run").stdout
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    error = house.json("models", "use", "ollama", "--dry-run", code=5)
    assert "cannot be reached" in error["message"]
    assert "config set embedding.provider local" in error["hint"]
    shown = house.run("models", "use", "oracle", "--dry-run", code=5).stderr
    assert "One of: local, hub, openai, voyage, gemini, ollama, none" in shown


def test_a_dry_run_tells_the_cost_and_writes_nothing(kitchen: Any) -> None:
    shown = kitchen.run("models", "use", "hub", "--model", WORDS, "--dry-run").stdout
    assert "would use hub" in shown
    assert "2 passages need a vector of it: about 17 tokens, about " in shown
    assert kitchen.json("config", "get", "embedding.provider")["value"] == "none"


def test_a_model_is_used_with_its_vectors_made_first(kitchen: Any) -> None:
    plain = kitchen.json("models", "use", "hub", "--model", WORDS, "--reembed")
    assert plain["written"]
    assert plain["embedding"]["embedded"] == 2
    assert plain["settings"] == {"embedding.provider": "hub", "embedding.model": WORDS}
    assert kitchen.json("config", "get", "embedding.provider")["value"] == "hub"
    answer = kitchen.json("search", "--by", "meaning", "hot tea")
    assert answer["hits"][0]["title"] == "Tea"
    assert answer["meta"]["degraded"] == []


def test_a_switch_says_how_many_passages_got_a_vector(kitchen: Any) -> None:
    switch = ("models", "use", "hub", "--model", WORDS, "--reembed")
    assert "2 passages got a vector of it" in kitchen.run(*switch).stdout
    kitchen.run("models", "use", "none")
    assert "every passage has a vector of it already" in kitchen.run(*switch).stdout


def test_a_script_is_not_asked_and_told_what_is_left_to_do(kitchen: Any) -> None:
    result = kitchen.run("models", "use", "hub", "--model", WORDS)
    assert "2 passages need a vector of it" in result.stdout
    assert "ricordo embed" in result.stderr
    kitchen.run("embed")
    assert kitchen.json("search", "--by", "meaning", "hot tea")["hits"][0]["title"] == "Tea"


def test_a_model_can_be_chosen_before_there_is_a_store(house: Any) -> None:
    assert "uses hub" in house.run("models", "use", "hub", "--model", WORDS).stdout
    house.write("tea.md", "fresh hot tea")
    house.run("add", "tea.md")
    assert house.json("embed", "--status")["done"] == 1


def test_vectors_are_switched_off_by_the_same_verb(kitchen: Any) -> None:
    kitchen.run("models", "use", "hub", "--model", WORDS)
    assert kitchen.json("models", "use", "none")["settings"] == {
        "embedding.provider": "none",
        "embedding.model": None,
    }
    assert kitchen.json("config", "get", "embedding.model")["value"] == ""
