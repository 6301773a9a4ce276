"""Addresses of stores on servers, where no plugin opens them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Unavailable
from ricordo.values import store_addresses
from ricordo.values.store_addresses import is_address, shown

ADDRESS = "Postgresql://kim:Gr3enLamp@db/notes"


@pytest.fixture
def without_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_addresses, "names_of", lambda seam: [])
    monkeypatch.setattr(store_addresses, "brought_as", lambda seam, name: None)


def test_an_address_that_no_plugin_opens_is_an_error_that_says_what_to_install(without_plugin: None) -> None:
    assert is_address(ADDRESS)
    with pytest.raises(Unavailable, match="postgresql:// need the plugin 'postgres'") as refused:
        Ricordo.open(ADDRESS)
    assert "pip install" in refused.value.hint
    assert "Gr3enLamp" not in f"{refused.value.message} {refused.value.hint} {shown(ADDRESS)}"


def test_other_stores_are_searched_although_a_tier_is_on_a_server_that_no_plugin_opens(
    without_plugin: None, tmp_path: Path
) -> None:
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider({"tiers.team": ADDRESS})) as engine:
        engine.save("note:/keys", "Rotate the signing keys every quarter.")
        answer = engine.search("signing keys")
    assert [hit.ref for hit in answer.hits] == ["note:/keys"]
    assert any("plugin 'postgres'" in problem for problem in answer.meta.degraded)
