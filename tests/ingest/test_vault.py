"""The notes of an Obsidian vault come in with their tags, aliases and links, and are followed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ricordo import NotFound, Ricordo
from ricordo.ingest.formats.markdown import tags_in

FIXTURES = Path(__file__).parents[1] / "fixtures" / "foreign"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    shutil.copytree(FIXTURES / "vault", folder)
    (folder / ".obsidian").mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one and #two/three.", ("one", "two/three")),
        ("# heading\n## other", ()),
        ("#2024 #y2024", ("y2024",)),
        ("word#no (#yes) [x](#no)", ("yes",)),
        ("`#no`\n\n```\n#no\n```\n#yes_it-is", ("yes_it-is",)),
        ("#größe #日本 #-", ("größe", "日本", "-")),
        ("%% #no %% #a #a", ("a",)),
    ],
)
def test_tags_are_found_in_text_and_nowhere_else(text: str, tags: tuple[str, ...]) -> None:
    assert tags_in(text) == tags


def test_a_vault_comes_in_with_tags_aliases_and_links(engine: Ricordo, vault: Path) -> None:
    report = engine.import_(vault, format="obsidian").to_dict()
    assert (report["created"], report["failed"]) == (2, 0)
    harbour = engine.get(str(vault / "Harbour.md"))
    assert harbour.fields.tags == ("place", "boats", "todo", "area/coast")
    assert harbour.fields.metadata["status"] == "draft"
    beds = engine.links(str(vault / "Garten" / "Beete.md"), depth=1)
    assert {(link.direction, link.text) for link in beds.links} == {
        ("out", "Quay"), ("out", "Harbour"), ("in", "Garten/Beete"),
    }  # fmt: skip
    assert beds.unresolved == ("Nobody knows",)
    assert engine.get(str(vault / "Garten" / "Beete.md")).fields.tags == ("garten/frühling",)
    assert engine.doctor().ok


def test_a_vault_is_followed_by_refresh_and_add_knows_it_too(engine: Ricordo, vault: Path) -> None:
    engine.import_(vault, format="obsidian")
    path = vault / "Harbour.md"
    path.write_text(path.read_text(encoding="utf-8").replace("#todo", "#done"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    (vault / "New.md").write_text("A #new note.", encoding="utf-8")
    report = engine.refresh(all=True).to_dict()
    assert report["updated"] == 1
    assert engine.get(str(path)).fields.tags == ("place", "boats", "done", "area/coast")
    assert engine.get(str(vault / "New.md")).fields.tags == ("new",)


def test_markdown_outside_a_vault_has_no_tags_in_its_text(engine: Ricordo, vault: Path) -> None:
    shutil.rmtree(vault / ".obsidian")
    engine.add(vault)
    assert engine.get(str(vault / "Harbour.md")).fields.tags == ("#place", "boats")
    report = engine.import_(vault, format="obsidian", on_conflict="overwrite").to_dict()
    assert engine.get(str(vault / "Harbour.md")).fields.tags == ("place", "boats", "todo", "area/coast")
    assert ".obsidian" in report["notes"][-1]


def test_a_vault_that_is_not_there_is_said_to_be_missing(engine: Ricordo, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        engine.import_(tmp_path / "nowhere", format="obsidian")
