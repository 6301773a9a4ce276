"""Arguments that a Python programmer gets wrong: nothing may be changed that was not meant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Filters, Ricordo
from ricordo.engine import context
from ricordo.errors import Conflict, NotFound, UsageError


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    with Ricordo.open(tmp_path / "s.db", config=ConfigProvider({"embedding.provider": "none"})) as opened:
        yield opened


def test_one_tag_as_a_text_is_not_read_letter_by_letter(engine: Ricordo) -> None:
    engine.remember("Secret plan of the oboe player.", tags=["o"], kind="note")
    engine.remember("Operations handbook for pumps.", tags=["ops"], kind="note")
    removed = engine.rm(tags="ops", dry_run=True)
    assert [one.ref for one in removed.items] == ["note:/operations-handbook-for-pumps"]
    assert [one.ref for one in engine.forget(tags="ops", dry_run=True).items] == ["note:/operations-handbook-for-pumps"]
    engine.tag("note:/secret-plan-of-the-oboe-player", add="music")
    engine.tag("note:/secret-plan-of-the-oboe-player", remove="o")
    assert engine.get("note:/secret-plan-of-the-oboe-player").fields.tags == ("music",)


def test_one_pattern_as_a_text_is_one_pattern(engine: Ricordo, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("pumps = 1\n")
    (tmp_path / "b.md").write_text("About pumps.\n")
    engine.add(tmp_path, globs="*.py")
    assert [match.ref.rpartition("/")[2] for match in engine.grep("pumps")] == ["a.py"]
    assert engine.grep("pumps", globs="/nomatch*") == []
    assert engine.grep("pumps", drives="note") == []


@pytest.mark.parametrize(
    "call",
    [
        lambda engine: engine.rm(kinds="nothing"),
        lambda engine: engine.forget(kinds=["nope"]),
        lambda engine: engine.embed(kinds="nope"),
        lambda engine: engine.review(kinds="nope"),
        lambda engine: engine.rm(tags=[5]),
        lambda engine: engine.search("x", filters=Filters(kinds="memory")),  # type: ignore[arg-type]
        lambda engine: engine.search("x", filters=Filters(tags_any=(5,))),  # type: ignore[arg-type]
        lambda engine: engine.search("x", filters=Filters(after=2020)),  # type: ignore[arg-type]
        lambda engine: engine.search("x", boost_tags=[5]),
        lambda engine: engine.save("note:/n", "hello", kind="foo"),
        lambda engine: engine.save("note:/", "hello"),
        lambda engine: engine.save("note:/folder/", "hello"),
        lambda engine: engine.remember("hello", ref="memory:/"),
        lambda engine: engine.context(None),
        lambda engine: engine.timeline(limit="5", newest_first=True),
        lambda engine: engine.route(None),
        lambda engine: engine.add(""),
        lambda engine: engine.add(" "),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_changes(
    engine: Ricordo, call: Callable[[Ricordo], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.md").write_text("A file of the current folder.\n")
    monkeypatch.chdir(tmp_path / "here")
    engine.remember("Kept as it is.", kind="note")
    with pytest.raises(UsageError):
        call(engine)
    assert [str(item.ref) for item in engine.list()] == ["note:/kept-as-it-is"]


def test_kinds_may_be_one_text(engine: Ricordo) -> None:
    engine.remember("A note.", kind="note")
    engine.remember("A memory.")
    assert [one.ref for one in engine.forget(kinds="note", dry_run=True).items] == ["note:/a-note"]
    assert {event.kind for event in engine.timeline(kinds="memory").events} == {"memory"}


@pytest.mark.parametrize("end", ["", "-wal"])
def test_an_export_never_replaces_the_store(tmp_path: Path, end: str) -> None:
    store = tmp_path / "s.db"
    with Ricordo.open(store, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.remember("The only copy of this fact.")
        with pytest.raises(UsageError, match="belongs to the store"):
            engine.export(f"{store}{end}", force=True)
        engine.export(tmp_path / "other.jsonl")
    with Ricordo.open(store) as engine:
        assert engine.search("fact").hits


def test_entries_with_the_same_text_stay_apart_in_their_series(engine: Ricordo) -> None:
    for thread, seq in (("alpha", 1), ("alpha", 2), ("beta", 1)):
        assert engine.remember("Backup finished.", thread=thread, seq=seq, kind="entry").status == "created"
    assert engine.remember("Backup finished.", thread="alpha", seq=2, kind="entry").status == "skipped"
    found = sorted((item.fields.thread, item.fields.seq) for item in engine.list())
    assert found == [("alpha", 1), ("alpha", 2), ("beta", 1)]


def test_a_small_write_leaves_a_long_backlog_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MOST_AFTER_SMALL_WRITE", 3)
    with Ricordo.open(tmp_path / "s.db") as engine:
        engine.remember("The ferry leaves at noon.")
        assert engine._context.waiting() == 0
        for number in range(4):
            engine.save(f"note:/{number}", f"Text number {number}.", wait=False)
        engine.remember("Otters sleep holding hands.")
        engine.edit("note:/0", "Another text.")
        engine.undo()
        assert engine._context.waiting() == 4


def test_days_and_spans_of_python_name_moments(engine: Ricordo) -> None:
    engine.remember("Kept as it is.", kind="note")
    tomorrow = date.today() + timedelta(days=1)
    assert engine.search("kept", as_of=tomorrow).hits  # type: ignore[arg-type]
    assert engine.get("note:/kept-as-it-is", as_of=tomorrow).content == "Kept as it is."  # type: ignore[arg-type]
    assert engine.search("kept", filters=Filters(after=date.today())).hits  # type: ignore[arg-type]
    assert engine.search("kept", filters=Filters(after=timedelta(days=1))).hits  # type: ignore[arg-type]
    assert not engine.search("kept", filters=Filters(after=tomorrow)).hits  # type: ignore[arg-type]
    assert engine.timeline(since=date.today()).events  # type: ignore[arg-type]


@pytest.mark.parametrize("when", [datetime.min, 5])
def test_a_moment_that_cannot_be_is_refused_and_the_store_is_not_called_damaged(engine: Ricordo, when: Any) -> None:
    with pytest.raises(UsageError):
        engine.search("kept", as_of=when)
    with pytest.raises(UsageError):
        engine.search("kept", filters=Filters(after=when))


def test_a_version_that_is_no_longer_kept_is_not_called_one_that_never_was(tmp_path: Path) -> None:
    settings = {"embedding.provider": "none", "store.keep_versions": 2}
    with Ricordo.open(tmp_path / "s.db", config=ConfigProvider(settings)) as engine:
        before = datetime.now(UTC)
        engine.save("note:/v", "Text 0.")
        then = datetime.now(UTC)
        for number in range(1, 5):
            engine.edit("note:/v", f"Text {number}.")
        with pytest.raises(NotFound, match="is kept any more"):
            engine.get("note:/v", as_of=then)
        with pytest.raises(NotFound, match="did not exist"):
            engine.get("note:/v", as_of=before)


def test_a_memory_that_was_corrected_is_not_corrected_again(engine: Ricordo) -> None:
    old = engine.remember("The queue is RabbitMQ.").ref
    kafka = engine.correct(old, "The queue is Kafka.").ref
    for text in ("The queue is NATS.", "The queue is RabbitMQ."):
        with pytest.raises(Conflict, match="was replaced before, by") as refused:
            engine.correct(old, text)
        assert kafka in refused.value.hint
    assert engine.correct(kafka, "The queue is NATS.").status == "created"


@pytest.mark.parametrize("number", [10**20, -1, "3", 2.5, True])
def test_a_number_that_cannot_be_meant_is_refused_and_the_store_is_not_called_damaged(
    engine: Ricordo, number: Any
) -> None:
    ref = engine.save("note:/a", "Apples are red.").ref
    calls: list[Callable[[], object]] = [
        lambda: engine.search("apples", limit=number),
        lambda: engine.search("apples", offset=number),
        lambda: engine.list(limit=number),
        lambda: engine.list(offset=number),
        lambda: engine.grep("apples", limit=number),
        lambda: engine.get(ref, version=number),
        lambda: engine.diff(ref, 1, number),
        lambda: engine.restore(ref, number),
    ]
    for call in calls:
        with pytest.raises(UsageError):
            call()


def test_a_score_is_between_nought_and_one_and_a_pattern_is_a_text(engine: Ricordo) -> None:
    for score in (7, -0.1, float("nan")):
        with pytest.raises(UsageError, match="min_score"):
            engine.search("apples", min_score=score)
    with pytest.raises(UsageError, match="pattern"):
        engine.grep(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="limit"):
        engine.grep("apples", limit=0)


def test_a_number_that_no_store_holds_is_not_called_damage(engine: Ricordo) -> None:
    with pytest.raises(UsageError, match="larger than any store holds"):
        engine.log(limit=10**20)


@pytest.mark.parametrize("path", ["/projects/./plan", "/../x", "/a/..", "/."])
def test_no_item_is_saved_under_a_path_with_dots_as_parts(engine: Ricordo, path: str) -> None:
    engine.remember("The plan of the house.", ref="plan", kind="note")
    writes: list[Callable[[], object]] = [
        lambda: engine.save(f"note:{path}", "A text."),
        lambda: engine.mv("note:/plan", f"note:{path}"),
        lambda: engine.remember("A text.", ref=path[1:]),
        lambda: engine.remember("A text.", ref=f"memory:{path}"),
    ]
    for write in writes:
        with pytest.raises(UsageError, match="as a part, which") as told:
            write()
        assert "Leave these parts out" in (told.value.hint or "")
    assert [str(item.ref) for item in engine.list()] == ["note:/plan"]


def test_dots_in_names_and_addresses_are_no_folders(engine: Ricordo) -> None:
    for ref in ("note:/v1.2/...and-more", "note:/.hidden/a..b", "https://example.org/find?in=a/../b"):
        assert engine.save(ref, f"What {ref} says.").status == "created"
