"""However changes and files of three machines are interleaved, all stores end up the same, with every text in them."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.errors import Error
from ricordo.plugins.sync.log import ERASE, STATE, VERSION, LogEntry, text_mark
from ricordo.plugins.sync.merge import merged

from .conftest import Place, carry, settle

NAMES = ("note:/a", "note:/b")
PLACES = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("save"), PLACES, st.sampled_from(NAMES)),
    st.tuples(st.just("edit"), PLACES, st.sampled_from(NAMES)),
    st.tuples(st.just("move"), PLACES, st.sampled_from(NAMES)),
    st.tuples(st.just("remove"), PLACES, st.sampled_from(NAMES)),
    st.tuples(st.just("erase"), PLACES, st.sampled_from(NAMES)),
    st.tuples(st.just("sync"), PLACES, PLACES),
    st.tuples(st.just("carry"), PLACES, PLACES),
    st.tuples(st.just("lose"), PLACES, PLACES),
)


def act(place: Place, what: str, ref: str, number: int, written: set[str], erased: set[str]) -> None:
    """One change; texts that were acknowledged, or erased by somebody who saw them, are noted."""
    text = f"Text number {number}."
    with place.at() as engine, suppress(Error):
        if what == "save":
            engine.save(ref, text)
            written.add(text)
        elif what == "edit":
            engine.edit(ref, text)
            written.add(text)
        elif what == "move":
            engine.mv(ref, f"{ref}-moved")
        elif what == "remove":
            engine.rm(ref)
        else:
            seen = [engine.get(ref, version=one.number).content for one in engine.history(ref)]
            engine.rm(ref, purge=True)
            erased.update(seen)


def lose(owner: Place, places: list[Place], which: int) -> None:
    """A file of a machine is removed everywhere."""
    for path in owner.files()[which : which + 1]:
        for place in places:
            (place.folder / path).unlink(missing_ok=True)


@settings(max_examples=12)
@given(st.lists(STEPS, min_size=4, max_size=14))
def test_three_machines_agree_in_the_end_and_lose_no_text(steps: list[tuple[str, int, str | int]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        places = [Place(Path(home), name, number) for number, name in enumerate(("desk", "laptop", "phone"), 1)]
        written: set[str] = set()
        erased: set[str] = set()
        try:
            for place in places:
                place.join()
            for number, (what, at, other) in enumerate(steps):
                if isinstance(other, str):
                    act(places[at], what, other, number, written, erased)
                elif what == "sync":
                    places[at].sync()
                elif what == "carry" and at != other:
                    carry(places[at], places[other])
                elif what == "lose":
                    lose(places[at], places, other)
            settle(*places)
            assert places[0].shown() == places[1].shown() == places[2].shown()
            assert places[0].texts() == written - erased
        finally:
            for place in places:
                place.close()


def version(number: int, clock: int, writer: str, parents: tuple[str, ...]) -> LogEntry:
    body = {"version": {"hash": f"h{number}", "text_hash": f"t{number}", "created_at": number, "number": number}}
    return LogEntry(VERSION, "item", clock, writer, parents, {**body, "vouched": True})


@st.composite
def histories(draw: st.DrawFn) -> list[LogEntry]:
    """Entries of one item, each made on top of some of those before it."""
    entries: list[LogEntry] = []
    clocks: dict[str, int] = {}
    for number in range(1, draw(st.integers(1, 7)) + 1):
        some = st.lists(st.sampled_from(entries), max_size=3, unique_by=lambda entry: entry.uid) if entries else None
        known = draw(some) if some is not None else []
        parents = tuple(sorted(entry.uid for entry in known if entry.kind != ERASE))
        clock = max([entry.clock for entry in known], default=0) + draw(st.integers(1, 3))
        writer = draw(st.sampled_from(("a", "b", "c")))
        clocks[writer] = clock = max(clock, clocks.get(writer, 0) + 1)
        kind = draw(st.sampled_from((VERSION, VERSION, VERSION, STATE, ERASE)))
        if kind == VERSION or not parents:
            entries.append(version(number, clock, writer, parents))
        elif kind == STATE:
            said = {"state": draw(st.sampled_from(("archived", "deleted"))), "at": number, "provenance": {}}
            entries.append(LogEntry(STATE, "item", clock, writer, parents, said))
        else:
            texts = [text_mark("item", str(one.body["version"]["text_hash"])) for one in known if one.kind == VERSION]
            said = {"uids": list(parents), "texts": texts, "provenance": {}}
            entries.append(LogEntry(ERASE, "item", clock, writer, (), said))
    return entries


@given(histories(), st.randoms(use_true_random=False))
def test_an_item_depends_on_the_set_of_its_entries_alone(entries: list[LogEntry], chance: object) -> None:
    named = [(entry.uid, entry) for entry in entries]
    shuffled = [*named, *named[: len(named) // 2]]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # a Random
    one, two = merged(named), merged(shuffled)
    assert one == two
    erased = {uid for entry in entries if entry.kind == ERASE for uid in entry.body["uids"]}
    texts = {uid for uid, entry in named if entry.kind == VERSION} - erased
    assert (one is None) == (not texts)
    if one is not None:
        assert {uid for uid, _ in one.versions} == texts
        assert list(one.numbers) == sorted(set(one.numbers))
