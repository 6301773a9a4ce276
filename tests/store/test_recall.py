"""The server's index over vectors: it finds enough of the nearest, and doctor measures and corrects it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import psycopg
import pytest
from tests.store import postgres_server
from tests.store.contract_fixtures import prepared

from ricordo.store.asking import Ask, QueryVector
from ricordo.store.postgres import recall
from ricordo.store.postgres.asking_sql import VectorIndex
from ricordo.store.postgres.nearest_sql import taken
from ricordo.store.postgres.smaller_indexes import make_indexes_smaller
from ricordo.store.postgres.store import PostgresStore
from ricordo.store.values import Backlog
from ricordo.values.reports import Check

COUNT, WIDTH = 600, 32
SCHEMA = f"ricordo_recall_{os.getpid()}"
"""Tables of its own: one test takes the index over vectors away from all workspaces."""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """A store with an index over few vectors, in which few suffice to be looked at or not."""
    monkeypatch.setattr("ricordo.store.postgres.meaning.EXACT_BELOW", COUNT)
    monkeypatch.setattr(recall, "DEPTHS", (60, 600))
    random = np.random.default_rng(5)
    vectors = random.normal(size=(COUNT, WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with closing(PostgresStore(postgres_server.workspace(SCHEMA))) as store:
        items = [prepared(f"note:/{n}", f"Text {n}.") for n in range(COUNT)]
        store.changes.save(items, backlog=Backlog("made", WIDTH))
        by_hash = {item.chunks[0].embed_hash: vectors[n] for n, item in enumerate(items)}
        while jobs := store.jobs.claim("made", WIDTH, "test", COUNT):
            store.jobs.finish("made", jobs, {job.hash: by_hash[job.hash] for job in jobs})
        yield store


def _known(store: PostgresStore) -> VectorIndex:
    with store.database.read() as connection:
        found = store._workspace.fingerprint(connection, "made")
    assert found is not None
    return found


def _check(store: PostgresStore, *, repair: bool = False) -> Check:
    return dict(store.checks())["vector index"](repair)


def test_how_many_are_looked_at_is_measured_when_the_index_is_made(store: PostgresStore) -> None:
    assert _known(store).indexed is None
    assert _check(store).ok
    store.maintain()
    assert _known(store).indexed is not None
    assert taken(_known(store)) == 600  # sixty of six hundred do not hold the fifty nearest
    assert _check(store).ok


def test_doctor_says_how_much_the_index_finds_and_corrects_it(store: PostgresStore) -> None:
    store.maintain()
    number = _known(store).number
    with store.database.write() as connection:
        connection.set_meta(f"{recall.DEPTH}{number}", 60)
    store._workspace.forget_fingerprints()
    found = _check(store)
    assert not found.ok
    assert "60 looked at; at least 97% should be" in found.detail
    assert _check(store, repair=True).repaired
    assert taken(_known(store)) == 600
    assert _check(store).ok


def test_a_model_that_is_dropped_leaves_no_measure_behind(store: PostgresStore) -> None:
    store.maintain()
    number = _known(store).number
    store.vectors.drop([number])
    with store.database.read() as connection:
        assert connection.rows("SELECT 1 FROM meta WHERE name = ?", (f"{recall.DEPTH}{number}",)) == []


def test_an_index_that_is_made_for_the_earlier_schema_is_replaced(store: PostgresStore) -> None:
    """As an upgrade leaves it: the index is gone, all vectors are compared, and the next maintenance makes it."""
    store.maintain()
    number = _known(store).number
    with psycopg.connect(postgres_server.address()) as raw:
        raw.execute(f"SET search_path = {SCHEMA}, public")
        raw.execute("CREATE INDEX items_workspace_text_hash_idx ON items(workspace, text_hash)")
        make_indexes_smaller(raw, SCHEMA, 0)
        names = {row[0] for row in raw.execute(f"SELECT indexname FROM pg_indexes WHERE schemaname = '{SCHEMA}'")}
        assert "items_texts" in names
        assert "items_workspace_text_hash_idx" not in names
        assert raw.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.vectors_near_{number}",)).fetchone() == (None,)
    store._workspace.forget_fingerprints()
    assert _known(store).indexed is None
    store.maintain()
    assert _known(store).indexed is not None
    ask = Ask(by_word=False, vector=QueryVector("made", np.ones(WIDTH, np.float32) / WIDTH**0.5), per_side=5)
    assert len(store.index.candidates(ask).found) >= 5
