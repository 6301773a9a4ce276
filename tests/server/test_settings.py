"""Settings are changed alike on every face: what is refused, what is accepted, and what is then in force."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ricordo import ConfigProvider
from ricordo.cli.program import program
from ricordo.config.loading import load_config
from ricordo.mcp_server.service import TOOLSETS, ToolService

from .http_sites import Site

Outcome = tuple[bool, Any]
"""Whether a change was accepted, and the value and whether it is in force, or what was said against it."""
Change = Callable[[str, str], Outcome]


@pytest.fixture
def faces(
    request: pytest.FixtureRequest, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Change]]:
    """The ways to change a setting, all in one folder outside of any project; a parameter is set in the environment."""
    monkeypatch.chdir(tmp_path)
    for name, value in getattr(request, "param", {}).items():
        monkeypatch.setenv(name, value)
    service = ToolService(TOOLSETS, store=str(tmp_path / "own.db"), config=ConfigProvider())

    def by_command(name: str, value: str) -> Outcome:
        said = json.loads(CliRunner().invoke(program, ["config", "set", "--json", "--", name, value]).stdout)
        return _outcome(said["ok"], said["data"] or {}, said["error"] or {})

    def by_http(name: str, value: str) -> Outcome:
        answer = site.client.post("/api/v1/config", json={"name": name, "value": value})
        said = answer.json()
        return _outcome(answer.is_success, said, said.get("error") or {})

    def by_agent(name: str, value: str) -> Outcome:
        outcome = service.call("set_config", {"key": name, "value": value})
        return _outcome(not outcome.is_error, outcome.plain, outcome.plain)

    yield {"command": by_command, "http": by_http, "agent": by_agent}
    service.close()


def _outcome(accepted: bool, said: Mapping[str, Any], error: Mapping[str, Any]) -> Outcome:
    if accepted:
        return True, (said["value"], said["in_force"])
    return False, error.get("message") or error["error"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("search.limit", "7", (True, (7, True))),
        ("retrieval.vector_weight", "0.5", (True, (0.5, True))),
        ("search.profile", "brain", (True, ("brain", True))),
        ("profiles.mine.base", "brain", (True, ("brain", True))),
        ("search.limit", "many", (False, None)),
        ("search.limit", "0", (False, None)),
        ("search.limt", "7", (False, None)),
        ("search.profile", "nobody", (False, None)),
        ("profiles.mine.base", "nobody", (False, None)),
        ("profiles.mine.colour", "red", (False, None)),
        ("profiles.mine", "brain", (False, None)),
    ],
)
def test_every_face_accepts_and_refuses_the_same(
    faces: dict[str, Change], name: str, value: str, expected: Outcome
) -> None:
    before = load_config()
    outcomes = {face: change(name, value) for face, change in faces.items()}
    if name.split(".")[0] != "search" or name == "search.profile":  # the user's to change, not an agent's or a token's
        assert not outcomes["http"][0]
        assert not outcomes["agent"][0]
        outcomes = {"agent": outcomes["command"]}
    # Agents see names in quotes.
    assert len({(accepted, str(said).replace("'", "")) for accepted, said in outcomes.values()}) == 1, outcomes
    accepted, said = outcomes["agent"]
    assert (accepted, said if accepted else None) == expected
    assert (load_config() != before) == accepted


@pytest.mark.parametrize("faces", [{"RICORDO_SEARCH_LIMIT": "3"}], indirect=True)
def test_every_face_says_when_something_wins_over_a_change(faces: dict[str, Change]) -> None:
    for face, change in faces.items():
        assert (face, change("search.limit", "7")) == (face, (True, (7, False)))
    assert load_config().search.limit == 3


@pytest.mark.parametrize(
    ("name", "value"), [("embedding.base_url", "https://example.org"), ("embedding.api_keys", "abc")]
)
def test_only_the_user_changes_what_chooses_hosts_and_keys(faces: dict[str, Change], name: str, value: str) -> None:
    for face in ("agent", "http"):
        accepted, message = faces[face](name, value)
        assert not accepted
        assert message.replace("'", "").startswith(f"agents and tokens may not change {name}")
    assert load_config().source(name) == "default"
    assert faces["command"](name, value)[0]
    assert load_config().source(name).startswith("user:")


def test_no_face_of_the_server_shows_the_password_in_an_address_or_saves_its_mask(
    new_site: Callable[..., Site],
) -> None:
    site = new_site(**{"llm.base_url": "Https://kim:Gr3enLamp@models.example/v1"})
    for client in (site.as_scope("read"), site.client):
        for path in ("/api/v1/config", "/settings?all=1"):
            shown = client.get(path).text
            assert "Https://kim:***@models.example/v1" in shown
            assert "Gr3enLamp" not in shown
    before = load_config().llm.base_url
    form = {"name": "llm.base_url", "value": "Https://kim:***@models.example/v1"}
    person = site.stranger({"Origin": "http://127.0.0.1"})
    person.get("/sign-in", params={"code": site.serving.codes.new()})
    answer = person.post("/settings", data=form)
    assert "whole value" in answer.text
    assert load_config().llm.base_url == before
