"""What every store remembers beside items: links, use, verdicts, conversations, secrets, files, and an export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.store.contract_fixtures import prepared
from tests.store.contract_items import ItemsContract

from ricordo.exchange.records import ItemRecord
from ricordo.plugins.transfer import export
from ricordo.plugins.transfer.export_file import Row
from ricordo.plugins.transfer.imports import Importer
from ricordo.steps import one_step
from ricordo.store.base import Store
from ricordo.store.query import Shown
from ricordo.values.hits import Filters
from ricordo.values.items import KnownFile, Ref
from ricordo.values.log import Proposal
from ricordo.values.use import Learned, Move, Use, UsedItem


class RecordsContract(ItemsContract):
    """Everything that refers to items."""

    def test_links_are_kept_once_and_end_with_their_items(self, store: Store) -> None:
        a, b, c = (self.put(store, f"note:/{name}", f"Text {name}.") for name in "abc")
        assert store.links.add(a, b, "supports")
        assert not store.links.add(a, b, "supports")
        store.links.add(b, c, "extends")
        assert store.links.neighbours([a]) == {a: 0, b: 1, c: 2}
        assert store.links.neighbours([a], 1) == {a: 0, b: 1}
        assert store.links.remove(a, b) == 1
        store.changes.remove(c)
        assert store.links.neighbours([b]) == {b: 0}

    def test_a_contradiction_marks_the_older_until_one_of_the_two_is_changed(self, store: Store) -> None:
        old, new = self.put(store, "memory:/old", "On Fridays."), self.put(store, "memory:/new", "On Tuesdays.")

        def marked() -> dict[int, tuple[int, str]]:
            return dict(store.index.passages([Shown(old), Shown(new)]).contradicted)

        assert marked() == {}
        store.links.add(new, old, "contradicts")
        assert marked() == {old: (new, "memory:/new")}
        self.put(store, "memory:/new", "On Fridays, too.")
        assert marked() == {}
        store.links.remove(new, old, "contradicts")
        store.links.add(new, old, "contradicts")
        assert marked() == {old: (new, "memory:/new")}
        store.changes.archive([new])
        assert marked() == {}

    def test_proposals_and_what_was_decided_about_them_are_exported(self, store: Store) -> None:
        at = datetime(2026, 1, 31, tzinfo=UTC)
        one = Proposal("Always run make lint.", "rule", "project", "always run make lint", "s", 3, at)
        store.proposals.add([one])
        store.proposals.decide(one.id, "refused")
        store.proposals.set_rule("pattern rule", "never")
        records = [one for one in export.records(store.opened) if isinstance(one, Row)]
        assert [one["state"] for one in records if one.type == "proposal"] == ["refused"]
        assert [one["rule"] for one in records if one.type == "proposal_rule"] == ["never"]

    def test_a_link_in_a_text_waits_for_its_target(self, store: Store) -> None:
        a = self.put(store, "note:/a", "See [[later]].")
        assert [(link.target, link.origin) for link in store.links.of([a])] == [(None, "text")]
        b = self.put(store, "note:/later", "Here.")
        assert [link.target for link in store.links.of([a])] == [b]
        self.put(store, "note:/a", "See nothing.")
        assert store.links.of([a]) == []

    def test_mentions_of_an_entity_are_counted(self, store: Store) -> None:
        a, b = (self.put(store, f"note:/{name}", f"Ada said {name}.") for name in "ab")
        for text, names in (("A person.", (a, b)), ("A person of note.", (b,))):
            store.changes.save([replace(prepared("entity:/ada", text, title="Ada"), named_by=names)])
            entity = store.items.require(Ref.parse("entity:/ada"))
            assert store.items.get(entity).mention_count == len(names)
        assert list(store.items.entity_titles()) == [(entity, "Ada")]

    def test_use_raises_counts_and_is_logged(self, store: Store) -> None:
        n = self.put(store, "note:/a", "Text.")
        item = store.items.get(n)
        found = Use((UsedItem(item.id, 1, 0.9),), "search", "a question", "default", 12.0, ("note:/a",))
        opened = Use((UsedItem(item.id, 1),), "get", opened=True)
        store.usage.record([found, found, opened], keep_days=90)
        after = store.items.get(n)
        assert (after.retrieval_count, after.access_count) == (3, 1)
        assert after.last_retrieved_at is not None
        stats = store.usage.stats(days=30, by="query", limit=10)
        assert (stats.queries, [(row.name, row.count) for row in stats.rows]) == (2, [("a question", 2)])
        assert store.usage.clear() > 0
        assert store.usage.stats(days=30, by="query", limit=10).queries == 0

    def test_questions_tags_and_the_graph_give_an_overview(self, store: Store) -> None:
        a = self.put(store, "note:/a", "See [[b]].", tags=["Red", "blue"])
        b = self.put(store, "note:/b", "Text.", tags=["red"])
        item = store.items.get(a)
        found = Use((UsedItem(item.id, 1, 0.9),), "search", "a question", "default", 12.0, ("note:/a",), fit=0.75)
        opened = Use((UsedItem(item.id, 1),), "get", opened=True)
        store.usage.record([found, Use((), "search", "unknown thing", "default", 1.0), opened], keep_days=90)
        store.lessons.add_feedback("a question", a, "accepted", counted=True)
        options: dict[str, Any] = {"since": None, "until": None, "opened_within": 60.0, "limit": 10}
        (question,) = [one for one in store.overview.questions(by="", **options) if one.results]
        assert [(one.ref, one.opened, one.verdict) for one in question.shown] == [("note:/a", True, "accepted")]
        assert sorted(str(one.fit) for one in store.overview.questions(by="", **options)) == ["0.75", "None"]
        assert store.overview.questions(by="nobody", **options) == []
        assert {one.tag.lower(): one.count for one in store.overview.tags()} == {"red": 2, "blue": 1}
        graph = store.overview.graph(10)
        assert ({one.ref for one in graph.nodes}, len(graph.edges)) == ({"note:/a", "note:/b"}, 1)
        assert store.overview.graph(10, [b]).edges == ()

    def test_the_names_of_an_erased_item_leave_the_queries_and_verdicts(self, store: Store) -> None:
        a, b = (self.put(store, f"note:/{name}", f"Text {name}.") for name in ("zebra", "other"))
        used = tuple(UsedItem(store.items.get(n).id, 1, 0.9) for n in (a, b))
        found = Use(used, "search", "a question", "default", 12.0, ("note:/zebra", "note:/other"))
        store.usage.record([found, found], keep_days=90)
        for n in (a, b):
            store.lessons.add_feedback("a question", n, "accepted", counted=True)
        store.changes.remove(a, purge=True)
        records = [one for one in export.records(store.opened) if isinstance(one, Row)]
        queries = [one for one in records if one.type == "query"]
        assert [(one["text"], one["refs"], one["results"]) for one in queries] == [
            ("a question", ("note:/other",), 2)
        ] * 2
        assert [one["ref"] for one in records if one.type == "feedback"] == ["", "note:/other"]
        assert "zebra" not in str(records)

    def test_queries_without_a_result_are_listed(self, store: Store) -> None:
        store.usage.record([Use((), "search", "unknown thing", "default", 1.0)], keep_days=90)
        stats = store.usage.stats(days=30, by="tool", limit=10)
        assert (stats.zero_results, [row.name for row in stats.zero_result]) == (1, ["unknown thing"])

    def test_verdicts_are_counted(self, store: Store) -> None:
        n = self.put(store, "note:/a", "A.")
        for verdict in ("accepted", "accepted", "dismissed"):
            store.lessons.add_feedback("q", n, verdict, counted=True)
        assert store.lessons.feedback_counts() == {"accepted": 2, "dismissed": 1}

    def test_moved_weights_are_in_force_and_logged(self, store: Store) -> None:
        n = self.put(store, "note:/a", "A.")
        store.lessons.add_feedback("q", n, "accepted", counted=True)

        def decide(learned: Learned) -> Move | None:
            assert (learned.shift, dict(learned.verdicts)) == (0.0, {"accepted": 1})
            return Move(0.1, "on purpose", {"text": 0.5}, {"text": 0.6}, 1)

        change = store.lessons.move_weights("default", decide)
        assert change is not None
        assert (change.shift_before, change.shift_after, change.reason) == (0.0, 0.1, "on purpose")
        assert store.lessons.learned("default").shift == pytest.approx(0.1)
        assert [one.id for one in store.lessons.weight_changes()] == [change.id]
        assert store.lessons.weight_change(change.id) == change
        store.lessons.freeze_learning(True)
        assert store.lessons.learning_frozen()

    def test_a_conversation_is_read_in_order(self, store: Store) -> None:
        for seq, name in enumerate("abc", 1):
            role = "user" if name != "b" else "assistant"
            self.put(
                store, f"session:/s/{seq}", f"Turn {name}.", thread="s", seq=seq,
                metadata={"key": f"k{seq}", "role": role, "is_request": role == "user"},
            )  # fmt: skip
        assert store.threads.keys("s") == {"k1": 1, "k2": 2, "k3": 3}
        assert [item.content for item in store.threads.items("s", 2, 3)] == ["Turn b.", "Turn c."]
        assert store.threads.spans(["s", "none"])["s"].count == 3

    def test_what_happened_is_told_the_latest_first(self, store: Store) -> None:
        self.put(store, "memory:/a", "A.")
        n = self.put(store, "disk:/b.md", "B.")
        self.put(store, "disk:/b.md", "B, changed.")
        happened = store.threads.happenings(since=None, thread=None, kinds=(), limit=10)
        assert [(one.what, one.ref) for one in happened] == [
            ("updated", "disk:/b.md"), ("created", "disk:/b.md"), ("remembered", "memory:/a"),
        ]  # fmt: skip
        store.changes.remove(n)
        (latest,) = store.threads.happenings(since=None, thread=None, kinds=("document",), limit=1)
        assert (latest.what, latest.ref) == ("removed", "disk:/b.md")
        future = datetime.now(UTC) + timedelta(days=1)
        assert store.threads.happenings(since=future, thread=None, kinds=(), limit=10) == []

    def test_a_proposal_is_kept_once_and_what_was_decided_stays(self, store: Store) -> None:
        at = datetime(2026, 1, 31, tzinfo=UTC)
        one = Proposal("Always run make lint.", "rule", "project", "always run make lint", "s", 3, at, branch="login")
        other = replace(one, text="Deploy on Tuesdays.", turn=5, at=at + timedelta(minutes=1))
        assert store.proposals.add([one, other]) == 2
        assert store.proposals.add([one]) == 0
        assert store.proposals.listing("waiting") == [one, other]
        assert store.proposals.decide(one.id, "refused")
        assert not store.proposals.decide(one.id, "accepted", "memory:/a")
        assert store.proposals.listing("waiting") == [other]
        assert [found.state for found in store.proposals.listing(session="s")] == ["refused", "waiting"]
        assert store.proposals.listing(session="another") == []
        assert store.proposals.add([one]) == 0
        store.proposals.set_rule("pattern rule", "always")
        store.proposals.set_rule("pattern fix", "never")
        assert store.proposals.rules() == {"pattern rule": "always", "pattern fix": "never"}
        store.proposals.set_rule("pattern fix", "")
        assert store.proposals.rules() == {"pattern rule": "always"}
        assert store.proposals.ask_again(one.id)
        assert not store.proposals.ask_again(one.id)
        assert store.proposals.listing("waiting") == [one, other]

    def test_what_quotes_a_session_is_erased_with_it(self, store: Store) -> None:
        n = self.put(store, "session:/s/1", "Turn.", thread="s", seq=1)
        store.proposals.add([Proposal("A sentence.", "rule", "project", "Turn.", "s", 1, datetime.now(UTC))])
        store.changes.remove(n, purge=True)
        assert store.proposals.listing() == []

    def test_secrets_are_counted_by_item(self, store: Store) -> None:
        n = self.put(store, "disk:/a", "Text.")
        store.secrets.note({n: {"api key": 2}})
        assert store.secrets.counts() == {"api key": 2}
        assert store.secrets.refs() == [(Ref("disk", "/a"), {"api key": 2})]
        store.secrets.note({n: {}})
        assert store.secrets.counts() == {}

    def test_knowledge_files_are_known_by_name_and_by_item(self, store: Store) -> None:
        n = self.put(store, "memory:/a", "A.")
        other = self.put(store, "memory:/b", "B.")
        row = KnownFile("memories/a.md", n, 5, 6, "hash", "mark")
        store.knowledge.set_folder("knowledge")
        store.knowledge.note([row])
        assert store.knowledge.files() == {"memories/a.md": row}
        assert store.knowledge.files_of([n, other]) == {n: row}
        assert store.knowledge.times_and_sizes() == {"memories/a.md": (5, 6)}
        assert store.knowledge.has_file("Memories/A.md")
        assert set(store.knowledge.without_current_file(("memory",), ("memory",))) == {n, other}
        store.knowledge.note((), ["memories/a.md"])
        assert store.knowledge.files() == {}

    def test_another_knowledge_folder_begins_with_no_known_files(self, store: Store) -> None:
        n = self.put(store, "memory:/a", "A.")
        store.knowledge.set_folder("one")
        store.knowledge.note([KnownFile("memories/a.md", n, 5, 6, "hash", "mark")])
        store.knowledge.set_folder("one")
        assert len(store.knowledge.files()) == 1
        store.knowledge.set_folder("two")
        assert store.knowledge.files() == {}

    def test_items_are_seen_as_the_open_transaction_has_them(self, store: Store) -> None:
        n = self.put(store, "memory:/a", "One.")
        with store.transaction():
            store.changes.rewrite(n, prepared("memory:/a", "Two."))
            inside = store.knowledge.items_in_transaction([n])[n].content
            outside = store.items.get(n).content
            belonging = store.knowledge.belonging([n], ("memory",), ("memory",))
        assert (inside, outside, belonging) == ("Two.", "One.", [n])

    def test_an_export_taken_into_an_empty_store_gives_the_same_items(
        self, store: Store, open_elsewhere: Callable[[], Store]
    ) -> None:
        a = self.put(store, "note:/a", "One.\n\nMore.", tags=["x"])
        self.put(store, "note:/a", "Two.\n\nMore.", tags=["x"])
        b = self.put(store, "memory:/b", "Links to [[a]].")
        store.links.add(b, a, "supports")
        store.changes.archive([b])
        store.lessons.add_feedback("q", a, "accepted", counted=True)
        other = open_elsewhere()
        importer = Importer(other.opened, "error", None)
        records = list(export.records(store.opened))
        items = [record for record in records if isinstance(record, ItemRecord)]
        assert [saved.status for saved in importer.items(items)] == ["created", "created"]
        importer.others([record for record in records if isinstance(record, Row)])
        assert _shape(other) == _shape(store)
        assert other.lessons.feedback_counts() == {"accepted": 1}

    def test_a_backup_opens_as_the_store_it_was(
        self, store: Store, tmp_path: Path, open_backup: Callable[[Path], Store]
    ) -> None:
        self.put(store, "note:/a", "One.")
        target = tmp_path / "copy"
        store.transfer.backup(target)
        self.put(store, "note:/b", "Later.")
        assert [ref for ref, *_ in _shape(open_backup(target))] == ["note:/a"]

    def test_vacuum_erases_what_was_long_in_the_bin(self, store: Store) -> None:
        n = self.put(store, "note:/a", "One.")
        store.changes.remove(n)
        assert store.transfer.vacuum(bin_days=30).emptied == 0
        assert store.transfer.vacuum(bin_days=0).emptied == 1
        assert store.items.get_many([n]) == {}

    def test_counts_and_checks_of_a_sound_store(self, store: Store) -> None:
        self.put(store, "note:/a", "One.\n\nTwo.")
        counts = store.counts()
        assert (counts["items"], counts["chunks"], counts["kinds"]) == (1, 2, {"note": 1})
        assert {name: check(False).ok for name, check in store.checks()} == {name: True for name, _ in store.checks()}

    def test_a_step_is_put_back_in_one_transaction(self, store: Store) -> None:
        kept = self.put(store, "note:/kept", "First.")
        before = prepared("note:/kept", "First.")
        with one_step("edit") as step:
            made = self.put(store, "note:/made", "New.")
            self.put(store, "note:/kept", "Second.")
            self.put(store, "note:/kept", "Third.")
            store.links.add(made, kept, "supports")
        found = store.steps.get(step.id)
        assert found is not None
        assert (found.verb, found.changes, found.refs) == ("edit", 3, ("note:/kept", "note:/made"))
        items = store.steps.items(step.id)
        assert [(one.n, one.version, one.new_version, one.new_state) for one in items] == [
            (made, 0, 1, "live"),
            (kept, 1, 3, "live"),
        ]
        saved = store.steps.put_back(step.id, items, {kept: before})
        assert [(one.ref, one.status) for one in saved] == [("note:/made", "removed"), ("note:/kept", "restored")]
        assert (store.items.get(kept).content, store.items.get(kept).version) == ("First.", 4)
        assert (store.items.get(made).state, store.links.of([kept])) == ("deleted", [])
        assert [(one.id, one.is_undone) for one in store.steps.newest(5)] == [(step.id, True)]

    def test_a_step_leaves_what_was_changed_since_and_knows_nothing_of_what_was_erased(self, store: Store) -> None:
        with one_step("save") as step:
            changed, erased = (self.put(store, f"note:/{name}", "Text.") for name in ("changed", "erased"))
        self.put(store, "note:/changed", "Other text.")
        store.changes.remove(erased, purge=True)
        items = store.steps.items(step.id)
        assert [one.n for one in items] == [changed]
        assert [(one.status, one.reason) for one in store.steps.put_back(step.id, items, {})] == [
            ("skipped", "it was changed since")
        ]
        assert store.items.get(changed).state == "live"


def _shape(store: Store) -> list[tuple[Any, ...]]:
    """What an export must keep of every item."""
    shape = []
    for n, item in store.items.listing(Filters(states=("live", "archived")), 100, 0):
        whole = store.items.get(n)
        versions = [(one.number, one.content_hash, one.created_at) for one in store.items.history(n)]
        links = sorted((link.type, link.origin, link.text) for link in store.links.of([n]))
        shape.append((str(item.ref), whole.id, whole.state, whole.content, whole.fields, versions, links))
    return sorted(shape, key=lambda one: str(one[0]))
