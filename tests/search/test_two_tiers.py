"""A project's store and the user's own: what is found in either can be changed, copied and counted on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo import ConfigProvider, Filters, Ricordo
from ricordo.bounded import PendingCall, caller_waits
from ricordo.errors import NotFound, PathConflict, UsageError
from ricordo.search.pipeline import Searcher
from ricordo.search.tiers import Pauses, SharedQueries

from .conftest import HangingCalls

WORDS = {"embedding.provider": "none"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that is a project with a note of its own; the user's own store has another."""
    folder = tmp_path / "project"
    (folder / ".ricordo").mkdir(parents=True)
    with Ricordo.open(config=ConfigProvider(WORDS), start=tmp_path) as memory:
        memory.remember("The harbour opens at seven.", title="Harbour")
    with Ricordo.open(config=ConfigProvider(WORDS), start=folder) as memory:
        memory.remember("The lighthouse is white.", title="Lighthouse")
    return folder


@pytest.fixture
def opened(project: Path) -> Iterator[Callable[..., Ricordo]]:
    engines: list[Ricordo] = []

    def open_it(*, start: Path = project, **settings: Any) -> Ricordo:
        given = {name.replace("__", "."): value for name, value in settings.items()}
        engines.append(Ricordo.open(config=ConfigProvider({**WORDS, **given}), start=start))
        return engines[-1]

    yield open_it
    for engine in engines:
        engine.close()


# -- copying up -------------------------------------------------------------------------------------------------


def test_promoting_again_brings_the_copy_up_to_date_and_never_touches_a_newer_one(
    tmp_path: Path, opened: Callable[..., Ricordo]
) -> None:
    memory = opened(tiers__team=str(tmp_path / "team.db"))
    assert memory.promote("memory:/lighthouse", "team").status == "created"
    assert memory.promote("memory:/lighthouse", "team").status == "skipped"
    memory.edit("memory:/lighthouse", "The lighthouse is red.")
    assert memory.promote("memory:/lighthouse", "team").status == "updated"
    team = memory.tier("team")
    team.edit("memory:/lighthouse", "The lighthouse is red and white.")
    again = memory.promote("memory:/lighthouse", "team")
    assert (again.status, again.reason) == ("skipped", "version 3 in team is newer")
    assert team.get("memory:/lighthouse").content == "The lighthouse is red and white."
    assert [one.number for one in team.history("memory:/lighthouse")] == [3, 2, 1]


def test_where_both_were_changed_promoting_is_a_conflict_or_adds_a_version(
    tmp_path: Path, opened: Callable[..., Ricordo]
) -> None:
    memory = opened(tiers__team=str(tmp_path / "team.db"))
    memory.promote("memory:/lighthouse", "team")
    team = memory.tier("team")
    team.edit("memory:/lighthouse", "The team's lighthouse.")
    memory.edit("memory:/lighthouse", "Our lighthouse.")
    with pytest.raises(PathConflict, match="in the tier team"):
        memory.promote("memory:/lighthouse", "team")
    assert memory.promote("memory:/lighthouse", "team", on_conflict="skip").status == "skipped"
    assert team.get("memory:/lighthouse").content == "The team's lighthouse."
    assert memory.promote("memory:/lighthouse", "team", on_conflict="overwrite").status == "updated"
    texts = [team.get("memory:/lighthouse", version=number).content for number in (1, 2, 3)]
    assert texts == ["The lighthouse is white.", "The team's lighthouse.", "Our lighthouse."]


def test_another_item_of_the_same_ref_keeps_its_history_below_what_is_promoted(
    tmp_path: Path, opened: Callable[..., Ricordo]
) -> None:
    memory = opened(tiers__team=str(tmp_path / "team.db"))
    team = memory.tier("team")
    team.remember("Theirs was there first.", title="Lighthouse")
    with pytest.raises(PathConflict):
        memory.promote("memory:/lighthouse", "team")
    memory.promote("memory:/lighthouse", "team", on_conflict="overwrite")
    texts = [team.get("memory:/lighthouse", version=number).content for number in (1, 2)]
    assert texts == ["Theirs was there first.", "The lighthouse is white."]


# -- which stores are searched ----------------------------------------------------------------------------------


def test_the_users_own_store_stays_when_a_team_is_set(
    tmp_path: Path, project: Path, opened: Callable[..., Ricordo]
) -> None:
    team = tmp_path / "team.db"
    with Ricordo.open(team, config=ConfigProvider(WORDS)) as memory:
        memory.remember("The harbour and the lighthouse belong to the team.", title="Team")
    memory = opened(tiers__team=str(team))
    assert [state.name for state in memory.tiers()] == ["agent", "project", "team"]
    assert {hit.tier for hit in memory.search("harbour lighthouse").hits} == {"agent", "project", "team"}
    alone = opened(tiers__team=str(team), tiers__automatic=False)
    assert [state.name for state in alone.tiers()] == ["project", "team"]
    assert [state.name for state in opened(start=tmp_path, tiers__team=str(team)).tiers()] == ["agent", "team"]


