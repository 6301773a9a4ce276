"""What is saved on a branch belongs to it until the branch is merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from ricordo import Hit, Ricordo
from ricordo.config.files import standing_in
from ricordo.engine import branches
from ricordo.search.signals import UNMERGED
from ricordo.values.provenance import Provenance

from .conftest import Checkout, Opened, remember

ON_MAIN = "Deploys of the shop run through the old pipeline, every evening."
ON_BRANCH = "Deploys of the shop run through the new pipeline, every evening."
NOTE = "on the branch feature, which is not merged"


def found(engine: Ricordo, place: Checkout, query: str = "shop deploys pipeline") -> dict[str, Hit]:
    with standing_in(place.top):
        return {hit.ref: hit for hit in engine.search(query, explain=True)}


def test_a_memory_carries_the_branch_it_was_saved_on_and_none_for_the_default_one(
    main: Checkout, tmp_path: Path, opened: Opened
) -> None:
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    said = engine.get(remember(engine, beside, ON_BRANCH)).provenance
    assert (said.branch, said.repository) == ("feature", str(main.top))
    assert engine.get(remember(engine, main, ON_MAIN)).provenance.branch == ""
    beside.git("checkout", "-q", "--detach")
    assert engine.get(remember(engine, beside, "Detached heads have no branch.")).provenance.branch == ""


def test_what_a_branch_says_ranks_below_and_says_so_until_the_branch_is_merged(
    main: Checkout, tmp_path: Path, opened: Opened
) -> None:
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    theirs, ours = remember(engine, beside, ON_BRANCH), remember(engine, main, ON_MAIN)
    beside.commit("Use the new pipeline", deploy__sh="new\n")
    hits = found(engine, main)
    assert list(hits) == [ours, theirs]
    assert (hits[ours].unmerged, hits[theirs].unmerged) == ("", NOTE)
    explain = hits[theirs].explain
    assert explain is not None
    assert explain.steps == ((f"{NOTE} ×{UNMERGED}", hits[theirs].score),)
    assert hits[theirs].score == pytest.approx(UNMERGED * sum(share.contribution for share in explain.signals))
    main.git("merge", "-q", "--no-ff", "-m", "Merge feature", "feature")
    assert all(not hit.unmerged for hit in found(engine, main).values())
    main.git("worktree", "remove", "--force", str(beside.top))
    main.git("branch", "-D", "feature")
    assert all(not hit.unmerged for hit in found(engine, main).values()), "a branch that was merged stays merged"


def test_on_the_branch_itself_its_memories_count_in_full(main: Checkout, tmp_path: Path, opened: Opened) -> None:
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    theirs = remember(engine, beside, ON_BRANCH)
    beside.commit("Use the new pipeline", deploy__sh="new\n")
    assert found(engine, beside)[theirs].unmerged == ""
    assert found(engine, main)[theirs].unmerged == NOTE


def test_a_branch_that_was_only_made_is_not_merged_and_packed_refs_count(
    main: Checkout, tmp_path: Path, opened: Opened
) -> None:
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    theirs = remember(engine, beside, ON_BRANCH)
    assert found(engine, main)[theirs].unmerged == NOTE
    beside.commit("Use the new pipeline", deploy__sh="new\n")
    main.git("pack-refs", "--all")
    assert found(engine, main)[theirs].unmerged == NOTE
    main.git("merge", "-q", "feature")  # a fast-forward
    assert found(engine, main)[theirs].unmerged == ""


def test_what_was_merged_at_the_origin_counts_once_it_was_fetched(
    main: Checkout, tmp_path: Path, opened: Opened
) -> None:
    origin = Checkout(tmp_path / "origin.git")
    main.git("clone", "-q", "--bare", str(main.top), str(origin.top))
    main.git("remote", "add", "origin", str(origin.top))
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    theirs = remember(engine, beside, ON_BRANCH)
    beside.commit("Use the new pipeline", deploy__sh="new\n")
    beside.git("push", "-q", "origin", "feature:main")
    main.git("update-ref", "-d", "refs/remotes/origin/main")
    assert found(engine, main)[theirs].unmerged == NOTE
    main.git("fetch", "-q", "origin")
    assert found(engine, main)[theirs].unmerged == ""


def test_git_is_asked_once_for_each_pair_of_commits_and_never_without_marked_items(
    main: Checkout, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = branches._Look.state

    def counted(self: branches._Look, said: Provenance) -> str:
        asked.append(said.branch)
        return real(self, said)

    monkeypatch.setattr(branches._Look, "state", counted)
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    remember(engine, main, ON_MAIN)
    found(engine, main)
    assert asked == []
    remember(engine, beside, ON_BRANCH)
    beside.commit("Use the new pipeline", deploy__sh="new\n")
    branches._is_ancestor.cache_clear()
    for _ in range(3):
        found(engine, main)
    assert asked == 3 * ["feature"]
    assert branches._is_ancestor.cache_info().misses == 1


def test_what_a_deleted_branch_leaves_behind_waits_for_review(main: Checkout, tmp_path: Path, opened: Opened) -> None:
    engine, beside = opened(main), main.worktree("feature", tmp_path / "feature")
    kept, dropped = remember(engine, beside, ON_BRANCH), remember(engine, beside, "The old gateway stays until May.")
    beside.commit("Use the new pipeline", deploy__sh="new\n")
    with standing_in(main.top):
        assert engine.review().waiting == ()
        main.git("worktree", "remove", "--force", str(beside.top))
        main.git("branch", "-D", "feature")
        waiting = engine.review().waiting
        assert [(one.ref, one.branch) for one in waiting] == [(kept, "feature"), (dropped, "feature")]
        assert found(engine, main)[kept].unmerged == "on the branch feature, which was deleted"
        engine.review(kept, "accept")
        assert found(engine, main)[kept].unmerged == ""
        assert engine.review(dropped, "refuse").waiting == ()
        assert engine.get(dropped).state == "archived"
