"""Stores searched together: weights, duplicates, tiers that fail, and where things are written."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from ricordo import ConfigProvider, Error, Filters, NotFound, Ricordo, UsageError, registry
from ricordo.errors import StoreError
from ricordo.search.tiers import SharedQueries, TierThreads
from ricordo.values.items import Ref

from ..figures import figures
from .conftest import HangingCalls

NAMES = ("agent", "project", "team")


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Path]:
    """Three stores, each with a note of its own about the same word."""
    paths = {name: tmp_path / f"{name}.db" for name in NAMES}
    for name, path in paths.items():
        with Ricordo.open(path, config=words_only()) as memory:
            memory.save(f"note:/{name}", f"The harbour, as the {name} knows it.")
    return paths


def words_only(**settings: Any) -> ConfigProvider:
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return ConfigProvider({"embedding.provider": "none", **given})


@pytest.fixture
def opened(stores: dict[str, Path]) -> Iterator[Callable[..., Ricordo]]:
    """Opens an engine on the given tiers (all of them unless said otherwise)."""
    engines: list[Ricordo] = []

    def open_them(*names: str, tier: str | None = None, create: bool = False, **settings: Any) -> Ricordo:
        tiers = {f"tiers__{name}": str(stores[name]) for name in names or NAMES}
        config = words_only(**tiers, **settings)
        engines.append(Ricordo.open(config=config, start=stores["agent"].parent, tier=tier, create=create))
        return engines[-1]

    yield open_them
    for engine in engines:
        engine.close()


def put(path: Path, ref: str, text: str, **fields: Any) -> None:
    with Ricordo.open(path, config=words_only()) as memory:
        memory.save(ref, text, fields=fields, on_conflict="overwrite")


# -- one store --------------------------------------------------------------------------------------------------


def test_a_store_that_stands_alone_only_says_which_tier_it_is(tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "own.db", config=words_only()) as memory:
        memory.save("note:/a", "the harbour")
        answer = memory.search("harbour", explain=True)
        assert [(hit.tier, hit.explain and hit.explain.steps) for hit in answer.hits] == [("agent", ())]
        assert answer.meta.tiers == ("agent",)
        assert memory.get("note:/a").tier == "agent"
    (tmp_path / ".ricordo").mkdir()
    with Ricordo.open(config=words_only(), start=tmp_path) as memory:
        memory.save("note:/a", "the harbour")
        assert memory.search("harbour").hits[0].tier == "project"
        assert [state.name for state in memory.tiers()] == ["project"]


def test_a_filter_for_another_tier_finds_nothing_in_a_store_that_stands_alone(engine: Ricordo) -> None:
    engine.save("note:/a", "the harbour")
    assert len(engine.search("harbour tier:agent").hits) == 1
    answer = engine.search("harbour tier:team")
    assert answer.hits == ()
    assert answer.meta.notes == ("there is no tier team here",)


# -- several ----------------------------------------------------------------------------------------------------


def test_scores_are_multiplied_by_the_weight_of_their_tier(opened: Callable[..., Ricordo]) -> None:
    alone = {name: opened(tier=name, **{f"tiers__{name}_weight": 1.0}).search("harbour").hits[0] for name in NAMES}
    answer = opened().search("harbour", explain=True)
    assert [hit.tier for hit in answer.hits] == list(NAMES)
    assert answer.meta.tiers == NAMES
    for hit, weight in zip(answer.hits, (1.0, 0.8, 0.6), strict=True):
        assert hit.score == pytest.approx(alone[hit.tier].score * weight)
        assert hit.explain is not None
        assert hit.explain.steps[-1] == (f"tier {hit.tier} ×{weight}", hit.score)
        assert sum(share.contribution for share in hit.explain.signals) == pytest.approx(hit.explain.value)


def test_weights_are_settings_and_decide_the_order(opened: Callable[..., Ricordo]) -> None:
    memory = opened(tiers__team_weight=2.0, tiers__agent_weight=0.0)
    hits = memory.search("harbour").hits
    assert [hit.tier for hit in hits] == ["team", "project", "agent"]
    assert hits[0].score <= 1.0
    assert hits[2].score == 0.0


def test_a_diverse_search_puts_a_double_of_another_tier_behind_what_is_new(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["agent"], "note:/storm", "Lanterns of the lighthouse burn all night in a storm.")
    put(stores["project"], "note:/storm-again", "Lanterns of the lighthouse burn all night in a storm!")
    put(stores["team"], "note:/paint", "Lanterns are painted in May, with a coat of tar for whatever iron is left.")
    memory = opened()
    by_score = [hit.ref for hit in memory.search("lanterns").hits]
    assert by_score == ["note:/storm", "note:/storm-again", "note:/paint"]
    assert [hit.ref for hit in memory.search("lanterns", diverse=True).hits] == [
        "note:/storm", "note:/paint", "note:/storm-again",
    ]  # fmt: skip


def test_a_tier_is_asked_once_which_refs_it_holds_however_many_hits_there_are(
    stores: dict[str, Path], opened: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        put(stores["team"], f"note:/team-{number}", f"The harbour has a pier {number}.")
    put(stores["agent"], "note:/team-3", "Nothing about ships.")
    memory = opened()
    memory.search("harbour")
    asked: list[int] = []
    tier = next(one for one in memory._context.tiers.federation.tiers if one.name == "agent")
    ask_many, ask_one = tier.store.items.numbers, tier.store.items.number

    def numbers(refs: Sequence[Ref]) -> Any:
        asked.append(len(refs))
        return ask_many(refs)

    def one_number(ref: Ref) -> Any:
        asked.append(1)
        return ask_one(ref)

    monkeypatch.setattr(tier.store.items, "numbers", numbers)
    monkeypatch.setattr(tier.store.items, "number", one_number)
    refs = [hit.ref for hit in memory.search("harbour", limit=30).hits]
    assert "note:/team-3" not in refs
    assert "note:/team-4" in refs
    assert len(asked) == 2, "once for the project's hits, once for the team's"


def test_what_a_higher_tier_has_in_its_bin_hides_nothing(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["team"], "note:/pier", "The harbour has a pier.")
    put(stores["agent"], "note:/pier", "Nothing about ships.")
    assert "note:/pier" not in [hit.ref for hit in opened().search("harbour").hits]
    with Ricordo.open(stores["agent"], config=words_only()) as memory:
        memory.rm("note:/pier")
    assert "note:/pier" in [hit.ref for hit in opened().search("harbour").hits]


def test_the_same_ref_or_the_same_text_is_answered_by_the_highest_tier(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["team"], "note:/agent", "A harbour of the same name, quite another text.")
    put(stores["project"], "note:/copied", "The harbour, as the agent knows it.")
    put(stores["team"], "note:/other-copy", "The harbour, as the project knows it.")
    put(stores["agent"], "note:/twin", "The harbour, as the agent knows it.")
    found = {(hit.ref, hit.tier) for hit in opened().search("harbour").hits}
    assert found == {
        ("note:/agent", "agent"),
        ("note:/twin", "agent"),
        ("note:/project", "project"),
        ("note:/team", "team"),
    }


def test_a_lower_tiers_version_of_a_ref_never_wins_however_small_the_page(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["team"], "note:/shared", "harbour harbour harbour, as it was")
    put(stores["agent"], "note:/shared", "A long note that names the harbour once, and speaks of much else besides.")
    for limit in (1, 2, 10):
        hits = opened().search("harbour", limit=limit, track=False).hits
        assert len(hits) == min(limit, 4)
        assert [hit.tier for hit in hits if hit.ref == "note:/shared"] in ([], ["agent"])


def test_items_without_text_are_no_duplicates_of_each_other(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["agent"], "note:/empty-a", "", title="Lighthouse")
    put(stores["team"], "note:/empty-b", "", title="Lighthouse")
    memory = opened()
    assert {item.ref for item in memory.search("kind:note").hits} >= {"note:/empty-a", "note:/empty-b"}


def test_equal_scores_are_ordered_by_ref(stores: dict[str, Path], opened: Callable[..., Ricordo]) -> None:
    put(stores["agent"], "note:/zebra", "a lonely beast")
    put(stores["team"], "note:/antelope", "beast a lonely")
    hits = opened(tiers__team_weight=1.0).search("lonely", profile="bm25").hits
    assert hits[0].score == hits[1].score
    assert [hit.ref for hit in hits] == ["note:/antelope", "note:/zebra"]


def test_pages_follow_each_other_without_a_gap(stores: dict[str, Path], opened: Callable[..., Ricordo]) -> None:
    for name in NAMES:
        for number in range(5):
            put(stores[name], f"note:/{name}-{number}", f"harbour {name} {'quay ' * number}")
    memory = opened()
    whole = [hit.ref for hit in memory.search("harbour", limit=18).hits]
    pages = [hit.ref for offset in (0, 6, 12) for hit in memory.search("harbour", limit=6, offset=offset).hits]
    assert pages == whole
    assert len(set(whole)) == len(whole) > 12


def test_the_least_score_counts_after_the_weights(opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    scores = {hit.tier: hit.score for hit in memory.search("harbour").hits}
    floor = (scores["project"] + scores["team"]) / 2
    assert [hit.tier for hit in memory.search("harbour", min_score=floor).hits] == ["agent", "project"]
    exact = memory.search("harbour", min_score=scores["project"]).hits
    assert [hit.tier for hit in exact] == ["agent", "project"]


def test_a_least_score_holds_for_the_weighted_score_where_a_tier_counts_more_than_once(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["team"], "note:/team", "The harbour, as the team knows it, in more words than that.")
    own = opened(tier="team", tiers__team_weight=1.0).search("harbour storm", profile="bm25").hits[0].score
    memory = opened("team", "agent", tiers__team_weight=2.0, tiers__agent_weight=0.1)
    weighted = next(hit.score for hit in memory.search("harbour storm", profile="bm25").hits if hit.tier == "team")
    assert weighted == pytest.approx(2 * own)
    found = memory.search("harbour storm", profile="bm25", min_score=1.5 * own).hits
    assert [hit.tier for hit in found] == ["team"]


def test_browsing_all_tiers_shows_the_newest_first(stores: dict[str, Path], opened: Callable[..., Ricordo]) -> None:
    put(stores["team"], "note:/newest", "Added last.")
    refs = [hit.ref for hit in opened().search("").hits]
    assert refs == ["note:/newest", "note:/team", "note:/project", "note:/agent"]
    assert [hit.ref for hit in opened().search("harbour", by="text").hits] == refs[1:]


def test_one_tier_can_be_asked_alone(opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    for answer in (
        memory.search("harbour tier:team"),
        memory.search("harbour", filters=Filters(tiers=("team",))),
        opened(tier="team").search("harbour"),
    ):
        assert [(hit.ref, hit.tier) for hit in answer.hits] == [("note:/team", "team")]
        assert answer.meta.tiers == ("team",)
    both = memory.search("harbour tier:team", filters=Filters(tiers=("team", "agent")))
    assert both.meta.tiers == ("team",)
    assert memory.search("harbour tier:team", filters=Filters(tiers=("agent",))).hits == ()
    assert [hit.tier for hit in memory.search("harbour tier:team tier:agent").hits] == ["agent", "team"]


def test_a_score_is_the_same_whether_its_tier_is_asked_alone_or_with_others(opened: Callable[..., Ricordo]) -> None:
    together = {hit.ref: hit.score for hit in opened().search("harbour").hits}
    for name in NAMES:
        assert opened().search(f"harbour tier:{name}").hits[0].score == together[f"note:/{name}"]
        assert opened(tier=name).search("harbour").hits[0].score == together[f"note:/{name}"]


def test_an_item_is_read_from_the_highest_tier_that_holds_it(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["team"], "note:/project", "The team's view of the project.")
    memory = opened()
    item = memory.get("note:/project")
    assert (item.tier, item.content) == ("project", "The harbour, as the project knows it.")
    hit = memory.search("harbour tier:team").hits[0]
    assert memory.get(hit.id).tier == "team"
    full = memory.search("harbour tier:team", mode="full").hits[0]
    assert full.item is not None
    assert full.item.tier == "team"
    with pytest.raises(NotFound):
        memory.get("note:/nowhere")


def test_an_item_removed_from_a_high_tier_is_read_from_a_lower_one(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    put(stores["team"], "note:/agent", "The team keeps one too.")
    memory = opened()
    memory.rm("note:/agent")
    assert memory.get("note:/agent").tier == "team"


def test_explain_tells_the_rank_among_all_tiers(stores: dict[str, Path], opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    explanation = memory.explain("harbour", "note:/team")
    assert (explanation.found, explanation.rank) == (True, 3)
    assert explanation.hit is not None
    assert explanation.hit.explain is not None
    assert explanation.hit.explain.steps[-1][0] == "tier team ×0.6"
    assert memory.explain("harbour tier:agent", "note:/team").reason == "its tier, team, was not searched"
    put(stores["team"], "note:/copy", "The harbour, as the agent knows it.")
    assert "same text" in memory.explain("harbour", "note:/copy").reason


def test_use_is_remembered_where_the_item_is(opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    memory.search("harbour")
    memory.get("note:/team")
    memory.close()
    for name, opens in (("agent", 0), ("team", 1)):
        item = opened(tier=name).get(f"note:/{name}", track=False)
        assert item.retrieval_count == 1 + opens
        assert item.access_count == opens
    assert figures(opened(tier="team")).queries == 0
    assert figures(opened(tier="agent")).queries == 1


# -- writing ----------------------------------------------------------------------------------------------------


def test_things_are_written_to_the_located_store_unless_a_tier_is_named(opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    assert memory.location.endswith("agent.db")
    memory.save("note:/mine", "mine")
    memory.tier("team").save("note:/ours", "ours")
    opened(tier="project").save("note:/projects", "the project's")
    assert {ref: memory.get(ref).tier for ref in ("note:/mine", "note:/ours", "note:/projects")} == {
        "note:/mine": "agent",
        "note:/ours": "team",
        "note:/projects": "project",
    }


def test_a_project_store_stands_among_the_tiers_that_are_set(
    stores: dict[str, Path], opened: Callable[..., Ricordo], tmp_path: Path
) -> None:
    (tmp_path / ".ricordo").mkdir()
    memory = opened("agent", "team", create=True)
    memory.save("note:/here", "The harbour of this project.")
    assert [(state.name, state.is_written) for state in memory.tiers()] == [
        ("agent", False),
        ("project", True),
        ("team", False),
    ]
    assert {hit.tier for hit in memory.search("harbour").hits} == {"agent", "project", "team"}


def test_a_named_store_takes_the_place_of_the_agents(stores: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    put(other, "note:/other", "Another harbour.")
    config = words_only(tiers__agent=str(stores["agent"]), tiers__team=str(stores["team"]))
    with Ricordo.open(other, config=config, start=tmp_path) as memory:
        assert [hit.ref for hit in memory.search("harbour").hits] == ["note:/other", "note:/team"]
    with Ricordo.open(stores["team"], config=config, start=tmp_path) as memory:
        assert [(state.name, state.is_written) for state in memory.tiers()] == [("agent", False), ("team", True)]


def test_in_a_project_the_agents_tier_is_the_users_own_store(tmp_path: Path) -> None:
    (tmp_path / ".ricordo").mkdir()
    with Ricordo.open(config=words_only(), start=tmp_path) as memory:
        memory.save("note:/here", "the project's")
        memory.tier("agent").save("note:/mine", "the user's")
        assert memory.tier("agent").location != memory.location
        assert [item.ref.path for item in memory.tier("project").list()] == ["/here"]
    with Ricordo.open(config=words_only(), start=tmp_path.parent) as memory:
        assert [item.ref.path for item in memory.list()] == ["/mine"]


def test_a_tier_that_is_not_set_cannot_be_used_alone(opened: Callable[..., Ricordo]) -> None:
    with pytest.raises(UsageError) as refused:
        opened("agent", tier="team")
    assert "tiers.team" in refused.value.hint
    with pytest.raises(UsageError) as refused:
        opened("agent", tier="planet")
    assert "agent, project, team" in refused.value.hint


def test_a_new_setting_counts_at_the_next_search(stores: dict[str, Path], tmp_path: Path) -> None:
    from ricordo.config.loading import set_value

    config = ConfigProvider({"embedding.provider": "none"}, start=tmp_path)
    with Ricordo.open(stores["agent"], config=config, start=tmp_path) as memory:
        assert [hit.tier for hit in memory.search("harbour").hits] == ["agent"]
        set_value("tiers.team", str(stores["team"]))
        hits = memory.search("harbour").hits
        assert [hit.tier for hit in hits] == ["agent", "team"]
        set_value("tiers.team_weight", "0.1")
        assert memory.search("harbour").hits[1].score < hits[1].score


# -- tiers that fail --------------------------------------------------------------------------------------------


def missing(path: Path) -> None:
    path.unlink()


def corrupt(path: Path) -> None:
    path.write_bytes(b"not a store at all " * 300)


def a_folder_without_a_store(path: Path) -> None:
    path.unlink()
    path.mkdir()


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other(x)")
    connection.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize("damage", [missing, corrupt, a_folder_without_a_store, foreign, newer])
@pytest.mark.parametrize("broken", NAMES)
def test_a_failing_tier_degrades_the_answer_and_never_fails_it(
    stores: dict[str, Path], opened: Callable[..., Ricordo], broken: str, damage: Callable[[Path], None]
) -> None:
    damage(stores[broken])
    for tail in ("-wal", "-shm"):
        Path(f"{stores[broken]}{tail}").unlink(missing_ok=True)
    memory = opened()
    answer = memory.search("harbour")
    others = tuple(name for name in NAMES if name != broken)
    assert tuple(hit.tier for hit in answer.hits) == answer.meta.tiers == others
    (problem,) = answer.meta.degraded
    assert problem.startswith(f"tier {broken}: ")
    states = {state.name: state for state in memory.tiers()}
    assert [name for name, state in states.items() if not state.reachable] == [broken]
    assert states[broken].detail
    assert memory.get(f"note:/{others[0]}").tier == others[0]


def test_writing_to_a_store_that_cannot_be_opened_says_why(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    corrupt(stores["agent"])
    memory = opened()
    assert len(memory.search("harbour").hits) == 2
    with pytest.raises(Error, match="damaged"):
        memory.save("note:/x", "x")
    with pytest.raises(Error, match="damaged"):
        memory.list()


def test_when_all_tiers_fail_the_search_fails(stores: dict[str, Path], opened: Callable[..., Ricordo]) -> None:
    for path in stores.values():
        corrupt(path)
    memory = opened()
    with pytest.raises(Error) as failed:
        memory.search("harbour")
    assert all(f"tier {name}: " in failed.value.message for name in NAMES)
    assert failed.value.exit_code == 5


def test_a_wrong_request_is_refused_by_all_tiers_together(opened: Callable[..., Ricordo]) -> None:
    with pytest.raises(UsageError):
        opened().search("harbour", weights={"nonsense": 1.0})


def test_a_tier_that_comes_back_is_searched_again(stores: dict[str, Path], opened: Callable[..., Ricordo]) -> None:
    away = stores["team"].rename(stores["team"].with_suffix(".away"))
    memory = opened()
    assert memory.search("harbour").meta.tiers == ("agent", "project")
    away.rename(stores["team"])
    answer = memory.search("harbour")
    assert answer.meta.tiers == NAMES
    assert answer.meta.degraded == ()


def test_a_locked_tier_is_left_out_in_time(
    stores: dict[str, Path], opened: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 15.0)
    allowed: list[float] = []

    def open_store(*args: Any, busy_seconds: float, **options: Any) -> Any:
        allowed.append(busy_seconds)
        return real(*args, busy_seconds=1.0, **options)

    memory, real = opened(), registry.open_store
    monkeypatch.setattr("ricordo.engine.tiers.registry.open_store", open_store)
    lock = apsw.Connection(str(stores["team"]))
    lock.pragma("journal_mode", "delete")
    lock.execute("BEGIN EXCLUSIVE").fetchall()
    try:
        answer = memory.search("harbour")  # the lock is let go after it has answered
    finally:
        lock.close()
    assert set(allowed) == {15.0}
    assert answer.meta.tiers == ("agent", "project")
    assert answer.meta.degraded[0].startswith("tier team: ")


def test_a_tier_that_hangs_does_not_hold_up_the_others(
    opened: Callable[..., Ricordo], hanging: HangingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 15.0)
    hanging.are_waited_for = False
    from ricordo.search.pipeline import Searcher

    release = threading.Event()
    search = Searcher.search

    def slow(self: Searcher, request: Any) -> Any:
        if "team" in str(self.store.path):  # type: ignore[attr-defined]
            hanging.hang(release)
        return search(self, request)

    monkeypatch.setattr(Searcher, "search", slow)
    memory = opened()
    for paused in ("", *[" lately, so it was not asked"] * 5):
        answer = memory.search("harbour")
        assert answer.meta.tiers == ("agent", "project")
        assert answer.meta.degraded == (f"tier team: did not answer within 15 s{paused}",)
    release.set()


def test_a_user_without_a_store_of_their_own_finds_what_the_team_has(
    stores: dict[str, Path], opened: Callable[..., Ricordo]
) -> None:
    memory = opened("team")
    answer = memory.search("harbour")
    assert answer.meta.tiers == ("team",)
    assert answer.meta.degraded == ()
    assert memory.get("note:/team").tier == "team"
    with pytest.raises(NotFound):
        memory.get("note:/nowhere")


# -- threads and vectors ----------------------------------------------------------------------------------------


def test_tiers_are_searched_from_many_threads_at_once(opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    found: list[tuple[str, ...]] = []

    def look() -> None:
        answers = (memory.search("harbour", track=False) for _ in range(5))
        found.extend(tuple(hit.ref for hit in answer.hits) for answer in answers)

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {("note:/agent", "note:/project", "note:/team")}
    assert len(found) == 30


def test_threads_are_reused_and_bounded() -> None:
    threads = TierThreads(2)
    calls = [threads.run(threading.get_ident) for _ in range(10)]
    assert all(call.wait(300) for call in calls)
    assert len({call.result() for call in calls}) <= 2
    numbers = [threads.run(partial(int, n)) for n in range(20)]
    assert all(call.wait(300) for call in numbers)
    assert [call.result() for call in numbers] == list(range(20))


def test_work_that_was_cancelled_before_it_began_is_never_done() -> None:
    threads = TierThreads(1)
    begun, done = threading.Event(), []
    first = threads.run(lambda: begun.wait(300))
    second = threads.run(lambda: done.append("second"))
    second.cancel()
    begun.set()
    last = threads.run(lambda: done.append("last"))
    assert first.wait(300)
    assert last.wait(300)
    assert done == ["last"]


def test_several_tiers_embed_a_query_once() -> None:
    asked: list[str] = []

    class Counting:
        def embed_query(self, text: str) -> list[str]:
            asked.append(text)
            return [text]

    shared, model, other = SharedQueries(), Counting(), Counting()
    assert [shared.embed(model, text) for text in ("a", "a", "b")] == [["a"], ["a"], ["b"]]  # type: ignore[arg-type]
    assert asked == ["a", "b"]
    assert shared.embed(other, "a") == ["a"]  # type: ignore[arg-type]
    assert asked == ["a", "b", "a"]


def test_tiers_are_searched_by_meaning_too(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.db" for name in ("agent", "team")}
    for name, text in (("agent", "A recipe for bread."), ("team", "Getting things done: organise your work day.")):
        with Ricordo.open(paths[name]) as memory:
            memory.save(f"note:/{name}", text)
    config = ConfigProvider({f"tiers.{name}": str(path) for name, path in paths.items()})
    with Ricordo.open(config=config, start=tmp_path) as memory:
        hits = memory.search("notes about productivity").hits
        assert hits[0].ref == "note:/team"


def test_a_tier_that_is_opened_after_the_engine_was_closed_is_closed_at_once(opened: Callable[..., Ricordo]) -> None:
    engine = opened()
    slow = next(tier for tier in engine._context.tiers.federation.tiers if tier.name == "team")
    engine.close()
    with pytest.raises(StoreError, match="closed"):
        slow.store.items.count(Filters())
