"""What waits in ``review`` after a session proposed something, and what becomes of each decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.conftest import import_trusted

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Forbidden, NotFound, UsageError
from ricordo.mcp_server.service import TOOLSETS, chosen
from ricordo.speaking import as_agent
from ricordo.values.items import Ref
from ricordo.values.log import KINDS, Proposal

PLANTS = ("aster", "begonia", "clover", "dahlia", "erica", "fern", "geranium", "heather", "iris", "kale", "lily")
NO_VECTORS = ConfigProvider({"embedding.provider": "none"})
AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
LINT = Proposal("Always run make lint before a commit.", "rule", "project", "always run make lint …", "s1", 3, AT)
PNPM = Proposal("We use pnpm, not npm.", "rule", "project", "we use pnpm, not npm", "s1", 7, AT)


@pytest.fixture
def engine(tmp_path: Path) -> Ricordo:
    opened = Ricordo.open(tmp_path / "store.db", config=NO_VECTORS)
    opened.store.proposals.add([LINT, PNPM])
    return opened


def test_an_accepted_proposal_becomes_a_memory_in_the_users_words(engine: Ricordo) -> None:
    assert [one.text for one in engine.review().proposals] == [LINT.text, PNPM.text]
    report = engine.review(LINT.ref, "accept")
    assert [one.text for one in report.proposals] == [PNPM.text]
    (hit,) = engine.search("make lint").hits
    assert hit.ref in report.decided
    item = engine.get(hit.ref)
    assert item.content == LINT.text
    assert (item.provenance.author, item.vouched) == ("person", 1)
    origin = item.fields.metadata["proposal"]
    assert (origin["session"], origin["turn"], origin["accepted"]) == ("s1", 3, "by review")


def test_a_proposal_is_kept_in_other_words(engine: Ricordo) -> None:
    engine.review(LINT.ref, "accept", text="Run make lint and make test before each commit.")
    assert [engine.get(hit.ref).content for hit in engine.search("lint").hits] == [
        "Run make lint and make test before each commit."
    ]


def test_rules_that_were_accepted_are_told_whenever_a_session_starts_and_facts_where_they_fit(engine: Ricordo) -> None:
    kinds = {kind: Proposal(f"The {kind} of ours.", kind, "project", kind, "s3", 1, AT) for kind in KINDS}
    engine.store.proposals.add(list(kinds.values()))
    for proposal in kinds.values():
        engine.review(proposal.ref, "accept")
    told = {part.title: part.fenced for part in engine.context("").parts if part.section == "always"}
    assert told == {kinds[kind].text: False for kind in ("rule", "preference", "correction")}


def test_review_says_what_a_session_is_told_at_its_start_and_what_that_costs(engine: Ricordo) -> None:
    before = engine.review().start
    assert before is not None
    assert (before.told, before.tokens) == ((), 0)
    engine.review(LINT.ref, "accept")
    engine.review(PNPM.ref, "accept")
    after = engine.review().start
    assert after is not None
    assert set(after.told) == {one.ref for one in engine.context("").parts}
    assert after.tokens == engine.context("", budget=after.budget).tokens
    assert (after.proposed, after.left_out) == (0, ())
    assert 0 < before.proposed <= after.tokens < 2 * before.proposed


def test_of_more_rules_than_a_start_has_room_for_the_most_used_and_newest_are_told_and_the_rest_where_it_fits(
    tmp_path: Path,
) -> None:
    few = ConfigProvider({"embedding.provider": "none", "hooks.budget": 90})
    with Ricordo.open(tmp_path / "few.db", config=few) as engine:
        for plant in PLANTS:
            proposal = replace(LINT, text=f"Always water the {plant}.")
            engine.store.proposals.add([proposal])
            engine.review(proposal.ref, "accept")
        engine.search("heather")
        engine._context.flush_use()
        start = engine.review().start
        assert start is not None
        kept = [one.path.rpartition("-")[2] for one in map(Ref.parse, start.told)]
        newest = [plant for plant in reversed(PLANTS) if plant != "heather"]
        assert kept == ["heather", *newest[: len(kept) - 1]]
        assert len(start.told) + len(start.left_out) == len(PLANTS)
        told = engine.context("", budget=start.budget).text
        assert "Left out: " in told
        named = sum(ref in told for ref in start.left_out)
        assert named == len(start.left_out) or f"{len(start.left_out) - named} more" in told
        assert "Always water the aster." in engine.context("Is the aster dry?", always=False).text
        assert "heather" not in engine.context("Is the heather dry?", always=False).text


def test_a_correction_of_a_memory_that_was_put_away_becomes_a_memory_of_its_own(engine: Ricordo) -> None:
    stored = engine.remember("We deploy on Fridays, not on Mondays.")
    correction = replace(PNPM, text="We deploy on Mondays, not on Fridays.", kind="correction")
    engine.store.proposals.add([correction])
    assert [one.corrects for one in engine.review(correction.ref).proposals] == [stored.ref]
    engine.forget(stored.ref)
    engine.review(correction.ref, "accept")
    assert [engine.get(hit.ref).content for hit in engine.search("deploy").hits] == [correction.text]


def test_the_id_of_a_proposal_is_enough_to_decide_on_it(engine: Ricordo) -> None:
    report = engine.review(LINT.ref.removeprefix("proposal:/"), "accept")
    assert [one.text for one in report.proposals] == [PNPM.text]


def test_a_refused_proposal_does_not_come_back(engine: Ricordo) -> None:
    engine.review(LINT.ref, "refuse")
    assert engine.store.proposals.add([LINT]) == 0
    assert [one.text for one in engine.review().proposals] == [PNPM.text]
    assert engine.search("lint").hits == ()
    with pytest.raises(UsageError, match="refused before"):
        engine.review(LINT.ref, "accept")


def test_always_and_never_hold_for_the_kind_and_are_the_users_alone(engine: Ricordo) -> None:
    with as_agent("claude-code"), pytest.raises(Forbidden):
        engine.review(LINT.ref, "always")
    engine.review(LINT.ref, "never")
    assert engine.store.proposals.rules() == {"pattern rule": "never"}
    engine.review(PNPM.ref, "always")
    assert engine.store.proposals.rules() == {"pattern rule": "always"}


def test_what_holds_for_a_kind_is_listed_and_taken_back_by_the_user_alone(engine: Ricordo) -> None:
    assert engine.review(LINT.ref, "never").rules[0].to_dict() == {
        "ref": "proposal:/pattern/rule", "way": "pattern", "kind": "rule", "rule": "never",
    }  # fmt: skip
    assert "proposal:/pattern/rule" in engine.review(PNPM.ref, "always").decided
    assert [(one.ref, one.rule) for one in engine.review().rules] == [("proposal:/pattern/rule", "always")]
    with as_agent("claude-code"), pytest.raises(Forbidden):
        engine.review("proposal:/pattern/rule", "ask")
    assert engine.review("proposal:/pattern/rule", "ask").rules == ()
    assert engine.store.proposals.rules() == {}
    assert engine.review("proposal:/model/fix", "never").rules[0].ref == "proposal:/model/fix"
    assert engine.store.proposals.rules() == {"model fix": "never"}


def test_a_refused_proposal_waits_again_when_the_user_asks_for_it(engine: Ricordo) -> None:
    engine.review(LINT.ref, "refuse")
    with as_agent("claude-code"), pytest.raises(Forbidden):
        engine.review(LINT.ref, "ask")
    assert engine.review(LINT.ref, "ask").proposals == (LINT, PNPM)
    with pytest.raises(UsageError, match="waits already"):
        engine.review(LINT.ref, "ask")


def test_an_accepted_proposal_waits_again_only_after_its_memory_is_put_away(engine: Ricordo) -> None:
    engine.review(LINT.ref, "accept")
    ref = engine.search("make lint").hits[0].ref
    with pytest.raises(UsageError, match=ref):
        engine.review(LINT.ref, "ask")
    engine.forget(ref)
    assert engine.review(LINT.ref, "ask").proposals == (LINT, PNPM)


@pytest.mark.parametrize("ref", ["proposal:/pattern/nothing", "proposal:/nobody/rule", "proposal:/pattern/rule/more"])
def test_a_kind_that_does_not_exist_is_refused_with_those_that_do(engine: Ricordo, ref: str) -> None:
    with pytest.raises(NotFound) as raised:
        engine.review(ref, "never")
    assert "pattern, model" in str(raised.value.hint)
    with pytest.raises(UsageError, match="a kind of them"):
        engine.review("proposal:/pattern/rule", "accept")


def test_what_concerns_the_user_makes_the_users_own_store_if_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".ricordo").mkdir(parents=True)
    mine = Proposal("Always answer in British English.", "rule", "user", "answer in British English", "s2", 1, AT)
    with Ricordo.open(start=tmp_path / "shop", config=NO_VECTORS) as engine:
        engine.store.proposals.add([mine])
        engine.review(mine.ref, "accept")
        assert engine.count() == 0
        own = engine.tier("agent")
        assert own.location != engine.location
        (kept,) = own.search("English").hits
        own.forget(kept.ref)
        assert engine.review(mine.ref, "ask").proposals == (mine,)


def test_undoing_an_acceptance_brings_the_proposal_back_wherever_its_memory_was(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".ricordo").mkdir(parents=True)
    mine = Proposal("Always answer in British English.", "rule", "user", "answer in British English", "s2", 1, AT)
    with Ricordo.open(start=tmp_path / "shop", config=NO_VECTORS) as engine:
        engine.store.proposals.add([mine, LINT])
        for proposal in (LINT, mine):
            engine.review(proposal.ref, "accept")
        assert mine.text in engine.context("").text
        engine.undo()
        assert engine.review().proposals == (mine,)
        engine.undo()
        assert engine.review().proposals == (LINT, mine)
        assert engine.context("").text == ""


def test_a_rule_of_the_users_own_store_is_taken_back_from_a_project(tmp_path: Path) -> None:
    own, project = tmp_path / "own.db", tmp_path / "project.db"
    settings = ConfigProvider({"embedding.provider": "none", "tiers.agent": str(own), "tiers.project": str(project)})
    with Ricordo.open(own, config=NO_VECTORS) as engine:
        engine.review("proposal:/pattern/rule", "always")
    with Ricordo.open(project, config=settings) as engine:
        engine.review("proposal:/pattern/fix", "never")
        assert [one.ref for one in engine.review().rules] == ["proposal:/pattern/fix", "proposal:/pattern/rule"]
        assert [one.ref for one in engine.review("proposal:/pattern/rule", "ask").rules] == ["proposal:/pattern/fix"]
        assert engine.store.proposals.rules() == {"pattern fix": "never"}


def test_what_an_agent_accepts_stays_the_agents_word(engine: Ricordo) -> None:
    with as_agent("claude-code"):
        report = engine.review(LINT.ref, "accept")
    item = engine.get(engine.search("make lint").hits[0].ref)
    assert item.ref.path in report.decided
    assert (item.provenance.author, item.vouched) == ("agent", None)
    assert engine.context("").parts == ()  # the user is asked first
    assert [one.ref for one in engine.review().waiting] == [str(item.ref)]
    engine.review(item.ref, "accept")
    assert [one.ref for one in engine.context("").parts] == [str(item.ref)]


def test_an_agent_has_the_tool_that_the_prompt_names_and_decides_on_proposals_alone(engine: Ricordo) -> None:
    tool = chosen(TOOLSETS)["review"]
    kept = engine.remember("The office is in Porto.", loading="always")
    with as_agent("claude-code"):
        engine.edit(kept.ref, "The office is in Lisbon.")
        listed = tool.run(engine)
        assert [one["text"] for one in listed["proposals"]] == [LINT.text, PNPM.text]
        tool.run(engine, ref=LINT.ref, decision="accept", text="Run make lint first.")
        tool.run(engine, ref=PNPM.ref, decision="refuse")
        assert tool.run(engine)["proposals"] == []
        for ref, decision in ((kept.ref, "accept"), (kept.ref, "refuse")):
            with pytest.raises(Forbidden):
                tool.run(engine, ref=ref, decision=decision)
    assert engine.search("make lint").hits[0].title == "Run make lint first."


def test_what_concerns_the_user_goes_to_the_users_own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, project = tmp_path / "own.db", tmp_path / "project.db"
    Ricordo.open(own, config=NO_VECTORS).close()
    settings = ConfigProvider({"embedding.provider": "none", "tiers.agent": str(own), "tiers.project": str(project)})
    mine = Proposal("Always answer in British English.", "rule", "user", "answer in British English", "s2", 1, AT)
    with Ricordo.open(project, config=settings) as engine:
        engine.store.proposals.add([mine, LINT])
        engine.review(mine.ref, "accept")
        engine.review(LINT.ref, "accept")
    with Ricordo.open(own, config=NO_VECTORS) as engine:
        assert [hit.ref for hit in engine.search("English").hits] == ["memory:/always-answer-in-british-english"]
        assert engine.search("lint").hits == ()
        engine.store.proposals.add([PNPM])
    with Ricordo.open(project, config=settings) as engine:  # what waits in the own store is decided from the project
        assert [one.text for one in engine.review().proposals] == [PNPM.text]
        assert engine.review(PNPM.ref, "refuse").proposals == ()


def test_names_and_decisions_that_do_not_fit_are_refused_with_a_hint(engine: Ricordo) -> None:
    engine.remember("The office is in Porto.", ref="memory:/office")
    with pytest.raises(NotFound, match="proposal:/none"):
        engine.review("proposal:/none", "accept")
    with pytest.raises(UsageError, match="for proposals"):
        engine.review("memory:/office", "never")
    with pytest.raises(UsageError, match="a text"):
        engine.review(LINT.ref, "refuse", text="Other words.")
    with pytest.raises(UsageError, match="which item"):
        engine.review(decision="accept")


def test_what_was_decided_travels_with_an_export_and_does_not_come_back(engine: Ricordo, tmp_path: Path) -> None:
    engine.review(LINT.ref, "never")
    engine.export(tmp_path / "all.jsonl")
    with Ricordo.open(tmp_path / "trusted.db", config=NO_VECTORS) as other:
        import_trusted(other, tmp_path / "all.jsonl")
        assert [one.text for one in other.review().proposals] == [PNPM.text]
        assert other.store.proposals.add([LINT]) == 0
        assert dict(other.store.proposals.rules()) == {"pattern rule": "never"}
        again = import_trusted(other, tmp_path / "all.jsonl")
        assert (again.records.get("proposal", 0), again.records.get("proposal_rule", 0)) == (0, 0)


def test_a_file_that_is_not_trusted_brings_no_proposals_that_wait_and_no_rules(engine: Ricordo, tmp_path: Path) -> None:
    engine.review(LINT.ref, "always")
    engine.export(tmp_path / "all.jsonl")
    with Ricordo.open(tmp_path / "other.db", config=NO_VECTORS) as other:
        report = other.import_(tmp_path / "all.jsonl")
        assert other.review().proposals == ()
        assert not other.store.proposals.rules()
        assert other.store.proposals.add([LINT]) == 0
        assert any("1 proposal that waits" in note for note in report.saved.notes)


def test_a_decision_from_elsewhere_holds_for_what_still_waits_here(engine: Ricordo, tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "other.db", config=NO_VECTORS) as other:
        other.store.proposals.add([LINT, PNPM])
        other.review(PNPM.ref, "refuse")
        other.export(tmp_path / "all.jsonl")
    engine.review(LINT.ref, "accept")
    import_trusted(engine, tmp_path / "all.jsonl")
    assert engine.review().proposals == ()
    assert [one.state for one in engine.store.proposals.listing()] == ["accepted", "refused"]


def test_migrating_carries_proposals_and_decisions(engine: Ricordo, tmp_path: Path) -> None:
    engine.review(LINT.ref, "refuse")
    engine.migrate(str(tmp_path / "target.db"))
    with Ricordo.open(tmp_path / "target.db", config=NO_VECTORS) as other:
        assert [one.text for one in other.review().proposals] == [PNPM.text]
        assert other.store.proposals.add([LINT]) == 0
