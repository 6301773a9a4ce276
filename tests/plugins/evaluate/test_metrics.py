"""The metrics against values worked out by hand."""

import math

import pytest

from ricordo.plugins.evaluate.report import judge, ndcg, percentile, recall, reciprocal_rank, significance

LOG2_3 = math.log2(3)


def test_a_perfect_ranking_has_an_ndcg_of_one() -> None:
    assert ndcg(["a", "b", "x"], {"a": 2, "b": 1}) == pytest.approx(1.0)


def test_ndcg_uses_the_grade_itself_as_gain() -> None:
    # found: 1/log2(2) + 3/log2(3); ideal: 3/log2(2) + 1/log2(3)
    assert ndcg(["b", "a"], {"a": 3, "b": 1}) == pytest.approx((1 + 3 / LOG2_3) / (3 + 1 / LOG2_3))


def test_the_ideal_counts_relevant_documents_that_were_not_found() -> None:
    assert ndcg(["x", "a"], {"a": 1, "b": 1}) == pytest.approx((1 / LOG2_3) / (1 + 1 / LOG2_3))


def test_the_ideal_stops_at_the_depth() -> None:
    judged = {f"d{n}": 1.0 for n in range(25)}
    assert ndcg([f"d{n}" for n in range(10)], judged, 10) == pytest.approx(1.0)


def test_a_hit_below_the_depth_adds_nothing_to_ndcg() -> None:
    ranked = [f"x{n}" for n in range(10)] + ["a"]
    assert ndcg(ranked, {"a": 1}) == 0.0


def test_grades_of_zero_and_below_are_no_gain() -> None:
    assert ndcg(["bad", "a"], {"a": 1, "bad": -1, "none": 0}) == pytest.approx(1 / LOG2_3)


@pytest.mark.parametrize("judged", [{}, {"a": 0}])
def test_a_query_without_a_relevant_document_scores_zero(judged: dict[str, float]) -> None:
    assert judge(["a"], judged) == {"ndcg@10": 0.0, "recall@10": 0.0, "recall@100": 0.0, "mrr@10": 0.0}


def test_recall_is_the_share_of_all_relevant_documents() -> None:
    judged = {"a": 1, "b": 2, "c": 1, "d": 0}
    ranked = ["a", *[f"x{n}" for n in range(9)], "b", "d"]
    assert recall(ranked, judged, 10) == pytest.approx(1 / 3)
    assert recall(ranked, judged, 100) == pytest.approx(2 / 3)


def test_the_reciprocal_rank_is_that_of_the_first_relevant_document() -> None:
    assert reciprocal_rank(["x", "y", "a", "b"], {"a": 1, "b": 1}) == pytest.approx(1 / 3)
    assert reciprocal_rank([f"x{n}" for n in range(10)] + ["a"], {"a": 1}) == 0.0


def test_nothing_found_scores_zero() -> None:
    assert set(judge([], {"a": 1}).values()) == {0.0}


def test_percentiles_are_interpolated() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == pytest.approx(2.5)
    assert percentile([5], 0.95) == 5
    assert percentile([], 0.5) == 0.0


def test_an_exact_randomisation_test_is_approached() -> None:
    # Of the 2^3 ways to swap three pairs with gains .1, .2, .3 only two reach |mean| >= .2: p = 1/4.
    outcome = significance([0.0, 0.0, 0.0], [0.1, 0.2, 0.3], rounds=20_000)
    assert outcome.p_value == pytest.approx(0.25, abs=0.015)
    assert outcome.difference == pytest.approx(0.2)
    assert not outcome.significant


def test_a_steady_gain_over_many_queries_is_significant() -> None:
    a = [0.1 * (n % 7) for n in range(60)]
    outcome = significance(a, [score + 0.05 + 0.01 * (n % 3) for n, score in enumerate(a)])
    assert outcome.significant
    assert outcome.confidence_95[0] > 0
    assert (outcome.wins, outcome.ties, outcome.losses) == (60, 0, 0)


def test_no_difference_is_not_significant() -> None:
    outcome = significance([0.2, 0.4, 0.9], [0.2, 0.4, 0.9])
    assert (outcome.p_value, outcome.difference, outcome.ties) == (1.0, 0.0, 3)


def test_the_same_seed_gives_the_same_answer() -> None:
    a, b = [0.1, 0.5, 0.3, 0.8], [0.2, 0.4, 0.6, 0.9]
    assert significance(a, b, seed=7) == significance(a, b, seed=7)


def test_unpaired_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="as many on both sides"):
        significance([0.1], [0.1, 0.2])
