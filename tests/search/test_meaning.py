"""Search by meaning with the shipped model: what it finds, how it explains itself, and how it does without."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ricordo import Entry, Ricordo, Unavailable
from ricordo.engine.context import embed_soon
from ricordo.ingest import embed
from ricordo.search.refine import belief
from ricordo.store.index.entries import COMPARED_AT_LEAST
from ricordo.store.index.sketches import nearest_by_sketch, sketch
from ricordo.store.search import vectors
from ricordo.store.sqlite.store import SqliteStore
from ricordo.values.hits import Filters
from ricordo.values.reports import EmbedReport

from .conftest import Compass

NOTES = {
    "note:/gtd": "Getting things done: capture every task in a trusted list and choose the next action. Review weekly.",
    "note:/bread": "Feed the sourdough starter with flour and water, and bake in a hot oven.",
    "note:/jwt": "Validate the JWT signature and check that the token has not expired.",
    "note:/garden": "Prune the roses in late winter and water the tomatoes in the evening.",
}


@pytest.fixture
def filled(meaning: Ricordo) -> Ricordo:
    for ref, text in NOTES.items():
        meaning.save(ref, text, wait=False)
    meaning.embed()
    return meaning


def test_notes_about_productivity_are_found_without_the_word(filled: Ricordo) -> None:
    answer = filled.search("notes about productivity")
    assert answer.hits[0].ref == "note:/gtd"
    assert answer.meta.degraded == ()


def test_each_kind_of_search_answers_by_its_own_side(filled: Ricordo) -> None:
    assert filled.search("baking", by="meaning").hits[0].ref == "note:/bread"
    assert filled.search("authentication", by="meaning").hits[0].ref == "note:/jwt"
    assert filled.search("productivity", by="words").hits == ()
    assert filled.similar("note:/garden").hits[0].ref != "note:/garden"


def test_contributions_add_up_exactly_and_words_to_the_keyword_share(filled: Ricordo) -> None:
    for query in ("water the roses", "check the next action", "token signature weekly oven", "water"):
        for hit in filled.search(query, explain=True).hits:
            assert hit.explain is not None
            assert sum(share.contribution for share in hit.explain.signals) == hit.explain.value
            assert all(share.contribution == share.value * share.weight for share in hit.explain.signals)
            lexical = next(share for share in hit.explain.signals if share.name == "lexical")
            assert math.isclose(
                sum(term.contribution for term in hit.explain.terms), lexical.contribution, abs_tol=1e-12
            )
            assert 0.0 <= hit.score <= 1.0


def test_what_waits_for_its_vector_is_found_by_word_and_said(meaning: Ricordo) -> None:
    meaning.save("note:/a", "an embedded text about sailing")
    meaning.save("note:/b", "a waiting text about harbours", wait=False)
    meaning.save_many([Entry(f"note:/c/{at}", f"filler of its own, number {at}") for at in range(20)], wait=False)
    answer = meaning.search("harbours")
    assert answer.hits[0].ref == "note:/b"
    assert any("21 passages are not embedded yet" in reason for reason in answer.meta.degraded)
    assert meaning.embed().embedded == 21
    assert meaning.search("harbours").meta.degraded == ()


def test_the_same_text_is_embedded_once_across_items_and_versions(meaning: Ricordo) -> None:
    meaning.save("note:/a", "exactly this text", fields={"title": "T"}, wait=False)
    meaning.save("note:/b", "exactly this text", fields={"title": "T"}, wait=False)
    report = meaning.embed()
    assert (report.embedded, report.cached) == (1, 1)
    meaning.mv("note:/b", "note:/c")
    assert meaning.embed(status=True).to_dict()["pending"] == 0
    meaning.edit("note:/a", "another text")
    meaning.edit("note:/a", "exactly this text")
    assert meaning.embed().embedded == 0


class Broken:
    """An embedder that cannot be loaded."""

    fingerprint = "broken/1"
    is_remote = False
    dimensions = 384
    max_tokens = 256

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise Unavailable("the model file is broken", hint="Install Ricordo anew.")

    def embed_query(self, text: str) -> Any:
        raise Unavailable("the model file is broken", hint="Install Ricordo anew.")


class Other(Broken):
    """Another model, with vectors of its own."""

    fingerprint = "other/1"
    dimensions = 8

    def embed_documents(self, texts: Sequence[str]) -> Any:
        rows = np.array([[len(text) % (n + 2) + 1 for n in range(8)] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


def use(engine: Ricordo, embedder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine._context.models, "embedder", lambda: embedder)
    engine._context.tiers.__dict__.pop("_own_searcher", None)


class Buggy(Broken):
    """Code of others that raises what it should not."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise KeyError("texts")

    def embed_query(self, text: str) -> Any:
        raise KeyError("text")


