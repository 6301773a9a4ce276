"""A store whose vectors do not all fit into memory, or whose words are in many chunks, answers like a small one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.store.contract_fixtures import Candidate, listed, prepared

from ricordo.store.arrays import Growing
from ricordo.store.index import impacts, lexical
from ricordo.store.index.segments import Arrays
from ricordo.store.index.sketches import nearest_of_each, sketch
from ricordo.store.query import Ask, AskedWord, QueryVector
from ricordo.store.search import vectors
from ricordo.store.sqlite.store import SqliteStore
from ricordo.store.values import Backlog

ITEMS, PASSAGES, WIDTH = 300, 15, 32
FEW_ITEMS = 5


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some thousand passages, their vectors anywhere."""
    path = tmp_path_factory.mktemp("large") / "store.db"
    lines = [f"Rope {at // PASSAGES} holds boat {at}{' tied' * (at % 7)}." for at in range(ITEMS * PASSAGES)]
    items = [prepared(f"note:/{n}", "\n\n".join(lines[n * PASSAGES : (n + 1) * PASSAGES])) for n in range(ITEMS)]
    made = np.random.default_rng(7).normal(size=(ITEMS * PASSAGES, WIDTH)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    hashes = [chunk.embed_hash for item in items for chunk in item.chunks]
    by_hash = dict(zip(hashes, made, strict=True))
    with closing(SqliteStore(path)) as store:
        store.changes.save(items, backlog=Backlog("made", WIDTH))
        while jobs := store.jobs.claim("made", WIDTH, "test", 1_000):
            store.jobs.finish("made", jobs, {job.hash: by_hash[job.hash] for job in jobs})
    return path


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(file)) as opened:
        yield opened


def _queries() -> list[QueryVector]:
    asked = np.random.default_rng(8).normal(size=(12, WIDTH)).astype(np.float32)
    return [QueryVector("made", one / np.linalg.norm(one)) for one in asked]


def _by_meaning(store: SqliteStore) -> list[list[Candidate]]:
    asks = [Ask(by_word=False, vector=one, per_side=FEW_ITEMS) for one in _queries()]
    return [listed(store.index.candidates(ask)) for ask in asks]


def _by_both(store: SqliteStore) -> list[list[Candidate]]:
    words = [(AskedWord("rope"), AskedWord("boat"), AskedWord(str(n))) for n in range(3, 15)]
    asks = [Ask(words=some, vector=one, per_side=FEW_ITEMS) for some, one in zip(words, _queries(), strict=True)]
    return [listed(store.index.candidates(ask)) for ask in asks]


def _rows_held(store: SqliteStore, kind: type) -> int:
    return sum(cache.used for (_, of), cache in store.opened.vector_index._rows.items() if of is kind)


def test_a_store_of_which_few_vectors_fit_into_memory_answers_the_same_and_compares_fewer_exactly(
    file: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = _by_meaning(store)
    compared = _rows_held(store, np.float32)
    both = _by_both(store)
    assert _rows_held(store, np.int8) == 0
    monkeypatch.setattr(vectors, "ROW_CACHE_BYTES", 4 * WIDTH * (ITEMS * PASSAGES - 1))
    with closing(SqliteStore(file)) as other:
        assert _by_meaning(other) == right
        assert _rows_held(other, np.int8) == compared
        assert 0 < 10 * _rows_held(other, np.float32) < compared
        assert _by_both(other) == both


def test_estimates_are_kept_in_little_room(file: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    right = _by_meaning(store)
    monkeypatch.setattr(vectors, "ROW_CACHE_BYTES", 4 * WIDTH * 600)
    monkeypatch.setattr(vectors, "CODE_CACHE_BYTES", WIDTH * 1_500)
    with closing(SqliteStore(file)) as other:
        assert _by_meaning(other) == right
        caches = other.opened.vector_index._rows.values()
        assert sorted((cache.matrix.dtype.name, len(cache.matrix)) for cache in caches) == [
            ("float32", 600), ("int8", 1_500),
        ]  # fmt: skip


def test_what_a_common_word_adds_is_kept_in_less_room_and_right_to_nine_digits(
    file: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = _by_both(store)
    monkeypatch.setattr(impacts, "NARROW_FROM", 1_000)
    with closing(SqliteStore(file)) as other:
        for found, expected in zip(_by_both(other), right, strict=True):
            assert [one.ref for one in found] == [one.ref for one in expected]
            assert [one.lexical for one in found] == pytest.approx([one.lexical for one in expected], rel=1e-9)
        small, wide = (one.opened.lexical.impacts._bytes for one in (other, store))
        assert small < 0.75 * wide  # 4 of 12 bytes less for "rope" and "boat", which every passage holds


def test_the_lengths_of_passages_take_sixteen_bits_unless_one_is_longer() -> None:
    def kept(length: int) -> Arrays:
        one = np.array([1], np.int64)
        return lexical._narrow(Arrays(one, one, np.array([[length], [3]], np.uint32), one.astype(np.uint8)))

    assert kept(65_535).lengths.dtype == np.uint16
    assert kept(65_535).lengths.tolist() == [[65_535], [3]]
    assert kept(65_536).lengths.tolist() == [[65_536], [3]]


def test_numbers_of_chunks_take_thirty_two_bits_until_a_larger_one_comes() -> None:
    column = Growing((0,), np.int32)
    first = column.grown(0, [np.array([1, 2**31 - 1], np.int64)])
    assert first.dtype == np.int32
    assert first.tolist() == [1, 2**31 - 1]
    assert column.grown(2, [np.array([2**31], np.int64)]).tolist() == [1, 2**31 - 1, 2**31]
    assert first.tolist() == [1, 2**31 - 1]


def test_the_nearest_passages_of_each_item_are_found_whatever_their_numbers_are() -> None:
    query = np.ones(64, np.float32)
    sketches = sketch(np.array([[1.0] * same + [-1.0] * (64 - same) for same in (10, 60, 50, 20)], np.float32))
    owners = np.array([3, 3 + 65_536, 3, 3 + 65_536], np.int32)
    assert nearest_of_each(sketches, query, np.arange(4), owners, few=1).tolist() == [1, 2]
