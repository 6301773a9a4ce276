"""Reading an item again, from its file or from a new text, keeps the fields that people set."""

from __future__ import annotations

from pathlib import Path

from ricordo import Ricordo

SAID = {"title": "My own title", "tags": ["mine"], "description": "What I think of it."}


def fields_of(engine: Ricordo, ref: str | Path) -> dict[str, object]:
    plain = engine.get(ref).fields.to_dict()  # type: ignore[arg-type]
    return {name: plain[name] for name in SAID}


def test_adding_a_file_again_with_overwrite_keeps_what_was_set_by_hand(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("# The plan\n\nfirst")
    engine.add(path)
    engine.edit(path, fields=SAID)  # type: ignore[arg-type]
    path.write_text("# The new plan\n\nsecond")
    assert engine.add(path, on_conflict="overwrite").items[0].status == "updated"
    assert "second" in engine.get(path).content  # type: ignore[arg-type]
    assert fields_of(engine, path) == SAID
    engine.add(path, on_conflict="overwrite", fields={"title": "Given now"})
    assert engine.get(path).title == "Given now"  # type: ignore[arg-type]


def test_a_title_that_came_from_the_file_follows_the_file(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("# The plan\n\nfirst")
    engine.add(path)
    path.write_text("# The new plan\n\nsecond")
    engine.add(path, on_conflict="overwrite")
    assert engine.get(path).title == "The new plan"  # type: ignore[arg-type]


def test_a_new_text_in_the_place_of_an_item_keeps_its_fields_and_its_kind(engine: Ricordo) -> None:
    engine.save("agent:/plan", "one", kind="note", fields=SAID)
    saved = engine.save("agent:/plan", "two", fields={"tags": ["theirs"]}, on_conflict="overwrite")
    assert saved.status == "updated"
    item = engine.get("agent:/plan")
    assert (item.content, item.kind, item.title, item.fields.tags) == ("two", "note", "My own title", ("theirs",))


def test_text_from_standard_input_keeps_what_was_set_by_hand_and_not_its_old_heading(engine: Ricordo) -> None:
    engine.add(text="# First heading\n\none", as_ref="agent:/x.md")
    engine.edit("agent:/x.md", fields={"tags": ["mine"]})
    engine.add(text="# Second heading\n\ntwo", as_ref="agent:/x.md", on_conflict="overwrite")
    item = engine.get("agent:/x.md")
    assert (item.title, item.fields.tags) == ("Second heading", ("mine",))


def test_refresh_takes_a_quoted_glob(engine: Ricordo, tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.txt", "deep/d.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    engine.add(tmp_path)

    def names(pattern: str) -> list[str]:
        return sorted(one.ref.rpartition("/")[2] for one in engine.refresh(f"{tmp_path}/{pattern}").items)

    assert names("*.md") == ["a.md", "b.md"]
    assert names("**/*.md") == ["a.md", "b.md", "d.md"]