@pytest.mark.parametrize("model", [Broken, Buggy])
def test_a_broken_model_degrades_search_and_loses_no_write(
    filled: Ricordo, monkeypatch: pytest.MonkeyPatch, model: type[Broken]
) -> None:
    use(filled, model(), monkeypatch)
    answer = filled.search("sourdough")
    assert answer.hits[0].ref == "note:/bread"
    assert any("vectors" in reason for reason in answer.meta.degraded)
    saved = filled.save("note:/new", "written all the same")
    assert saved.status == "created"
    assert filled.search("written").hits[0].ref == "note:/new"
    jobs = filled.embed(status=True).to_dict()
    assert jobs["pending"] + jobs["failed"] >= 1


def test_another_model_is_said_and_reembed_swaps_at_once(filled: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    use(filled, Other(), monkeypatch)
    before = filled.search("sourdough")
    assert before.hits[0].ref == "note:/bread"
    assert any("'ricordo embed'" in reason for reason in before.meta.degraded)
    report = filled.embed()
    assert report.embedded == len(NOTES)
    after = filled.search("sourdough")
    assert after.meta.degraded == ()
    assert filled.doctor().ok


class Liar(Other):
    """Promises eight numbers and gives nine, or none that is a number."""

    def __init__(self, width: int, value: float) -> None:
        self.width, self.value = width, value

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.full((len(texts), self.width), self.value, np.float32)


@pytest.mark.parametrize(("width", "value"), [(9, 0.1), (8, math.nan)])
def test_a_bad_vector_is_refused_and_nothing_is_stored(
    meaning: Ricordo, monkeypatch: pytest.MonkeyPatch, width: int, value: float
) -> None:
    use(meaning, Liar(width, value), monkeypatch)
    meaning.save("note:/a", "text", wait=False)
    report = meaning.embed()
    assert report.failed == 1
    assert "bad vector" in report.stopped
    assert meaning.search("text").hits[0].ref == "note:/a"


def test_failed_jobs_can_be_tried_again(meaning: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    use(meaning, Liar(9, 0.1), monkeypatch)
    meaning.save("note:/a", "text", wait=False)
    meaning.embed()
    use(meaning, Other(), monkeypatch)
    waiting = meaning.embed()
    assert waiting.embedded == 0, "it waits before the next try"
    assert "1 passage failed before" in waiting.stopped
    assert "ricordo embed --retry" in waiting.stopped
    assert meaning.store.jobs.retry() == 1
    again = meaning.embed()
    assert (again.embedded, again.stopped) == (1, "")


def test_the_sketch_scan_agrees_with_exact_search() -> None:
    random = np.random.default_rng(7)
    centres = random.normal(size=(60, 384))
    points = centres[random.integers(0, 60, 20_000)] + random.normal(scale=0.9, size=(20_000, 384))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    sketches = sketch(points)
    found = []
    for _ in range(20):
        query = points[random.integers(0, len(points))] + random.normal(scale=0.03, size=384).astype(np.float32)
        query /= np.linalg.norm(query)
        exact = set(np.argsort(-(points @ query))[:50].tolist())
        near = nearest_by_sketch(sketches, query, np.arange(len(points)), COMPARED_AT_LEAST)
        best = near[np.argsort(-(points[near] @ query))[:50]]
        found.append(len(exact & set(best.tolist())) / 50)
    assert np.mean(found) >= 0.97


def test_one_common_word_of_a_long_question_gives_the_keyword_side_less_weight(filled: Ricordo) -> None:
    covered = filled.search("validate the jwt signature").meta.weights["lexical"]
    stray = filled.search("which pleasant weekend hobby would suit somebody who likes the evening").meta.weights
    assert 0 < stray["lexical"] < covered
    unmeasured = filled.search("validate the jwt signature", by="words").meta.weights["lexical"]
    assert unmeasured == pytest.approx(1.0)


def test_belief_in_words_grows_with_rarity_and_with_coverage() -> None:
    assert belief(0.0, 0.0) == 0.0
    assert belief(1.0, 1.0) == 1.0
    assert belief(6.0, 0.5) == pytest.approx(0.75)
    assert belief(2.0, 0.5) < belief(20.0, 0.5) < 1.0
    assert belief(2.0, 0.2) < belief(2.0, 0.8)


def test_an_item_says_whether_its_passages_have_their_vectors(meaning: Ricordo) -> None:
    meaning.save("note:/tide", "The tide tables hang beside the harbour office.", wait=False)
    assert meaning.get("note:/tide").to_dict()["has_embedding"] is False
    meaning.embed()
    assert meaning.get("note:/tide").to_dict()["has_embedding"] is True
    assert meaning.list()[0].has_embedding is None


def test_cosines_stay_right_when_only_a_few_vectors_fit_into_memory(
    filled: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = ("baking", "roses", "the next action", "tokens that expired")
    right = [[(hit.ref, hit.score) for hit in filled.search(question, by="meaning").hits] for question in questions]
    monkeypatch.setattr(vectors, "ROW_CACHE_BYTES", 3 * 4 * 384)
    assert isinstance(filled.store, SqliteStore)
    with Ricordo.open(filled.store.path, config=filled.config) as again:
        again.search("baking", by="meaning", filters=Filters(paths=("/bread",)))  # now one of the vectors is in memory
        found = [[(hit.ref, hit.score) for hit in again.search(question, by="meaning").hits] for question in questions]
    assert found == right


@pytest.mark.usefixtures("patient")
def test_a_search_waits_for_the_thread_that_makes_the_vector_of_what_was_just_remembered(
    compass: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    embed_query = Compass.embed_query

    def slow_documents(self: Compass, texts: Sequence[str]) -> Any:
        asked.wait(60)
        time.sleep(0.3)  # so that the search comes first
        return np.array([self._vector(text) for text in texts], np.float32)

    def query(self: Compass, text: str) -> Any:
        asked.set()
        return embed_query(self, text)

    monkeypatch.setattr(Compass, "embed_documents", slow_documents)
    monkeypatch.setattr(Compass, "embed_query", query)
    engine = compass()
    engine.remember("alpha is what Ada prefers", wait=False)
    embed_soon(engine)
    assert [hit.ref for hit in engine.search("beverages").hits] == ["memory:/alpha-is-what-ada-prefers"]


@pytest.mark.usefixtures("patient")
def test_vectors_that_another_thread_made_just_before_this_one_could_are_searched_too(
    filled: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a first look and the attempt to make what is missing, somebody else may have done so."""
    drain = embed.drain

    def outrun(*given: Any, **options: Any) -> EmbedReport:
        drain(*given, **options)
        return EmbedReport()

    filled.save("note:/ferry", "Boats leave the pier at noon.", wait=False)
    monkeypatch.setattr(embed, "drain", outrun)
    assert filled.search("ship departure time").hits[0].ref == "note:/ferry"


@pytest.mark.usefixtures("patient")
def test_a_search_that_embeds_a_new_text_first_does_not_count_all_others(
    filled: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting all passages that have a vector takes long in a large store."""
    filled.save("note:/ferry", "Boats leave the pier at noon.", wait=False)

    def count(*_: object) -> dict[str, int]:
        raise AssertionError("all vectors were counted")

    monkeypatch.setattr(type(filled.store.vectors), "counts", count)
    assert filled.search("ship departure time").hits[0].ref == "note:/ferry"


def test_progress_leaves_out_texts_that_another_worker_embeds(meaning: Ricordo) -> None:
    meaning.save_many([Entry(f"note:/{at}", f"text of its own, number {at}") for at in range(5)], wait=False)
    backlog = meaning._context.models.backlog()
    assert backlog is not None
    meaning.store.jobs.claim(backlog.fingerprint, backlog.dimensions, "another worker", 2)
    told: list[float | None] = []
    meaning.embed(progress=lambda one: told.append(one.total))
    assert told[0] == 3


PASTED = (
    "The {0} ferry left the northern pier at {1} past nine with {1} crates of lemons, a bicycle and a piano on deck. "
    "Its captain wrote in the log that the {0} wind had turned, and that the mail for the islands had to wait again. "
)


def test_what_is_asked_above_or_below_a_long_text_is_found(filled: Ricordo) -> None:
    pasted = "".join(
        PASTED.format(colour, n) for n, colour in enumerate(("green", "white", "grey", "old", "small", "new"))
    )
    assert len(pasted.split()) > 200
    question = "Why does the login service refuse the web token of a user, and how is such a token verified?"
    for prompt in (f"{pasted}\n\n{question}", f"{question}\n\n{pasted}"):
        assert filled.search(prompt, by="meaning", literal=True).hits[0].ref == "note:/jwt"


def test_of_a_long_text_its_rarest_words_count_although_no_sentence_with_them_is_taken(filled: Ricordo) -> None:
    pasted = [PASTED.format(colour, n) for n, colour in enumerate(("green", "white", "grey", "old", "small", "new"))]
    prompt = "".join((*pasted[:3], "The sourdough was on it, too. ", *pasted[3:]))
    assert [hit.ref for hit in filled.search(prompt, by="words", literal=True).hits] == ["note:/bread"]
    assert not filled.search("".join(pasted), by="words", literal=True).hits
