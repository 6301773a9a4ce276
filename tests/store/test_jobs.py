"""The backlog of texts that wait for a vector: how often a text is tried, and how long a worker may keep it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, ContractError, Entry, Ricordo, Unavailable
from ricordo.values.reports import EmbedReport

SECOND = 1_000_000_000
Opener = Callable[..., Ricordo]


@pytest.fixture(params=["file", "server"])
def open_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens engines over one store, which is a file or a workspace on a server."""
    place = tmp_path / "store.db" if request.param == "file" else postgres_server.unused()
    opened: list[Ricordo] = []

    def open_one(*, vectors: bool = False) -> Ricordo:
        settings = {} if vectors else {"embedding.provider": "none"}
        opened.append(Ricordo.open(place, config=ConfigProvider(settings)))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


class Embedder:
    """Counts how often it is asked, and does first what a test wants done meanwhile."""

    fingerprint = "test/1"
    is_remote = False
    dimensions = 4
    max_tokens = 256

    def __init__(self, first: Callable[[], None] = lambda: None) -> None:
        self.first = first
        self.calls = 0
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        self.first()
        self.asked = [*self.asked, *texts]
        return np.ones((len(texts), 4), np.float32) / 2

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets seconds pass on the clock that stores read."""
    present, passed = time.time_ns, 0.0

    def let_pass(seconds: float) -> None:
        nonlocal passed
        passed += seconds
        monkeypatch.setattr(time, "time_ns", lambda: present() + int(passed * SECOND))

    return let_pass


def test_a_text_that_fails_is_tried_five_times_and_then_only_when_asked(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch, wait: Callable[[float], None]
) -> None:
    def fail() -> None:
        raise ContractError("the answer is not a vector", hint="")

    embedder = Embedder(fail)
    open_engine().save("note:/a", "A text.")
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: embedder)
    engine = open_engine(vectors=True)
    for attempt in range(1, 8):
        engine.embed()
        assert embedder.calls == min(attempt, 5)
        wait(3600)
    embedder.first = lambda: None
    assert engine.embed().embedded == 0
    assert engine.store.jobs.retry() == 1
    assert engine.embed().embedded == 1


def test_a_worker_may_keep_a_text_for_five_minutes_and_then_another_takes_it(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch, wait: Callable[[float], None]
) -> None:
    embedders: list[Embedder] = []
    taken: list[int] = []
    open_engine().save("note:/a", "A text.")
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: embedders[0])
    slow, quick = open_engine(vectors=True), open_engine(vectors=True)

    def another_worker_comes() -> None:
        embedders[0].first = lambda: None
        with monkeypatch.context() as there:
            there.setattr(socket, "gethostname", lambda: "another-machine")
            for seconds in (0, 290, 20):
                wait(seconds)
                taken.append(quick.embed().embedded)

    embedders.append(Embedder(another_worker_comes))
    slow.embed()
    assert taken == [0, 0, 1]


def test_vectors_are_made_again_when_that_is_asked_of_a_model_that_answers(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder()
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: embedder)
    engine = open_engine(vectors=True)
    kinds = {"note:/a": "note", "note:/b": "note", "memory:/c": "memory"}
    engine.save_many([Entry(ref, f"The text of {ref}.", kind) for ref, kind in kinds.items()])
    before = embedder.asked
    assert engine.embed().embedded == 0
    assert engine.embed(again=True, kinds=["memory"]).embedded == 1
    assert [text for text in embedder.asked[len(before) :] if "The text of" in text] == ["The text of memory:/c."]

    def hang() -> None:
        raise Unavailable("nobody answers", hint="Wait.")

    embedder.first = hang
    assert "nobody answers" in engine.embed(again=True).stopped
    assert engine.status()["vectors"]["made"] == 3
    embedder.first = lambda: None
    assert engine.embed(again=True).embedded == 3
    assert engine.status()["vectors"]["made"] == 3
    assert engine.doctor().ok


def test_what_was_removed_replaced_or_archived_is_not_counted_and_does_not_hold_up_the_rest(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: Embedder())
    engine = open_engine(vectors=True)
    engine.save_many([Entry(f"note:/gone/{at}", f"A text that goes, number {at}.") for at in range(120)], wait=False)
    for name in ("kept", "replaced", "archived", "purged"):
        engine.save(f"note:/{name}", f"A text, {name}.", wait=False)
    engine.rm("note:/gone/")
    engine.rm("note:/purged", purge=True)
    engine.save("note:/replaced", "Another text.", on_conflict="overwrite", wait=False)
    engine.correct("note:/archived", "What replaces it.", wait=False)
    assert engine.embed(status=True).to_dict()["pending"] == 3
    assert engine.embed().embedded == 3


def test_jobs_without_a_text_are_dropped_on_the_way_to_the_others(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such jobs are left by versions that did not drop them with their texts."""
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: Embedder())
    monkeypatch.setattr("ricordo.store.sql.changes.drop_chunks", lambda connection, chunks: None)
    engine = open_engine(vectors=True)
    engine.save_many([Entry(f"note:/gone/{at}", f"A text that goes, number {at}.") for at in range(120)], wait=False)
    engine.save("note:/kept", "A text that stays.", wait=False)
    engine.rm("note:/gone/", purge=True)
    assert engine.embed(search_missing=False).embedded == 1
    assert engine.embed(status=True).to_dict()["pending"] == 0


def test_a_text_saved_for_a_model_that_fails_gets_its_vector_when_the_model_before_is_set_again(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(Embedder):
        fingerprint = "failing/1"

        def embed_documents(self, texts: Sequence[str]) -> Any:
            raise Unavailable("no answer")

    class Unknown(Failing):
        @property
        def dimensions(self) -> int:  # type: ignore[override]
            raise Unavailable("no answer")

    usual = Embedder()
    in_force: list[Any] = [usual]
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: in_force[0])
    open_engine(vectors=True).save("note:/before", "A text of before.")
    for name, other in (("failed", Failing()), ("unknown", Unknown())):
        in_force[0] = other
        open_engine(vectors=True).save(f"note:/{name}", f"A text that was saved meanwhile, {name}.")
    in_force[0] = usual
    engine = open_engine(vectors=True)
    with monkeypatch.context() as none_made:
        none_made.setattr("ricordo.ingest.embed.Worker.drain", lambda worker, **options: EmbedReport())
        assert "2 passages are not embedded yet" in " ".join(engine.search("another").meta.degraded)
    assert engine.search("another").meta.degraded == ()
    assert all(engine.get(f"note:/{name}").has_embedding for name in ("before", "failed", "unknown"))
    assert engine.embed(status=True).to_dict()["pending"] == 0


def test_remembering_does_not_wait_for_an_embedder_that_hangs(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()

    def hang() -> None:
        let_go.wait(120)

    embedder = Embedder(hang)
    monkeypatch.setattr(Embedder, "is_remote", True)
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: embedder)
    monkeypatch.setattr("ricordo.memory.remember.VECTOR_SECONDS", 0.1)
    engine = open_engine(vectors=True)
    try:
        engine.remember("A first text.", on_duplicate="save")  # nothing is compared, so that only the save may wait
        assert not let_go.is_set()
        assert engine.embed(status=True).to_dict()["pending"] == 1
    finally:
        let_go.set()
