"""A word of several terms is worth the same, however the places of its terms are put together."""

from __future__ import annotations

import numpy as np
import pytest

from ricordo.store.index.impacts import Held, added_up

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
