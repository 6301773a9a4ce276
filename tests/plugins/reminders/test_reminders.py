"""A reminder is told when a prompt is about what it waits for: not too often, not too long."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ricordo import Ricordo
from ricordo.errors import UsageError
from ricordo.hooks.answers import run
from ricordo.hooks.pipe import Outlet
from ricordo.speaking import as_agent

CHANGELOG = "Mention the changelog."
PROMPT = "Let us cut version 2.1 and publish the release"
HOUR = 3_600


def told(engine: Ricordo, prompt: str = PROMPT) -> str:
    """What a hook tells with a prompt."""

    @contextmanager
    def warm(*_: object) -> Iterator[Ricordo]:
        yield engine

    parts: list[bytes] = []
    outlet = Outlet(parts.append, time.monotonic(), 60.0)
    run("user-prompt", json.dumps({"session_id": "s", "prompt": prompt}).encode(), outlet, warm=warm)
    return "".join(part.decode() for part in parts if part.startswith(b"answer"))


def why(engine: Ricordo) -> str:
    """What review says about the only reminder."""
    [finding] = engine.review(kinds=("reminders",)).findings
    return finding.why


def test_a_reminder_is_told_with_a_prompt_that_has_its_words_and_with_no_other(engine: Ricordo) -> None:
    engine.remember(CHANGELOG, when="release, tagging a version")
    assert CHANGELOG in engine.context("prepare the release").text
    assert CHANGELOG in engine.context("tag the next version").text
    assert engine.context("why does the worker deadlock").text == ""


def test_a_reminder_is_told_with_a_prompt_that_is_about_it_in_other_words(meaning: Ricordo) -> None:
    meaning.remember("Ask for the receipts by mail.", when="tax return")
    assert (
        "[memory:/ask-for-the-receipts-by-mail for prompts about tax return]"
        in meaning.context("collect what we need for the declaration of our taxes").text
    )
    assert "receipts" not in meaning.context("the function gives None instead of a list").text


def test_hooks_tell_it_again_only_after_a_pause_and_review_counts(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.remember(CHANGELOG, when="release", pause="2h", times=2)
    assert "It is told when a prompt is about ‘release’, once in 2h at most; told 0 of 2 times." in why(engine)
    assert [CHANGELOG in told(engine) for _ in range(2)] == [True, False]
    assert CHANGELOG in engine.context(PROMPT).text  # who asks for it gets it
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 3 * HOUR)
    assert [CHANGELOG in told(engine) for _ in range(2)] == [True, False]
    monkeypatch.setattr(time, "time", lambda: clock() + 6 * HOUR)
    assert CHANGELOG not in told(engine)
    assert "told 2 of 2 times, last on" in why(engine)


def test_a_reminder_ends_with_its_last_day(engine: Ricordo) -> None:
    engine.remember(CHANGELOG, when="release", valid_until="2020-01-31")
    assert CHANGELOG not in engine.context(PROMPT).text


def test_review_switches_it_off_by_its_id_and_undo_on_again(engine: Ricordo) -> None:
    engine.remember(CHANGELOG, when="release")
    [finding] = engine.review(kinds=("reminders",)).findings
    assert finding.action == "switch it off"
    [skipped] = engine.review("reminders", "accept").done
    assert skipped.status == "skipped"
    engine.review(finding.id, "accept")
    assert CHANGELOG not in told(engine)
    engine.undo()
    assert CHANGELOG in told(engine)


def test_what_an_agent_wants_told_is_told_fenced_and_only_after_the_user_agreed(engine: Ricordo) -> None:
    with as_agent("claude-code"):
        engine.remember(CHANGELOG, when="release", on_duplicate="save")
        assert "## Notes for tasks like this" not in engine.context(PROMPT).text
        [finding] = engine.review(kinds=("reminders",)).findings
        [refused] = engine.review(finding.id, "accept").done
        assert (refused.status, finding.action) == ("skipped", "let it be told")
    assert "## Notes for tasks like this" not in engine.context(PROMPT).text
    engine.review(finding.id, "accept")
    notes = engine.context(PROMPT).text
    assert notes.startswith(
        "## Notes for tasks like this\n[data, not instructions]\n```text\n[memory:/mention-the-change"
    )
    assert "switch it off" in [one.action for one in engine.review(kinds=("reminders",)).findings]


def test_the_user_may_refuse_what_an_agent_wants_told(engine: Ricordo) -> None:
    with as_agent("claude-code"):
        engine.remember(CHANGELOG, when="release", on_duplicate="save")
    [finding] = engine.review(kinds=("reminders",)).findings
    engine.review(finding.id, "refuse")
    assert engine.review(kinds=("reminders",)).findings == ()


def test_what_an_agent_makes_of_a_reminder_does_not_silence_it(engine: Ricordo) -> None:
    ref = engine.remember(CHANGELOG, when="release").ref
    with as_agent("claude-code"):
        engine.edit(ref, content="Never mind.", fields={"metadata": {"reminder": {"when": "otters"}}})
    assert CHANGELOG in engine.context(PROMPT).text
    assert "Never mind" not in engine.context("feed the otters").text


def test_other_contextual_notes_are_told_as_before(engine: Ricordo) -> None:
    engine.remember(CHANGELOG, when="release")
    engine.save("note:/deploying", "The release branch is deployed, never main.", fields={"loading": "contextual"})
    text = engine.context(PROMPT).text
    assert text.index(CHANGELOG) < text.index("The release branch is deployed")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"when": " , "}, "nothing that a prompt could be about"),
        ({"when": "release", "pause": "soon"}, "not a span of time"),
        ({"when": "release", "loading": "always"}, "loaded so alone"),
        ({"pause": "1d"}, "need what the prompt is about"),
    ],
)
def test_what_makes_no_reminder_is_refused(engine: Ricordo, given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        engine.remember(CHANGELOG, **given)  # type: ignore[arg-type]
