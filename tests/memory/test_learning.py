"""How far verdicts move weights: the numbers alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.values.kinds import VERDICTS
from ricordo.values.use import acceptance, feedback_prior, shift_for, shifted

VAULT = {
    "semantic": 0.20, "vector": 0.15, "severity": 0.10, "temporal_decay": 0.10, "tag_overlap": 0.10,
    "domain_match": 0.10, "graph_proximity": 0.15,
}  # fmt: skip
COUNTS = st.dictionaries(st.sampled_from(list(VERDICTS)), st.integers(0, 500))
WEIGHTS = st.dictionaries(st.sampled_from(list(VAULT)), st.floats(0, 10), min_size=1)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"accepted": 40}, 0.15),
        ({"dismissed": 40}, -0.15),
        ({"accepted": 20, "dismissed": 20}, 0.0),
        ({"accepted": 30, "dismissed": 10}, 0.075),
        ({"accepted": 10, "modified": 20, "dismissed": 10}, 0.0),
        ({"modified": 10, "dismissed": 30}, -0.1125),
        ({"accepted": 30, "failed": 1000}, 0.15),
    ],
)
def test_the_shift_is_the_rate_above_one_half_times_three_tenths(counts: dict[str, int], expected: float) -> None:
    assert shift_for(counts) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("counts", [{}, {"accepted": 29}, {"accepted": 15, "dismissed": 14, "failed": 100}])
def test_fewer_than_thirty_verdicts_that_count_teach_nothing(counts: dict[str, int]) -> None:
    assert shift_for(counts) is None


def test_a_failure_is_no_opinion() -> None:
    assert acceptance({"failed": 5}) is None
    assert acceptance({"failed": 5, "accepted": 1, "dismissed": 1}) == 0.5
    assert feedback_prior({"failed": 5}) == 0.5


def test_the_text_weight_moves_and_the_others_keep_their_proportions() -> None:
    moved = shifted(VAULT, "semantic", 0.075)
    assert moved["semantic"] == pytest.approx(0.20 / 0.90 + 0.075)
    scale = (1 - moved["semantic"]) / (0.70 / 0.90)
    for name in set(VAULT) - {"semantic"}:
        assert moved[name] == pytest.approx(VAULT[name] / 0.90 * scale)
    assert sum(moved.values()) == pytest.approx(1)


def test_a_weight_of_zero_stays_zero_and_a_lone_signal_stays_whole() -> None:
    assert shifted({"lexical": 0.0, "vector": 2.0}, "lexical", 0.15) == {"lexical": 0.0, "vector": 1.0}
    assert shifted({"lexical": 1.0, "vector": 0.0}, "lexical", -0.15) == {"lexical": 1.0, "vector": 0.0}
    assert shifted({"vector": 1.0, "tags": 1.0}, "lexical", 0.15) == {"vector": 0.5, "tags": 0.5}


@given(COUNTS)
def test_the_shift_never_leaves_its_bounds(counts: dict[str, int]) -> None:
    shift = shift_for(counts)
    assert shift is None or -0.15 <= shift <= 0.15


@given(WEIGHTS, st.floats(-0.15, 0.15))
def test_shifted_weights_are_weights(weights: dict[str, float], shift: float) -> None:
    moved = shifted(weights, "semantic", shift)
    assert moved.keys() == weights.keys()
    if sum(weights.values()) > 0:
        assert sum(moved.values()) == pytest.approx(1)
        assert all(0 <= weight <= 1 + 1e-9 for weight in moved.values())


@given(COUNTS)
def test_a_prior_is_bounded_and_follows_acceptance(counts: dict[str, int]) -> None:
    prior, rate = feedback_prior(counts), acceptance(counts)
    assert 0 < prior < 1
    assert prior == 0.5 if rate is None or rate == 0.5 else (prior > 0.5) == (rate > 0.5)
