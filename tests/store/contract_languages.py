"""What every store must do with passages in several languages and vectors of two models."""

from __future__ import annotations

import pytest
from tests.fakes import FakeEmbedder
from tests.store.contract_fixtures import listed, prepared
from tests.store.contract_search import SearchContract

from ricordo.store.base import Store
from ricordo.store.query import Ask, AskedWord, QueryVector
from ricordo.store.values import Backlog, Languages

ENGLISH = "The notice period of the office is three months."
GERMAN = "Die Kündigungsfrist für das Büro beträgt drei Monate, und sie gilt ab dem ersten Tag."


class LanguageContract(SearchContract):
    """Passages in other languages: their words, their vectors, and both beside those of English ones."""

    def fill_both(self, store: Store, *, settled: bool = True) -> tuple[FakeEmbedder, FakeEmbedder]:
        """An English and a German text; the first model embeds English, the second one German, or both do all."""
        own, second = FakeEmbedder(name="own"), FakeEmbedder(48, name="second", synonyms={"kundigungsfrist": "notice"})
        languages = (Languages(without=("de",)), Languages(only=("de",))) if settled else (Languages(), Languages())
        backlog = Backlog(
            own.fingerprint, 64, languages[0], Backlog(second.fingerprint, second.dimensions, languages[1])
        )
        texts = [prepared("note:/en", ENGLISH), prepared("note:/de", GERMAN)]
        store.changes.save(texts, backlog=backlog)
        for one in (own, second):
            while jobs := store.jobs.claim(one.fingerprint, one.dimensions, "test", 10):
                vectors = one.embed_documents([job.text for job in jobs])
                computed = {job.hash: row for job, row in zip(jobs, vectors, strict=True)}
                store.jobs.finish(one.fingerprint, jobs, computed)
        store.vectors.activate(own.fingerprint, keep=(second.fingerprint,))
        return own, second

    def test_answers_say_which_languages_passages_are_in(self, store: Store) -> None:
        assert store.index.candidates(Ask(words=(AskedWord("month"),))).languages == ()
        self.fill_both(store)
        assert store.index.candidates(Ask(words=(AskedWord("month"),))).languages == ("de",)
        assert store.index.languages == ("de",)

    def test_a_word_counts_once_whichever_of_its_terms_a_passage_has(self, store: Store) -> None:
        self.fill_both(store)
        alone = store.index.candidates(Ask(words=(AskedWord("month"),)))
        both = store.index.candidates(Ask(words=(AskedWord("month", also=("monat",)),)))
        assert {one.ref for one in listed(alone) if one.lexical} == {"note:/en"}
        assert {one.ref for one in listed(both) if one.lexical} == {"note:/en", "note:/de"}
        assert both.maximum < alone.maximum  # it occurs in two passages, so it is not as rare

    def test_a_passage_without_a_vector_of_the_first_model_is_compared_by_the_other(self, store: Store) -> None:
        own, second = self.fill_both(store)
        first = QueryVector(own.fingerprint, own.embed_query("notice period"))
        other = QueryVector(second.fingerprint, second.embed_query("notice period"), shift=0.1, stretch=0.5)
        found = {one.ref: one for one in listed(store.index.candidates(Ask(vector=first, other=other)))}
        english = float(own.embed_documents([ENGLISH])[0] @ first.values)
        german = 0.1 + 0.5 * float(second.embed_documents([GERMAN])[0] @ other.values)
        assert found["note:/en"].cosine == pytest.approx(english, abs=1e-5)
        assert found["note:/de"].cosine == pytest.approx(german, abs=1e-5)
        one = store.index.candidates(Ask(vector=first, other=other, per_side=1))
        assert len(listed(one)) == 1

    def test_a_passage_with_vectors_of_both_is_compared_by_the_first(self, store: Store) -> None:
        own, second = self.fill_both(store, settled=False)
        first = QueryVector(own.fingerprint, own.embed_query("Monate"))
        other = QueryVector(second.fingerprint, second.embed_query("Monate"), shift=5.0)
        found = listed(store.index.candidates(Ask(vector=first, other=other)))
        assert max(one.cosine for one in found) <= 1.0 + 1e-6

    def test_what_the_second_model_embedded_can_lose_the_vectors_of_the_first(self, store: Store) -> None:
        own, second = self.fill_both(store, settled=False)
        assert store.vectors.counts(own.fingerprint)["embedded"] == 2
        other = Backlog(second.fingerprint, second.dimensions)
        store.vectors.settle(Backlog(own.fingerprint, 64, Languages(without=("de", "fr")), other))
        assert store.vectors.counts(own.fingerprint)["embedded"] == 1
        vector = QueryVector(own.fingerprint, own.embed_query("Monate"))
        cosines = {one.ref: one.vector_chunk for one in listed(store.index.candidates(Ask(vector=vector)))}
        assert cosines["note:/en"] is not None
        assert cosines.get("note:/de") is None

    def test_only_passages_in_the_languages_of_a_model_are_counted_for_it(self, store: Store) -> None:
        own, second = self.fill_both(store)
        assert store.vectors.counts(own.fingerprint, Languages(without=("de",)))["chunks"] == 1
        assert store.vectors.counts(second.fingerprint, Languages(only=("de",)))["chunks"] == 1
        assert store.vectors.counts(second.fingerprint)["chunks"] == 2
        assert store.vectors.counts(second.fingerprint)["embedded"] == 1
        assert store.vectors.counts(second.fingerprint, Languages(only=("de",)))["embedded"] == 1
        assert store.vectors.counts(second.fingerprint, Languages(without=("de",)))["embedded"] == 0
        assert store.vectors.counts(own.fingerprint, Languages(only=("de", "fr")))["embedded"] == 0
