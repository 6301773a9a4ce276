"""What a save asks of the embedder: each text once, and no answer that it would have to wait for."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from tests.fakes import FakeEmbedder

from ricordo import Ricordo
from ricordo.errors import Unavailable
from ricordo.memory import remember
from ricordo.models.local_onnx import shipped_counter
from ricordo.store.backlog import Jobs
from ricordo.store.search.vectors import COMPACT_BLOCKS


class Asked(FakeEmbedder):
    """A service that can be made to hang."""

    is_remote = True

    def __init__(self) -> None:
        super().__init__()
        self.hangs = self.refuses = False
        self.release = threading.Event()
        self.seconds_per_text = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.refuses:
            raise Unavailable("the service is away", hint="Wait.")
        if self.hangs:
            self.release.wait()
        time.sleep(self.seconds_per_text * len(texts))
        return super().embed_documents(texts)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.calls for text in batch]


@pytest.fixture
def asked() -> Any:
    embedder = Asked()
    yield embedder
    embedder.release.set()


@pytest.fixture
def engine(open_engine: Any, asked: Asked) -> Ricordo:
    engine = open_engine(vectors=True)
    engine._context.models.use_embedder(asked)
    engine.remember("The first memory makes the model the one in use.")
    return engine


def test_a_save_embeds_its_text_once(engine: Ricordo, asked: Asked) -> None:
    asked.calls.clear()
    saved = engine.remember("The keys rotate every quarter.")
    assert len(asked.texts) == 1
    assert engine.get(saved.ref).has_embedding


@pytest.mark.parametrize("words", [120, 180, 215, 240])
def test_a_title_takes_no_room_from_the_text_of_a_memory(engine: Ricordo, asked: Asked, words: int) -> None:
    title = " ".join(f"harbour{n}" for n in range(30))
    text = " ".join(f"word{chr(97 + n % 26)}" for n in range(words // 2))
    asked.calls.clear()
    saved = engine.remember(text, title=title)
    engine.edit(saved.ref, fields={"title": f"The whole {title}"})
    assert max(shipped_counter().count_tokens(asked.texts)) <= 254, "the model does not read the end of it"


def test_a_memory_is_saved_together_with_its_vector(
    engine: Ricordo, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Jobs, "finish", lambda *_: pytest.fail("the vector is written apart from the text"))
    keys = engine.remember("The keys rotate every quarter.")
    office = engine.correct(keys.ref, "The keys rotate every month.")
    twin = engine.remember("The keys rotate every month!", on_duplicate="save", ref="memory:/twin")
    assert len(asked.texts) == 4
    for saved in (office, twin):
        assert engine.get(saved.ref).has_embedding
    assert engine.store.checks()[-1][1](False).ok, "the vectors do not belong to the texts"


def test_a_text_that_waits_for_a_decision_is_not_embedded_again(engine: Ricordo, asked: Asked) -> None:
    engine.remember("The keys rotate every quarter.")
    again = "The keys rotate every single quarter."
    assert engine.remember(again).status == "needs_decision"
    asked.calls.clear()
    saved = engine.remember(again, on_duplicate="save")
    assert (saved.status, asked.texts) == ("created", [])
    assert engine.get(saved.ref).has_embedding


def test_the_vectors_of_many_memories_are_put_together(engine: Ricordo) -> None:
    for number in range(3 * COMPACT_BLOCKS):
        engine.remember(f"Boat {number} has the name {uuid.UUID(int=number * 7919).hex[20:]}.", on_duplicate="save")
    with engine.store.opened.database.read() as connection:
        [(blocks, entries)] = connection.rows("SELECT count(*), sum(entries) FROM vector_blocks")
    assert (blocks < 2 * COMPACT_BLOCKS, entries) == (True, 3 * COMPACT_BLOCKS + 1)


def test_a_text_that_was_removed_and_comes_back_is_not_embedded_again(engine: Ricordo, asked: Asked) -> None:
    saved = engine.remember("The keys rotate every quarter.")
    engine.rm(saved.ref)
    asked.calls.clear()
    assert engine.remember("The keys rotate every quarter.").status == "created"
    assert asked.texts == []


def test_a_hanging_embedder_does_not_keep_a_memory_from_being_saved(
    engine: Ricordo, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remember, "VECTOR_SECONDS", 0.05)
    asked.hangs = True
    saved = engine.remember("Deploys happen on Mondays.")
    assert saved.status == "created"
    assert engine.embed(status=True).to_dict()["pending"] == 1


def test_a_search_waits_for_few_vectors_and_says_that_others_are_missing(
    engine: Ricordo, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Asked, "is_remote", False)
    for number in range(16):
        engine.remember(f"Crate number {number} holds {number * 7} apples.", on_duplicate="save", wait=False)
    asked.calls.clear()
    asked.seconds_per_text = 0.1
    answer = engine.search("who holds apples", track=False)
    assert 0 < len(asked.texts) < 10
    assert any("not embedded yet" in note for note in answer.meta.degraded)


def test_a_save_an_edit_and_a_correction_say_when_no_vector_could_be_made(engine: Ricordo, asked: Asked) -> None:
    saved = engine.remember("The keys rotate every quarter.")
    assert saved.reason is None
    asked.refuses = True
    other = engine.remember("The office is in Porto.")
    assert (other.status, "no vector could be made: the service is away" in (other.reason or "")) == ("created", True)
    edited = engine.edit(saved.ref, content="The keys rotate every month.")
    assert (edited.status, "the service is away" in (edited.reason or "")) == ("updated", True)
    assert "the service is away" in (engine.correct(other.ref, "The office is in Lisbon.").reason or "")
    asked.refuses = False
    engine.embed()
    assert engine.get(saved.ref).has_embedding
