"""On a terminal, tidy asks about each finding with one key, and what was chosen is done at the end as one step."""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
PAST = ("--valid-until", "2020-01-31")
DEADLINE = 240.0
KEYS = "dsakq"


def tidied(house: Any, *keys: str) -> str:
    """What the terminal shows; each key is pressed once another finding is shown, and the command waits for a key."""
    import pty
    import termios

    lead, follow = pty.openpty()
    house.env["TERM"] = "xterm"
    process = house.start("tidy", "--no-color", stdin=follow, stdout=follow, stderr=follow)
    os.close(follow)
    shown, pressed, answered, until = "", 0, 0, time.monotonic() + DEADLINE
    try:
        while time.monotonic() < until:
            if select.select([lead], [], [], 0.1)[0]:
                try:
                    data = os.read(lead, 65536)
                except OSError:  # the other end is closed: the command ended
                    break
                if not data:
                    break
                shown += data.decode("utf-8", "replace")
            waits = not termios.tcgetattr(lead)[3] & termios.ICANON  # what is typed before that is thrown away
            if waits and pressed < len(keys) and shown.count("It held until") > answered:
                os.write(lead, keys[pressed].encode())
                answered += keys[pressed] in KEYS
                pressed += 1
        assert process.wait(DEADLINE) == 0, shown
    finally:
        process.kill()
        process.wait()
        os.close(lead)
    return shown


@pytest.fixture
def expired(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    for name in ("freeze", "sale", "strike"):
        house.run("remember", f"The {name} goes on.", "--as", f"memory:/{name}", *PAST)
    return house


def live(house: Any) -> set[str]:
    return {one["ref"] for one in house.json("list")["items"]}


def test_one_key_does_it_one_skips_it_and_one_ends_and_undo_takes_all_back(expired: Any) -> None:
    before = live(expired)
    shown = tidied(expired, "d", "s", "q")
    assert "[d]o it, [s]kip" in shown
    left = live(expired)
    assert len(left) == 2, shown
    assert left < before
    expired.run("undo")
    assert live(expired) == before


def test_a_key_does_all_of_a_kind_and_another_keeps_the_rest(expired: Any) -> None:
    before = live(expired)
    shown = tidied(expired, "k")
    assert shown.count("It held until") == 1
    assert "nothing was changed" in shown
    assert live(expired) == before
    tidied(expired, "a")
    assert live(expired) == set()


def test_without_a_terminal_the_findings_are_only_listed(expired: Any) -> None:
    before = live(expired)
    assert expired.run("tidy").stdout.count("It held until") == 3
    assert live(expired) == before
