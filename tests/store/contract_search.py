"""What every store must do in a search: exact scores by words and by meaning, filters first, and at most three
calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from tests.fakes import FakeEmbedder
from tests.store.contract_fixtures import Candidate, bm25f, listed, prepared
from tests.store.contract_items import ItemsContract

from ricordo.errors import ContractError
from ricordo.store.base import Store
from ricordo.store.prepare import embedded_text
from ricordo.store.query import NEWEST, SUBSTRING, Aim, Ask, AskedWord, Needs, Phrase, QueryVector, Shown
from ricordo.store.values import Backlog, PreparedItem
from ricordo.values.hits import Filters
from ricordo.values.items import Ref

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "note:/keys": ("Rotate the signing keys every quarter.\n\nThe rotation is logged.", {"tags": ["ops"]}),
    "note:/tokens": ("A token is signed with the private key.", {"title": "Validating tokens", "importance": 5}),
    "memory:/lunch": ("Lunch is at noon, tea is at four.", {"domain": "office"}),
    "disk:/docs/deploy.md": (
        "Deploy on Friday? Never deploy on Friday.",
        {"title": "Deploying", "tags": ["ops", "ci"]},
    ),
    "disk:/docs/keyboard.md": ("A keyboard has keys, and a mouse has none.", {}),
    "note:/empty-of-words": ("…", {}),
}


class SearchContract(ItemsContract):
    """The search seam: candidates, cosines, passages, similar."""

    def fill(self, store: Store, backlog: Backlog | None = None) -> dict[str, PreparedItem]:
        """Save the texts above; by ref."""
        made = {ref: prepared(ref, text, **fields) for ref, (text, fields) in TEXTS.items()}
        store.changes.save(list(made.values()), backlog=backlog)
        return made

    def embed(self, store: Store, embedder: FakeEmbedder) -> None:
        """Give every waiting passage its vector."""
        while jobs := store.jobs.claim(embedder.fingerprint, embedder.dimensions, "test", 10):
            vectors = embedder.embed_documents([job.text for job in jobs])
            computed = {job.hash: vector for job, vector in zip(jobs, vectors, strict=True)}
            store.jobs.finish(embedder.fingerprint, jobs, computed)
        store.vectors.activate(embedder.fingerprint)

    def found(self, store: Store, **ask: Any) -> dict[str, float]:
        """Refs with their keyword scores, best first."""
        candidates = store.index.candidates(Ask(**ask))
        return {one.ref: one.lexical for one in sorted(listed(candidates), key=lambda one: (-one.lexical, one.ref))}

    def words(self, store: Store, text: str) -> tuple[AskedWord, ...]:
        return tuple(AskedWord(term) for term in store.analyzer.query_terms(text))

    @pytest.mark.parametrize("query", ["signing keys", "deploy friday", "key", "ops token", "docs", "nowhere keys"])
    def test_keyword_scores_are_exact(self, store: Store, query: str) -> None:
        made = self.fill(store)
        expected, maximum = bm25f(made, store.analyzer.query_terms(query))
        candidates = store.index.candidates(Ask(words=self.words(store, query)))
        assert candidates.maximum == pytest.approx(maximum, rel=1e-9)
        got = {one.ref: one.lexical * candidates.maximum for one in listed(candidates)}
        assert got == pytest.approx(expected, rel=1e-6)

    def test_candidates_say_from_when_until_when_they_hold(self, store: Store) -> None:
        dates = {"valid_from": "2020-01-01T00:00:00+00:00", "valid_until": "2021-01-01T00:00:00+00:00"}
        self.put(store, "note:/window", "A lantern.", **dates)
        self.put(store, "note:/end", "A lantern.", valid_until=dates["valid_until"])
        self.put(store, "note:/always", "A lantern.")
        for needs in (Needs(), Needs(items=True)):
            candidates = store.index.candidates(Ask(words=self.words(store, "lantern"), needs=needs))
            windows = {one.ref: candidates.windows.get(one.n, (None, None)) for one in listed(candidates)}
            assert windows == {
                "note:/window": tuple(dates.values()),
                "note:/end": (None, dates["valid_until"]),
                "note:/always": (None, None),
            }

    def test_scores_stay_exact_after_edits_and_removals(self, store: Store) -> None:
        made = self.fill(store)
        made["note:/keys"] = prepared("note:/keys", "Keys, keys, keys.")
        store.changes.save([made["note:/keys"]])
        store.changes.remove(store.items.require(Ref("note", "/tokens")))
        del made["note:/tokens"]
        store.changes.archive([store.items.require(Ref("memory", "/lunch"))])
        del made["memory:/lunch"]
        store.maintain()
        expected, maximum = bm25f(made, store.analyzer.query_terms("keys friday"))
        scores = self.found(store, words=self.words(store, "keys friday"))
        assert {ref: score * maximum for ref, score in scores.items()} == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize(
        ("ask", "expected"),
        [
            ({"filters": Filters(kinds=("note",))}, {"note:/keys", "note:/tokens"}),
            ({"filters": Filters(tags_any=("ops",))}, {"note:/keys"}),
            ({"filters": Filters(paths=("/docs",))}, {"disk:/docs/keyboard.md"}),
            ({"filters": Filters(facets=("praise",))}, set()),
            ({"filters": Filters(importance_min=4)}, {"note:/tokens"}),
            ({"excluded": (("mous",),)}, {"note:/keys", "note:/tokens"}),
            ({"phrases": (Phrase("signing keys", ("sign", "key")),)}, {"note:/keys"}),
            (
                {"excluded_phrases": (Phrase("signing keys", ("sign", "key")),)},
                {"note:/tokens", "disk:/docs/keyboard.md"},
            ),
        ],
    )
    def test_conditions_bind_before_the_best_are_picked(
        self, store: Store, ask: dict[str, Any], expected: set[str]
    ) -> None:
        self.fill(store)
        assert set(self.found(store, words=self.words(store, "keys"), per_side=3, **ask)) == expected

    def test_a_prefix_stands_for_every_word_that_starts_so(self, store: Store) -> None:
        self.fill(store)
        assert set(self.found(store, prefixes=("keyb",))) == {"disk:/docs/keyboard.md"}
        assert store.index.candidates(Ask(prefixes=("rotat",))).prefix_terms != ()

    def test_a_substring_stands_in_where_no_word_matches(self, store: Store) -> None:
        self.fill(store)
        candidates = store.index.candidates(Ask(text="ivate ke", words=(AskedWord("ivat"),)))
        assert candidates.by_substring
        assert [one.ref for one in listed(candidates)] == ["note:/tokens"]
        grep = store.index.candidates(Ask(find=SUBSTRING, text="FRIDAY"))
        assert [one.ref for one in listed(grep)] == ["disk:/docs/deploy.md"]

    def test_what_a_word_that_stands_nowhere_most_likely_means_is_looked_for(self, store: Store) -> None:
        self.fill(store)
        words = (AskedWord("keybaord", written="keybaord"), AskedWord("zzzzzz", written="zzzzzz"))
        candidates = store.index.candidates(Ask(words=words))
        assert candidates.respelled == {"keybaord": ("keyboard",)}
        assert [one.ref for one in listed(candidates)] == ["disk:/docs/keyboard.md"]

    def test_without_words_the_newest_come_first(self, store: Store) -> None:
        self.fill(store)
        newest = store.index.candidates(Ask(find=NEWEST, filters=Filters(drives=("disk",)), per_side=5))
        assert [one.ref for one in listed(newest)] == ["disk:/docs/keyboard.md", "disk:/docs/deploy.md"]

    def test_a_search_of_the_past_ranks_what_was_current_then(self, store: Store) -> None:
        self.fill(store)
        n = store.items.require(Ref("note", "/keys"))
        then = store.items.history(n)[0].created_at + timedelta(microseconds=1)
        store.changes.save([prepared("note:/keys", "Nothing of it.")])
        assert "note:/keys" not in self.found(store, words=self.words(store, "quarter"))
        past = store.index.candidates(Ask(words=self.words(store, "quarter"), as_of=then))
        assert [(one.ref, one.version) for one in listed(past)] == [("note:/keys", 1)]

    def test_a_listing_of_the_past_holds_what_was_there_then(self, store: Store) -> None:
        self.fill(store)
        n = store.items.require(Ref("note", "/keys"))
        then = store.items.history(n)[0].created_at + timedelta(microseconds=1)
        store.changes.save([prepared("note:/keys", "Nothing of it.")])
        store.changes.save([prepared(f"note:/later-{at}", "It came later.") for at in range(3)])
        store.changes.archive([n])
        notes = Ask(find=NEWEST, filters=Filters(drives=("note",)), per_side=2, as_of=then)
        past = store.index.candidates(notes)
        assert ([(one.ref, one.version) for one in listed(past)], past.total) == ([("note:/keys", 1)], 1)
        excluded = [tuple(store.analyzer.query_terms(word)) for word in ("quarter", "nothing")]
        without = [store.index.candidates(replace(notes, excluded=(terms,))) for terms in excluded]
        assert [[one.ref for one in listed(answer)] for answer in without] == [[], ["note:/keys"]]

    def test_both_sides_bring_candidates_with_exact_values_of_both(self, store: Store) -> None:
        embedder = FakeEmbedder(synonyms={"typing": "keyboard"})
        made = self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        assert store.index.candidates(Ask(model=embedder.fingerprint)).waiting == store.counts()["chunks"]
        self.embed(store, embedder)
        vector = embedder.embed_query("typing keys")
        ask = Ask(words=self.words(store, "keys"), vector=QueryVector(embedder.fingerprint, vector), per_side=2)
        candidates = store.index.candidates(ask)
        assert (candidates.has_vectors, candidates.active, candidates.waiting) == (True, embedder.fingerprint, 0)
        for one in listed(candidates):
            texts = [chunk.text for chunk in made[one.ref].chunks]
            best = max(float(vector @ row) for row in embedder.embed_documents([text.strip() for text in texts]))
            assert one.cosine == pytest.approx(best, abs=1e-5)
        nearest = max(listed(candidates), key=lambda one: one.cosine)
        assert nearest.ref == "disk:/docs/keyboard.md"

    def test_conditions_bind_the_vector_side_too(self, store: Store) -> None:
        embedder = FakeEmbedder()
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        self.embed(store, embedder)
        vector = QueryVector(embedder.fingerprint, embedder.embed_query("keyboard mouse keys"))
        everything = {one.ref for one in listed(store.index.candidates(Ask(vector=vector)))}
        assert everything == set(TEXTS)
        some = store.index.candidates(Ask(vector=vector, filters=Filters(kinds=("note",)), per_side=2))
        assert {one.ref for one in listed(some)} <= {"note:/keys", "note:/tokens", "note:/empty-of-words"}
        assert len(listed(some)) == 2
        without = store.index.candidates(Ask(vector=vector, excluded=(("mous",),)))
        assert {one.ref for one in listed(without)} == set(TEXTS) - {"disk:/docs/keyboard.md"}

    def test_vectors_of_another_model_are_never_compared(self, store: Store) -> None:
        embedder, other = FakeEmbedder(), FakeEmbedder(name="other")
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        self.embed(store, embedder)
        ask = Ask(vector=QueryVector(other.fingerprint, other.embed_query("keys")))
        assert not store.index.candidates(ask).has_vectors

    def test_a_bad_vector_is_refused_and_its_job_stays(self, store: Store) -> None:
        embedder = FakeEmbedder()
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        waiting = store.jobs.waiting(embedder.fingerprint)
        (job,) = store.jobs.claim(embedder.fingerprint, embedder.dimensions, "test", 1) or []
        for bad in (np.full(64, np.nan, np.float32), np.ones(3, np.float32)):
            with pytest.raises(ContractError):
                store.jobs.finish(embedder.fingerprint, [job], {job.hash: bad})
        store.jobs.release("test")
        assert store.jobs.waiting(embedder.fingerprint) == waiting

    def test_a_job_is_leased_to_one_worker(self, store: Store) -> None:
        embedder = FakeEmbedder()
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        first = store.jobs.claim(embedder.fingerprint, embedder.dimensions, "one", 100) or []
        assert len(first) == store.counts()["chunks"]
        assert store.jobs.claim(embedder.fingerprint, embedder.dimensions, "two", 100) is None
        store.jobs.fail(embedder.fingerprint, first[:1], "on purpose")
        store.jobs.release("one")
        again = store.jobs.claim(embedder.fingerprint, embedder.dimensions, "two", 100)
        assert again is not None
        assert len(again) >= len(first) - 1

    def test_what_is_removed_purged_or_replaced_waits_for_no_vector(self, store: Store) -> None:
        embedder = FakeEmbedder()
        backlog = Backlog(embedder.fingerprint, embedder.dimensions)
        self.fill(store, backlog)
        numbers = {ref: store.items.require(Ref.parse(ref)) for ref in TEXTS}
        binned, purged, replaced, *_ = TEXTS
        store.changes.remove(numbers[binned])
        store.changes.remove(numbers[purged], purge=True)
        store.changes.save([prepared(replaced, "Quite another text.")], backlog=backlog)
        live = store.counts()["chunks"]
        assert store.jobs.waiting(embedder.fingerprint) == live
        assert store.index.candidates(Ask(model=embedder.fingerprint)).waiting == live

    def test_the_same_text_needs_no_second_vector(self, store: Store) -> None:
        embedder = FakeEmbedder()
        backlog = Backlog(embedder.fingerprint, embedder.dimensions)
        self.fill(store, backlog)
        self.embed(store, embedder)
        copy = prepared("note:/copy", TEXTS["memory:/lunch"][0])
        store.changes.save([copy], backlog=backlog)
        known = store.jobs.stored_vectors(embedder.fingerprint, [copy.chunks[0].embed_hash, b"never seen"])
        assert list(known) == [copy.chunks[0].embed_hash]
        computed = embedder.embed_documents([embedded_text(copy.chunks[0].prefix, copy.chunks[0].text)])[0]
        assert known[copy.chunks[0].embed_hash].tolist() == pytest.approx(computed.tolist())

    def test_a_vector_can_be_kept_before_its_text_is_saved(self, store: Store) -> None:
        embedder = FakeEmbedder()
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        self.embed(store, embedder)
        new = prepared("note:/new", "A text that nobody saved yet.")
        digest = new.chunks[0].embed_hash
        store.jobs.finish(embedder.fingerprint, [], {digest: embedder.embed_documents([new.chunks[0].text])[0]})
        assert list(store.jobs.stored_vectors(embedder.fingerprint, [digest])) == [digest]

    def test_the_vectors_of_the_model_before_are_kept(self, store: Store) -> None:
        before, after = FakeEmbedder(name="before"), FakeEmbedder(name="after")
        made = self.fill(store, Backlog(before.fingerprint, before.dimensions))
        digest = made["memory:/lunch"].chunks[0].embed_hash
        self.embed(store, before)
        again = [prepared(f"{ref}-again", text) for ref, (text, _) in TEXTS.items()]
        store.changes.save(again, backlog=Backlog(after.fingerprint, after.dimensions))
        self.embed(store, after)
        assert list(store.jobs.stored_vectors(before.fingerprint, [digest])) == [digest]

    def test_similar_items_are_those_with_the_nearest_passages(self, store: Store) -> None:
        embedder = FakeEmbedder()
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        self.embed(store, embedder)
        n = store.items.require(Ref("disk", "/docs/keyboard.md"))
        around = store.index.similar(n, Ask(model=embedder.fingerprint, per_side=3))
        assert n not in {one.n for one in listed(around)}
        best = max(listed(around), key=lambda one: one.cosine)
        assert best.ref in ("note:/keys", "note:/tokens")

    def near_keys(self, store: Store, embedder: FakeEmbedder) -> tuple[Any, Sequence[Candidate], list[int]]:
        """The vector of "keys", what is near to it in a filled store, and the passages that are."""
        self.fill(store, Backlog(embedder.fingerprint, embedder.dimensions))
        self.embed(store, embedder)
        vector = embedder.embed_query("keys")
        found = listed(store.index.candidates(Ask(vector=QueryVector(embedder.fingerprint, vector))))
        return vector, found, [one.vector_chunk for one in found if one.vector_chunk is not None]

    def test_a_moved_query_gives_the_cosines_of_its_aim(self, store: Store) -> None:
        embedder = FakeEmbedder()
        vector, found, chunks = self.near_keys(store, embedder)
        aim = Aim(vector, ((chunks[0], 1.0),), pull=0.0)
        cosines = store.index.cosines(embedder.fingerprint, aim, chunks)
        assert cosines is not None
        assert list(cosines) == pytest.approx([one.cosine for one in found], abs=1e-5)
        assert store.index.cosines(embedder.fingerprint, Aim(vector, ((10**9, 1.0),)), chunks) is None

    def test_a_query_with_parts_is_near_to_what_one_part_is_near_to(self, store: Store) -> None:
        embedder = FakeEmbedder()
        vector, _, chunks = self.near_keys(store, embedder)
        part = embedder.embed_query("lunch soup")
        whole, alone = (
            np.array(store.index.cosines(embedder.fingerprint, Aim(one, ((chunks[0], 1.0),), pull=0.0), chunks))
            for one in (vector, part)
        )
        cosines = store.index.cosines(embedder.fingerprint, Aim(vector, parts=(part,)), [*chunks, 10**9])
        assert cosines is not None
        assert list(cosines) == pytest.approx([*((whole + alone) / 2), -1.0], abs=1e-5)

    def test_needs_bring_links_threads_verdicts_and_items(self, store: Store) -> None:
        self.fill(store)
        keys, lunch = (store.items.require(Ref.parse(ref)) for ref in ("note:/keys", "memory:/lunch"))
        store.links.add(keys, lunch, "supports")
        store.lessons.add_feedback("q", keys, "accepted", counted=True)
        needs = Needs(items=True, tfidf=True, feedback=True, link_seeds=5, learned_by="default")
        found = store.index.candidates(Ask(text="quarter", words=self.words(store, "quarter"), needs=needs))
        joined = {one.ref: one.joined for one in listed(found)}
        assert joined == {"note:/keys": False, "memory:/lunch": True}
        assert (found.distances[keys], found.distances[lunch]) == (0, 1)
        assert found.items[keys].ref == Ref("note", "/keys")
        assert found.feedback[keys] == pytest.approx((1 + 2) / (1 + 4))
        assert found.tfidf[keys] > 0
        assert found.learned_shift == 0.0

    def test_neighbours_in_a_conversation_join(self, store: Store) -> None:
        for seq, text in enumerate(("We met.", "The rocket flew.", "It landed."), 1):
            store.changes.save([prepared(f"session:/s/{seq}", text, thread="s", seq=seq)])
        ask = Ask(words=self.words(store, "rocket"), needs=Needs(thread_reach=1))
        found = store.index.candidates(ask)
        assert {one.ref: one.joined for one in listed(found)} == {
            "session:/s/1": True, "session:/s/2": False, "session:/s/3": True,
        }  # fmt: skip
        assert all(math.isclose(one.lexical, 0.0) for one in listed(found) if one.joined)

    def test_a_page_shows_passages_with_their_lines_and_word_shares(self, store: Store) -> None:
        self.fill(store)
        ask = Ask(words=self.words(store, "rotation logged"))
        best = max(listed(store.index.candidates(ask)), key=lambda one: one.lexical)
        assert best.lexical_chunk is not None
        shown = Shown(best.n, (best.lexical_chunk,), matched=best.lexical_chunk)
        page = store.index.passages([shown], ask, contents=True)
        (passage,) = page.texts[best.n]
        assert (passage.text, passage.lines, passage.position, passage.of) == ("The rotation is logged.", (3, 3), 1, 2)
        assert page.items[best.n].content.startswith("Rotate the signing keys")
        shares = {share.label: share.share for share in page.shares[best.lexical_chunk]}
        together = sum(shares.values())
        maximum = store.index.candidates(ask).maximum
        assert together == pytest.approx(best.lexical * maximum, rel=1e-6)
