"""The steps of the default ranking, each seen in an order that would be another without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo import Ricordo
from ricordo.store.search.index import SearchIndex


def order(engine: Ricordo, query: str, refs: Sequence[str], **options: Any) -> list[str]:
    """The given refs in the order in which a search ranks them."""
    found = [hit.ref for hit in engine.search(query, limit=100, track=False, **options).hits]
    return [ref for ref in found if ref in refs]


def test_a_text_that_holds_all_the_words_stands_before_one_that_repeats_a_single_word(engine: Ricordo) -> None:
    engine.save("note:/one", "harbour harbour harbour harbour")
    engine.save("note:/both", "the harbour has a lantern and twelve boats, three nets, a crane, some ropes, much wind")
    for number in range(20):
        engine.save(f"note:/other-{number}", f"quite another text, number {number}")
    refs = ["note:/one", "note:/both"]
    assert order(engine, "harbour lantern", refs, profile="bm25") == ["note:/one", "note:/both"]
    assert order(engine, "harbour lantern", refs) == ["note:/both", "note:/one"]


class Directions:
    """Vectors by the first word of a text: the best matches lean to one side, as one of the two rivals does."""

    dimensions = 8
    max_tokens = 256
    fingerprint = "directions/8"
    is_remote = False

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self._vector(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Any:
        return np.eye(8, dtype=np.float32)[0]

    def _vector(self, text: str) -> list[float]:
        kind = next((word for word in text.split() if word in ("best", "along", "aside")), "")
        cosine, side = {"best": (0.8, 1), "along": (0.50, 1), "aside": (0.52, 2)}.get(kind, (0.1, 3))
        vector = [0.0] * 8
        vector[0], vector[side] = cosine, (1 - cosine**2) ** 0.5
        return vector


def test_the_query_moves_towards_its_best_matches(
    open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: Directions())
    engine = open_engine(vectors=True)
    for number in range(5):
        engine.save(f"note:/best-{number}", f"best {number}", wait=False)
    engine.save("note:/along", "along", wait=False)
    engine.save("note:/aside", "aside", wait=False)
    for number in range(60):
        engine.save(f"note:/other-{number}", f"nothing {number}", wait=False)
    engine.embed()
    refs = ["note:/along", "note:/aside"]
    assert order(engine, "unheard", refs, profile="vector") == ["note:/aside", "note:/along"]
    assert order(engine, "unheard", refs) == ["note:/along", "note:/aside"]


@pytest.mark.parametrize("profile", ["default", "vector", "rrf", "vault", "knowledge"])
def test_an_excluded_word_binds_the_meaning_side_too(compass: Callable[..., Ricordo], profile: str) -> None:
    engine = compass()
    engine.save("note:/nearest", "alpha with a harbour", wait=False)
    engine.save("note:/near", "beta with a quay", wait=False)
    engine.embed()
    found = {hit.ref for hit in engine.search("boats", profile=profile, track=False).hits}
    assert found == {"note:/nearest", "note:/near"}
    for query in ("boats -harbour", 'boats -"a harbour"'):
        assert [hit.ref for hit in engine.search(query, profile=profile, track=False).hits] == ["note:/near"]


class Topics:
    """Vectors by topic words: a text lies between the topics that it names, and a little towards what all share."""

    dimensions = 8
    max_tokens = 256
    fingerprint = "topics/8"
    is_remote = False
    topics = ("rain", "museum", "letter", "garden", "engine", "music")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self._vector(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        return self._vector(text).astype(np.float32)

    def _vector(self, text: str) -> Any:
        named = [1.0 if topic in text.lower() else 0.0 for topic in self.topics]
        blend = 1.2 if "overview" in text else 0.0
        vector = np.array([*named, 0.2 + blend, 0.0])
        return vector / np.linalg.norm(vector)


class FarTopics(Topics):
    """The same model behind a service."""

    is_remote = True


TWO_QUESTIONS = "Is there rain ahead of us? Also, name a museum nearby."
ANSWERS = ["note:/rain", "note:/museum"]


def asked_twice(open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch, model: Topics) -> Ricordo:
    """A store in which a text about a bit of everything is nearer to two questions than the answer to either."""
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: model)
    engine = open_engine(vectors=True)
    for topic in Topics.topics:
        engine.save(f"note:/{topic}", f"{topic} by itself", wait=False)
    engine.save("note:/mixture", "overview: rain and museum and letter", wait=False)
    engine.embed()
    return engine


def test_each_question_of_a_query_finds_its_own_answer(
    open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Topics()
    engine = asked_twice(open_engine, monkeypatch, model)
    refs = [*ANSWERS, "note:/mixture"]
    assert order(engine, TWO_QUESTIONS, refs, profile="vector")[0] == "note:/mixture"
    model.asked.clear()
    assert order(engine, TWO_QUESTIONS, refs, by="meaning", profile="default")[:2] == ["note:/museum", "note:/rain"]
    # The vector of the whole query is known from before.
    assert model.asked == ["Is there rain ahead of us?", "Also, name a museum nearby."]


def test_one_question_is_embedded_once(open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch) -> None:
    model = Topics()
    engine = asked_twice(open_engine, monkeypatch, model)
    for _ in range(2):
        engine.search("is there any rain ahead of us in the museum", track=False)
    assert len(model.asked) == 1


def test_a_search_without_evidence_finds_the_same(
    open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = asked_twice(open_engine, monkeypatch, Topics())
    whole, bare = (engine.search("rain", evidence=wanted, track=False).hits for wanted in (True, False))
    assert [(hit.ref, hit.score, hit.title) for hit in bare] == [(hit.ref, hit.score, hit.title) for hit in whole]
    assert all(hit.evidence for hit in whole)
    assert not any(hit.evidence for hit in bare)


def test_a_service_is_asked_for_the_whole_query_only(
    open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FarTopics()
    engine = asked_twice(open_engine, monkeypatch, model)
    engine.search(TWO_QUESTIONS, track=False)
    assert model.asked == [TWO_QUESTIONS]


def test_a_page_that_is_called_what_was_asked_for_comes_before_pages_that_say_it_more_often(engine: Ricordo) -> None:
    """The title, a heading and the name of a file are what somebody types who looks for them."""
    often = "Garbage collection of pods. " * 12
    engine.save("note:/often", often + "How garbage collection works is garbage collection.", wait=False)
    engine.save("note:/titled", "Unused things are removed after a while.", fields={"title": "Garbage collection"})
    filler = "What else there is to say of it stands on other pages, and there is a lot. " * 12
    text = f"# Cleaning\n\n{filler}\n\n## Garbage collection\n\nUnused things go.\n"
    engine.save("note:/headed", text, structure="markdown", kind="document")
    found = engine.search("garbage collection", explain=True, track=False).hits
    refs = [hit.ref for hit in found]
    assert refs == ["note:/titled", "note:/headed", "note:/often"]
    [step] = [hit.explain.steps for hit in found if hit.ref == "note:/headed" and hit.explain]
    assert step[-1][0].startswith("a heading is the query")
    assert step[-1][1] == pytest.approx(found[[hit.ref for hit in found].index("note:/headed")].score)
    plain = [hit.ref for hit in engine.search("garbage collection", profile="bm25", track=False).hits]
    assert plain[0] == "note:/often"


def test_words_in_the_order_of_the_query_come_before_the_same_words_scattered(engine: Ricordo) -> None:
    engine.save(
        "note:/scattered", "The quota of a request has a limit, and a long wait follows if one is denied by it."
    )
    engine.save("note:/copied", "It said that the request was denied by the quota, and nobody knew why it said so.")
    for number in range(8):
        engine.save(f"note:/other-{number}", f"Something else, number {number}, of the server.")
    found = engine.search("the request was denied by the quota of", explain=True, track=False).hits
    assert found[0].ref == "note:/copied"
    assert found[0].explain is not None
    assert "words of the query in a row" in found[0].explain.steps[-1][0]


def test_the_file_that_was_named_comes_before_a_list_of_files_that_has_its_name(
    compass: Callable[..., Ricordo], tmp_path: Path
) -> None:
    engine = compass()
    name = "ch04-02-how-to-extend-the-build"
    (tmp_path / f"{name}.md").write_text("# Commands\n\ngamma: a program on the path becomes a command.\n")
    (tmp_path / "summary.md").write_text(f"# Summary\n\nbeta list: {name}, {name} and {name}.\n")
    engine.add(tmp_path)
    named, listed = engine.search(name, explain=True, literal=True, track=False).hits
    assert named.ref.endswith(f"{name}.md")
    assert listed.explain is not None
    assert "words of the query in a row" in listed.explain.steps[-1][0]


@pytest.mark.parametrize(("options", "most"), [({}, 4), ({"diverse": True}, 20)])
def test_what_a_search_reads_is_read_at_once_and_only_what_can_come_onto_the_page(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], most: int
) -> None:
    for number in range(12):
        engine.save(f"note:/one-{number}", f"harbour harbour harbour harbour, text number {number}")
    engine.save("note:/both", f"a harbour and, after {'many ' * 300}words, a lantern")
    read: list[int] = []
    passages = SearchIndex.passages

    def noted(self: SearchIndex, shown: Sequence[Any], *others: Any, **more: Any) -> Any:
        read.append(len(shown))
        return passages(self, shown, *others, **more)

    monkeypatch.setattr(SearchIndex, "passages", noted)
    answer = engine.search("harbour lantern", limit=3, track=False, **options)
    assert len(answer.hits) == 3
    assert len(read) == 1
    assert 3 <= read[0] <= most


@pytest.mark.parametrize(
    ("title", "query", "why"),
    [
        ("Café du port", "cafe du port", "its title is the query"),
        ("Port 8080: closed", "port 8080 closed", "its title is the query"),
        ("Lanterns of harbours", "harbour lantern", "a title or heading has the words of the query"),
        ("Lanterns of old harbours", "harbour lantern", ""),
    ],
)
def test_a_title_is_compared_with_the_query_by_its_words(engine: Ricordo, title: str, query: str, why: str) -> None:
    engine.save("note:/titled", "What is meant stands in the title.", fields={"title": title})
    [hit] = engine.search(query, explain=True, track=False).hits
    assert hit.explain is not None
    steps = [step for step, _ in hit.explain.steps if "query" in step]
    assert [step[: len(why)] for step in steps] == ([why] if why else [])
