"""What each signal says, by values computed by hand, and at the edges."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo.search import signals
from ricordo.search.signals import mentions_of
from ricordo.text.words import tfidf_cosine, tfidf_idf
from ricordo.values.items import Fields, Item, Ref
from ricordo.values.use import decayed, feedback_prior, opened

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def ago(days: float) -> datetime:
    return NOW - days * DAY


@pytest.mark.parametrize(
    ("age", "value"), [(0, 1.0), (365, 0.5), (730, 0.25), (182.5, math.sqrt(0.5)), (3650, 0.5**10), (-400, 1.0)]
)
def test_recency_halves_every_year_and_the_future_counts_as_now(age: float, value: float) -> None:
    assert signals.recency(ago(age), NOW) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("age", "value"), [(0, 1.0), (30, 0.5), (60, 0.25), (15, math.sqrt(0.5)), (-1, 1.0)])
def test_freshness_halves_every_thirty_days(age: float, value: float) -> None:
    assert signals.freshness(ago(age), NOW) == pytest.approx(value, rel=1e-12)


def test_the_oldest_date_there_is_has_no_freshness_left() -> None:
    assert signals.freshness(datetime.min.replace(tzinfo=UTC), NOW) == 0.0


@pytest.mark.parametrize(
    ("day", "value"),
    [
        (-0.001, 0.0),  # before it starts
        (0, 1.0),
        (50, 1.0),
        (75, 1.0),  # the last moment of the first three quarters
        (80, 0.8),
        (87.5, 0.5),
        (99, 0.04),
        (100, 0.0),
        (100.001, 0.0),  # after its end
    ],
)
def test_a_window_of_a_hundred_days_fades_over_its_last_twenty_five(day: float, value: float) -> None:
    start = ago(day)
    assert signals.validity(start, start + 100 * DAY, NOW) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_window_without_length_is_never_open(offset: int) -> None:
    moment = NOW + offset * DAY
    assert signals.validity(moment, moment, NOW) == 0.0


def test_a_window_that_ends_before_it_starts_is_never_open() -> None:
    assert signals.validity(NOW + DAY, ago(1), NOW) == 0.0


def test_the_shortest_window_is_open_at_its_start_and_closed_at_its_end() -> None:
    microsecond = timedelta(microseconds=1)
    assert signals.validity(NOW, NOW + microsecond, NOW) == 1.0
    assert signals.validity(NOW - microsecond, NOW, NOW) == 0.0


def test_a_window_in_the_future_is_not_open_yet() -> None:
    assert signals.validity(NOW + DAY, NOW + 10 * DAY, NOW) == 0.0


def test_time_goes_by_the_window_only_where_both_dates_exist() -> None:
    start, end = ago(90), NOW + 10 * DAY
    assert signals.temporal(start, end, ago(365), NOW) == pytest.approx(0.4)
    for one, other in ((start, None), (None, end), (None, None)):
        assert signals.temporal(one, other, ago(365), NOW) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("severity", "value"),
    [("critical", 1.0), ("warning", 0.7), ("suggestion", 0.4), (None, 0.0), ("", 0.0), ("unheard of", 0.0)],
)
def test_severity_is_a_table(severity: str | None, value: float) -> None:
    assert signals.severity(severity) == value


@pytest.mark.parametrize(
    ("wanted", "tags", "value"),
    [
        (("a", "b"), ("b", "c"), 1 / 3),
        (("a", "b"), ("b", "a"), 1.0),
        (("Ops",), ("ops",), 1.0),
        (("a",), ("b",), 0.0),
        (("a", "a", "A"), ("a", "b"), 0.5),
        ((), ("a",), 0.0),
        (("a",), (), 0.0),
        ((), (), 0.0),
    ],
)
def test_tags_overlap_by_what_they_share_of_all(wanted: tuple[str, ...], tags: tuple[str, ...], value: float) -> None:
    assert signals.overlap(wanted, tags) == pytest.approx(value)


@pytest.mark.parametrize(
    ("wanted", "domain", "value"),
    [("auth", "auth", 1.0), ("Auth", "auth", 1.0), ("auth", "billing", 0.0), (None, "auth", 0.0), ("auth", None, 0.0),
     (None, None, 0.0), ("", "", 0.0)],
)  # fmt: skip
def test_a_domain_matches_or_not(wanted: str | None, domain: str | None, value: float) -> None:
    assert signals.domain_match(wanted, domain) == value


@pytest.mark.parametrize(("distance", "value"), [(0, 1.0), (1, 0.5), (2, 0.33), (3, 0.0), (None, 0.0)])
def test_links_bring_items_near_up_to_two_steps(distance: int | None, value: float) -> None:
    assert signals.graph_proximity(distance) == value


@pytest.mark.parametrize(("rank", "value"), [(1, 1.0), (2, 61 / 62), (61, 61 / 121), (None, 0.0)])
def test_a_rank_counts_sixty_one_over_sixty_plus_itself(rank: int | None, value: float) -> None:
    assert signals.rank_score(rank) == pytest.approx(value)


@pytest.mark.parametrize(("rank", "value"), [(1, 1.0), (2, 0.5), (10, 0.1), (None, 0.0)])
def test_a_reciprocal_rank_is_one_over_itself(rank: int | None, value: float) -> None:
    assert signals.reciprocal(rank) == pytest.approx(value)


def test_a_relative_value_is_a_share_of_the_best() -> None:
    assert signals.relative(0.3, 0.6) == pytest.approx(0.5)
    assert signals.relative(0.6, 0.6) == 1.0
    assert signals.relative(0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("cosine", "farthest", "value"),
    [
        (0.9, 0.5, 0.8),  # a distance of .1 of at most .5
        (0.5, 0.5, 0.0),  # the farthest
        (1.0, 0.5, 1.0),
        (1.0000001, 0.5, 1.0),  # rounding in the dot product
        (1.0, 0.0, 1.0),  # all at the query itself
        (-1.0, 2.0, 0.0),
        (None, 0.5, 0.0),
        (None, 0.0, 0.0),
    ],
)
def test_nearness_is_one_less_the_share_of_the_largest_distance(
    cosine: float | None, farthest: float, value: float
) -> None:
    assert signals.nearness(cosine, farthest) == pytest.approx(value)


def test_the_idf_of_tf_idf_is_smoothed() -> None:
    assert tfidf_idf(3, 1) == pytest.approx(math.log(2) + 1)
    assert tfidf_idf(0, 0) == 1.0
    assert tfidf_idf(9, 9) == 1.0
    assert tfidf_idf(9, 0) == pytest.approx(math.log(10) + 1)


def test_tf_idf_cosine_by_hand() -> None:
    idf = {"a": 1.0, "b": 2.0, "c": 3.0}
    # query (1, 2, 0), text (2, 0, 3): the dot product is 2, the lengths are √5 and √13
    assert tfidf_cosine({"a": 1, "b": 1}, {"a": 2, "c": 1}, idf) == pytest.approx(2 / math.sqrt(65))


@pytest.mark.parametrize(
    ("query", "text", "value"),
    [
        ({"a": 1}, {"a": 3}, 1.0),
        ({"a": 2, "b": 1}, {"a": 2, "b": 1}, 1.0),
        ({"a": 1}, {"b": 1}, 0.0),
        ({}, {"a": 1}, 0.0),
        ({"a": 1}, {}, 0.0),
        ({"x": 1}, {"x": 1}, 0.0),  # nobody knows x
        ({"a": 1, "x": 9}, {"a": 1, "x": 9}, 1.0),
    ],
)
def test_tf_idf_cosine_at_the_edges(query: dict[str, int], text: dict[str, int], value: float) -> None:
    assert tfidf_cosine(query, text, {"a": 1.0, "b": 2.0}) == pytest.approx(value)


def test_decay_halves_every_thirty_idle_days_and_opening_adds_a_tenth() -> None:
    assert decayed(1.0, 30) == 0.5
    assert decayed(0.8, 60) == pytest.approx(0.2)
    assert decayed(0.8, 0) == decayed(0.8, -5) == 0.8
    assert decayed(0.8, 60, protected=True) == 0.8
    assert opened(0.5) == pytest.approx(0.6)
    assert opened(0.95) == opened(1.0) == 1.0


def test_feedback_moves_a_prior_from_the_middle_and_never_to_the_end() -> None:
    assert feedback_prior({}) == 0.5
    assert feedback_prior({"accepted": 1}) == pytest.approx(0.6)
    assert feedback_prior({"accepted": 6, "modified": 2}) == pytest.approx(9 / 12)
    assert 0.0 < feedback_prior({"dismissed": 10_000}) < 0.001


def item(importance: int | None, **metadata: Any) -> Item:
    fields = Fields(importance=importance, metadata=metadata)
    return Item("id", Ref("entity", "/x"), "entity", "live", 1, "", "", fields, NOW, NOW)


@pytest.mark.parametrize(
    ("mentions", "value"),
    [
        (90, 90.0), (2.5, 2.5), (0, 0.0), (-3, 0.0), (True, 0.0), ("many", 0.0), (None, 0.0), (math.nan, 0.0),
        (math.inf, 0.0), (10**400, 0.0),
    ],
)  # fmt: skip
def test_mentions_count_where_they_are_a_count(mentions: Any, value: float) -> None:
    assert mentions_of(item(None, mention_count=mentions)) == value
