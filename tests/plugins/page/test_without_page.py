"""The server without the plugin: the API answers, and nothing leads to a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.server.http_sites import Site

from ricordo.plugin import installed


@pytest.fixture(autouse=True)
def without_page(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: plugin for name, plugin in installed().items() if not plugin.page}
    monkeypatch.setattr("ricordo.plugin.installed", lambda: others)


def test_the_api_answers_and_a_browser_is_told_in_json_that_there_is_no_page(new_site: Callable[..., Site]) -> None:
    site = new_site()
    assert site.get("/api/v1/status")["items"] == 0
    for path in ("/", "/browse", "/timeline", "/static/app.css", "/sign-in"):
        assert site.get(path, 404, headers={"Accept": "text/html"})["error"]["code"] == "not_found"
    strange = site.stranger().get("/", headers={"Accept": "text/html"})
    assert (strange.status_code, strange.json()["error"]["code"]) == (401, "no_token")
    assert site.post("/api/v1/sign-in-links") == {"link": ""}


def test_a_link_to_sign_in_is_refused(house: Any) -> None:
    assert "there is no page" in house.run("serve", "link", code=3).stderr
