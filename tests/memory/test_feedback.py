"""Verdicts through the engine: weights change, are frozen and rolled back, in every process that uses the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ricordo import ConfigProvider, NotFound, Ricordo, UsageError
from ricordo.store.query import NEWEST, Ask, Needs

OWN = {
    "semantic": 0.35, "vector": 0.0, "severity": 0.10, "temporal_decay": 0.10, "tag_overlap": 0.10,
    "domain_match": 0.10, "graph_proximity": 0.15,
}  # fmt: skip
OWN = {name: weight / 0.90 for name, weight in OWN.items()}


def judge(engine: Ricordo, **verdicts: int) -> None:
    for verdict, count in verdicts.items():
        for _ in range(count):
            engine.feedback("keys", "note:/keys", verdict)  # type: ignore[arg-type]


def weights(engine: Ricordo, profile: str = "vault") -> Mapping[str, float]:
    """The weights that a search uses."""
    return engine.search("keys", profile=profile, track=False).meta.weights


def expected(shift: float) -> dict[str, float]:
    """Our own arithmetic, as a check on theirs."""
    text = OWN["semantic"] + shift
    rest = 1 - OWN["semantic"]
    return {name: text if name == "semantic" else weight * (1 - text) / rest for name, weight in OWN.items()}


def test_forty_verdicts_move_the_weights_as_the_formula_says(memory: Ricordo) -> None:
    assert weights(memory) == pytest.approx(OWN)
    judge(memory, accepted=29)
    assert weights(memory) == pytest.approx(OWN)
    judge(memory, accepted=1)
    assert weights(memory) == pytest.approx(expected(0.15))
    judge(memory, modified=4, dismissed=6, failed=7)
    assert weights(memory) == pytest.approx(expected((32 / 40 - 0.5) * 0.30))
    assert sum(weights(memory).values()) == pytest.approx(1)


def test_few_accepted_items_lower_the_text_weight(memory: Ricordo) -> None:
    judge(memory, dismissed=40)
    assert weights(memory) == pytest.approx(expected(-0.15))


def test_the_default_profile_learns_too_and_the_others_do_not(memory: Ricordo) -> None:
    before = {name: dict(weights(memory, name)) for name in ("brain", "skills", "rrf", "knowledge")}
    judge(memory, accepted=30)
    assert {name: dict(weights(memory, name)) for name in before} == before
    learned = {one.profile: one for one in memory.learn.status().profiles}
    assert set(learned) == {"default", "vault"}
    default = learned["default"]
    assert default.text_signal == "lexical"
    assert default.weights["lexical"] == pytest.approx(default.own["lexical"] + 0.15)
    assert sum(default.weights.values()) == pytest.approx(1)


def test_every_change_is_logged_with_its_weights_before_and_after(memory: Ricordo) -> None:
    judge(memory, accepted=31, dismissed=1)
    changes = [change for change in memory.learn.status().changes if change.profile == "vault"]
    assert [change.counted for change in changes] == [32, 30]
    last, first = changes
    assert first.before == pytest.approx(OWN)
    assert first.after == last.before == pytest.approx(expected(0.15))
    assert last.after == pytest.approx(expected((31 / 32 - 0.5) * 0.30))
    assert json.loads(json.dumps(last.to_dict()))["reason"] == "feedback"


def test_rollback_restores_the_weights_and_learning_starts_afresh(memory: Ricordo) -> None:
    judge(memory, accepted=35, dismissed=5)
    memory.learn.rollback()
    assert weights(memory) == pytest.approx(OWN)
    judge(memory, accepted=29)
    assert weights(memory) == pytest.approx(OWN)
    judge(memory, dismissed=1)
    assert weights(memory) == pytest.approx(expected((29 / 30 - 0.5) * 0.30))


def test_rollback_of_one_change_goes_back_to_the_weights_before_it(memory: Ricordo) -> None:
    judge(memory, accepted=30)
    judge(memory, dismissed=2)
    second = next(
        change for change in memory.learn.status().changes if change.profile == "vault" and change.counted == 31
    )
    made = memory.learn.rollback(second.id)
    assert [(change.profile, change.shift_after) for change in made] == [("vault", 0.15)]
    assert weights(memory) == pytest.approx(expected(0.15))
    memory.learn.rollback(made[0].id)
    assert weights(memory) == pytest.approx(expected((30 / 32 - 0.5) * 0.30))


def test_what_cannot_be_undone_is_said(memory: Ricordo) -> None:
    with pytest.raises(NotFound):
        memory.learn.rollback()
    with pytest.raises(NotFound) as missing:
        memory.learn.rollback(99)
    assert "learn status" in missing.value.hint
    judge(memory, accepted=30)
    memory.learn.rollback()
    with pytest.raises(NotFound):
        memory.learn.rollback()


def test_frozen_weights_stay_and_what_came_meanwhile_does_not_count(memory: Ricordo) -> None:
    judge(memory, accepted=30)
    memory.learn.freeze()
    assert memory.learn.status().frozen
    assert not memory.feedback("keys", "note:/keys", "dismissed").counted
    judge(memory, dismissed=9)
    assert weights(memory) == pytest.approx(expected(0.15))
    memory.learn.freeze(off=True)
    judge(memory, dismissed=1)
    assert weights(memory) == pytest.approx(expected((30 / 31 - 0.5) * 0.30))


def test_two_engines_see_each_others_changes_at_the_next_query(memory: Ricordo, opens: Callable[..., Ricordo]) -> None:
    other = opens()
    assert weights(other) == pytest.approx(OWN)
    judge(memory, accepted=30)
    assert weights(other) == pytest.approx(expected(0.15))
    other.learn.rollback()
    assert weights(memory) == pytest.approx(OWN)
    other.learn.freeze()
    assert not memory.feedback("keys", "note:/keys", "accepted").counted


def test_weights_that_someone_chose_are_not_moved(memory: Ricordo) -> None:
    judge(memory, accepted=30)
    answer = memory.search("keys", profile="vault", weights={"semantic": 1.0, "severity": 0.0}, track=False)
    others = sum(weight for name, weight in OWN.items() if name not in ("semantic", "severity")) * 0.90
    assert answer.meta.weights["semantic"] == pytest.approx(1 / (1 + others))
    assert answer.meta.weights["severity"] == 0


def test_an_unknown_verdict_names_the_known_ones(memory: Ricordo) -> None:
    with pytest.raises(UsageError) as refused:
        memory.feedback("keys", "note:/keys", "great")  # type: ignore[arg-type]
    assert refused.value.hint == "One of: accepted, modified, dismissed, failed."
    with pytest.raises(UsageError):
        memory.feedback("  ", "note:/keys", "accepted")
    with pytest.raises(NotFound):
        memory.feedback("keys", "note:/kees", "accepted")
    assert memory.learn.status().verdicts == {}


def test_feedback_takes_ids_and_any_text(memory: Ricordo) -> None:
    identity = memory.get("note:/keys", track=False).id
    assert memory.feedback("a\udcff \x00 'quoted'", identity, "modified").ref == "note:/keys"
    assert memory.learn.status().verdicts == {"modified": 1}


def test_verdicts_on_an_item_are_a_bounded_prior(memory: Ricordo) -> None:
    keys, lunch = (memory.store.items.require(memory.resolve(ref)) for ref in ("note:/keys", "note:/lunch"))
    ask = Ask(find=NEWEST, needs=Needs(feedback=True))
    assert set(memory.store.index.candidates(ask).feedback.values()) == {0.5}
    judge(memory, accepted=1, failed=3)
    memory.feedback("soup", "note:/lunch", "dismissed")
    priors = memory.store.index.candidates(ask).feedback
    assert (priors[keys], priors[lunch]) == pytest.approx((0.6, 0.4))


def test_a_profile_may_rank_by_the_prior(memory: Ricordo, tmp_path: Path) -> None:
    for name in ("one", "two"):
        memory.save(f"note:/{name}", "zebra crossing")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        "[profiles.judged.signals]\n"
        'lexical = { signal = "lexical", weight = 0.9 }\n'
        'feedback = { signal = "feedback", weight = 0.1 }\n'
    )
    config = ConfigProvider(
        {"embedding.provider": "none"}, env={"RICORDO_CONFIG_HOME": str(tmp_path / "config")}, start=tmp_path
    )
    with Ricordo.open(memory.location, config=config) as judged:
        assert [hit.ref for hit in judged.search("zebra", profile="judged").hits] == ["note:/one", "note:/two"]
        judged.feedback("zebra", "note:/two", "accepted")
        hits = judged.search("zebra", profile="judged", explain=True).hits
    assert [hit.ref for hit in hits] == ["note:/two", "note:/one"]
    assert hits[0].explain is not None
    assert {share.name: share.value for share in hits[0].explain.signals}["feedback"] == pytest.approx(0.6)


def test_the_weights_of_default_follow_the_query_and_then_the_verdicts(opens: Callable[..., Ricordo]) -> None:
    engine = opens(embedding__provider="local")
    engine.save("note:/keys", "Rotate the signing keys every quarter.")
    engine.save("note:/locks", "The locks and their keys hang in the hall.")
    engine.save("note:/lunch", "The canteen serves soup on Tuesdays.")
    before = dict(weights(engine, "default"))
    assert 0 < before["lexical"] < 1
    judge(engine, accepted=30)
    after = weights(engine, "default")
    assert after["lexical"] == pytest.approx(min(1.0, before["lexical"] + 0.15))
    assert after["vector"] == pytest.approx(1 - after["lexical"])
    engine.learn.rollback()
    assert weights(engine, "default") == pytest.approx(before)
