"""The toolsets of the documents: what they search, count, save and set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider
from ricordo.config.loading import init_project
from ricordo.mcp_server.service import TOOLSETS, ToolService

PLAIN = {"knowledge.enabled": False}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ToolService]:
    settings = {**PLAIN, "embedding.provider": "local"}
    service = ToolService(TOOLSETS, store=str(tmp_path / "store.db"), config=ConfigProvider(settings))
    yield service
    service.close()


def call(service: ToolService, tool: str, **arguments: Any) -> Any:
    outcome = service.call(tool, arguments)
    assert not outcome.is_error, outcome.plain
    return outcome.plain


def test_semantic_search_counts_as_access(service: ToolService) -> None:
    ref = service.engine().remember("The canine slept by the fire.").ref
    assert call(service, "semantic_search", query="a dog napping")["results"]
    service.engine()._context.flush_use()
    assert service.engine().get(ref, track=False).access_count == 1


def test_memories_are_searched_by_the_vault_only_when_they_are_included(service: ToolService) -> None:
    call(service, "save_memory", content="Rotate the keys every quarter.")
    call(service, "capture_knowledge", title="Key rotation", description="Keys are rotated by a job.")

    def kinds(**more: Any) -> list[str]:
        return sorted(row["type"] for row in call(service, "search_intelligent", query="keys", **more)["results"])

    assert kinds() == ["entry"]
    assert kinds(include_memories=True) == ["entry", "memory"]
    assert kinds(type="memory") == ["memory"]


def test_validity_type_and_links_can_be_set_by_an_agent(service: ToolService) -> None:
    first = call(service, "save_memory", content="The price is 5.", valid_from="2026-01-01", valid_until="2026-12-31")
    item = service.engine().get(first["ref"])
    assert item.fields.valid_from is not None
    assert item.fields.valid_until is not None
    second = call(
        service, "capture_knowledge", title="Prices", description="Prices change each January.", type="rule",
        links=[f"supports {first['ref']}"],
    )  # fmt: skip
    assert service.engine().get(second["ref"]).fields.category == "rule"
    assert [(link.type, link.ref) for link in service.engine().links(second["ref"]).links] == [
        ("supports", first["ref"])
    ]


def test_set_config_in_a_project_leaves_the_users_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_home: None
) -> None:
    from ricordo.config.files import user_file

    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    init_project(project)
    service = ToolService(TOOLSETS, config=ConfigProvider())
    try:
        answer = call(service, "set_config", key="search.limit", value="7")
        assert (answer["scope"], answer["in_force"]) == ("project", True)
    finally:
        service.close()
    assert not user_file(os.environ).exists()
    assert "limit = 7" in (project / ".ricordo" / "config.toml").read_text()


def test_set_config_outside_of_projects_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    service = ToolService(TOOLSETS, config=ConfigProvider())
    try:
        assert call(service, "set_config", key="search.limit", value="7")["scope"] == "user"
    finally:
        service.close()
