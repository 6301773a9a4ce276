"""A process that searches a server keeps sketches of its vectors, and sees what others add, bring back and erase."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store import postgres_server

from ricordo import Ricordo, registry
from ricordo.store.asking import Ask, AskedWord, Needs, QueryVector
from ricordo.store.index import entries
from ricordo.store.index.sketches import sketch
from ricordo.store.postgres import bringing, packed
from ricordo.store.postgres.asking_sql import VectorIndex
from ricordo.store.postgres.nearest_sql import Picks, VectorsMovedError
from ricordo.store.postgres.nearness import vectors_of, vectors_of_item
from ricordo.store.postgres.sketching import NEVER, KeptSketches
from ricordo.store.postgres.store import PostgresStore
from ricordo.values.items import Entry

QUESTION = "which animal purrs on the sofa"
CAT = "A kitten sleeps on the couch, purring."
OTHERS = (
    "The invoice is due in thirty days.", "Deployments happen on Tuesday mornings.",
    "Bread rises overnight in the pantry.", "The lighthouse was painted white in spring.",
)  # fmt: skip


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ricordo, Ricordo]]:
    """Two processes' engines on one workspace; even of a few vectors, only the nearest by sketch are compared."""
    monkeypatch.setattr(entries, "EXACT_BELOW", 0)
    monkeypatch.setattr(entries, "COMPARED_AT_LEAST", 2)
    monkeypatch.setattr(entries, "COMPARED_PER_RESULT", 0)
    place = postgres_server.workspace()
    with Ricordo.open(place) as one, Ricordo.open(place) as other:
        for number, text in enumerate(OTHERS):
            one.save(f"note:/{number}", text)
        yield one, other


def meant(engine: Ricordo, filters: str = "") -> list[str]:
    """What is found by meaning alone."""
    return [hit.ref for hit in engine.search(f"{QUESTION} {filters}", by="meaning", track=False).hits]


def test_what_another_process_saved_is_found_by_meaning(two: tuple[Ricordo, Ricordo]) -> None:
    here, there = two
    assert "note:/cat" not in meant(here)
    there.save("note:/cat", CAT)
    assert meant(here)[0] == "note:/cat"
    there.save("note:/second", CAT, on_conflict="overwrite")  # its vector was there before
    assert set(meant(here)[:2]) == {"note:/cat", "note:/second"}


