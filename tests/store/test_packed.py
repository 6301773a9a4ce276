"""Values that are sent to PostgreSQL in its own bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.store import postgres_server

from ricordo.store.postgres import packed
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.store import PostgresStore


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    store = PostgresStore(postgres_server.workspace())
    with store.database.read() as connection:
        yield connection
    store.close()


@pytest.mark.parametrize("numbers", [[], [7], [0, -1, 2**62, 3]])
def test_the_server_reads_whole_numbers_as_they_are(connection: Connection, numbers: list[int]) -> None:
    sent = packed.bigints(np.array(numbers, np.int64))
    assert connection.rows("SELECT ?::bigint[], cardinality(?::bigint[])", (sent, sent)) == [(numbers, len(numbers))]


def test_the_server_reads_places_of_rows_as_they_are(connection: Connection) -> None:
    sent = packed.tids(np.array([0, 2**32 - 2], np.uint64), np.array([1, 65535], np.uint64))
    assert connection.rows("SELECT array_to_string(?::tid[], ' ')", (sent,)) == [("(0,1) (4294967294,65535)",)]


def test_the_server_reads_a_vector_as_it_is(connection: Connection) -> None:
    vector = np.array([0.1, -2.5, 1e-20], np.float32)
    [(text, size)] = connection.rows("SELECT ?::vector::text, vector_dims(?::vector)", (packed.vector(vector),) * 2)
    assert np.array_equal(np.array(text.strip("[]").split(","), np.float32), vector)
    assert size == 3
