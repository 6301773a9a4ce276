"""The verb eval, on a small judged set."""

from __future__ import annotations

import json
from typing import Any

import pytest

TEXTS = {
    "a": "Bread rises because yeast makes gas.",
    "b": "Soup is better on the second day.",
    "c": "A sharp knife is safer than a blunt one.",
}
QUERIES = {"1": ("why does bread rise", "a"), "2": ("is a sharp knife dangerous", "c")}


@pytest.fixture
def kitchen(house: Any) -> Any:
    corpus = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in TEXTS.items()]
    queries = [json.dumps({"_id": name, "text": text}) for name, (text, _) in QUERIES.items()]
    judged = ["query-id\tcorpus-id\tscore", *(f"{name}\t{doc}\t1" for name, (_, doc) in QUERIES.items())]
    house.write("kitchen/corpus.jsonl", "\n".join(corpus) + "\n")
    house.write("kitchen/queries.jsonl", "\n".join(queries) + "\n")
    house.write("kitchen/qrels.tsv", "\n".join(judged) + "\n")
    return house


def test_eval_answers_the_figures_of_each_profile(kitchen: Any) -> None:
    plain = kitchen.json("eval", "kitchen", "--profile", "bm25", "--profile", "grep")
    assert (plain["dataset"], plain["queries"]) == ("kitchen", 2)
    assert list(plain["profiles"]) == ["bm25", "grep"]
    assert plain["profiles"]["bm25"]["ndcg@10"] == 1.0
    assert set(plain["profiles"]["bm25"]) >= {"ndcg@10", "recall@10", "recall@100", "mrr@10", "ms_p50"}
    shown = kitchen.run("--profile", "bm25", "eval", "kitchen").stdout
    assert "bm25" in shown
    assert "grep" not in shown


def test_two_profiles_and_two_runs_are_compared(kitchen: Any) -> None:
    plain = kitchen.json("eval", "kitchen", "--profile", "bm25", "--compare", "grep", "bm25")
    assert plain["comparison"]["rows"][0]["profile_b"] == "bm25"
    kitchen.run("eval", "kitchen", "--profile", "grep", "--per-query", "a.jsonl")
    kitchen.run("eval", "kitchen", "--profile", "bm25", "--per-query", "b.jsonl", "--limit-queries", "2")
    shown = kitchen.run("eval", "--compare", "a.jsonl", "b.jsonl").stdout
    assert "grep / bm25" in shown
    assert kitchen.json("eval", "--compare", "a.jsonl", "b.jsonl")["rows"]


def test_a_set_that_is_not_there_is_not_found(house: Any) -> None:
    assert house.json("eval", "nowhere", code=3)["code"] == "not_found"


def test_questions_over_a_folder_say_whether_the_passage_shown_answers(house: Any) -> None:
    house.write("handbook/bread.md", "# Bread\n\nFeed the starter twice a day, with flour.\n")
    answers = [{"file": "bread.md", "quote": "twice a day"}]
    house.write("questions.jsonl", json.dumps({"question": "how often is the starter fed", "answers": answers}) + "\n")
    plain = house.json("eval", "handbook", "--passages", "questions.jsonl", "--profile", "bm25")
    assert plain["passages"]["bm25"]["all"]["passage"] == 1
    assert "page@1" in house.run("eval", "handbook", "--passages", "questions.jsonl", "--profile", "bm25").stdout
    refused = house.json("eval", "handbook", "handbook", "--passages", "questions.jsonl", code=2)
    assert "one folder of documents" in refused["message"]