def test_a_text_whose_vector_came_later_is_found_by_meaning(
    two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    meant(here)
    with monkeypatch.context() as patch:  # the process that searches embeds nothing itself
        patch.setattr(here.store.jobs, "claim", lambda *_: None)
        there.save("note:/cat", CAT, wait=False)
        assert "note:/cat" not in meant(here)
        there.embed()
        assert meant(here)[0] == "note:/cat"


def test_what_is_removed_is_not_found_and_what_is_brought_back_is(two: tuple[Ricordo, Ricordo]) -> None:
    here, there = two
    there.save("note:/cat", CAT)
    assert meant(here)[0] == "note:/cat"
    there.rm("note:/cat")
    assert "note:/cat" not in meant(here)
    there.restore("note:/cat")
    assert meant(here)[0] == "note:/cat"
    there.rm("note:/cat", purge=True)
    assert "note:/cat" not in meant(here)


def test_filters_and_excluded_words_hold_for_what_is_found_by_meaning(two: tuple[Ricordo, Ricordo]) -> None:
    here, there = two
    there.save("note:/cat", CAT, fields={"tags": ["pets"]})
    there.save("note:/dog", "A puppy naps on the divan, snoring.", fields={"tags": ["pets"]})
    assert set(meant(here, "tag:pets")) == {"note:/cat", "note:/dog"}
    found = [hit.ref for hit in here.search(f"{QUESTION} -kitten tag:pets", track=False).hits]
    assert found == ["note:/dog"]


def test_a_process_knows_since_its_last_answer_which_models_have_vectors() -> None:
    place = postgres_server.workspace()
    with Ricordo.open(place) as here, Ricordo.open(place) as there:
        there.save("note:/cat", CAT)
        meant(there)
        model = there.store.index.fingerprint or ""
        assert not here.store.index.has_vectors_of(model)
        meant(here)
        assert here.store.index.has_vectors_of(model)
        assert not here.store.index.has_vectors_of("another")
    with Ricordo.open(place) as later:
        assert later.store.index.has_vectors_of(model)


def test_a_search_compares_by_the_second_model_as_soon_as_another_process_made_its_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place, question = postgres_server.workspace(), "how long is the notice period of the office"
    with monkeypatch.context() as before, Ricordo.open(place) as engine:
        before.setattr(registry, "has_multilingual", lambda: False)
        engine.save("note:/meeting", "Minutes of the meeting: we agreed to move the release to April.")
        engine.save("note:/frist", "Die Kündigungsfrist für das Büro beträgt drei Monate zum Ende des Quartals.")
    with Ricordo.open(place) as here, Ricordo.open(place) as there:
        assert here.search(question, track=False).hits[0].ref == "note:/meeting"
        there.embed()
        assert here.search(question, track=False).hits[0].ref == "note:/frist"


def test_a_search_that_began_before_all_were_forgotten_puts_none_back() -> None:
    kept, model = KeptSketches(), VectorIndex(1, 64, 1, None)
    first = kept.wish([model])
    assert first is not None
    kept.take(first, [[(5, 10)], [(struct.pack(">qqq", 1, 1, 7) + b"\xff" * 8,)], [(None,)]])
    meanwhile = kept.wish([model])
    assert meanwhile is not None
    assert meanwhile.known[1].epoch == 5
    kept.forget()
    found = kept.take(meanwhile, [[(5, 10)], [(None,)], [(None,)]])
    assert found[1].entries.chunks.tolist() == [1]
    after = kept.wish([model])
    assert after is not None
    assert after.known[1].epoch == NEVER


def test_the_servers_sketches_are_those_that_a_file_has(two: tuple[Ricordo, Ricordo]) -> None:
    here, _ = two
    meant(here)
    store = here.store
    assert isinstance(store, PostgresStore)
    (kept,) = store._workspace.sketches._kept.values()
    with store.database.read() as connection:
        held = vectors_of(connection, store._workspace.active or "", kept.entries.chunks.tolist())
    assert len(held) == len(OTHERS)
    expected = sketch(np.array([held[chunk] for chunk in kept.entries.chunks.tolist()]))
    assert np.array_equal(kept.entries.sketches, expected)


def test_the_first_search_of_a_large_workspace_leaves_the_vectors_to_the_server() -> None:
    kept = KeptSketches()
    small, large = VectorIndex(1, 384, 1, None), VectorIndex(2, 384, 1, 50_000)
    assert kept.wish([small]) is not None
    assert kept.wish([large]) is None
    assert kept.wish([large]) is not None
    assert kept.wish([]) is None


def test_vectors_are_found_again_where_the_server_wrote_its_table_anew(two: tuple[Ricordo, Ricordo]) -> None:
    here, there = two
    there.save("note:/cat", CAT)
    there.save("note:/dog", "A puppy naps on the divan, snoring.")
    expected = meant(here)
    store = here.store
    assert isinstance(store, PostgresStore)
    with store.database.write() as connection:  # every vector gets another place; those of the first are free then
        connection.run("CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM vectors ORDER BY hash DESC")
        connection.run("DELETE FROM vectors")
        connection.run("INSERT INTO vectors SELECT * FROM kept")
    store.database.apart("VACUUM FULL vectors")
    before = _places(store)
    assert meant(here) == expected
    after = _places(store)
    assert after != before
    there.save("note:/bird", "A parrot chatters on its perch.")
    assert meant(here)[: len(expected)] == expected
    assert _places(store)[: len(after)] == after  # they were read again once


def test_vectors_that_a_search_cannot_see_yet_are_left_out_and_kept_for_others(
    two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    store = here.store
    assert isinstance(store, PostgresStore)
    with monkeypatch.context() as patch:
        for engine in two:  # nobody embeds it yet
            patch.setattr(engine.store.jobs, "claim", lambda *_: None)
        there.save("note:/cat", CAT, wait=False)
        meant(here)
    active = store._workspace.active or ""
    with store.index.snapshot():
        found = store.index.candidates(Ask(words=(AskedWord("kitten"),), per_side=9)).found
        assert [one.ref for one in found] == ["note:/cat"]
        there.embed()
        with ThreadPoolExecutor(1) as others:  # another thread of this process sees the new vector
            assert others.submit(meant, here).result()[0] == "note:/cat"
        known = _places(store)
        with there.store.database.read() as connection:  # type: ignore[attr-defined]
            [(cat,)] = connection.rows("SELECT n FROM items WHERE path = '/cat'")
            vector = QueryVector(active, vectors_of_item(connection, active, cat)[0])
        near = store.index.candidates(Ask(vector=vector, by_word=False, per_side=9)).found
        assert near
        assert "note:/cat" not in {one.ref for one in near}
    assert _places(store) == known


def _places(store: PostgresStore) -> list[int]:
    (kept,) = store._workspace.sketches._kept.values()
    return [int(place) for place in kept.entries.vectors]


def test_cosines_of_passages_that_came_along_are_those_that_the_server_computes(two: tuple[Ricordo, Ricordo]) -> None:
    here, there = two
    there.save("note:/cat", CAT)
    store = here.store
    assert isinstance(store, PostgresStore)
    meant(here)
    active = store._workspace.active or ""
    with store.database.read() as connection:
        [(invoice,)] = connection.rows("SELECT n FROM items WHERE path = '/0'")
        vector = -vectors_of_item(connection, active, invoice)[0]  # of all, it is the farthest
        asked = QueryVector(active, vector)
        rows = connection.rows(_COMPARED, (packed.vector(vector), asked.fingerprint))
    assert len(rows) == 1 + len(OTHERS)
    ask = Ask(words=(AskedWord("invoic"),), vector=asked, per_side=9, needs=Needs(vectors=True))
    found = store.index.candidates(ask).found
    expected = {ref: round(cosine, 6) for ref, cosine in rows}
    assert {"note:/0"} < {one.ref for one in found} < set(expected)  # what the word found, and the nearest
    assert all(round(one.cosine, 6) == expected[one.ref] for one in found)


_COMPARED = (
    "SELECT i.drive || ':' || i.path, -(v.vector <#> ?::vector) FROM items i JOIN chunks c ON c.item = i.n"
    " JOIN vectors v ON v.hash = c.embed_hash JOIN fingerprints f ON f.id = v.fingerprint"
    " WHERE f.name = ? AND c.state = 0"
)


WORDS = ("harbour", "crane", "ledger", "violin", "glacier", "pepper", "compass", "orchard", "lantern", "saddle")


def long_texts() -> dict[str, str]:
    """Notes of some thirty passages each, one of which speaks of a cat."""
    found = {}
    for number in range(5):
        parts = []
        for part in range(30):
            word, other = WORDS[(number + part) % 10], WORDS[(number * 3 + part * 7) % 10]
            sentence = f"Part {part} of note {number} tells how the {word} came to the {other} in year {1900 + part}."
            parts.append(
                f"## Chapter {part}\n\n" + " ".join([sentence, *[f"The {word} was {n} years old." for n in range(22)]])
            )
        parts[11 + number] += f"\n\n{CAT} It is cat number {number}."
        found[f"note:/long-{number}"] = "\n\n".join(parts)
    return found


def test_of_long_items_a_few_passages_come_along_and_the_answers_are_those_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "EXACT_BELOW", 0)
    monkeypatch.setattr(entries, "COMPARED_AT_LEAST", 40)
    monkeypatch.setattr(entries, "COMPARED_PER_RESULT", 0)
    came: list[list[int]] = []
    keep = bringing.BroughtVectors.keep

    def noting(self: bringing.BroughtVectors, *given: Any) -> None:
        came.append(self.chunks.tolist())
        keep(self, *given)

    monkeypatch.setattr(bringing.BroughtVectors, "keep", noting)
    with Ricordo.open(tmp_path / "own.db") as file, Ricordo.open(postgres_server.workspace()) as server:
        for engine in (file, server):
            engine.save_many([Entry(ref=ref, content=text) for ref, text in long_texts().items()])
        passages = server.status()["chunks"]
        assert passages > 5 * 20
        index, ranked = server.store.index, list[Any]()
        candidates = index.candidates

        def remembered(ask: Ask) -> Any:
            answer = candidates(ask)
            ranked.append(answer.found)
            return answer

        monkeypatch.setattr(index, "candidates", remembered)
        for question in (QUESTION, "how old was the violin", "cat number 3", "the compass and the saddle in 1912"):
            here, there = (engine.search(question, track=False).hits for engine in (server, file))
            assert [(hit.ref, hit.lines) for hit in here] == [(hit.ref, hit.lines) for hit in there]
            assert [hit.score for hit in here] == pytest.approx([hit.score for hit in there], abs=0.02)
            assert len(came[-1]) == len(set(came[-1])) < 0.8 * passages
            assert set(ranked[-1].passages.chunks.tolist()) <= set(came[-1])


def test_a_passage_of_the_pool_whose_vector_did_not_come_is_noticed() -> None:
    picks = Picks(np.array([7, 8, 9]), np.array([1, 1, 2]), np.zeros(3, np.int64))
    index, query = VectorIndex(1, 2, 1, None, None), QueryVector("model", np.array([1.0, 0.0], np.float32))
    asked = bringing.Bringing.of((index, query), (picks, np.array([1, 2])))

    def came(*chunks: int) -> list[bytes]:
        numbers = b"".join(struct.pack("!qqq", chunk, 1, 0) for chunk in chunks)
        return [numbers, b"".join(struct.pack("!hhff", 2, 0, 0.6, 0.8) for _ in chunks)]

    found = asked.read(came(7, 8), {"refs": [[1, "note:/one"]]})  # 9 belongs to an item that did not come into the pool
    assert [(chunk, item, round(cosine, 6)) for chunk, item, cosine in found.cosines(query)] == [
        (7, 1, 0.6),
        (8, 1, 0.6),
    ]
    with pytest.raises(VectorsMovedError):
        asked.read(came(8), {"refs": [[1, "note:/one"]]})
