"""Whose words are proposed: the user's own that are meant to last, whatever stands beside them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ricordo.models.local_onnx import LocalEmbedder
from ricordo.plugins.lessons.finder import SaidTurn, found_in

AT = datetime(2026, 1, 31, tzinfo=UTC)
EMBEDDER = LocalEmbedder()
RULE = "Never restart the broker without telling operations first."
OWN = "We use pnpm, not npm."

TO_THE_END = {
    "a tag that is never closed": f"<task-notification>\n{RULE}",
    "a text below": f"What do you think? The first page is below.\n\n{RULE} {OWN}",
}
OTHERS = {
    "a teammate": f'<teammate-message teammate_id="bo">\n{RULE}\n</teammate-message>',
    "a channel": f'<channel source="slack" user="kim">{RULE} {RULE}</channel>',
    "another session": f"Another session sent a message:\n<session-message>\n{RULE}\n</session-message>",
    "a page in quotation marks": f'The page reads "Step one. Log in.\n\n{RULE} Step three."',
    "a page in curved marks": f"Their site: “Please note. {RULE} Thanks.”",
    "a page in French marks": f"leur page : « Important. {RULE} Merci. »",
    "a mail with headers": f"From: ops@host.example\nSubject: broker\n\n{RULE}\n\nKind regards\nOps",
    "a mail with a greeting": f"Dear colleagues,\n\n{RULE}\n\nBest regards,\nMina",
    "quoted lines": f"> hello\n> {RULE}",
    "a fence": f"```\n{RULE}\n```",
    "ruled lines": f"fyi\n---\n{RULE}\n---",
    "a log": f"2026-01-31 10:00:00 WARN {RULE}",
    "a chat": f"Olaf: {RULE}\nMina: {OWN}",
    "what a line announces": f"The reviewer wrote:\n{RULE}",
    "a colleague": f'Olaf says "{RULE}"',
}

FOR_A_WHILE = {
    "before a list": f"For this session only:\n- {RULE}\n- {OWN}",
    "before sentences": f"Just for today: {OWN} {RULE}",
    "after them": f"{RULE} {OWN} All of this only for the demo.",
    "in German": f"Für heute: {OWN}",
}


def proposed(text: str, *, by_meaning: bool = True) -> list[str]:
    turns = [SaidTurn(1, "user", "Fix it.", AT), SaidTurn(2, "assistant", "Done.", AT), SaidTurn(3, "user", text, AT)]
    return [one.text for one in found_in(turns, session="s", embedder=EMBEDDER if by_meaning else None)]


@pytest.mark.parametrize("by_meaning", [True, False])
def test_the_users_own_rules_are_proposed(by_meaning: bool) -> None:
    assert proposed(RULE, by_meaning=by_meaning) == [RULE]
    assert proposed(OWN, by_meaning=by_meaning) == [OWN]


@pytest.mark.parametrize("by_meaning", [True, False])
@pytest.mark.parametrize("text", [*OTHERS.values(), *TO_THE_END.values()], ids=[*OTHERS, *TO_THE_END])
def test_what_others_wrote_is_never_proposed(text: str, by_meaning: bool) -> None:
    assert proposed(text, by_meaning=by_meaning) == []


@pytest.mark.parametrize("who", OTHERS)
def test_what_the_user_says_after_others_words_is_proposed(who: str) -> None:
    assert proposed(f"{OTHERS[who]}\n\n{OWN}") == [OWN]


@pytest.mark.parametrize("where", FOR_A_WHILE)
def test_what_holds_for_a_while_is_hidden_over_its_whole_span(where: str) -> None:
    assert proposed(FOR_A_WHILE[where]) == []
    assert proposed(f"{FOR_A_WHILE[where]}\n\n{OWN}") == [OWN]


def test_a_sentence_is_proposed_whole_but_for_a_question_after_it() -> None:
    said = f"ok. {RULE[:-1]}, since the queues of all the shops hang on it and nobody gets paid while it is down!"
    assert proposed(said) == [
        "Never restart the broker without telling operations first, since the queues of all the shops hang on it and "
        "nobody gets paid while it is down."
    ]
    assert proposed("We use pnpm here, not npm, can you redo the lockfile?") == ["We use pnpm here, not npm."]
    assert proposed("the orders api still runs on node 16, e.g. for that ancient oracle driver") == [
        "The orders api still runs on node 16, e.g. for that ancient oracle driver."
    ]
