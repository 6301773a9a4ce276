"""How many calls of Python a warm search makes: the same count on every machine, and most of what a search costs."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

from ricordo import ConfigProvider, Ricordo
from ricordo.values.items import Entry

WORDS = "harbour lantern rope anchor sail keel mast tide buoy winch"
MOST = 9_000
"""About a third more than there are now, because versions of Python count a little differently."""


def calls_of_a_search(folder: Path, lines: int) -> int:
    """The calls of a search of forty notes, each with so many lines, after one that warmed it up."""
    filler = "".join(f"The crew counted {at} crates on the quay that morning.\n" for at in range(lines))
    notes = [
        Entry(ref=f"note:/{n}", content=f"# Note {n}\n\nThe {WORDS} of boat {n} need paint.\n\n{filler}")
        for n in range(40)
    ]
    with Ricordo.open(folder / f"{lines}.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.save_many(notes)
        for _ in range(2):
            engine.search("which harbour lantern and rope need paint", track=False)
        profile = cProfile.Profile()
        profile.enable()
        found = engine.search("which harbour lantern and rope need paint", track=False)
        profile.disable()
    assert len(found.hits) == 10
    total = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return int(total)


def test_a_warm_search_makes_few_calls_and_hardly_more_for_texts_ten_times_as_long(tmp_path: Path) -> None:
    short, long = calls_of_a_search(tmp_path, 3), calls_of_a_search(tmp_path, 30)
    assert short < MOST
    assert long < 1.2 * short
