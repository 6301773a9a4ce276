"""A word of several terms is worth the same, however the places of its terms are put together."""

from __future__ import annotations

import numpy as np
import pytest

from ricordo.store.index.impacts import CACHE_BYTES, Held, Impacts, added_up
from ricordo.store.values import Scoring

K1 = 1.2


@pytest.mark.parametrize("size", [40, 100_000])  # one chunk in a few holds it, or hardly any
def test_the_weights_of_all_terms_of_a_word_are_added_up_at_each_place(size: int) -> None:
    weights = [{3: 1.0, 7: 2.5, 30: 0.5}, {7: 1.5, 8: 4.0}, {39: 0.25}]
    found = [Held(np.array(list(some)), np.array([x / (K1 + x) for x in some.values()]), len(some)) for some in weights]
    together: dict[int, float] = {}
    for some in weights:
        for place, x in some.items():
            together[place] = together.get(place, 0.0) + x
    places, impacts = added_up(found, K1, size)
    assert places.tolist() == sorted(together)
    assert impacts.tolist() == pytest.approx([together[place] / (K1 + together[place]) for place in sorted(together)])


def test_a_word_is_kept_in_place_of_its_terms_and_room_is_counted_by_what_is_kept() -> None:
    impacts, state = Impacts(), (1, Scoring())
    some = Held(np.arange(1_000, dtype=np.int32), np.ones(1_000), 1_000)
    assert impacts.cached(state, ()) == {}  # from now on, what is kept is of this state
    impacts.keep(state, {"run": some, "runs": some, "tea": some})
    impacts.keep(state, {"run\nruns": some}, instead_of=("run", "runs", "running"))
    assert impacts.cached(state, ("run", "runs", "tea", "run\nruns")).keys() == {"tea", "run\nruns"}
    many = CACHE_BYTES // (12 * 1_000)  # with what counts for each beside its places, more than there is room for
    impacts.keep(state, {f"w{n}": some for n in range(many - 4)})
    assert impacts.cached(state, ("tea",)) == {}, "the oldest had to go"
    assert len(impacts.cached(state, [f"w{n}" for n in range(many)])) > many * 0.9
