"""Which places have the least distances: as sorting all of them would say, however they are spread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.store.index import sketches
from ricordo.store.index.sketches import least_places


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.data())
def test_the_places_of_the_least_are_those_that_sorting_gives(distances: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(1, len(distances)))
    limit = sorted(distances)[wanted - 1]
    expected = [place for place, distance in enumerate(distances) if distance <= limit]
    with pytest.MonkeyPatch.context() as patch:
        assert least_places(np.array(distances, np.uint16), wanted).tolist() == expected
        patch.setattr(sketches, "SAMPLED_FROM", 1)  # a sample is taken of ever so few
        patch.setattr(sketches, "SAMPLE", data.draw(st.integers(1, len(distances))))
        assert least_places(np.array(distances, np.uint16), wanted).tolist() == expected
