"""Sessions, timeline, recent and route at the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).with_name("fixtures")
CLAUDE = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11"


def test_sessions_are_added_listed_and_shown(house: Any) -> None:
    printed = house.run("sessions", "add", str(FIXTURES), "--no-wait")
    assert printed.stdout == "5 created\n"
    assert "1 secret was taken out (aws key)" in printed.stderr
    again = house.json("sessions", "add", str(FIXTURES))
    assert (again["created"], again["skipped"], again["failed"]) == (0, 4, 0)
    listed = house.run("sessions").stdout
    assert listed == house.run("sessions", "list").stdout
    assert "Double charge on the checkout page" in listed
    assert house.json("sessions", "list", "--limit", "2")["sessions"][1]["turn_count"] == 3
    shown = house.run("sessions", "show", "3f2a", "--limit", "3")
    assert "Read: /home/ada/shop/src/payment.py" in shown.stdout
    assert "15 more turns; --from 4 goes on" in shown.stderr
    plain = house.json("sessions", "show", CLAUDE)
    assert plain["turns"][0]["at"] == "2026-10-05T09:01:00+00:00"
    assert plain["topics"]


def test_a_bad_file_fails_and_an_unknown_session_is_not_found(house: Any) -> None:
    (house.folder / "rows.jsonl").write_text('{"price": 3}\n')
    printed = house.run("sessions", "add", "rows.jsonl", code=1)
    assert "is not a transcript" in printed.stderr
    assert "no session nobody" in house.run("sessions", "show", "nobody", code=3).stderr


def test_thanks_are_no_request(house: Any) -> None:
    said = [("user", "Add a retry."), ("assistant", "Done."), ("user", "Perfect, thanks!"), ("user", "Now test it.")]
    lines = "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in said)
    (house.folder / "chat.jsonl").write_text(lines)
    house.run("sessions", "add", "chat.jsonl", "--no-wait")
    session = house.json("sessions", "list")["sessions"][0]
    assert session["summary"] == "Add a retry. (and 1 more request)"
    assert house.json("get", session["ref"])["content"] == "- Add a retry.\n- Now test it."


@pytest.fixture
def five_hours_ahead(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("the time zone of a process cannot be set here")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Etc/GMT-5")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("five_hours_ahead")
def test_times_are_local_for_people_and_iso_for_programs(house: Any) -> None:
    house.run("sessions", "add", str(FIXTURES / "chat.jsonl"), "--no-wait")
    lines = house.run("timeline").stdout.splitlines()
    assert lines[1].startswith("2026-10-07 12:00  session")
    events = house.json("timeline")["events"]
    assert events[0]["at"] == "2026-10-07T07:00:00+00:00"
    newest = house.json("timeline", "--newest-first", "--limit", "1")
    assert newest["events"] == [events[-1]]
    assert newest["more"] is True
    assert house.json("timeline", "--since", "1d")["events"] == []
    assert house.json("timeline", "--kind", "memory")["events"] == []
    house.run("timeline", "--since", "someday", code=2)


def test_route_names_session_turn_and_quality(house: Any) -> None:
    house.run("sessions", "add", str(FIXTURES), "--no-wait")
    said = house.run("route", "customers", "charged", "twice").stdout
    assert said.startswith("1. The checkout page charges customers twice")
    assert f"session {CLAUDE}  turn 7  quality 0." in said
    routes = house.json("route", "customers charged twice")["routes"]
    assert routes[0]["files"] == ["/home/ada/shop/src/payment.py"]
    assert "no earlier session" in house.run("route", "zzzqqq").stderr


def test_route_does_not_speak_of_the_nearest_when_it_shows_none(house: Any) -> None:
    house.write("chat.jsonl", '{"role": "user", "content": "Why bread?"}\n{"role": "assistant", "content": "Air."}')
    house.run("sessions", "add", "chat.jsonl")
    told = house.run("route", "add a retry to the upload").stderr
    assert "no earlier session has anything like this" in told
    assert "these are the nearest" not in told
