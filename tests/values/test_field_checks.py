"""Fields hold what they can hold: a wrong type, range or shape is refused wherever it comes in, and nothing breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import UsageError
from ricordo.values.field_checks import DEEPEST_METADATA
from ricordo.values.items import Entry, Fields

NO_VECTORS = ConfigProvider({"embedding.provider": "none"})
DEEP: Any = None
for _ in range(DEEPEST_METADATA + 2):
    DEEP = [DEEP]
WRONG: list[tuple[str, Any]] = [
    ("title", ["x"]), ("title", 5), ("description", 5), ("context", {}), ("category", True), ("category", ["x"]),
    ("domain", 1.5), ("thread", 7), ("source_url", b"x"), ("severity", "huge"), ("severity", ["critical"]),
    ("loading", 1), ("importance", 6), ("importance", True), ("importance", 2.0), ("immutable", "no"), ("immutable", 5),
    ("decay_protected", 0), ("seq", 2**53 + 1), ("seq", -(2**53) - 1), ("seq", "3"), ("seq", True),
    ("valid_from", "someday"), ("metadata", 5), ("metadata", {"a": float("nan")}), ("metadata", {"a": [float("inf")]}),
    ("metadata", {"a": {1: 2}}), ("metadata", {"a": object()}), ("metadata", {"a": DEEP}),
]  # fmt: skip
RIGHT: dict[str, Any] = {
    "title": "T", "tags": ("a", "b"), "importance": 5, "immutable": False, "decay_protected": True, "seq": -(2**53),
    "metadata": {"a": [1, 2.5, None, True, {"b": "c"}]}, "severity": "critical",
}  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path) -> Ricordo:
    return Ricordo.open(tmp_path / "store.db", config=NO_VECTORS)


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_value_that_a_field_cannot_hold_is_refused_by_every_verb(engine: Ricordo, name: str, value: Any) -> None:
    ref = engine.remember("Coffee is black.", ref="note:/coffee", kind="note").ref
    writes: list[Callable[[], object]] = [
        lambda: engine.edit(ref, fields={name: value}),
        lambda: engine.save("note:/tea", "Tea is green.", fields={name: value}),
        lambda: engine.remember("Tea is green.", **{name: value}),
        lambda: engine.correct(ref, "Tea is green.", **{name: value}),
    ]
    for write in writes:
        with pytest.raises(UsageError, match=name) as raised:
            write()
        assert raised.value.hint
    report = engine.save_many([Entry("note:/tea", "Tea is green.", fields={name: value})])
    assert [item.status for item in report.items] == ["failed"]
    assert [item.version for item in engine.list()] == [1]


def test_what_fields_can_hold_comes_back_as_it_was_and_as_json(engine: Ricordo) -> None:
    engine.save("note:/a", "Text.", fields=RIGHT)
    kept = engine.get("note:/a").fields
    assert {name: getattr(kept, name) for name in RIGHT} == RIGHT
    json.dumps(engine.get("note:/a").to_dict(), allow_nan=False)
    engine.edit("note:/a", fields=dict.fromkeys(RIGHT))
    emptied = engine.get("note:/a").fields
    assert {name: getattr(emptied, name) for name in RIGHT} == {name: getattr(Fields(), name) for name in RIGHT}


def test_an_item_that_would_never_be_valid_is_refused(engine: Ricordo) -> None:
    times = {"valid_from": "2027-01-01", "valid_until": "2026-01-01"}
    with pytest.raises(UsageError, match="before valid_from"):
        engine.remember("Ship.", **times)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="before valid_from"):
        engine.save("note:/a", "Ship.", fields=times)
    engine.save("note:/a", "Ship.", fields={"valid_from": "2027-01-01"})
    with pytest.raises(UsageError, match="before valid_from"):
        engine.edit("note:/a", fields={"valid_until": "2026-01-01"})
    engine.edit("note:/a", fields={"valid_until": "2027-01-01"})


def test_fields_and_contents_of_other_types_are_refused_by_name(engine: Ricordo) -> None:
    engine.save("note:/a", "Text.")
    writes: list[Callable[[], object]] = [
        lambda: engine.edit("note:/a", fields=["title"]),  # type: ignore[arg-type]
        lambda: engine.save("note:/b", "Text.", fields="title"),  # type: ignore[arg-type]
        lambda: engine.edit("note:/a", content=5),  # type: ignore[arg-type]
    ]
    for write in writes:
        with pytest.raises(UsageError, match=r"fields|content"):
            write()


def test_a_file_that_calls_itself_immutable_is_refreshed_and_removed_like_any_other(
    engine: Ricordo, tmp_path: Path
) -> None:
    file = tmp_path / "notes" / "i.md"
    file.parent.mkdir()
    file.write_text("---\nimmutable: true\ntitle: I\n---\nfirst\n")
    engine.add(file.parent)
    file.write_text("---\nimmutable: true\n---\nsecond\n")
    engine.refresh(all=True)
    assert engine.get(str(file)).content == "second\n"
    assert engine.rm(str(file), purge=True).items[0].status == "purged"
