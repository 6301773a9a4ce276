"""What other programs keep comes in with its names, tags, times and links; a second import finds it there."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import NotFound, PathConflict, Ricordo, Unreadable
from ricordo.ingest.formats.markdown import tags_in

FIXTURES = Path(__file__).parents[1] / "fixtures" / "foreign"
Opener = Callable[..., Ricordo]


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


def test_basic_memory_notes_become_notes_with_typed_links(engine: Ricordo) -> None:
    report = engine.import_(FIXTURES / "basic-memory", format="basic-memory").to_dict()
    assert (report["created"], report["failed"]) == (3, 0)
    design = engine.get("note:/design/search")
    assert design.title == "Search Design"
    assert design.fields.tags == ("search", "ranking", "fusion")
    assert design.fields.category == "spec"
    assert design.fields.metadata["permalink"] == "design/search"
    assert design.content.startswith("# Search Design")
    assert design.created_at.isoformat() == "2024-03-01T10:00:00+00:00"
    assert design.updated_at.isoformat() == "2024-04-02T11:30:00+00:00"
    made = {(one.direction, one.type, one.ref) for one in engine.links("note:/design/search", depth=1).links}
    assert made == {
        ("out", "depends_on", "note:/index-layout"),
        ("out", "mentions", "note:/index-layout"),
        ("in", "implements", "note:/index-layout"),
        ("in", "mentions", "note:/index-layout"),
    }
    assert "1 relation to a note that does not exist" in report["notes"][0]
    assert engine.get("note:/loose").title == "loose"
    assert [hit.ref for hit in engine.search("fused scores", as_of="2024-05-01").hits] == ["note:/design/search"]
    assert not engine.search("fused scores", as_of="2024-03-15").hits
    assert engine.doctor().ok


def test_a_permalink_does_not_climb_out_of_its_drive(engine: Ricordo, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\npermalink: ../../etc/passwd\n---\ntext", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\npermalink: etc/passwd\n---\nthe same name", encoding="utf-8")
    engine.import_(tmp_path, format="basic-memory")
    assert {str(item.ref) for item in engine.list()} == {"note:/etc/passwd", "note:/b"}


def test_mem0_memories_become_memories_with_owner_and_times(engine: Ricordo) -> None:
    report = engine.import_(FIXTURES / "mem0.json", format="mem0").to_dict()
    assert (report["created"], report["failed"]) == (2, 1)
    trains = engine.get("memory:/mem0/0f1e2d3c-0000-4000-8000-000000000001")
    assert trains.kind == "memory"
    assert trains.content.startswith("Prefers trains")
    assert trains.fields.tags == ("travel", "preferences")
    assert trains.fields.metadata == {
        "topic": "travel", "user_id": "ines", "run_id": "run-7", "mem0_id": "0f1e2d3c-0000-4000-8000-000000000001",
    }  # fmt: skip
    assert trains.created_at.isoformat() == "2024-01-05T16:00:00+00:00"
    assert trains.updated_at.isoformat() == "2024-02-06T09:30:00+00:00"
    other = engine.get("memory:/mem0/0f1e2d3c-0000-4000-8000-000000000002")
    assert str(other.fields.valid_until).startswith("20")
    assert "hunter2secret" not in other.content
    assert "secrets were taken out of 1 item" in report["notes"][-1]
    assert engine.doctor().ok


def test_secrets_are_kept_when_they_are_allowed(engine: Ricordo) -> None:
    engine.import_(FIXTURES / "mem0.json", format="mem0", allow_secrets=True)
    assert "hunter2secret" in engine.get("memory:/mem0/0f1e2d3c-0000-4000-8000-000000000002").content


def test_a_second_import_skips_overwrites_or_refuses(engine: Ricordo, tmp_path: Path) -> None:
    engine.import_(FIXTURES / "mem0.json", format="mem0")
    assert engine.import_(FIXTURES / "mem0.json", format="mem0").to_dict()["skipped"] == 2
    with pytest.raises(PathConflict):
        engine.import_(FIXTURES / "mem0.json", format="mem0", on_conflict="error")
    memories = json.loads((FIXTURES / "mem0.json").read_text(encoding="utf-8"))["results"]
    memories[0]["memory"] = "Prefers night trains"
    path = tmp_path / "later.json"
    path.write_text("\n".join(json.dumps(one) for one in memories), encoding="utf-8")
    report = engine.import_(path, format="mem0", on_conflict="overwrite").to_dict()
    assert (report["updated"], report["skipped"]) == (1, 1)
    versions = engine.history("memory:/mem0/0f1e2d3c-0000-4000-8000-000000000001")
    assert [version.number for version in versions] == [2, 1]


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"not json at all", "not JSON"), (b'{"other": 1}', "no list"), (b"[1, 2]", "no list"), (b"\xff\xfe", "not JSON")],
)
def test_a_file_without_a_list_of_memories_is_refused(
    engine: Ricordo, tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(Unreadable, match=message):
        engine.import_(path, format="mem0")


@pytest.mark.parametrize("name", ["obsidian", "basic-memory", "mem0"])
def test_what_is_not_there_is_said_to_be_missing(engine: Ricordo, tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        engine.import_(tmp_path / "nowhere", format=name)


INSIDE = {
    "claude": "conversations.json", "chatgpt": "conversations.json", "mem0": "memories.json",
    "memory-server": "memory.jsonl",
}  # fmt: skip


@pytest.mark.parametrize("format_", INSIDE)
@pytest.mark.parametrize(
    ("piece", "megabytes", "said"),
    [(b" ", 100, "would unpack"), (b"[", 31, "values"), (b"{},", 31, "values")],
    ids=["too large", "too deep", "too many values"],
)
def test_a_small_zip_that_unpacks_to_much_is_refused_before_it_is_read(
    engine: Ricordo, tmp_path: Path, format_: str, piece: bytes, megabytes: int, said: str
) -> None:
    bomb = tmp_path / "export.zip"
    block = piece * (1_000_000 // len(piece))
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed, packed.open(INSIDE[format_], "w") as member:
        for _ in range(megabytes):
            member.write(block)
    assert bomb.stat().st_size < 400_000
    with pytest.raises(Unreadable, match=said) as caught:
        engine.import_(bomb, format=format_)
    assert caught.value.hint
