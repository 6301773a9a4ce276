"""Links on the command line."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def vault(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Three files, two of them linked in their texts."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    house.write("plan.md", "# Plan\n\nSee [[Keys]] and [[Not Yet]].\n")
    house.write("keys.md", "# Keys\n\nRotate them.\n")
    house.write("spare.md", "# Spare keys\n\nIn the hall.\n")
    house.run("add", "plan.md", "keys.md", "spare.md")
    return house


def disk(house: Any, name: str) -> str:
    return f"disk:{house.folder / name}"


def test_links_shows_what_the_texts_say(vault: Any) -> None:
    shown = vault.run("links", "plan.md").stdout.splitlines()
    assert shown == ["plan.md", "  → mentions keys.md  Keys", "  → mentions Not Yet (not in the store)"]
    assert vault.run("links", "spare.md").stdout == "spare.md\n"
    plain = vault.json("links", "keys.md", "--depth", "1")
    assert (plain["ref"], plain["depth"]) == (disk(vault, "keys.md"), 1)
    (link,) = plain["links"]
    assert (link["ref"], link["direction"], link["origin"]) == (disk(vault, "plan.md"), "in", "text")


def test_link_and_unlink_by_hand(vault: Any) -> None:
    made = vault.json("link", "keys.md", "spare.md", "--type", "extends")
    assert (made["source"], made["target"], made["type"]) == (
        disk(vault, "keys.md"),
        disk(vault, "spare.md"),
        "extends",
    )
    assert vault.run("link", "keys.md", "spare.md").stdout == "keys.md mentions spare.md\n"
    assert "    → extends spare.md  Spare keys  via keys.md" in vault.run("links", "plan.md").stdout
    assert vault.json("unlink", "keys.md", "spare.md", "--type", "extends") == {"count": 1}
    assert vault.run("unlink", "keys.md", "spare.md").stdout == "1 link removed\n"