# -- one vector for all tiers -----------------------------------------------------------------------------------


class Counting:
    """An embedder that keeps what it was asked; questions of a text that has several are asked, too."""

    fingerprint, dimensions, max_tokens = "counting", 4, 64

    def __init__(self, *, is_remote: bool = False) -> None:
        self.is_remote = is_remote
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        rows = np.array([[len(text) % (n + 2) + 1 for n in range(4)] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_search_of_two_tiers_embeds_each_text_once(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, is_remote: bool
) -> None:
    counting = Counting(is_remote=is_remote)
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: counting)
    for start in (tmp_path, project):
        with Ricordo.open(start=start) as memory:
            memory.remember("Boats need a harbour and a lighthouse.", title="Boats")
    counting.asked.clear()
    with Ricordo.open(start=project) as memory:
        two = "Where is the harbour, and who paints it? When does the lighthouse shine at night?"
        memory.search("harbour lights")
        assert counting.asked == ["harbour lights"]
        counting.asked.clear()
        memory.search(two)
    assert len(counting.asked) == len(set(counting.asked))
    assert (len(counting.asked) == 1) is is_remote, "a service is asked for the query alone"


def test_who_asks_for_a_vector_while_it_is_computed_waits_for_it_and_a_failure_is_not_kept() -> None:
    begun, go = threading.Event(), threading.Event()

    class Slow(Counting):
        def embed_query(self, text: str) -> Any:
            begun.set()
            go.wait(300)
            self.asked.append(text)
            if len(self.asked) == 1:
                raise OSError("away")
            return super().embed_documents([text])[0]

    slow = Slow()
    shared = SharedQueries()
    failed: list[type[BaseException]] = []

    def ask() -> None:
        try:
            shared.embed(slow, "a")
        except OSError as error:
            failed.append(type(error))

    first = threading.Thread(target=ask)
    first.start()
    assert begun.wait(300)
    second = threading.Thread(target=ask)
    second.start()
    go.set()
    first.join()
    second.join()
    assert failed in ([OSError], [OSError, OSError])  # the second waits for the first, or comes after it
    assert shared.embed(slow, "a").shape == (4,)
    assert slow.asked == ["a", "a"]


# -- what is found can be changed -------------------------------------------------------------------------------


def users_own(opened: Callable[..., Ricordo], project: Path) -> Ricordo:
    return opened(start=project.parent)


def test_what_search_shows_of_the_users_own_store_is_changed_there(
    opened: Callable[..., Ricordo], project: Path
) -> None:
    memory = opened()
    hit = memory.search("harbour").hits[0]
    assert (hit.ref, hit.tier) == ("memory:/harbour", "agent")
    assert memory.edit(hit.ref, "The harbour opens at eight.").version == 2
    assert memory.edit(hit.id, fields={"tags": ["sea"]}).version == 3
    assert [version.number for version in memory.history(hit.ref)] == [3, 2, 1]
    assert "+The harbour opens at eight." in memory.diff(hit.ref, 1, 2)
    assert memory.links(hit.ref).ref == hit.ref
    assert memory.similar(hit.ref, unlinked=True).hits == ()
    assert memory.feedback("harbour", hit.ref, "accepted").ref == hit.ref
    corrected = memory.correct(hit.ref, "The harbour opens at nine.")
    assert memory.get(corrected.ref).tier == "agent"
    assert memory.forget(corrected.ref).items[0].status == "archived"
    assert memory.restore(corrected.ref).status == "updated"
    assert memory.mv(corrected.ref, "memory:/port").ref == "memory:/port"
    assert memory.rm("memory:/port").items[0].status == "removed"
    assert memory.restore("memory:/port").status in ("created", "updated", "restored")
    assert [item.ref.path for item in memory.list()] == ["/lighthouse"], "the project's store got nothing of it"
    own = users_own(opened, project)
    assert own.get("memory:/port").content == "The harbour opens at nine."


def test_of_two_items_with_one_ref_the_one_that_search_shows_is_changed(
    opened: Callable[..., Ricordo], project: Path
) -> None:
    memory = opened()
    memory.save("memory:/harbour", "The harbour of the project.")
    assert [hit.tier for hit in memory.search("harbour").hits] == ["project"]
    memory.edit("memory:/harbour", "The harbour of the project is closed.")
    memory.rm("memory:/harbour")
    own = users_own(opened, project)
    assert own.get("memory:/harbour").content == "The harbour opens at seven."
    assert [hit.tier for hit in memory.search("harbour").hits] == ["agent"]
    memory.edit("memory:/harbour", "The harbour opens at six.")
    assert own.get("memory:/harbour").content == "The harbour opens at six."
    assert memory.restore("memory:/harbour").status == "updated", "the project's, which is in the bin"
    assert memory.get("memory:/harbour").tier == "project"


def test_many_names_are_followed_each_to_its_tier_and_one_that_is_unknown_changes_nothing(
    opened: Callable[..., Ricordo], project: Path
) -> None:
    memory = opened()
    with pytest.raises(NotFound, match="nowhere"):
        memory.forget("memory:/harbour", "memory:/nowhere")
    assert memory.get("memory:/harbour").state == "live"
    report = memory.forget("memory:/harbour", "memory:/lighthouse")
    assert {saved.ref: saved.status for saved in report.items} == {
        "memory:/harbour": "archived", "memory:/lighthouse": "archived",
    }  # fmt: skip


def test_items_of_two_stores_cannot_be_linked_and_the_error_says_why(opened: Callable[..., Ricordo]) -> None:
    memory = opened()
    with pytest.raises(
        UsageError, match="memory:/harbour in the tier agent and memory:/lighthouse in the tier project"
    ):
        memory.link("memory:/harbour", "memory:/lighthouse")
    memory.tier("agent").remember("Boats are for rent.", title="Boats")
    assert memory.link("memory:/harbour", "memory:/boats").target == "memory:/boats"
    assert memory.unlink("memory:/harbour", "memory:/boats") == 1


def test_a_memory_of_the_users_own_is_promoted_from_within_a_project(
    tmp_path: Path, opened: Callable[..., Ricordo]
) -> None:
    memory = opened(tiers__team=str(tmp_path / "team.db"))
    assert memory.promote("memory:/harbour", "team").status == "created"
    assert memory.tier("team").get("memory:/harbour").content == "The harbour opens at seven."


def test_a_bare_name_finds_the_one_item_so_named_in_whichever_tier_it_is(
    opened: Callable[..., Ricordo], project: Path
) -> None:
    memory = opened()
    assert (memory.get("harbour").tier, memory.get("lighthouse").tier) == ("agent", "project")
    assert memory.edit("harbour", "The harbour opens at six.").ref == "memory:/harbour"
    users_own(opened, project).save("note:/sea/lighthouse", "It is red.")
    with pytest.raises(UsageError, match="2 items are named lighthouse"):
        memory.get("lighthouse")


# -- tiers that hang, and errors while others work --------------------------------------------------------------


@pytest.fixture
def slow_own(monkeypatch: pytest.MonkeyPatch, hanging: HangingCalls) -> Iterator[tuple[threading.Event, list[str]]]:
    """The user's own store answers only once the event is set; the list says what was asked of it, and what ended."""
    go, heard = threading.Event(), []
    search = Searcher.search

    def slow(self: Searcher, request: Any) -> Any:
        if ".ricordo" in str(self.store.path):  # type: ignore[attr-defined]
            return search(self, request)
        heard.append("asked")
        hanging.hang(go)
        heard.append("ended")
        return search(self, request)

    monkeypatch.setattr(Searcher, "search", slow)
    yield go, heard
    go.set()


def test_a_tier_that_hangs_is_left_alone_by_this_process_and_the_next(
    opened: Callable[..., Ricordo],
    slow_own: tuple[threading.Event, list[str]],
    hanging: HangingCalls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 20.0)
    hanging.are_waited_for = False
    go, heard = slow_own
    memory = opened()
    paused = " lately, so it was not asked"
    for engine, why in ((memory, ""), (memory, paused), (opened(), paused)):
        answer = engine.search("lighthouse")
        assert [hit.tier for hit in answer.hits] == ["project"]
        assert answer.meta.degraded == (f"tier agent: did not answer within 20 s{why}",)
        with pytest.raises(NotFound):
            engine.get("memory:/harbour")
    assert heard == ["asked"], "it is not asked again before its pause is over"
    go.set()


def test_pauses_grow_and_end_with_an_answer(tmp_path: Path) -> None:
    now = [1000.0]
    pauses = Pauses(tmp_path / "late.json", lambda: now[0])
    lengths = []
    for _ in range(9):
        pauses.late("team")
        began = now[0]
        while not pauses.may_ask("team"):
            now[0] += 5
        lengths.append(now[0] - began)
        assert not pauses.may_ask("team"), "one tries it, the others wait for the result"
    assert lengths == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert not Pauses(tmp_path / "late.json", lambda: now[0]).may_ask("team"), "another process knows it"
    assert pauses.may_ask("other")
    pauses.answered("team")
    assert pauses.may_ask("team")
    (tmp_path / "late.json").write_text("[1, 2")
    assert pauses.may_ask("team")


def test_a_tier_gets_at_most_half_of_the_time_for_which_the_caller_waits(
    opened: Callable[..., Ricordo], slow_own: tuple[threading.Event, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = PendingCall.wait

    def briefly(self: PendingCall[Any], seconds: float) -> bool:
        waits.append(seconds)
        return wait(self, 2)

    monkeypatch.setattr(PendingCall, "wait", briefly)
    memory = opened()
    with caller_waits(1.5):
        answer = memory.search("lighthouse")
    assert [hit.tier for hit in answer.hits] == ["project"]
    assert max(waits) <= 0.75


def test_that_a_caller_was_in_a_hurry_is_not_held_against_a_tier(
    opened: Callable[..., Ricordo], slow_own: tuple[threading.Event, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 20.0)
    go, _ = slow_own
    with caller_waits(0.5, at_most=300):  # the project's own store may take its time on a busy machine
        answer = opened().search("harbour lighthouse")
    assert [hit.tier for hit in answer.hits] == ["project"]
    assert "20 s" not in answer.meta.degraded[0], "it says how long was waited"
    go.set()
    for engine in (opened(), opened()):
        assert set(engine.search("harbour lighthouse").meta.tiers) == {"agent", "project"}


@pytest.mark.parametrize("hurry", [0.0, 0.05])
def test_a_caller_in_a_hurry_gets_an_answer_if_one_comes_while_it_still_waits(
    opened: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch, hurry: float
) -> None:
    monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 200.0)
    go = threading.Event()
    search = Searcher.search

    def slow(self: Searcher, request: Any) -> Any:
        go.wait(300)
        return search(self, request)

    monkeypatch.setattr(Searcher, "search", slow)
    memory = opened()
    threading.Timer(0.5, go.set).start()
    with caller_waits(hurry, at_most=300):
        answer = memory.search("harbour lighthouse")
    assert "project" in {hit.tier for hit in answer.hits}


def test_a_search_that_is_refused_ends_after_all_tiers_did(
    opened: Callable[..., Ricordo], slow_own: tuple[threading.Event, list[str]]
) -> None:
    go, heard = slow_own
    memory = opened()
    threading.Timer(0.2, go.set).start()
    with pytest.raises(UsageError):
        memory.search("harbour", weights={"nonsense": 1.0})
    assert heard == ["asked", "ended"], "a process that ends now ends no thread in the middle of its work"


def test_an_engine_is_closed_after_the_searches_of_late_tiers(
    opened: Callable[..., Ricordo],
    slow_own: tuple[threading.Event, list[str]],
    hanging: HangingCalls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 20.0)
    hanging.are_waited_for = False
    go, heard = slow_own
    memory = opened()
    memory.search("lighthouse")
    assert heard == ["asked"]
    threading.Timer(0.2, go.set).start()
    memory.close()
    assert heard == ["asked", "ended"]


def test_a_listing_looks_in_the_tier_that_is_named_and_refuses_one_that_is_not_there(
    opened: Callable[..., Ricordo],
) -> None:
    memory = opened()
    project, own = Filters(tiers=("project",)), Filters(tiers=("agent",))
    assert [str(item.ref) for item in memory.list(filters=project)] == ["memory:/lighthouse"]
    assert [str(item.ref) for item in memory.list(filters=own)] == ["memory:/harbour"]
    memory.remember("The quay is long.", title="Quay")
    assert (memory.count(project), memory.count(own), memory.count()) == (2, 1, 2)
    for refused in (Filters(tiers=("team",)), Filters(tiers=("agent", "project"))):
        with pytest.raises(UsageError, match="tier"):
            memory.list(filters=refused)
        with pytest.raises(UsageError, match="tier"):
            memory.count(refused)
    assert memory.similar("memory:/lighthouse", filters=project).meta.degraded
    with pytest.raises(UsageError, match="is in the tier project"):
        memory.similar("memory:/lighthouse", filters=own)


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"offset": -1}, {"filters": Filters(kinds="note")}])  # type: ignore[arg-type]
def test_a_listing_refuses_what_cannot_be_meant(opened: Callable[..., Ricordo], wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        opened().list(**wrong)


# -- what is told about spelling --------------------------------------------------------------------------------


def test_a_word_that_another_tier_has_is_not_said_to_be_missing(
    project: Path, tmp_path: Path, opened: Callable[..., Ricordo]
) -> None:
    memory = opened()
    memory.remember("Take a rest on the pier.")
    assert memory.search("reset pier", track=False).meta.notes == ("'reset' was not found; looked for rest",)
    with Ricordo.open(config=ConfigProvider(WORDS), start=tmp_path) as own:
        own.remember("Reset the clock in spring.")
    answer = memory.search("reset pier", track=False)
    assert {hit.tier for hit in answer.hits} == {"agent", "project"}
    assert answer.meta.notes == ()
