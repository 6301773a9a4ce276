"""A day of work with Claude Code in two work trees and on two branches: what was taught waits in the evening, nothing
else does, and what was accepted is told in the next session.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.git.conftest import Checkout
from tests.plugins.lessons.conversations import Conversation, awaited

from ricordo import ConfigProvider, Ricordo

LINT = "Always run make lint before you commit."
PNPM = "We use pnpm, not npm."
DATABASE = "We decided to stay on SQLite because the shop runs on one machine."
TESTS = "The tests live in spec/, not in tests/."
FIX = "`npm test` fails (bash: npm: command not found); `pnpm test` works."
GERMAN = "Merk dir, dass wir nur dienstags deployen."
WHERE = "Where is the retry limit of the payments set: src/payments/retry.py answers it."


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "60")
    made = Checkout(tmp_path / "shop")
    made.top.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write(".gitignore", ".ricordo/\n")
    made.commit("Begin", README__md="A shop.\n")
    (made.top / ".ricordo").mkdir()
    with opened(made):
        pass
    return made


def opened(place: Checkout) -> Ricordo:
    return Ricordo.open(config=ConfigProvider({"embedding.provider": "none"}, start=place.top), start=place.top)


def conversations(main: Path, beside: Path, home: Path) -> Iterator[Conversation]:
    """Five sessions, each with something to learn and with noise."""
    one = Conversation(main, home)
    one.user("The checkout page charges twice when the pay button is pressed quickly. Find out why and fix it.")
    one.agent("The handler is not guarded. I'll add a lock.").run("grep -rn pay src", "src/pay.py:3: def pay():")
    one.user("ok, looks good. Always run make lint before you commit. Does it always take that long?")
    one.agent("It took 40 seconds. I'll always run it from now on.").user("thanks!")
    yield one
    two = Conversation(main, home)
    two.user("Install the dependencies and run the tests.")
    two.run("npm test", "bash: npm: command not found", failed=True).run("pnpm test", "12 passed")
    two.agent("All twelve tests pass.").user("No, not npm. We use pnpm, not npm.")
    two.user("If you always installed everything first, would it be faster?").agent("No, it would not.")
    yield two
    three = Conversation(beside, home, branch="login")
    three.user("Should we move to PostgreSQL?").agent("It depends on the load.")
    three.user("We decided to stay on SQLite because the shop runs on one machine. Can you note that in the plan?")
    three.agent("Done.").user("He said “never use SQLite in production”, but that was long ago.")
    yield three
    four = Conversation(beside, home, branch="login")
    four.user("Add a test for the login form.").tool("Write", {"file_path": "tests/login.py"}, "ok")
    four.agent("I added tests/login.py.").user("No, the tests live in spec/, not in tests/.")
    four.agent("Moved.").user("```\n# never edit this file by hand\nalways = True\n```\nWhat does this do?")
    four.agent("It is a marker.").user("Our key is AKIAIOSFODNN7EXAMPLE, remember that it always goes into .env.")
    yield four
    five = Conversation(main, home)
    five.user("Where is the retry limit of the payments set?")
    five.tool("Read", {"file_path": f"{main}/src/payments/retry.py"}, "LIMIT = 3")
    five.agent("It is LIMIT in src/payments/retry.py.").user("Merk dir, dass wir nur dienstags deployen.")
    five.agent("Gemerkt.").user("Perfect, that works. Bye!")
    yield five


def test_what_a_day_taught_waits_for_review_and_is_told_once_accepted(checkout: Checkout, tmp_path: Path) -> None:
    beside = checkout.worktree("login", tmp_path / "login")
    for said in conversations(checkout.top, beside.top, tmp_path):
        said.end()
    with opened(checkout) as engine:
        awaited(lambda: {session.id for session in engine.sessions()}, least=lambda found: len(found) == 5)
        waiting = awaited(lambda: engine.review().proposals, least=lambda found: len(found) >= 7)
        assert {one.text: (one.kind, one.scope) for one in waiting} == {
            LINT: ("rule", "project"),
            PNPM: ("correction", "project"),
            DATABASE: ("decision", "project"),
            TESTS: ("correction", "project"),
            FIX: ("fix", "project"),
            GERMAN: ("rule", "project"),
            WHERE: ("answer", "file"),
        }
        by_text = {one.text: one for one in waiting}
        assert (by_text[TESTS].branch, by_text[WHERE].file) == ("login", "src/payments/retry.py")
        assert "Does it always take that long" in by_text[LINT].quote
        line = f"{len(waiting)} proposals from sessions wait for the user's decision: ricordo review"
        assert engine.status()["review"] == line
        seen = Conversation(checkout.top, tmp_path).hook("session-start", "SessionStart", source="startup")
        assert f"Ricordo: {line}" in seen["hookSpecificOutput"]["additionalContext"]
        refused = by_text[WHERE]
        engine.review(refused.ref, "refuse")
        for one in waiting:
            if one is not refused:
                engine.review(one.ref, "accept")
        assert engine.review().proposals == ()
    sixth = Conversation(beside.top, tmp_path, branch="login")
    told = sixth.hook("session-start", "SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]
    always = told.partition("## Lately")[0]
    assert [text in always for text in (LINT, PNPM, TESTS, GERMAN)] == [True] * 4  # not fenced as data of others
    assert "```" not in always
    assert DATABASE not in always
    assert "wait for the user" not in told
    told = sixth.hook("user-prompt", "UserPromptSubmit", prompt="Run make lint and commit, then deploy with pnpm.")
    assert LINT in told["hookSpecificOutput"]["additionalContext"]
    sixth.user("Where is the retry limit of the payments set?")
    sixth.tool("Read", {"file_path": f"{beside.top}/src/payments/retry.py"}, "LIMIT = 3")
    sixth.agent("It is LIMIT in src/payments/retry.py.").user("We use pnpm, not npm.")
    with opened(checkout) as engine:
        assert engine.sessions_add(str(sixth.write())).items[0].status == "created"
        assert engine.review().proposals == ()
