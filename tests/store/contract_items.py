"""What every store does with items: saving, versions, conflicts, removing, looking up, transactions and the mirror."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.store.contract_fixtures import StoreFixtures, prepared

from ricordo.errors import Conflict, NotFound, PathConflict, StaleVersion, from_dict
from ricordo.speaking import speaking
from ricordo.store.base import Store
from ricordo.store.prepare import text_hash
from ricordo.store.values import FileState, PreparedItem
from ricordo.values.hits import Filters
from ricordo.values.items import Ref, Saved
from ricordo.values.provenance import Provenance


class ItemsContract(StoreFixtures):
    """Items, their versions, and every change of them."""

    def put(self, store: Store, ref: str, text: str, **fields: Any) -> int:
        """Save one item and give its number."""
        (saved,) = store.changes.save([prepared(ref, text, **fields)])
        assert saved.error is None, saved.error
        return store.items.require(Ref.parse(ref))

    def test_a_saved_item_is_read_back_as_it_was(self, store: Store) -> None:
        item = prepared("note:/plan", "First.\n\nSecond.", title="Plan", tags=["a", "b"], importance=4, domain="work")
        (saved,) = store.changes.save([item])
        assert (saved.status, saved.version, saved.previous_version) == ("created", 1, None)
        found = store.items.get(store.items.require(Ref("note", "/plan")))
        assert (found.content, found.kind, found.state, found.version) == ("First.\n\nSecond.", "note", "live", 1)
        assert (found.fields, found.id, found.content_hash) == (item.draft.fields, saved.id, item.hash)

    def test_a_change_is_a_new_version_and_the_same_again_is_skipped(self, store: Store) -> None:
        n = self.put(store, "note:/a", "One.")
        (changed,) = store.changes.save([prepared("note:/a", "Two.")])
        (same,) = store.changes.save([prepared("note:/a", "Two.")])
        assert (changed.status, changed.version, changed.previous_version) == ("updated", 2, 1)
        assert (same.status, same.version, same.reason) == ("skipped", 2, "unchanged")
        assert [store.items.get(n, version=number).content for number in (1, 2)] == ["One.", "Two."]
        assert [(one.number, one.previous, one.is_head) for one in store.items.history(n)] == [
            (2, 1, True), (1, None, False),
        ]  # fmt: skip

    def test_a_title_alone_makes_a_version(self, store: Store) -> None:
        n = self.put(store, "note:/a", "Text.", title="Old")
        (saved,) = store.changes.save([prepared("note:/a", "Text.", title="New")])
        assert saved.version == 2
        assert [one.fields.title for one in store.items.history(n)] == ["New", "Old"]

    def test_a_taken_ref_is_skipped_overwritten_or_refused_as_asked(self, store: Store) -> None:
        n = self.put(store, "note:/a", "Mine.")
        other = prepared("note:/a", "Theirs.")
        (skipped,) = store.changes.save([other], on_conflict="skip")
        (refused,) = store.changes.save([other], on_conflict="error")
        assert skipped.status == "skipped"
        assert refused.status == "failed"
        assert refused.error is not None
        assert isinstance(from_dict(refused.error), PathConflict)
        assert store.items.get(n).content == "Mine."
        (written,) = store.changes.save([other], on_conflict="overwrite")
        assert (written.status, store.items.get(n).content) == ("updated", "Theirs.")

    def test_one_bad_item_does_not_stop_the_others(self, store: Store) -> None:
        self.put(store, "note:/b", "There already.")
        batch = [prepared("note:/a", "A."), prepared("note:/b", "B."), prepared("note:/c", "C.")]
        assert [saved.status for saved in store.changes.save(batch, on_conflict="error")] == [
            "created", "failed", "created",
        ]  # fmt: skip

    def test_an_immutable_item_refuses_every_change(self, store: Store) -> None:
        n = self.put(store, "note:/rule", "Never.", immutable=True)
        with pytest.raises(Conflict, match="immutable"):
            store.changes.rewrite(n, prepared("note:/rule", "Sometimes."))
        with pytest.raises(Conflict, match="immutable"):
            store.changes.remove(n)
        assert isinstance(store.changes.remove_many([n])[n], Conflict)
        with pytest.raises(Conflict, match="immutable"):
            store.changes.archive([n])
        assert store.items.get(n).content == "Never."

    def test_a_rewrite_on_a_stale_base_is_refused(self, store: Store) -> None:
        n = self.put(store, "note:/a", "One.")
        assert store.changes.rewrite(n, prepared("note:/a", "Two."), base=1).version == 2
        with pytest.raises(StaleVersion):
            store.changes.rewrite(n, prepared("note:/a", "Three."), base=1)
        assert store.items.get(n).content == "Two."

    def test_a_move_keeps_the_number_and_the_history(self, store: Store) -> None:
        n = self.put(store, "note:/old", "Text.")
        self.put(store, "note:/taken", "Other.")
        with pytest.raises(Conflict, match="taken"):
            store.changes.rewrite(n, prepared("note:/taken", "Text."))
        store.changes.rewrite(n, prepared("note:/new", "Text."))
        assert store.items.require(Ref("note", "/new")) == n
        assert store.items.number(Ref("note", "/old")) is None
        assert [str(one.ref) for one in store.items.history(n)] == ["note:/new", "note:/old"]

    def test_a_removed_item_is_in_the_bin_and_its_ref_is_free(self, store: Store) -> None:
        n = self.put(store, "note:/a", "Old.")
        store.changes.remove(n)
        assert store.items.count(Filters()) == 0
        later = self.put(store, "note:/a", "New.")
        assert later != n
        assert store.items.number_by_id(store.items.get(n).id) == n
        assert store.items.number_by_id(store.items.get(later).id) == later
        assert len(store.items.history(later)) == 1
        assert store.items.get(n).state == "deleted"

    def test_a_purged_item_is_gone(self, store: Store) -> None:
        n = self.put(store, "note:/a", "Secret.")
        identity = store.items.get(n).id
        store.changes.remove(n, purge=True)
        assert store.items.ref_by_id(identity) is None
        assert store.items.number_by_id(identity) is None
        assert store.items.get_many([n]) == {}

    def test_a_rewrite_brings_an_item_back_from_the_bin(self, store: Store) -> None:
        n = self.put(store, "note:/a", "Text.")
        store.changes.remove(n)
        assert store.changes.rewrite(n, prepared("note:/a", "Text.")).version == 2
        assert store.items.get(n).state == "live"

    def test_what_is_archived_is_out_of_lists_and_its_successor_is_linked(self, store: Store) -> None:
        old, new = self.put(store, "note:/old", "Old."), self.put(store, "note:/new", "New.")
        (answer,) = store.changes.archive([old], successor=new)
        assert answer.status == "archived"
        assert [n for n, _ in store.items.listing(Filters(), 10, 0)] == [new]
        assert [n for n, _ in store.items.listing(Filters(states=("archived",)), 10, 0)] == [old]
        assert [(link.source, link.target, link.type) for link in store.links.of([new])] == [(new, old, "supersedes")]
        assert store.changes.archive([old])[0].reason == "already archived"

    def test_a_correction_takes_the_place_of_the_old_item_or_nothing_happens(self, store: Store) -> None:
        old = self.put(store, "memory:/a", "Wrong.")
        saved = store.changes.succeed(old, prepared("memory:/b", "Right."), "corrects")
        assert (saved.status, store.items.get(old).state) == ("created", "archived")
        rule = self.put(store, "memory:/rule", "Rule.", immutable=True)
        with pytest.raises(Conflict):
            store.changes.succeed(rule, prepared("memory:/c", "Other."), "corrects")
        assert store.items.number(Ref("memory", "/c")) is None

    def test_many_refs_are_looked_up_at_once_and_the_bin_does_not_count(self, store: Store) -> None:
        live, archived = self.put(store, "note:/live", "Here."), self.put(store, "note:/archived", "Put away.")
        store.changes.archive([archived])
        store.changes.remove(self.put(store, "note:/binned", "Gone."))
        names = ("live", "archived", "binned", "never")
        found = store.items.numbers([Ref("note", f"/{name}") for name in names])
        assert found == {Ref("note", "/live"): live, Ref("note", "/archived"): archived}
        assert store.items.numbers([]) == {}

    def test_an_unknown_ref_is_not_found_and_near_names_are_offered(self, store: Store) -> None:
        self.put(store, "note:/deployment", "Text.")
        with pytest.raises(NotFound) as caught:
            store.items.require(Ref("note", "/deploymet"))
        assert "note:/deployment" in caught.value.hint

    def test_items_are_found_by_id_by_folder_and_by_text(self, store: Store) -> None:
        n = self.put(store, "disk:/docs/a/one.md", "Same text.")
        self.put(store, "disk:/docs/ab.md", "Other.")
        self.put(store, "disk:/docs/a/two.md", "Same text.")
        assert store.items.ref_by_id(store.items.get(n).id) == Ref("disk", "/docs/a/one.md")
        assert [str(ref) for _, ref, _ in store.items.refs_below("disk", "/docs/a")] == [
            "disk:/docs/a/one.md", "disk:/docs/a/two.md",
        ]  # fmt: skip
        store.changes.remove(n)
        assert [str(ref) for _, ref, _ in store.items.refs_below("disk", "/docs/a")] == ["disk:/docs/a/two.md"]
        assert [one for one, _, _ in store.items.refs_below("disk", "/docs/a", ("deleted", "archived"))] == [n]
        store.changes.rewrite(n, prepared("disk:/docs/a/one.md", "Same text."))
        assert len(store.items.same_text(text_hash("Same text."), "document")) == 2
        assert store.items.paths_like("disk", "/docs/a/one.md") == {"/docs/a/one.md"}

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            (Filters(), "abc"),
            (Filters(kinds=("note",)), "ab"),
            (Filters(tags_any=("x", "z")), "ac"),
            (Filters(tags_all=("x", "y")), "a"),
            (Filters(domains=("work",)), "b"),
            (Filters(severities=("critical",)), "c"),
            (Filters(categories=("plan",)), "a"),
            (Filters(importance_min=3), "bc"),
            (Filters(paths=("/deep/*",)), "c"),
            (Filters(drives=("note",)), "ab"),
            (Filters(threads=("t",)), "b"),
            (Filters(metadata={"team": "red"}), "a"),
            (Filters(loadings=("always",)), "c"),
            (Filters(authors=("claude-code",)), "b"),
            (Filters(authors=("agent",)), "bc"),
            (Filters(authors=("codex", "claude-code")), "bc"),
            (Filters(after=datetime(2999, 1, 1, tzinfo=UTC)), ""),
            (Filters(before=datetime(2999, 1, 1, tzinfo=UTC)), "abc"),
        ],
    )
    def test_filters_pick_items(self, store: Store, filters: Filters, expected: str) -> None:
        self.put(store, "note:/a", "A.", tags=["x", "y"], category="plan", metadata={"team": "red"})
        with speaking(Provenance("agent", "claude-code")):
            self.put(store, "note:/b", "B.", domain="work", importance=3, thread="t", seq=1)
        with speaking(Provenance("agent", "codex")):
            self.put(store, "memory:/deep/c", "C.", tags=["z"], severity="critical", importance=5, loading="always")
        found = {item.ref.path.rpartition("/")[2] for _, item in store.items.listing(filters, 10, 0)}
        assert (found, store.items.count(filters)) == (set(expected), len(expected))

    def test_lists_have_pages_and_the_newest_come_first(self, store: Store) -> None:
        for name in "abcde":
            self.put(store, f"note:/{name}", f"{name} text.")
        paged = [str(item.ref) for at in (0, 2, 4) for _, item in store.items.listing(Filters(), 2, at)]
        assert paged == [f"note:/{name}" for name in "edcba"]

    def test_the_version_of_a_moment_is_the_one_that_was_current(self, store: Store) -> None:
        n = self.put(store, "note:/a", "One.")
        between = store.items.history(n)[0].created_at + timedelta(microseconds=1)
        self.put(store, "note:/a", "Two.")
        assert store.items.version_at(n, between) == 1
        assert store.items.version_at(n, datetime.now(UTC) + timedelta(days=1)) == 2
        assert store.items.version_at(n, between - timedelta(days=1)) is None

    def test_old_versions_are_pruned(self, open_again: Callable[..., Store]) -> None:
        store = open_again(keep_versions=3)
        for number in range(6):
            n = self.put(store, "note:/a", f"Text {number}.")
        assert [one.number for one in store.items.history(n)] == [6, 5, 4]

    def test_a_new_item_can_bring_its_id_and_times(self, store: Store) -> None:
        made, changed = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
        identity = "01890000-0000-7000-8000-000000000001"
        store.changes.save([replace(prepared("note:/a", "Text."), times=(made, changed), id=identity)])
        found = store.items.get(store.items.require(Ref("note", "/a")))
        assert (found.id, found.created_at, found.updated_at) == (identity, made, changed)

    def test_a_text_that_changed_at_its_origin_has_the_time_of_that_change(self, store: Store) -> None:
        made, changed = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
        store.changes.save([replace(prepared("note:/a", "Text."), times=(made, made))])
        store.changes.save([replace(prepared("note:/a", "Another."), times=(made, changed))])
        n = store.items.require(Ref("note", "/a"))
        assert (store.items.get(n).created_at, store.items.get(n).updated_at) == (made, changed)

    def test_nothing_of_a_transaction_that_fails_is_kept(self, store: Store) -> None:
        n = self.put(store, "note:/a", "One.")

        def write_and_fail() -> None:
            with store.transaction():
                store.changes.save([prepared("note:/a", "Two."), prepared("note:/b", "New.")])
                raise RuntimeError("on purpose")

        with pytest.raises(RuntimeError):
            write_and_fail()
        assert store.items.get(n).content == "One."
        assert store.items.number(Ref("note", "/b")) is None

    def test_changes_can_be_noticed(self, store: Store) -> None:
        before = store.changes_seen()
        self.put(store, "note:/a", "Text.")
        assert store.changes_seen() != before

    def test_nothing_is_written_when_it_is_no_longer_wanted(self, store: Store) -> None:
        def refuse(seen: int) -> None:
            raise NotFound("the folder is gone")

        with pytest.raises(NotFound):
            store.changes.save([prepared("note:/a", "Text.")], still_wanted=refuse)
        assert store.items.count(Filters(states=("live", "archived", "deleted"))) == 0

    def test_the_store_opens_again_with_what_was_saved(self, open_again: Callable[..., Store]) -> None:
        first = open_again()
        n = self.put(first, "note:/a", "Text.", tags=["x"])
        first.close()
        assert open_again().items.get(n).fields.tags == ("x",)

    def test_files_are_known_by_path_and_roots_are_remembered(self, store: Store) -> None:
        state = FileState(123, 45, "abc", {"title": "T"})
        n = self.put(store, "disk:/a.md", "Text.")
        store.files.note({n: state})
        assert store.files.states_by_path("disk", ["/a.md", "/b.md"]) == {"/a.md": state}
        assert store.files.states([n]) == {n: state}
        store.files.remember_root("/docs", ["*.md"])
        store.files.remember_root("/docs", ["*.md", "*.txt"])
        assert store.files.roots() == [("/docs", ("*.md", "*.txt"))]
        assert store.files.forget_root("/docs")
        assert not store.files.forget_root("/docs")
        assert store.files.roots() == []

    def test_the_mirror_is_told_every_item_that_a_change_touches(self, store: Store) -> None:
        mirror = _Mirror()
        store.mirror_to(mirror)
        n = self.put(store, "memory:/a", "One.")
        store.changes.rewrite(n, prepared("memory:/a", "Two."))
        store.changes.archive([n])
        store.changes.remove(n)
        assert mirror.touched == [{n}] * 4
        later = self.put(store, "memory:/b", "Three.")
        store.changes.touch([later])
        store.changes.succeed(later, prepared("memory:/c", "Four."), "corrects")
        newest = store.items.require(Ref("memory", "/c"))
        assert mirror.touched[4:] == [{later}, {later}, {later, newest}]
        store.changes.remove_many([later, newest])
        assert mirror.touched[-1] == {later, newest}
        with store.transaction(mirrored=False):
            store.changes.save([prepared("memory:/d", "Five.")])
        assert len(mirror.touched) == 8

    def test_a_mirror_that_fails_undoes_the_change(self, store: Store) -> None:
        n = self.put(store, "memory:/a", "One.")
        mirror = _Mirror(broken=True)
        store.mirror_to(mirror)
        with pytest.raises(OSError, match="no room"):
            store.changes.rewrite(n, prepared("memory:/a", "Two."))
        assert store.items.get(n).content == "One."
        mirror.broken = False
        assert store.changes.rewrite(n, prepared("memory:/a", "Three.")).version == 2


class _Mirror:
    """A mirror that keeps a list of the items it is called with."""

    def __init__(self, *, broken: bool = False) -> None:
        self.touched: list[set[int]] = []
        self.broken = broken

    def placed(self, item: PreparedItem) -> PreparedItem:
        return item

    @contextmanager
    def committing(self, touched: frozenset[int], *, durable: bool) -> Iterator[None]:
        if self.broken:
            raise OSError("no room")
        yield
        self.touched.append(set(touched))

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        return write()
