"""Turns of a conversation: what they lend to each other, and which words of a question only say how to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ricordo import Ricordo
from ricordo.search.words import topic_of, without_manner

TOPICS = {"tax": (0.0, 0.0, 1.0), "glaze": (1.0, 0.0, 0.0), "aunt": (0.6, 0.8, 0.0)}
TALK = [
    ("asks", "Which glaze do you use?"),
    ("after_asking", "That of my aunt."),
    ("tax_1", "The tax is due."),
    ("tax_2", "The tax is paid."),
    ("says", "This glaze is bright."),
    ("after_saying", "That of my aunt."),
    ("tax_3", "The tax is high."),
    ("tax_4", "The tax is low."),
    ("alone", "That of my aunt."),
    ("tax_5", "The tax is fair."),
]


class Topics:
    """Every text points to its topic; the two topics of pottery lie near each other, and taxes far from both."""

    dimensions = 3
    max_tokens = 256
    fingerprint = "topics"
    is_remote = False

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self.embed_query(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Any:
        return np.array(next((vector for word, vector in TOPICS.items() if word in text), (0, 1, 0)), np.float32)


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch, open_engine: Callable[..., Ricordo]) -> Ricordo:
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: Topics())
    engine = open_engine("store", vectors=True)
    for place, (name, text) in enumerate(TALK, start=1):
        engine.save(f"session:/talk/{name}", text, kind="session", fields={"thread": "talk", "seq": place}, wait=False)
    engine.embed()
    return engine


def order(engine: Ricordo, query: str) -> list[str]:
    hits = engine.search(query, limit=20, turns=True, track=False).hits
    return [hit.ref.rpartition("/")[2] for hit in hits]


def test_an_answer_is_found_by_the_question_before_it(talk: Ricordo) -> None:
    found = order(talk, "glaze")
    assert found.index("after_asking") < found.index("after_saying") < found.index("alone")
    assert found.index("says") < found.index("after_asking"), "what has the word itself comes first"


def test_a_turn_about_something_else_gains_nothing_from_the_next_one(talk: Ricordo) -> None:
    scores = {hit.ref.rpartition("/")[2]: hit.score for hit in talk.search("glaze", limit=20, turns=True, track=False)}
    assert "tax_2" in scores
    assert scores["tax_2"] == scores["tax_4"], "the one beside 'says' has no more than the one beside nothing"


def test_a_turn_that_stands_out_alone_loses_a_little(talk: Ricordo) -> None:
    talk.save("session:/talk/last", "This glaze is bright.", kind="session", fields={"thread": "talk", "seq": 11})
    scores = {hit.ref.rpartition("/")[2]: hit.score for hit in talk.search("glaze", limit=20, turns=True, track=False)}
    assert scores["last"] > scores["says"], "the last one has no turn after it that could agree"


def test_whole_conversations_lend_hardly_anything_to_each_other(talk: Ricordo) -> None:
    aunt, glaze, tax = ("\n\n".join([text] * 200) for text in ("That of my aunt.", "This glaze is bright.", "The tax."))
    for place, (name, text) in enumerate((("beside", aunt), ("day", glaze), ("tax", tax), ("far", aunt)), start=1):
        talk.save(f"session:/days/{name}", text, kind="session", fields={"thread": "days", "seq": place}, wait=False)
    talk.embed()
    scores = {hit.ref.rpartition("/")[2]: hit.score for hit in talk.search("glaze", limit=20, turns=True, track=False)}
    gained_by_turn = scores["after_saying"] - scores["alone"]
    assert gained_by_turn > 0.05
    assert scores["beside"] - scores["far"] < gained_by_turn / 20


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("Can you list the order in which I brought up different aspects of my garden throughout our chats, in order? "
         "Mention ONLY and ONLY five items.", "my garden"),
        ("Please summarise how our deployment changed", "how our deployment changed"),
        ("could you give me a detailed overview of the tax rules across my sessions?", "the tax rules"),
        ("In which order did we discuss the release and the audit?", "release and the audit?"),
        ("how many roles did I mention across my previous conversations?", "how many roles did I mention"),
        ("summarize this video", "summarize this video"),
        ("list pods in all namespaces", "list pods in all namespaces"),
        ("in order", "in order"),
        ("sort messages in order of arrival", "sort messages in order of arrival"),
        ("Can you list the open ports", "Can you list the open ports"),
    ],
)  # fmt: skip
def test_how_to_answer_is_not_looked_for(query: str, topic: str) -> None:
    assert without_manner(query) == topic


def test_a_question_about_a_talk_is_searched_by_its_topic(talk: Ricordo) -> None:
    asked = "Can you walk me through the order in which I mentioned the glaze, in order? Name only two tax."
    assert topic_of(asked) == "glaze"
    assert order(talk, asked) == order(talk, "glaze")
