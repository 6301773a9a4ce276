"""Facets by rules: how a message takes what came before it, and what a session was about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ricordo.plugins.sessions.facets import Tally, facets_of, turn_facets
from ricordo.plugins.sessions.values import SessionEvent
from ricordo.text.words import Analyzer


@pytest.mark.parametrize(
    "text",
    [
        "No, that's wrong. I said Porto.",
        "that's not what I asked for",
        "Revert that, please.",
        "You forgot the tests.",
        "It still doesn't work",
        "Wrong file.",
        "Actually, that should stay.",
        "Actually, we use pnpm here.",
        "No, the tests live in spec/.",
        "Nah, keep it in Porto.",
        "Incorrect: the limit is 20.",
        "[Request interrupted by user for tool use]",
    ],
)
def test_corrections_are_noticed(text: str) -> None:
    facets = turn_facets(text)
    assert facets.correction
    assert facets.sentiment < 0


@pytest.mark.parametrize(
    ("text", "facet"),
    [
        ("Nein, das ist falsch. Ich meinte den anderen Knopf.", "correction"),
        ("Das funktioniert immer noch nicht", "correction"),
        ("Danke, jetzt klappt es!", "praise"),
        ("Schon wieder! Das nervt.", "frustration"),
        ("Stimmt nicht, der Port ist 8443.", "correction"),
        ("Faux, le port est 8443.", "correction"),
        ("Non, ce n'est pas ça, j'avais demandé l'autre bouton", "correction"),
        ("Parfait, merci !", "praise"),
        ("Eso está mal, te pedí el otro botón", "correction"),
        ("Perfecto, gracias", "praise"),
        ("Non funziona, volevo dire l'altro", "correction"),
        ("Ottimo, grazie mille", "praise"),
        ("Não, você esqueceu os testes", "correction"),
        ("Nee, ik bedoelde de andere knop", "correction"),
        ("不对，我要的是另一个按钮", "correction"),
        ("谢谢，太好了！", "praise"),
        ("違います、もう一つのボタンです", "correction"),
        ("ありがとうございます、助かりました", "praise"),
    ],
)
def test_other_languages_are_read_too(text: str, facet: str) -> None:
    assert getattr(turn_facets(text), facet)


@pytest.mark.parametrize(
    "text",
    [
        "Stop the server and start it again", "Non-blocking reads, please", "Describe the mist in the valley",
        "Faux data is fine here", "Para 3 needs a link",
    ],
)  # fmt: skip
def test_words_of_other_languages_do_not_mislead_in_english(text: str) -> None:
    assert turn_facets(text).is_neutral()


@pytest.mark.parametrize(
    "text",
    ["Perfect, thanks! Now add tests.", "lgtm", "Great job", "It works now.", "Nice!", "Thank you", "looks good to me"],
)
def test_praise_is_noticed(text: str) -> None:
    facets = turn_facets(text)
    assert facets.praise
    assert not facets.correction
    assert facets.sentiment > 0


@pytest.mark.parametrize(
    "text",
    [
        "Why do you keep deleting my comments?",
        "ugh, again",
        "This is ridiculous",
        "for the third time: no tabs",
        "STOP TOUCHING THE CONFIG FILE",
        "what is this???",
    ],
)
def test_frustration_is_noticed(text: str) -> None:
    facets = turn_facets(text)
    assert facets.frustration
    assert facets.sentiment < 0


@pytest.mark.parametrize(
    "text",
    [
        "Write a great README with nice examples.",
        "Add a button that says No.",
        "No tests for this one, please.",
        "Please fix the failing test in payment.py",
        "Is it perfect?",
        "No need to hurry, what is the wrong-way risk?",
        "Explain how the undo stack works",
        "Make the API and the CLI read JSON",
        "",
    ],
)
def test_plain_requests_are_neither(text: str) -> None:
    assert turn_facets(text).is_neutral()


def counted(*said: str) -> Tally:
    tally = Tally()
    for number, text in enumerate(said):
        event = SessionEvent("s", str(number), "user", "received", text, is_request=True)
        tally.take(event, Analyzer("english").is_stop_word)
    return tally


def rules(tally: Tally, common: Mapping[str, int], **more: Any) -> Any:
    return facets_of(tally, Analyzer("english"), lambda terms: (1000, {t: common.get(t, 0) for t in terms}), **more)


def test_keywords_are_frequent_here_and_rare_elsewhere() -> None:
    tally = counted("The importer drops grain rows.", "Why does it drop grain? An importer!", "Ask the server. Server?")
    facets = rules(tally, {"server": 900})
    assert facets.keywords[:2] == ("grain", "importer")
    assert facets.keywords[-1] == "server"
    assert facets.title == "The importer drops grain rows."
    assert facets.summary.endswith("(and 2 more requests)")


def test_entities_are_those_known_and_names_that_come_again() -> None:
    tally = counted("Ask Ada Lovelace about the Analytical Engine.", "Then the Analytical Engine again.")
    facets = rules(tally, {}, entities=[(1, "Ada Lovelace"), (2, "Nobody")])
    assert facets.entities == ("Ada Lovelace", "Analytical Engine")


def test_a_tally_is_bounded_and_goes_on_where_it_was_left() -> None:
    tally = Tally()
    for number in range(3000):
        text = f"word{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676)}q request"
        tally.take(SessionEvent("s", str(number), "user", "received", text, is_request=True), lambda word: False)
        if number % 100 == 0:
            tally = Tally.from_dict(tally.to_dict())
    assert tally.request_count == 3000
    assert len(tally.words) <= 1200
    assert len(tally.requests) == 12
    assert tally.words["request"] == 3000
    assert Tally.from_dict({"words": 3, "title": "kept", "unknown": 1}).title == "kept"
