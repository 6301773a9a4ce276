"""What one call of a verb changed is undone together, and nothing is lost by it."""

from __future__ import annotations

from typing import Any

import pytest

from ricordo import NotFound, Ricordo, UsageError
from ricordo.errors import Conflict, Forbidden
from ricordo.speaking import as_agent, speaking
from ricordo.store.sql import history
from ricordo.values.items import Entry
from ricordo.values.provenance import AGENT, Provenance

from .conftest import Opens

CLAUDE = Provenance(AGENT, "claude-code", "s-1", "mcp")
FRIDAY = "We deploy to production on Fridays."


def refs(engine: Ricordo) -> list[str]:
    return sorted(str(item.ref) for item in engine.list())


def test_what_was_remembered_goes_to_the_bin_and_comes_back_when_the_undo_is_undone(opens: Opens) -> None:
    engine = opens()
    ref = engine.remember(FRIDAY).ref
    report = engine.undo()
    assert report.undone is not None
    assert (report.undone.words, [one.status for one in report.items]) == (f"remembered {ref}", ["removed"])
    assert refs(engine) == []
    last = engine.undo(list=True).steps[0]
    assert last.verb == "undo"
    engine.undo(last.id)
    assert engine.get(ref).content == FRIDAY
    assert [hit.ref for hit in engine.search("deploy").hits] == [ref]


def test_undo_goes_back_step_by_step_through_edits_moves_and_removals(opens: Opens) -> None:
    engine = opens()
    engine.save("note:/plan", "First.", fields={"tags": ["old"]})
    engine.edit("note:/plan", content="Second.", fields={"tags": ["new"]})
    engine.mv("note:/plan", "note:/plans/one")
    engine.rm("note:/plans/one")
    engine.undo()
    assert engine.get("note:/plans/one").content == "Second."
    engine.undo()
    assert refs(engine) == ["note:/plan"]
    engine.undo()
    back = engine.get("note:/plan")
    assert (back.content, back.fields.tags) == ("First.", ("old",))
    engine.undo()
    assert refs(engine) == []
    with pytest.raises(NotFound, match="nothing of yours to undo"):
        engine.undo()


def test_a_correction_and_its_link_are_one_step(opens: Opens) -> None:
    engine = opens()
    old = engine.remember(FRIDAY).ref
    new = engine.correct(old, "We deploy to production on Mondays.").ref
    step = engine.undo(list=True).steps[0]
    assert (step.verb, step.changes) == ("correct", 3)
    engine.undo(step.id)
    assert refs(engine) == [old]
    engine.restore(new)
    assert engine.links(old).links == ()


def test_many_items_that_were_archived_together_come_back_together(opens: Opens) -> None:
    engine = opens()
    engine.save_many([Entry(f"note:/{name}", f"Text {name}.", "note") for name in "abcde"])
    engine.forget("note:/a", "note:/b", "note:/c", "note:/d", "note:/e")
    step = engine.undo(list=True).steps[0]
    assert step.words == "archived note:/a, note:/b, note:/c and 2 others"
    assert [one.status for one in engine.undo().items] == ["restored"] * 5
    assert len(refs(engine)) == 5
    engine.undo()
    assert refs(engine) == []


def test_links_made_and_removed_by_hand_are_undone(opens: Opens) -> None:
    engine = opens()
    engine.save("note:/a", "A.")
    engine.save("note:/b", "B.")
    engine.link("note:/a", "note:/b", "supports")
    engine.unlink("note:/a", "note:/b")
    engine.undo()
    assert [link.type for link in engine.links("note:/a").links] == ["supports"]
    engine.undo()
    assert engine.links("note:/a").links == ()


def test_what_was_changed_since_stays_and_the_rest_is_undone(opens: Opens) -> None:
    engine = opens()
    engine.save_many([Entry("note:/a", "A.", "note"), Entry("note:/b", "B.", "note")])
    made = engine.undo(list=True).steps[0]
    engine.edit("note:/a", content="A, changed.")
    report = engine.undo(made.id)
    assert [(one.ref, one.status, one.reason) for one in report.items] == [
        ("note:/a", "skipped", "it was changed since"),
        ("note:/b", "removed", None),
    ]
    assert report.notes == ("1 of 2 items stay as they are",)
    assert refs(engine) == ["note:/a"]


