"""URLs, where no plugin reads pages."""

from __future__ import annotations

import pytest

from ricordo import Ricordo, Unavailable

URL = "https://example.org/harbour"


@pytest.fixture(autouse=True)
def without_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ingest", "context"):
        monkeypatch.setattr(f"ricordo.engine.{module}.ask", lambda event, *given: [])


def test_a_url_is_an_error_that_says_what_to_install(engine: Ricordo) -> None:
    with pytest.raises(Unavailable, match="no plugin reads pages") as refused:
        engine.add(URL)
    assert "the plugin 'web'" in refused.value.hint
    engine.save(f"url:/{URL}", "The ferry leaves at noon.", kind="document")
    assert engine.get(f"url:/{URL}").content == "The ferry leaves at noon."
    with pytest.raises(Unavailable, match="no plugin reads https") as refused:
        engine.get(URL)
    assert f"url:/{URL}" in refused.value.hint


def test_pages_are_left_alone_when_everything_is_read_again(engine: Ricordo) -> None:
    engine.save(f"url:/{URL}", "The ferry leaves at noon.", kind="document")
    report = engine.refresh(all=True)
    assert [(item.ref, item.status) for item in report.items] == [(f"url:/{URL}", "skipped")]
    assert report.notes == ("1 page left alone: the plugin 'web', which reads pages, is not installed",)
