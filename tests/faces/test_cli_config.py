"""The verb config, on real files in folders of its own."""

from __future__ import annotations

from typing import Any

import pytest

from ricordo.config.loading import load_config


def test_a_setting_is_set_read_listed_and_unset(house: Any) -> None:
    assert house.run("config", "get", "search.limit").stdout == "10\n"
    assert house.run("config", "set", "search.limit", "20").stdout == "search.limit = 20\n"
    assert house.run("config", "get", "search.limit").stdout == "20\n"
    changed = house.json("config", "list", "--changed")["settings"]
    assert [(row["name"], row["value"]) for row in changed] == [("search.limit", 20)]
    assert changed[0]["source"].startswith("user:")
    assert house.run("config", "unset", "search.limit").stdout == "search.limit = 10\n"
    assert house.json("config", "unset", "search.limit")["removed"] is False
    assert house.run("config", "list", "--changed").stdout == ""


def test_the_project_s_file_is_written_on_request_and_wins_over_the_user_s(house: Any) -> None:
    (house.folder / ".ricordo").mkdir()
    house.run("config", "set", "search.limit", "3", "--project")
    printed = house.run("config", "set", "search.limit", "7")
    assert "project:" in printed.stderr
    assert house.run("config", "get", "search.limit").stdout == "3\n"


def test_setting_for_a_project_outside_of_one_is_not_found(house: Any) -> None:
    assert house.json("config", "set", "search.limit", "3", "--project", code=3)["code"] == "not_found"


@pytest.mark.parametrize(
    "args",
    [
        ("get", "search.limits"),
        ("set", "search.limit", "many"),
        ("set", "search.limit", "0"),
        ("list", "nowhere"),
        ("unset", "x.y"),
    ],
)
def test_a_wrong_name_or_value_is_a_usage_error_with_a_hint(house: Any, args: tuple[str, ...]) -> None:
    error = house.json("config", *args, code=2)
    assert error["code"] == "usage"
    assert error["hint"]


def test_a_project_s_sensitive_setting_counts_once_it_is_trusted(house: Any) -> None:
    house.write(".ricordo/config.toml", '[embedding]\nprovider = "openai"\n')
    assert house.run("config", "get", "embedding.provider").stdout == "local\n"
    assert "embedding.provider" in house.run("config", "list").stderr
    assert house.json("config", "path")["project_is_trusted"] is False
    house.run("config", "trust")
    assert house.run("config", "get", "embedding.provider").stdout == "openai\n"


def test_there_is_nothing_to_trust_outside_of_a_project(house: Any) -> None:
    house.run("config", "trust", code=3)


def test_secrets_are_never_printed(house: Any) -> None:
    house.run("config", "set", "embedding.api_keys", "sk-one,sk-two")
    shown = house.run("config", "list").stdout + house.run("config", "get", "embedding.api_keys").stdout
    assert "sk-" not in shown + house.run("config", "list", "--json").stdout
    assert "***" in shown


def test_the_password_in_an_address_is_never_printed_and_stays_in_force(house: Any) -> None:
    address = "POSTGRESQL://kim:Gr3enLamp@127.0.0.1:1/notes"
    printed = [house.run("config", "set", "tiers.team", address), house.run("config", "set", "llm.base_url", address)]
    printed += [house.run("config", *args) for args in (("get", "tiers.team"), ("list", "--all"), ("list", "--json"))]
    printed.append(house.run("config", "set", "search.limit", address, code=2))
    printed.append(house.run("search", "x", "--tier", "team", code=5))
    for one in printed:
        assert "Gr3enLamp" not in one.stdout + one.stderr
    assert printed[2].stdout == "POSTGRESQL://kim:***@127.0.0.1:1/notes\n"
    assert load_config().tiers.team == address


def test_a_masked_value_is_not_saved_in_place_of_the_secret(house: Any) -> None:
    house.run("config", "set", "tiers.team", "postgresql://kim:Gr3enLamp@db/notes")
    shown = house.run("config", "get", "tiers.team").stdout.strip()
    for name, value in (("tiers.team", shown), ("embedding.api_keys", "***,***"), ("fetch.proxy", "***")):
        assert "whole value" in house.json("config", "set", name, value, code=2)["hint"]
    assert load_config().tiers.team == "postgresql://kim:Gr3enLamp@db/notes"


@pytest.mark.parametrize("value", ["3", "true", '"x"', "[1]", "2024-01-01", "{recency = 1}"])
def test_a_wrong_type_in_a_project_s_settings_is_a_usage_error_with_a_hint(house: Any, value: str) -> None:
    house.write(".ricordo/config.toml", f"[profiles.mine]\nbase = 'brain'\nweights = {value}\n")
    house.run("config", "trust")
    code = 0 if value.startswith("{") else 2
    printed = house.run("config", "set", "profiles.mine.weights.recency", "0.5", "--project", "--json", code=code)
    assert ("unexpected" in printed.stdout) is False
    if code:
        assert house.json("config", "set", "profiles.mine.weights.recency", "0.5", "--project", code=2)["hint"]


def test_verbose_says_where_a_value_comes_from(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_SEARCH_LIMIT", "4")
    printed = house.run("config", "get", "search.limit", "-v")
    assert (printed.stdout, printed.stderr) == ("4\n", "from env:RICORDO_SEARCH_LIMIT\n")


def test_path_names_the_files_and_the_store(house: Any) -> None:
    plain = house.json("config", "path")
    assert plain["user"].endswith("config.toml")
    assert plain["store"].startswith(house.env["RICORDO_DATA_HOME"])
    assert plain["store_from"] == "default"


def test_a_list_shows_basic_settings_and_changed_ones_and_all_on_request(house: Any) -> None:
    first = house.run("config", "list")
    assert "search.limit" in first.stdout
    assert "tiers.team_weight" not in first.stdout
    assert "--all shows them" in first.stderr
    assert "tiers.team_weight" in house.run("config", "list", "--all").stdout
    assert "tiers.team_weight" in house.run("config", "list", "tiers").stdout
    house.run("config", "set", "tiers.team_weight", "0.5")
    assert "tiers.team_weight" in house.run("config", "list").stdout
    levels = {row["name"]: row["level"] for row in house.json("config", "list", "--all")["settings"]}
    assert (levels["search.limit"], levels["tiers.team_weight"]) == ("basic", "advanced")
