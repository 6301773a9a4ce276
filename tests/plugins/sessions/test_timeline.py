"""What happened: events, versions, memories and what was archived or removed, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ricordo import Entry, Ricordo, UsageError

FIXTURES = Path(__file__).with_name("fixtures")
CLAUDE = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11"


def test_a_timeline_tells_what_was_said_made_changed_and_put_away_in_order(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES / f"{CLAUDE}.jsonl")
    engine.save("note:/plan", "Ship on Friday.")
    engine.edit("note:/plan", "Ship on Monday.")
    engine.remember("The keys rotate monthly.", ref="memory:/keys")
    engine.save("agent:/draft", "A draft.")
    engine.forget("memory:/keys")
    engine.rm("agent:/draft")
    timeline = engine.timeline()
    assert [event.at for event in timeline.events] == sorted(event.at for event in timeline.events)
    assert [(event.what, event.ref) for event in timeline.events][-5:] == [
        ("remembered", "note:/plan"),
        ("updated", "note:/plan"),
        ("remembered", "memory:/keys"),
        ("forgotten", "memory:/keys"),
        ("removed", "agent:/draft"),
    ]
    first, second = timeline.events[:2]
    assert (first.what, first.title) == ("session", "Double charge on the checkout page")
    assert (second.what, second.role, second.direction, second.seq) == ("event", "user", "received", 1)
    assert second.title.startswith("The checkout page charges")
    assert {event.role for event in timeline.events if event.what == "event"} == {"user", "assistant"}


def test_what_has_no_title_is_called_as_everywhere_else(engine: Ricordo, tmp_path: Path) -> None:
    code = tmp_path / "retry.py"
    code.write_text("".join(f"def wait_{n}():\n    return {n}\n\n\n" for n in range(200)))
    engine.add(code)
    engine.save("note:/long", "".join(f"The opening is part {n} of a long note.\n\n" for n in range(400)))
    titles = {event.ref: event.title for event in engine.timeline().events}
    assert titles == {str(item.ref): item.title for item in engine.list()}
    assert list(titles.values()) == ["retry.py", "The opening is part 0 of a long note."]


def test_a_thread_is_told_with_its_use_of_tools(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES)
    timeline = engine.timeline(thread=CLAUDE)
    assert {event.thread for event in timeline.events} == {CLAUDE}
    assert [event.seq for event in timeline.events if event.what == "event"] == list(range(1, 19))


def test_since_takes_a_span_or_a_date_and_goes_by_the_time_of_the_event(engine: Ricordo) -> None:
    now = datetime.now(UTC)
    for days in (1, 3, 10):
        at = now - timedelta(days=days)
        engine.save_many([Entry(f"note:/d{days}", f"{days} days ago", "note", times=(at, at))])
    engine.sessions_add(FIXTURES / "chat.jsonl")  # what was said long ago did not happen today
    assert [event.ref for event in engine.timeline(since="7d").events] == ["note:/d3", "note:/d1"]
    date = (now - timedelta(days=2)).date().isoformat()
    assert [event.ref for event in engine.timeline(since=date).events] == ["note:/d1"]
    assert [event.ref for event in engine.timeline(since=now - timedelta(days=30), kinds=["note"], limit=1).events] == [
        "note:/d1"
    ]


def test_recent_tells_the_newest_first_and_says_when_there_is_more(engine: Ricordo) -> None:
    for number in range(5):
        engine.save(f"note:/n{number}", f"number {number}")
    timeline = engine.timeline(limit=3, newest_first=True)
    assert [event.ref for event in timeline.events] == ["note:/n4", "note:/n3", "note:/n2"]
    assert timeline.more
    assert not engine.timeline(limit=5, newest_first=True).more
    assert timeline.to_dict()["events"][0]["at"].endswith("+00:00")


@pytest.mark.parametrize("wrong", [{"since": "yesterdayish"}, {"kinds": ["poem"]}, {"limit": 0}, {"since": "7 x"}])
def test_what_cannot_be_asked_is_refused(engine: Ricordo, wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        engine.timeline(**wrong)  # type: ignore[arg-type]


def test_a_wrong_since_is_told_of_spans_and_dates(engine: Ricordo) -> None:
    with pytest.raises(UsageError) as refused:
        engine.timeline(since="yesterdayish")
    assert "7d" in refused.value.hint
    assert "2026-11-15" in refused.value.hint
