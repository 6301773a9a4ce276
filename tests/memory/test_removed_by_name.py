"""What a name means when items are removed: an id is that of one item, and nothing is removed half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Conflict, Filters, Ricordo
from ricordo.errors import NotFound


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    with Ricordo.open(tmp_path / "s.db", config=ConfigProvider({"embedding.provider": "none"})) as opened:
        yield opened


def refs(engine: Ricordo, **options: Any) -> list[str]:
    return sorted(str(item.ref) for item in engine.list(limit=100, **options))


def binned(engine: Ricordo) -> list[str]:
    return refs(engine, filters=Filters(states=("deleted",)))


def test_the_id_of_an_item_in_the_bin_is_not_that_of_the_item_in_its_place(engine: Ricordo) -> None:
    first = engine.save("note:/n1", "First body, of pears.")
    engine.rm("note:/n1")
    second = engine.save("note:/n1", "Second body, of plums.")
    assert first.id
    assert second.id
    assert engine.get(second.id).content == "Second body, of plums."
    with pytest.raises(NotFound, match="in the bin"):
        engine.get(first.id)
    with pytest.raises(Conflict, match="taken by another item"):
        engine.restore(first.id)
    engine.mv("note:/n1", "note:/n2")
    assert engine.restore(first.id).ref == "note:/n1"
    assert engine.get("note:/n1").content == "First body, of pears."


def test_purging_by_an_id_erases_that_item_alone(engine: Ricordo) -> None:
    first = engine.save("note:/n1", "First body, of pears.")
    engine.rm("note:/n1")
    engine.save("note:/n1", "Second body, of plums.")
    assert first.id
    engine.rm(first.id, purge=True)
    assert engine.get("note:/n1").content == "Second body, of plums."
    assert binned(engine) == []


@pytest.mark.parametrize("purge", [False, True])
@pytest.mark.parametrize("names", [("note:/f/",), ("note:/f/a", "note:/f/b", "note:/f/c")])
def test_where_one_item_must_stay_none_is_removed(engine: Ricordo, names: tuple[str, ...], purge: bool) -> None:
    engine.save("note:/f/a", "One apple.")
    engine.save("note:/f/b", "Two oranges.", fields={"immutable": True})
    engine.save("note:/f/c", "Three melons.")
    for dry_run in (True, False):
        with pytest.raises(Conflict, match="note:/f/b is immutable"):
            engine.rm(*names, purge=purge, dry_run=dry_run)
    assert refs(engine) == ["note:/f/a", "note:/f/b", "note:/f/c"]


def test_a_move_that_is_refused_names_the_item_that_stays(engine: Ricordo) -> None:
    engine.save("note:/f/b", "Two oranges.", fields={"immutable": True})
    with pytest.raises(Conflict, match="note:/f/b is immutable"):
        engine.mv("note:/f/b", "note:/f/d")


@pytest.mark.parametrize("put_away", ["rm", "forget", "restored"])
def test_purging_a_session_that_was_put_away_before_erases_its_turns(
    engine: Ricordo, put_away: str, tmp_path: Path
) -> None:
    turns = [
        {"role": role, "content": f"The harbour code is walrus, said the {role}."} for role in ("user", "bot")
    ] * 20
    chat = tmp_path / "s1.jsonl"
    chat.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    engine.sessions_add(chat, capture=False)
    chat.unlink()
    (session,) = [ref for ref in refs(engine) if ref.count("/") == 1]
    getattr(engine, "forget" if put_away == "forget" else "rm")(session)
    if put_away == "restored":
        engine.restore(session)
    engine.rm(session, purge=True)
    assert binned(engine) == []
    engine.close()
    for file in tmp_path.glob("s.db*"):
        assert b"walrus" not in file.read_bytes(), file.name


def test_purging_a_folder_erases_what_was_removed_from_it_before(engine: Ricordo) -> None:
    engine.save("note:/d/one", "One.")
    engine.save("note:/d/two", "Two.")
    engine.rm("note:/d/")
    engine.save("note:/d/two", "Two again.")
    assert engine.rm("note:/d/", purge=True).count("purged") == 3
    assert binned(engine) == []
    with pytest.raises(NotFound):
        engine.rm("note:/d/", purge=True)


def test_a_folder_comes_back_beside_what_is_there_again(engine: Ricordo) -> None:
    engine.save("note:/d/one", "One.")
    engine.save("note:/d/two", "Two.")
    engine.rm("note:/d/")
    engine.save("note:/d/two", "Two again.")
    assert engine.restore("note:/d/").reason == "1 item"
    assert engine.get("note:/d/one").content == "One."
    assert engine.get("note:/d/two").content == "Two again."
