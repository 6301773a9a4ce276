"""Tiers on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tiers(house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A house whose agent and team each keep a note about the harbour."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    for name in ("agent", "team"):
        house.run("add", "-", "--as", f"note:/{name}", "--store", str(tmp_path / f"{name}.db"), stdin=f"{name} harbour")
        monkeypatch.setenv(f"RICORDO_TIERS_{name.upper()}", str(tmp_path / f"{name}.db"))
    return house


def test_search_answers_from_all_tiers(tiers: Any) -> None:
    plain = tiers.json("search", "harbour")
    assert [(hit["ref"], hit["tier"]) for hit in plain["hits"]] == [("note:/agent", "agent"), ("note:/team", "team")]
    assert plain["meta"]["tiers"] == ["agent", "team"]
    shown = tiers.run("search", "harbour", "--explain")
    assert "tier team ×0.6" in shown.stdout
    assert "tiers agent, team" in shown.stderr


def test_tier_restricts_a_search_and_picks_where_to_write(tiers: Any) -> None:
    assert [hit["tier"] for hit in tiers.json("search", "harbour", "--tier", "team")["hits"]] == ["team"]
    assert [hit["tier"] for hit in tiers.json("search", "harbour", "tier:team")["hits"]] == ["team"]
    tiers.run("--tier", "team", "add", "-", "--as", "note:/ours", stdin="ours")
    tiers.run("add", "-", "--as", "note:/mine", stdin="mine")
    assert tiers.json("get", "note:/ours")["tier"] == "team"
    assert tiers.json("get", "note:/mine")["tier"] == "agent"
    assert {item["ref"] for item in tiers.json("list", "--tier", "team")["items"]} == {"note:/team", "note:/ours"}
    assert "config set tiers.project" in tiers.json("list", "--tier", "project", code=2)["hint"]


def test_tiers_lists_stores_weights_and_problems(tiers: Any, tmp_path: Path) -> None:
    (agent, team) = tiers.json("tiers")["tiers"]
    assert (agent["name"], agent["weight"], agent["items"], agent["is_written"]) == ("agent", 1.0, 1, True)
    assert (team["location"], team["weight"], team["reachable"]) == (str(tmp_path / "team.db"), 0.6, True)
    (tmp_path / "team.db").unlink()
    lines = tiers.run("tiers").stdout.splitlines()
    assert lines[1].startswith("agent *")
    assert "there is no store at" in lines[2]
    shown = tiers.run("search", "harbour")
    assert "degraded: tier team: there is no store at" in shown.stderr


def test_a_store_alone_is_one_tier(house: Any) -> None:
    house.run("add", "-", "--as", "note:/a", stdin="a")
    (own,) = house.json("tiers")["tiers"]
    assert (own["name"], own["items"], own["is_written"]) == ("agent", 1, True)


def test_an_item_is_promoted_on_the_command_line(tiers: Any) -> None:
    assert tiers.json("promote", "note:/agent", "--to", "team")["items"][0]["status"] == "created"
    assert tiers.json("get", "note:/agent", "--tier", "team")["content"] == "agent harbour"
    assert "skipped note:/agent" in tiers.run("promote", "note:/agent", "--to", "team").stdout
    problem = tiers.json("--tier", "team", "promote", "note:/agent", "--to", "team", code=2)
    assert "already" in problem["message"]


def test_what_is_found_in_the_users_own_store_is_changed_from_within_a_project(house: Any) -> None:
    house.run("config", "set", "embedding.provider", "none")
    house.run("remember", "The harbour opens at seven.\nIt closes at nine.", "--title", "Harbour")
    house.run("init")
    house.run("remember", "The lighthouse is white.", "--title", "Lighthouse")
    (hit,) = house.json("search", "harbour")["hits"]
    assert (hit["ref"], hit["tier"]) == ("memory:/harbour", "agent")
    first, last = hit["evidence"][0]["lines"]
    assert house.run("get", f"memory:/harbour:{first}-{last}").stdout.splitlines()[0] == "The harbour opens at seven."
    house.run("edit", "memory:/harbour", "--title", "The harbour")
    assert [one["version"] for one in house.json("history", "memory:/harbour")["versions"]] == [2, 1]
    house.run("links", "memory:/harbour")
    house.run("feedback", "harbour", "memory:/harbour", "accepted")
    corrected = house.json("correct", "memory:/harbour", "The harbour opens at eight.")["items"][0]["ref"]
    house.run("forget", corrected)
    house.run("restore", corrected)
    house.run("rm", corrected, "--yes")
    house.run("restore", corrected)
    assert house.json("get", corrected)["tier"] == "agent"
    assert [item["ref"] for item in house.json("list")["items"]] == ["memory:/lighthouse"]


def test_a_hit_says_that_another_tier_has_another_text_of_it(tiers: Any) -> None:
    tiers.run("add", "-", "--as", "note:/both", "--tier", "agent", stdin="The harbour is small.")
    tiers.run("add", "-", "--as", "note:/both", "--tier", "team", stdin="The harbour is large.")
    shown = tiers.run("search", "harbour", "small").stdout
    assert "team has a newer text of it (version 1)" in shown
