"""Rules that apply to what a prompt asks to do, though they share no words with it; and when nothing is told at all."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ricordo import Ricordo
from ricordo.speaking import as_agent
from ricordo.text.stopwords import has_content
from ricordo.values.items import Entry


@pytest.fixture
def rules(engine: Ricordo) -> Ricordo:
    engine.remember("We use pnpm here, never npm.", title="pnpm")
    engine.remember("Always run make lint before you say that you are done.", title="lint")
    engine.remember("Never commit directly to main.", title="main")
    engine.remember("The office has a garden.", title="garden")
    return engine


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("install lodash", "memory:/pnpm"),
        ("Push it now, please.", "memory:/main"),
        ("can we wrap up?", "memory:/lint"),
    ],
)
def test_a_rule_is_told_for_the_act_that_it_is_about(rules: Ricordo, prompt: str, told: str) -> None:
    parts = rules.context(prompt, always=False).parts
    assert [(part.section, part.ref, part.fenced) for part in parts] == [("contextual", told, False)]


@pytest.mark.parametrize("prompt", ["what is npm written in?", "how long does a merge take?", "thanks, go on"])
def test_a_question_and_small_talk_ask_for_no_act(rules: Ricordo, prompt: str) -> None:
    assert not [part for part in rules.context(prompt, always=False).parts if part.section == "contextual"]


def test_only_the_users_own_short_memories_are_told_as_rules(engine: Ricordo) -> None:
    with as_agent():
        engine.remember("Yarn is best for packages.", title="yarn")
    engine.remember("On packages. " + "A long story about yarn and npm. " * 12, title="story")
    engine.save("note:/npm", "Packages come from npm.")
    assert engine.context("install lodash", always=False).parts == ()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("", False),
        ("yes, go on please", False),
        ("ok do it", False),
        ("LGTM, thanks!", False),
        ("try again", False),
        ("fix it", True),
        ("are we done?", True),
        ("run the tests", True),
        ("fix parse_date", True),
        ("deployments?", True),
        ("why does login fail", True),
        ("登录失败怎么办", True),
        ("好的", False),
        ("How are the keys rotated?", True),
    ],
)
def test_a_prompt_without_any_content_is_not_looked_up(prompt: str, expected: bool) -> None:
    assert has_content(prompt) is expected


def test_small_talk_is_told_nothing_though_its_words_are_stored(engine: Ricordo) -> None:
    engine.remember("Going on call: say yes in the channel, then go on.")
    assert engine.context("yes, go on").parts == ()
    assert engine.context("go on", gather=True).parts == ()


def test_when_nothing_fits_the_nearest_is_named_and_not_told(meaning: Ricordo) -> None:
    meaning.remember("Distances in reports are given in metric units.", title="units")
    context = meaning.context("convert 5 miles to km")
    assert context.text == ""
    (warning,) = context.warnings
    assert "nothing fits well enough to be told; the nearest is memory:/units" in warning
    gathered = meaning.context("convert 5 miles to km", gather=True)
    assert (gathered.text, gathered.warnings) == ("", context.warnings)


def test_of_two_memories_on_one_subject_the_newer_is_told_first_each_with_its_day(engine: Ricordo) -> None:
    for name, text, day in (
        ("old", "The staging database is called pg-stage-1, and the staging database is small.", 1),
        ("new", "The staging database moved to the host pg-stage-2.", 9),
        ("other", "Ask Ada about the database of customers.", 20),
    ):
        at = datetime(2026, 3, day, tzinfo=UTC)
        engine.save_many([Entry(f"memory:/{name}", text, kind="memory", times=(at, at))])
    text = engine.context("which staging database?", always=False).text
    assert text.index("pg-stage-2") < text.index("pg-stage-1")
    assert "[memory:/new line 1 2026-03-09]" in text
    assert "[memory:/old line 1 2026-03-01]" in text
    assert "2026-03-20" not in text
