"""``eval --own`` and the retrieval log: what one's own queries say about the ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.config.loading import ConfigProvider
from ricordo.errors import NotFound
from ricordo.plugins.evaluate.run import ENOUGH_QUERIES, evaluate_own, own_judgements

from ...figures import figures


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    config = ConfigProvider({"embedding.provider": "none"}, env={"RICORDO_CONFIG_HOME": str(tmp_path)}, start=tmp_path)
    with Ricordo.open(tmp_path / "a.db", config=config) as engine:
        engine.save("note:/keys", "Rotate the signing keys every quarter.")
        engine.save("note:/locks", "The keys of the door hang in the hall.")
        engine.save("note:/lunch", "Soup on Monday.")
        yield engine


def test_what_was_opened_after_a_query_and_what_was_judged_are_the_set(memory: Ricordo) -> None:
    memory.search("keys")
    memory.get("note:/locks")  # shown by the query before, and opened
    memory.get("note:/lunch")  # opened, but no query had shown it
    memory.feedback("signing", "note:/keys", "accepted")
    memory.feedback("door", "note:/lunch", "dismissed")  # nothing right is known for this query
    figures(memory)  # waits until all is written
    assert own_judgements(memory) == {"keys": {"note:/locks": 1.0}, "signing": {"note:/keys": 2.0}}


def test_profiles_are_measured_on_them_and_few_queries_come_with_a_warning(memory: Ricordo) -> None:
    memory.search("soup")
    memory.get("note:/lunch")
    figures(memory)
    report = evaluate_own(memory, profiles=("bm25", "default"))
    assert report.queries == 1
    assert {name: means["ndcg@10"] for name, means in report.profiles.items()} == {"bm25": 1.0, "default": 1.0}
    assert f"fewer than {ENOUGH_QUERIES} are too few to tell profiles apart" in report.notes[0]
    assert figures(memory).queries == 1  # measuring is not asking


def test_without_a_judged_query_it_says_how_to_get_one(memory: Ricordo) -> None:
    with pytest.raises(NotFound) as caught:
        evaluate_own(memory)
    assert "ricordo feedback" in caught.value.hint


def test_the_retrieval_log_of_an_item_can_be_read(memory: Ricordo) -> None:
    memory.search("keys")
    memory.search("door keys")
    memory.get("note:/locks")
    of_item = memory.log(ref="note:/locks").retrievals
    assert [one.query for one in of_item] == [None, "door keys", "keys"]
    assert of_item[0].score is None
    assert of_item[1].tool == "search"
