"""What sessions taught on one machine waits on the others, and is decided once for all of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from ricordo import Ricordo
from ricordo.exchange.codec import BadRecord, encode
from ricordo.exchange.entries import PROPOSAL, LogEntry, entry_from
from ricordo.exchange.records import ProposalRecord
from ricordo.values.proposals import Proposal

from .conftest import MakePlaces, Place, settle

SAID = datetime(2026, 5, 4, tzinfo=UTC)
TUESDAYS = Proposal("We deploy on Tuesdays.", "rule", "project", "Remember: we deploy on Tuesdays.", "s1", 3, SAID)
PNPM = Proposal("We use pnpm, not npm.", "correction", "project", "No, we use pnpm, not npm.", "s1", 5, SAID)


@pytest.fixture
def two(make_places: MakePlaces) -> tuple[Place, Place]:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.store.proposals.add([TUESDAYS, PNPM])
    settle(desk, laptop)
    return desk, laptop


def waiting(engine: Ricordo) -> list[str]:
    return [one.text for one in engine.review().proposals]


def test_what_waits_on_one_machine_waits_on_the_other_and_is_decided_for_both(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with laptop.at() as engine:
        assert engine.review().proposals == (TUESDAYS, PNPM)
        engine.review(TUESDAYS.ref, "accept")
        engine.review(PNPM.ref, "refuse")
    settle(desk, laptop)
    with desk.at() as engine:
        assert waiting(engine) == []
        assert [item.title for item in engine.list()] == [TUESDAYS.text]
        assert [one.text for one in engine.store.proposals.listing("refused")] == [PNPM.text]
    assert desk.sync().written == laptop.sync().written == 0


def test_a_decision_counts_more_than_none_that_was_made_apart_and_an_undone_one_waits_everywhere(
    two: tuple[Place, Place],
) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.review(TUESDAYS.ref, "accept")
        engine.review(PNPM.ref, "accept")
    settle(desk, laptop)
    with desk.at() as engine:
        engine.undo()
    settle(desk, laptop)
    with desk.at() as engine:
        engine.review(PNPM.ref, "refuse")
    with laptop.at() as engine:
        assert waiting(engine) == [PNPM.text]
        engine.review(PNPM.ref, "accept")
    laptop.sync()
    with laptop.at() as engine:
        engine.undo()  # it waits here, while it is refused there
    laptop.sync()
    settle(desk, laptop)
    for place in two:
        with place.at() as engine:
            assert waiting(engine) == []


def test_what_is_said_about_a_whole_kind_holds_on_every_machine(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.review(TUESDAYS.ref, "never")
    settle(desk, laptop)
    with laptop.at() as engine:
        assert engine.store.proposals.rules() == {"pattern rule": "never"}
        engine.review(PNPM.ref, "always")
    settle(desk, laptop)
    with desk.at() as engine:
        assert engine.store.proposals.rules() == {"pattern rule": "never", "pattern correction": "always"}


def test_what_an_erased_session_taught_is_gone_from_every_store_and_file(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.save("session:/s1", "We deploy on Tuesdays, with saffron.", kind="session", fields={"thread": "s1"})
        told = Proposal("We deploy with saffron.", "rule", "project", "with saffron", "s1", 1, SAID)
        engine.store.proposals.add([told])
    settle(desk, laptop)
    with laptop.at() as engine:
        assert waiting(engine) == [told.text]
        engine.store.proposals.add([Proposal("Saffron is dear.", "rule", "project", "saffron", "s1", 2, SAID)])
    with desk.at() as engine:
        engine.rm("session:/s1", purge=True)
    desk.sync()
    assert not any("affron" in (desk.folder / path).read_text() for path in desk.files())
    settle(desk, laptop)
    for place in (desk, laptop):
        with place.at() as engine:
            assert engine.store.proposals.listing() == []
        place.close()
        held = [path for path in place.home.rglob("*") if path.is_file() and b"affron" in path.read_bytes()]
        assert held == []


@pytest.mark.parametrize("changed", [{"state": "told"}, {"text": "Deploy whenever you like."}])
def test_an_entry_about_a_proposal_must_be_about_that_proposal(changed: dict[str, str]) -> None:
    record = ProposalRecord(TUESDAYS.text, "rule", "project", "", "s1", 3, SAID, "pattern", "", "", "accepted", "")
    entry = LogEntry(PROPOSAL, TUESDAYS.ref, 1, "00000001", (), encode(record))
    plain = json.loads(entry.to_line())
    assert entry_from(plain) == entry
    with pytest.raises(BadRecord):
        entry_from({**plain, "body": {**plain["body"], **changed}})


def test_proposals_stay_where_they_are_if_that_is_chosen(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.sync_folder_add(desk.folder, what=["memories"], trust_all=True)
        engine.store.proposals.add([TUESDAYS])
    with laptop.at() as engine:
        engine.store.proposals.add([PNPM])
    settle(desk, laptop)
    with laptop.at() as engine:
        assert waiting(engine) == [PNPM.text]
    with desk.at() as engine:
        engine.review(PNPM.ref, "refuse")
    settle(desk, laptop)
    with laptop.at() as engine:
        engine.review(PNPM.ref, "accept")
    settle(desk, laptop)
    with desk.at() as engine:
        assert [one.text for one in engine.store.proposals.listing("refused")] == [PNPM.text]
