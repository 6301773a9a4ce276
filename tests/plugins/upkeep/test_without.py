"""Without the plugin, what it noted stays and is left alone, and nothing new is noted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.conftest import Opens

from ricordo import UsageError, plugin


def test_what_was_noted_stays_and_nothing_new_is_noted_without_the_plugin(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy.sh").write_text("make deploy\n")
    engine = opens()
    engine.remember("We deploy on Fridays, by deploy.sh.", ref="memory:/a")
    engine.remember("We deploy on Tuesdays, by deploy.sh.", ref="memory:/b", on_duplicate="save")
    engine.link("memory:/b", "memory:/a", "contradicts")
    others = {name: value for name, value in plugin.installed().items() if "upkeep" not in (name, *value.needs)}
    monkeypatch.setattr(plugin, "installed", lambda: others)
    (tmp_path / "deploy.sh").unlink()
    hits = {hit.ref: hit for hit in engine.search("when do we deploy").hits}
    assert hits["memory:/a"].contradicted_by == "memory:/b"
    assert hits["memory:/a"].citations == ()
    item = engine.get("memory:/a")
    assert (item.cites, item.fields.metadata["citations"][0]["path"]) == ((), "deploy.sh")
    assert (
        engine.remember("We deploy on Mondays, by deploy.sh.").status == "needs_decision"
    )  # saving compares by itself
    assert engine.edit("memory:/b", content="We never deploy.").reason is None
    assert engine.review().findings == ()
    with pytest.raises(UsageError, match="no plugin here notes"):
        engine.remember("The cart is computed.", cites=("src/cart.py",))
    with pytest.raises(UsageError, match="duplicates"):
        engine.review(kinds=("duplicates",))
