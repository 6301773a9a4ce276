"""Items that are valid only for a time: an end alone counts, they are marked, and items that were left out are
named.
"""

from __future__ import annotations

import contextlib
import io
from datetime import UTC, datetime, timedelta

import pytest

from ricordo import Ricordo
from ricordo.cli.show import show_answer
from ricordo.cli.terminal import Screen
from ricordo.mcp_server.shapes import hit_row
from ricordo.search import candidates, signals

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_an_end_or_a_beginning_alone_counts() -> None:
    assert signals.temporal(None, NOW - DAY, NOW, NOW) == 0.0
    assert signals.temporal(NOW + DAY, None, NOW, NOW) == 0.0
    assert signals.temporal(None, NOW + DAY, NOW, NOW) == 1.0


def test_an_expired_item_is_marked_and_ranks_low_where_time_counts(engine: Ricordo) -> None:
    engine.save("entry:/old", "The price of tea is five.", fields={"valid_until": "2020-01-01"})
    engine.save("entry:/new", "The price of tea is six.")
    hits = engine.search("price of tea", profile="vault").hits
    assert [hit.ref for hit in hits] == ["entry:/new", "entry:/old"]
    assert [hit.validity for hit in hits] == ["", "no longer valid"]
    assert hits[1].to_dict()["validity"] == "no longer valid"


@pytest.mark.parametrize("profile", ["default", "bm25", "vector", "rrf", "vault", "brain", "skills", "knowledge"])
def test_an_expired_item_ranks_low_in_every_profile_and_says_why(meaning: Ricordo, profile: str) -> None:
    meaning.save("entry:/old", "The price of tea is five.", fields={"valid_until": "2020-01-01"})
    meaning.save("entry:/soon", "The price of tea is seven.", fields={"valid_from": "2999-01-01"})
    meaning.save("entry:/new", "What tea costs: the price is six, as of this year, in most shops of the town.")
    hits = {hit.ref: hit for hit in meaning.search("price of tea", profile=profile, explain=True).hits}
    assert next(iter(hits)) == "entry:/new"
    for ref, why in (("entry:/old", "no longer valid"), ("entry:/soon", "not valid yet")):
        explain = hits[ref].explain
        assert explain is not None
        assert hits[ref].score == pytest.approx(explain.value * candidates.OUT_OF_TIME)
        assert [step for step, _ in explain.steps] == [f"{why} ×{candidates.OUT_OF_TIME}"]


def test_agents_and_people_see_that_a_hit_no_longer_holds(engine: Ricordo) -> None:
    engine.save("entry:/old", "The price of tea is five.", fields={"valid_until": "2020-01-01"})
    hit = engine.search("price of tea").hits[0]
    assert hit_row(hit)["validity"] == "no longer valid"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show_answer(Screen(color=False), engine.search("price of tea"), query="price of tea")
    assert "no longer valid" in out.getvalue()


def test_what_held_at_the_moment_asked_about_ranks_as_it_did_then(engine: Ricordo) -> None:
    engine.save("entry:/old", "The price of tea is five.", fields={"valid_until": "2999-01-01"})
    engine.save("entry:/new", "What tea costs: the price is six, as of this year.", fields={"valid_from": "2998-01-01"})
    assert [hit.ref for hit in engine.search("price of tea").hits] == ["entry:/old", "entry:/new"]
    then = datetime(2999, 6, 1, tzinfo=UTC)
    assert [hit.ref for hit in engine.search("price of tea", as_of=then).hits] == ["entry:/new", "entry:/old"]


def test_the_context_names_what_it_did_not_tell_because_it_expired(engine: Ricordo) -> None:
    engine.save("note:/old", "The price of tea is five.", fields={"valid_until": "2020-01-01", "source": "user"})
    engine.save("note:/new", "The price of tea is six.")
    context = engine.context("price of tea").text
    assert "five" not in context
    assert "Left out, because it is not valid now: note:/old" in context