def test_a_step_of_which_nothing_can_be_undone_says_why_and_stays(opens: Opens) -> None:
    engine = opens()
    engine.save("note:/a", "A.")
    made = engine.undo(list=True).steps[0]
    engine.edit("note:/a", content="A, changed.")
    with pytest.raises(Conflict, match="note:/a: it was changed since"):
        engine.undo(made.id)
    assert not engine.undo(list=True).steps[-1].is_undone


def test_a_step_is_undone_once(opens: Opens) -> None:
    engine = opens()
    engine.save("note:/a", "A.")
    made = engine.undo(list=True).steps[0]
    engine.undo(made.id)
    with pytest.raises(Conflict, match="undone already"):
        engine.undo(made.id)
    with pytest.raises(NotFound, match="there is no step 12345678"):
        engine.undo("12345678")


def test_what_was_erased_cannot_be_undone_and_is_named_nowhere(opens: Opens) -> None:
    engine = opens()
    engine.save("note:/before", "Before.")
    engine.save("note:/secret-plan", "A.")
    engine.rm("note:/secret-plan", purge=True)
    with pytest.raises(Conflict, match="erased 1 item for good"):
        engine.undo()
    shown = engine.undo(list=True).steps
    assert [one.words for one in shown] == ["erased 1 item for good", "saved note:/before"]
    assert "secret-plan" not in str(shown)


def test_undo_means_the_callers_own_last_step_and_a_named_one_may_be_anybodys(opens: Opens) -> None:
    engine = opens()
    engine.save("note:/mine", "Mine.")
    with speaking(CLAUDE):
        theirs = engine.remember(FRIDAY).ref
    agents = engine.undo(list=True).steps[0]
    assert (agents.provenance.author, agents.provenance.name) == (AGENT, "claude-code")
    engine.undo()
    assert refs(engine) == [theirs]
    engine.undo(agents.id)
    assert refs(engine) == []


def test_an_agent_cannot_take_back_what_the_user_decided(opens: Opens) -> None:
    engine = opens()
    ref = engine.remember("Answer in British English.", loading="always").ref
    with speaking(CLAUDE):
        engine.edit(ref, content="Answer in American English.")
    engine.review(ref, "accept")
    step = engine.undo(list=True).steps[0]
    with speaking(CLAUDE), pytest.raises(Forbidden, match="only the user may"):
        engine.undo(step.id)
    assert engine.review().waiting == ()
    engine.undo(step.id)
    assert [one.ref for one in engine.review().waiting] == [ref]


def test_an_undone_edit_of_an_agent_is_the_users_version_again(opens: Opens) -> None:
    engine = opens()
    ref = engine.remember("Answer in British English.").ref
    with speaking(CLAUDE):
        engine.edit(ref, content="Answer in American English.")
    engine.undo(engine.undo(list=True).steps[0].id)
    assert engine.get(ref).content == "Answer in British English."
    assert engine.review().waiting == ()


def test_only_the_newest_steps_are_kept(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_STEPS", 3)
    engine = opens()
    for name in "abcde":
        engine.save(f"note:/{name}", name)
    assert [one.words for one in engine.undo(list=True).steps] == [f"saved note:/{name}" for name in "edc"]


def test_a_step_is_named_by_a_text(opens: Opens) -> None:
    engine = opens()
    engine.remember(FRIDAY)
    wrong: Any = []
    with pytest.raises(UsageError, match="step"):
        engine.undo(wrong)
    assert len(refs(engine)) == 1


def test_undoing_a_refusal_leaves_the_text_of_an_agent_the_agents(engine: Ricordo) -> None:
    rule = engine.remember("Never push on Fridays.", loading="always").ref
    with as_agent("claude-code"):
        engine.edit(rule, "Push whenever you like.")
    engine.review(rule, "refuse")
    engine.undo()
    item = engine.get(rule)
    assert (item.content, item.vouched) == ("Push whenever you like.", 3)
    assert (item.provenance.author, item.provenance.name) == ("agent", "claude-code")
    assert engine.history(rule)[0].provenance.author == "agent"
