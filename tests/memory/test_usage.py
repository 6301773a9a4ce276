"""What is remembered of searches and openings, and that remembering is never in the way."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from ricordo import Item, Ricordo, UsageError
from ricordo.memory import use
from ricordo.values.use import Use, UsedItem, decayed, opened

from ..figures import figures


def tracker(engine: Ricordo) -> use.Tracker:
    assert engine._context.tracker is not None
    return engine._context.tracker


def item(engine: Ricordo, ref: str) -> Item:
    """The item once all use of it is written; looking leaves no trace."""
    assert tracker(engine).flush(10)
    return engine.get(ref, track=False)


def rows(engine: Ricordo, sql: str) -> list[tuple[Any, ...]]:
    assert tracker(engine).flush(10)
    return apsw.Connection(engine.location).execute(sql).fetchall()


def test_every_returned_item_is_counted_as_retrieved(memory: Ricordo) -> None:
    for _ in range(3):
        assert {hit.ref for hit in memory.search("keys").hits} == {"note:/keys", "note:/locks"}
    found = item(memory, "note:/keys")
    assert found.retrieval_count == 3
    assert found.last_retrieved_at is not None
    assert found.access_count == 0
    assert found.last_accessed_at is None
    assert item(memory, "note:/lunch").retrieval_count == 0


def test_getting_an_item_counts_as_opening_it(memory: Ricordo) -> None:
    memory.get("note:/lunch")
    memory.get("note:/lunch")
    found = item(memory, "note:/lunch")
    assert (found.access_count, found.retrieval_count) == (2, 2)
    assert found.last_accessed_at == found.last_retrieved_at


def test_a_search_with_the_profile_brain_counts_as_opening(memory: Ricordo) -> None:
    memory.search("keys", profile="brain")
    assert item(memory, "note:/keys").access_count == 1
    memory.search("keys")
    assert item(memory, "note:/keys").access_count == 1


def test_a_decay_score_halves_every_thirty_days(memory: Ricordo, later: Callable[[float], None]) -> None:
    assert item(memory, "note:/keys").decay_score == pytest.approx(1.0, abs=1e-4)
    later(30)
    assert item(memory, "note:/keys").decay_score == pytest.approx(0.5, abs=1e-4)
    later(30)
    assert item(memory, "note:/keys").decay_score == pytest.approx(0.25, abs=1e-4)


def test_use_raises_what_is_left_of_the_decay_score(memory: Ricordo, later: Callable[[float], None]) -> None:
    later(60)
    memory.get("note:/keys")
    assert item(memory, "note:/keys").decay_score == pytest.approx(0.35, abs=1e-4)
    later(30)
    assert item(memory, "note:/keys").decay_score == pytest.approx(0.175, abs=1e-4)
    for _ in range(20):
        memory.get("note:/keys")
    assert item(memory, "note:/keys").decay_score == pytest.approx(1.0, abs=1e-4)


def test_being_found_does_not_stop_the_decay_but_being_opened_does(
    memory: Ricordo, later: Callable[[float], None]
) -> None:
    later(30)
    memory.search("keys")
    assert item(memory, "note:/keys").decay_score == pytest.approx(0.5, abs=1e-4)


def test_protected_items_do_not_decay(memory: Ricordo, later: Callable[[float], None]) -> None:
    memory.edit("note:/keys", fields={"decay_protected": True})
    later(365)
    assert item(memory, "note:/keys").decay_score == 1.0


def test_the_profile_brain_ranks_with_the_decay_score(memory: Ricordo, later: Callable[[float], None]) -> None:
    memory.save("note:/one", "zebra crossing")
    memory.save("note:/two", "zebra crossing")
    later(60)
    for _ in range(5):
        memory.get("note:/two")
    tracker(memory).flush()
    assert [hit.ref for hit in memory.search("zebra", profile="brain", track=False).hits] == ["note:/two", "note:/one"]


def test_decay_and_opening_stay_between_zero_and_one() -> None:
    assert decayed(1.0, 30) == 0.5
    assert decayed(0.8, 0) == 0.8
    assert decayed(0.8, -5) == 0.8
    assert decayed(0.8, 300, protected=True) == 0.8
    assert decayed(1.0, 1e9) == 0.0
    assert opened(0.95) == 1.0
    assert opened(0.5) == 0.6


def trace(engine: Ricordo) -> list[list[tuple[Any, ...]]]:
    return [rows(engine, f"SELECT * FROM {table}") for table in ("usage", "query_log", "retrieval_log")]


def test_without_tracking_no_trace_is_left(memory: Ricordo) -> None:
    memory.search("keys", track=False)
    memory.search("keys", profile="brain", track=False)
    memory.get("note:/keys", track=False)
    memory.explain("keys", "note:/keys")
    assert trace(memory) == [[], [], []]


def test_without_the_log_counts_are_kept_and_queries_are_not(opens: Callable[..., Ricordo], memory: Ricordo) -> None:
    discreet = opens(usage__log=False)
    discreet.search("keys")
    discreet.get("note:/keys")
    assert item(discreet, "note:/keys").retrieval_count == 2
    assert trace(discreet)[1:] == [[], []]


def test_the_logs_hold_what_was_asked_and_which_versions_were_shown(memory: Ricordo) -> None:
    memory.edit("note:/keys", content="Rotate the signing keys every month.")
    answer = memory.search("signing keys", limit=1)
    logged = rows(memory, "SELECT id, text, tool, profile, results, refs FROM query_log")
    assert [row[1:5] for row in logged] == [("signing keys", "search", "default", 1)]
    assert json.loads(logged[0][5]) == ["note:/keys"]
    found = rows(memory, "SELECT ref, version, query, score FROM retrieval_log")
    assert found == [("note:/keys", 2, logged[0][0], answer.hits[0].score)]


def test_any_query_text_can_be_logged(memory: Ricordo) -> None:
    for text in ("", "\x00", "'; DROP TABLE items --", "a\udcff", "名前"):
        memory.search(text)
    assert len(rows(memory, "SELECT * FROM query_log")) == 5


def test_log_entries_of_one_microsecond_never_collide(memory: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: moment)
    for _ in range(25):
        memory.search("keys")
    for table, expected in (("query_log", 25), ("retrieval_log", 50)):
        count, ids, times = rows(memory, f"SELECT count(*), count(DISTINCT id), count(DISTINCT at) FROM {table}")[0]
        assert (count, ids, times) == (expected, expected, 1)


def test_old_log_entries_are_dropped_and_counts_stay(memory: Ricordo, later: Callable[[float], None]) -> None:
    memory.search("keys")
    tracker(memory).flush()
    later(91)
    memory.search("soup")
    assert rows(memory, "SELECT text FROM query_log") == [("soup",)]
    assert rows(memory, "SELECT ref FROM retrieval_log") == [("note:/lunch",)]
    assert item(memory, "note:/keys").retrieval_count == 1


def test_a_store_that_can_only_be_read_is_searched_and_remembers_nothing(
    memory: Ricordo, opens: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
    reader = opens()
    assert reader.search("keys").meta.returned == 2
    assert reader.get("note:/keys").retrieval_count == 0
    assert reader.search("keys", profile="brain").meta.returned == 2
    assert figures(reader).queries == 0
    reader.close()
    assert trace(memory) == [[], [], []]


@pytest.fixture
def held(memory: Ricordo) -> Any:
    """Another writer that holds the store."""
    other = apsw.Connection(memory.location)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def test_a_busy_store_does_not_delay_the_answer_and_the_record_follows(memory: Ricordo, held: Any) -> None:
    assert memory.search("keys").meta.returned == 2
    assert not tracker(memory).flush(0.2)
    held.execute("ROLLBACK")
    assert item(memory, "note:/keys").retrieval_count == 1


def test_closing_waits_for_a_busy_store_only_so_long(
    memory: Ricordo, held: Any, monkeypatch: pytest.MonkeyPatch, opens: Callable[..., Ricordo]
) -> None:
    monkeypatch.setattr(use, "CLOSE_SECONDS", 0.3)
    monkeypatch.setattr(use, "ATTEMPT_SECONDS", 0.1)
    memory.search("keys")
    memory.close()  # and the store is let go of after that
    held.execute("ROLLBACK")
    assert item(opens(), "note:/keys").retrieval_count == 0


def test_what_was_used_last_is_written_when_the_engine_closes(memory: Ricordo, opens: Callable[..., Ricordo]) -> None:
    memory.search("keys")
    memory.close()
    assert item(opens(), "note:/keys").retrieval_count == 1


def test_a_failure_to_remember_never_reaches_the_caller(memory: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(memory.store.usage, "record", broken)
    assert memory.search("keys").meta.returned == 2
    assert tracker(memory).flush(10)
    monkeypatch.undo()
    memory.search("keys")
    assert item(memory, "note:/keys").retrieval_count == 1


def test_engines_on_one_store_lose_no_count(memory: Ricordo, opens: Callable[..., Ricordo]) -> None:
    engines = [memory, opens(), opens()]

    def ask(engine: Ricordo) -> None:
        for _ in range(20):
            engine.search("keys")

    threads = [threading.Thread(target=ask, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in engines:
        assert tracker(engine).flush(10)
    assert item(memory, "note:/keys").retrieval_count == 60
    assert figures(memory).queries == 60


def test_an_item_that_left_before_its_use_was_written_is_passed_over(memory: Ricordo) -> None:
    answer = memory.search("keys", track=False)
    memory.rm("note:/keys", purge=True)
    used = tuple(UsedItem(hit.id, hit.version, hit.score) for hit in answer.hits)
    memory.store.usage.record([Use(used, "search", "keys")], keep_days=90)
    assert item(memory, "note:/locks").retrieval_count == 1
    assert memory.doctor().ok


def test_purging_an_item_takes_its_use_along(memory: Ricordo) -> None:
    memory.search("signing")
    memory.feedback("signing", "note:/keys", "accepted")
    tracker(memory).flush()
    memory.rm("note:/keys", purge=True)
    assert rows(memory, "SELECT * FROM retrieval_log") == []
    assert rows(memory, "SELECT item FROM feedback") == [(None,)]
    assert memory.doctor().ok
    memory.save("note:/keys", "New keys.")
    assert item(memory, "note:/keys").retrieval_count == 0


def test_stats_say_what_was_asked_how_often_and_what_was_found(memory: Ricordo) -> None:
    for _ in range(3):
        memory.search("keys")
    memory.search("soup")
    memory.search("xylophone", tool="recall")
    memory.get("note:/lunch")
    report = figures(memory)
    assert (report.queries, report.zero_results) == (5, 1)
    assert report.average_results == pytest.approx(7 / 5)
    assert report.average_ms > 0
    assert [(row.name, row.count, row.average_results) for row in report.rows[:1]] == [("keys", 3, 2.0)]
    assert [row.name for row in report.zero_result] == ["xylophone"]
    assert {row.name for row in report.slowest} == {"keys", "soup", "xylophone"}
    slowest = [row.slowest_ms for row in report.slowest]
    assert slowest == sorted(slowest, reverse=True)
    assert {entry.ref: entry.count for entry in report.most_retrieved} == {
        "note:/keys": 3, "note:/locks": 3, "note:/lunch": 2,
    }  # fmt: skip
    assert report.never_retrieved == ()
    assert json.loads(json.dumps(report.to_dict()))["queries"] == 5


def test_stats_by_tool_and_by_day(memory: Ricordo, later: Callable[[float], None]) -> None:
    memory.search("keys")
    memory.search("keys", tool="recall")
    memory.search("soup", tool="recall")
    tracker(memory).flush()
    later(3)
    memory.search("soup")
    by_tool = figures(memory, summary="tool")
    assert {row.name: row.count for row in by_tool.rows} == {"search": 2, "recall": 2}
    by_day = figures(memory, summary="day")
    assert [row.count for row in by_day.rows] == [3, 1]
    assert by_day.rows[0].name < by_day.rows[1].name
    assert figures(memory, since="2d", summary="query").queries == 1


def test_stats_name_the_items_that_were_never_retrieved(memory: Ricordo) -> None:
    memory.search("soup")
    report = figures(memory, limit=1, summary="query")
    assert report.never_retrieved_count == 2
    assert report.never_retrieved == ("note:/locks",)


def test_clearing_erases_the_log_and_keeps_the_counts(memory: Ricordo) -> None:
    memory.search("a very private question about keys")
    assert memory.log(clear=True).erased == 1
    assert figures(memory).queries == 0
    assert item(memory, "note:/keys").retrieval_count == 1
    memory.close()
    assert b"a very private question" not in Path(memory.location).read_bytes()


def test_stats_refuse_what_they_cannot_count(memory: Ricordo) -> None:
    with pytest.raises(UsageError) as refused:
        figures(memory, summary="moon")
    assert "query, tool, day" in refused.value.hint
    wrongs: list[dict[str, Any]] = [{"since": "moon"}, {"limit": 0}]
    for wrong in wrongs:
        with pytest.raises(UsageError):
            figures(memory, **wrong, summary="query")


def test_an_erased_item_is_named_in_no_file_of_the_store(opens: Callable[..., Ricordo]) -> None:
    engine = opens()
    engine.save("note:/boats", "Boats and a zebra.")
    ref = engine.remember("Zebra codename is Quagga").ref
    engine.save("note:/binned-okapi", "Another zebra.")
    engine.search("zebra")
    engine.feedback("zebra", ref, "accepted")
    engine.mv(ref, "memory:/tapir")
    engine.search("zebra")
    engine.rm("memory:/tapir", purge=True)
    engine.rm("note:/binned-okapi", purge=True)
    assert [json.loads(row[0]) for row in rows(engine, "SELECT refs FROM query_log")] == [["note:/boats"]] * 2
    assert rows(engine, "SELECT query, item, ref FROM feedback") == [("zebra", None, "")]
    held = b"".join(path.read_bytes() for path in Path(engine.location).parent.glob("store.db*"))
    assert [word for word in (b"quagga", b"tapir", b"okapi") if word in held.lower()] == []
    assert engine.doctor().ok


def test_what_the_bin_lets_go_of_is_named_in_no_logged_query(
    opens: Callable[..., Ricordo], later: Callable[[float], None]
) -> None:
    engine = opens(store__bin_days=5)
    for name in ("a", "b", "kept"):
        engine.save(f"note:/{name}", f"A zebra {name}.")
    engine.search("zebra")
    assert tracker(engine).flush(10)
    engine.rm("note:/a", "note:/b")
    assert len(json.loads(rows(engine, "SELECT refs FROM query_log")[0][0])) == 3, "they can still be brought back"
    later(6)
    engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days)
    assert rows(engine, "SELECT refs FROM query_log") == [('["note:/kept"]',)]
