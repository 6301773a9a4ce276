"""What was asked and what became of it, tags, items and links as a graph, and several items at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ricordo import ConfigProvider, NotFound, Ricordo, UsageError
from ricordo.speaking import speaking
from ricordo.values.items import items_as_text
from ricordo.values.provenance import Provenance

from ..figures import figures

NO_VECTORS = {"embedding.provider": "none"}


@pytest.fixture
def engine(tmp_path: Path) -> Ricordo:
    return Ricordo.open(tmp_path / "store.db", config=ConfigProvider(NO_VECTORS, env={}, start=tmp_path))


def test_a_question_says_who_asked_what_was_shown_and_what_was_opened(engine: Ricordo) -> None:
    with engine:
        engine.save("note:/keys", "Rotate the signing keys every month.", fields={"title": "Keys"})
        engine.save("note:/doors", "The keys of the doors hang in the hall.", fields={"title": "Doors"})
        with speaking(Provenance("agent", "claude-code", session="s-7", via="mcp")):
            engine.search("signing keys")
            engine.get("note:/keys")
        engine.feedback("signing keys", "note:/keys", "accepted")
        engine.search("doors")
        latest, first = engine.log().questions
        assert (latest.text, latest.asker.author) == ("doors", "person")
        assert (first.text, first.asker.name, first.asker.session) == ("signing keys", "claude-code", "s-7")
        best, *others = first.shown
        assert (best.ref, best.title, best.opened, best.verdict) == ("note:/keys", "Keys", True, "accepted")
        assert [(one.ref, one.opened, one.verdict) for one in others] == [("note:/doors", False, "")]
        assert [one.text for one in engine.log(by="claude").questions] == ["signing keys"]
        page = engine.log(limit=1)
        assert ([one.text for one in page.questions], page.more) == (["doors"], True)


def test_a_question_without_an_answer_is_one_that_nothing_fits_until_it_is_written_down(engine: Ricordo) -> None:
    with engine:
        engine.save("note:/keys", "Rotate the signing keys every month.")
        for _ in range(2):
            engine.search("when does the ferry leave")
        engine.search("signing keys")
        (open_one,) = engine.log(unanswered=True).questions
        assert open_one.text == "when does the ferry leave"
        assert open_one.fit is not None
        assert open_one.fit < 0.5
        assert open_one.fit_now == open_one.fit
        engine.save("note:/ferry", "When does the ferry leave? The ferry leaves at nine.")
        assert engine.log(unanswered=True).questions == ()
        assert len(engine.log().questions) == 3  # asking again is not recorded


def test_how_well_a_question_fitted_is_as_it_was_when_it_was_asked_and_moves_with_the_store(
    engine: Ricordo, tmp_path: Path
) -> None:
    with engine:
        engine.save("note:/keys", "Rotate the signing keys every month.")
        engine.search("signing keys")
        engine.search("when does the ferry leave")
        engine.save("note:/ferry", "When does the ferry leave? The ferry leaves at nine.")
        engine.rm("note:/keys")
        then = [(one.text, one.fit) for one in engine.log().questions]
        ferry, keys = (fit for _, fit in then)
        assert ferry is not None
        assert keys is not None
        assert ferry < 0.5 < keys
        engine.export(tmp_path / "all.jsonl", log=True)
    with Ricordo.open(tmp_path / "other.db", config=ConfigProvider(NO_VECTORS, env={}, start=tmp_path)) as other:
        other.import_(tmp_path / "all.jsonl")
        assert [(one.text, one.fit) for one in other.log().questions] == then


def test_with_several_tiers_a_question_is_in_the_log_once_in_the_store_that_was_asked(tmp_path: Path) -> None:
    team = tmp_path / "team.db"
    with Ricordo.open(team, config=ConfigProvider(NO_VECTORS, env={}, start=tmp_path)) as other:
        other.save("note:/harbour", "The harbour opens at nine.")
    settings = {**NO_VECTORS, "tiers.team": str(team)}
    with Ricordo.open(tmp_path / "own.db", config=ConfigProvider(settings, env={}, start=tmp_path)) as engine:
        engine.save("note:/own", "Nothing about ships.")
        assert [hit.ref for hit in engine.search("harbour").hits][:1] == ["note:/harbour"]
        asked = engine.log().questions
        assert [(one.text, one.results) for one in asked] == [("harbour", 1)]
        assert (asked[0].fit or 0) > 0.5  # as the store that answered judged it
        assert figures(engine).queries == 1
    with Ricordo.open(team, config=ConfigProvider(NO_VECTORS, env={}, start=tmp_path)) as other:
        assert other.log().questions == ()
        assert other.get("note:/harbour", track=False).retrieval_count == 1


def test_tags_are_counted_whatever_their_case_and_only_those_of_live_items(engine: Ricordo) -> None:
    with engine:
        engine.save("note:/a", "one", fields={"tags": ["safety", "draft"]})
        engine.save("note:/b", "two", fields={"tags": ["Safety"]})
        engine.save("note:/c", "three", fields={"tags": ["safety"]})
        engine.save("note:/gone", "four", fields={"tags": ["old"]})
        engine.forget("note:/gone")
        assert [(one.tag, one.count) for one in engine.tags()] == [("safety", 3), ("draft", 1)]


def test_items_are_tagged_together_and_one_wrong_name_changes_nothing(engine: Ricordo) -> None:
    with engine:
        for name in "ab":
            engine.save(f"note:/{name}", name, fields={"tags": ["draft"]})
        report = engine.tag("note:/a", "note:/b", add=["#safety", "Draft"], remove=["nothing"])
        assert [one.status for one in report.items] == ["updated", "updated"]
        assert engine.get("note:/b", track=False).fields.tags == ("draft", "safety")
        assert engine.tag("note:/a", add=["safety"]).items[0].status == "skipped"
        with pytest.raises(NotFound):
            engine.tag("note:/a", "note:/none", remove=["DRAFT"])
        assert engine.get("note:/a", track=False).fields.tags == ("draft", "safety")
        engine.tag("note:/a", remove=["DRAFT"])
        assert engine.get("note:/a", track=False).fields.tags == ("safety",)
        with pytest.raises(UsageError, match="which items"):
            engine.tag("note:/a")


def test_the_graph_holds_linked_items_with_the_most_linked_first_and_says_what_it_left_out(engine: Ricordo) -> None:
    with engine:
        for name in "abcd":
            engine.save(f"note:/{name}", "See [[hub]]." if name != "d" else "Alone.", fields={"title": name})
        engine.save("note:/hub", "The middle.", kind="note", fields={"title": "Hub"})
        engine.link("note:/a", "note:/b", "supports")
        graph = engine.graph()
        refs = [one.ref for one in graph.nodes]
        assert refs == ["note:/hub", "note:/a", "note:/b", "note:/c"]
        edges = {(refs[one.source], refs[one.target], one.type) for one in graph.edges}
        assert edges == {(f"note:/{name}", "note:/hub", "mentions") for name in "abc"} | {
            ("note:/a", "note:/b", "supports")
        }
        small = engine.graph(limit=2)
        assert ([one.ref for one in small.nodes], small.more) == (["note:/hub", "note:/a"], 2)
        assert [one.ref for one in engine.graph(ref="note:/d").nodes] == ["note:/d"]
        assert len(engine.graph(ref="note:/c").nodes) == 4


def test_several_items_become_one_text_in_the_order_they_are_named(engine: Ricordo) -> None:
    with engine:
        engine.save("note:/a", "# First\n\nBody of a.", fields={"title": "First", "tags": ["x"]})
        engine.save("note:/b", "Body of b.", fields={"title": "Second"})
        text = items_as_text([engine.get("note:/b"), engine.get("note:/a")], "markdown")
        assert text.index("# Second") < text.index("# First")
        assert text.count("# First") == 1
        assert "`note:/a`" in text
        plain = json.loads(items_as_text([engine.get("note:/a")], "json"))
        assert (plain[0]["ref"], plain[0]["content"]) == ("note:/a", "# First\n\nBody of a.")


def test_a_tag_that_an_item_has_in_two_spellings_counts_once(engine: Ricordo) -> None:
    engine.save("note:/a", "One.", fields={"tags": ["Work", "work"]})
    engine.save("note:/b", "Two.", fields={"tags": ["work"]})
    assert [(one.tag, one.count) for one in engine.tags()] == [("work", 2)]
