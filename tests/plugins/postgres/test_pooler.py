"""Stores behind PgBouncer, which gives each transaction another session; what we settle in one; who waits for whom."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.plugins.postgres import server as postgres_server
from tests.plugins.postgres.server import NOBODY, open_store
from tests.store.contract_fixtures import prepared

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.errors import Unavailable
from ricordo.plugins.postgres.store import PostgresStore

QUIET = ConfigProvider({"embedding.provider": "none"})
SETTLED = ("search_path", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "work_mem", "jit")


@pytest.fixture(scope="module")
def pooler() -> Iterator[str]:
    """The address of PgBouncer in transaction mode, with two sessions for everybody."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    server = urlsplit(postgres_server.address())
    home = Path(tempfile.mkdtemp(prefix="ricordo-pooler-"))
    home.chmod(0o755)
    port = postgres_server.free_port()
    (home / "users").write_text(f'"{server.username}" "{server.password}"\n')
    (home / "pooler.ini").write_text(
        f"[databases]\n* = host={server.hostname} port={server.port or 5432}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = plain\n"
        f"auth_file = {home}/users\npool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 200\n"
        "query_wait_timeout = 60\n"
    )
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with (home / "log").open("wb") as log:
        running = subprocess.Popen(  # type: ignore[call-overload]
            [program, str(home / "pooler.ini")], stdout=log, stderr=log, cwd=home, **user
        )
    address = urlunsplit(server._replace(netloc=f"{server.username}:{server.password}@127.0.0.1:{port}"))
    deadline = time.monotonic() + 60
    while True:
        with suppress(psycopg.OperationalError), psycopg.connect(address):
            break
        assert running.poll() is None, (home / "log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield address
    running.terminate()
    running.wait()
    shutil.rmtree(home, ignore_errors=True)


def _behind(pooler: str, name: str) -> str:
    return f"{pooler}?schema={name}_{uuid.uuid4().hex[:8]}"


def test_stores_behind_a_pooler_never_see_or_write_each_others_rows(pooler: str) -> None:
    places = [_behind(pooler, name) for name in ("ann", "bob")]
    engines = [Ricordo.open(place, config=QUIET) for place in places]
    for turn in range(8):
        for number, engine in enumerate(engines):
            engine.save(f"note:/{turn}", f"Turn {turn} of house {number}.")
            assert engine.get(f"note:/{turn}").content == f"Turn {turn} of house {number}."
            hits = engine.search(f"turn {turn}", track=turn % 2 == 0).hits
            assert {f"house {number}" in hit.snippet for hit in hits} == {True}
    with ThreadPoolExecutor(8) as threads:
        done = [
            threads.submit(engine.save_many, [Entry(f"note:/many/{batch}/{n}", f"House {number}.") for n in range(90)])
            for batch in range(4)
            for number, engine in enumerate(engines)
        ]
        assert {saved.status for one in done for saved in one.result().items} == {"created"}
    for number, engine in enumerate(engines):
        assert engine.count() == 8 + 4 * 90
        texts = {engine.get(entry.ref).content for entry in engine.list(limit=1000)}
        assert not [text for text in texts if f"house {1 - number}" in text.lower()]
        assert engine.store.transfer.vacuum(bin_days=1, full=True).rewritten
        assert engine.doctor().ok
        engine.close()


def test_what_a_transaction_settles_does_not_stay_in_the_poolers_sessions(pooler: str) -> None:
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        usual = [raw.execute(f"SHOW {name}").fetchone() for name in SETTLED]
    with Ricordo.open(_behind(pooler, "kept"), config=QUIET) as engine:
        engine.save("note:/tea", "Tea is at four.")
        engine.team_init()
        engine.search("tea")
        engine.store.transfer.vacuum(bin_days=1, full=True)
        engine._context.flush_use()
        with psycopg.connect(pooler, autocommit=True) as one, psycopg.connect(pooler, autocommit=True) as other:
            for raw in (one, other):
                with raw.transaction():  # both hold a session, so that each has one of the two
                    assert [raw.execute(f"SHOW {name}").fetchone() for name in SETTLED] == usual
                    assert raw.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


def test_what_the_role_or_the_address_says_is_not_overridden() -> None:
    server = urlsplit(postgres_server.address())
    name = f"slow_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {name} LOGIN SUPERUSER PASSWORD 'x'")
        raw.execute(f"ALTER ROLE {name} SET statement_timeout = '7min'")
        raw.execute(f"ALTER ROLE {name} SET idle_in_transaction_session_timeout = '8min'")
        place = server._replace(netloc=f"{name}:x@{server.hostname}:{server.port or 5432}")
        address = f"{urlunsplit(place)}?schema={name}&options=-c%20work_mem%3D9MB%20-c%20lock_timeout%3D3min"
        with closing(open_store(address)) as store:
            wanted = ("statement_timeout", "work_mem", "jit", "idle_in_transaction_session_timeout", "lock_timeout")
            for begin in (store.database.read, store.database.write):
                with begin() as connection:
                    found = [connection.rows(f"SHOW {setting}")[0][0] for setting in wanted]
                assert found == ["7min", "9MB", "off", "8min", "3min"]
            with store.database.write(wait=0.25) as connection:  # work that may be skipped does not wait for long
                assert connection.rows("SHOW lock_timeout") == [("250ms",)]
        raw.execute(f"DROP SCHEMA {name} CASCADE; DROP ROLE {name}")


def test_connections_notice_that_the_other_side_is_gone() -> None:
    with closing(open_store(postgres_server.unused())) as store, store.database.read() as connection:
        connection.rows("SELECT 1")
        given = connection.raw.info.get_parameters()
        assert int(given["keepalives_idle"]) <= 60
        assert int(given["tcp_user_timeout"]) > 0
    with (
        closing(open_store(postgres_server.unused() + "&keepalives_idle=77")) as store,
        store.database.read() as connection,
    ):
        connection.rows("SELECT 1")
        assert connection.raw.info.get_parameters()["keepalives_idle"] == "77"


def test_a_client_that_is_frozen_in_a_transaction_loses_its_turn() -> None:
    place = postgres_server.unused()
    with closing(open_store(place, busy_seconds=1.5)) as frozen, closing(open_store(place, busy_seconds=120)) as other:
        with pytest.raises(Unavailable):
            _freeze(frozen, other)
        assert [ref.path for _, ref, _ in other.items.refs_below("note", "")] == ["/b"]
        frozen.changes.save([prepared("note:/d", "With a new connection.")])


def test_what_a_search_records_waits_for_no_writer(tmp_path: Path) -> None:
    place = postgres_server.unused()
    with Ricordo.open(place, config=QUIET) as engine, closing(open_store(place, busy_seconds=120)) as other:
        engine.save("note:/tea", "Tea is at four.")
        with other.transaction():
            other.changes.save([prepared("note:/b", "Not committed yet.")])
            assert [hit.ref for hit in engine.search("tea").hits] == ["note:/tea"]
            tracker = engine._context.tracker
            assert tracker is not None
            assert tracker.flush(60)
            assert engine.store.usage.stats(days=1, by="query", limit=1).queries == 1


def test_those_who_record_the_same_items_at_once_all_succeed() -> None:
    place = postgres_server.unused()
    with Ricordo.open(place, config=QUIET) as engine:
        for number in range(12):
            engine.save(f"note:/{number}", f"Tea number {number}.")
    engines = [Ricordo.open(place, config=QUIET) for _ in range(3)]
    try:
        with ThreadPoolExecutor(len(engines)) as threads:

            def ask(engine: Ricordo) -> None:
                for turn in range(10):
                    engine.search("tea number", limit=12)
                    engine.get(f"note:/{11 - turn}")
                    engine._context.flush_use()

            list(threads.map(ask, engines))
        stats = engines[0].store.usage.stats(days=1, by="query", limit=50)
        assert stats.queries == 30
        assert sum(item.count for item in stats.most_retrieved) == 3 * (10 * 12 + 10)
    finally:
        for engine in engines:
            engine.close()


@pytest.mark.parametrize("place", ["file", "server"])
def test_a_merge_that_fails_after_a_save_is_a_line_in_the_log_and_not_a_failed_save(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def fail(*given: object, **options: object) -> int:
        asked.set()
        raise Unavailable("the store was busy for 30 s, held by another connection")

    monkeypatch.setattr("ricordo.store.index.segments.maintain", fail)
    reported: list[str] = []
    monkeypatch.setattr("ricordo.log.report", lambda message, *rest, **more: reported.append(message))
    where = str(tmp_path / "store.db") if place == "file" else postgres_server.unused()
    with Ricordo.open(where, config=QUIET) as engine:
        assert engine.save("note:/tea", "Tea is at four.").status == "created"
        assert engine.get("note:/tea").content == "Tea is at four."
    assert asked.is_set()
    assert [text for text in reported if "not merged" in text]


def test_a_writer_does_not_wait_for_merges() -> None:
    with closing(open_store(postgres_server.unused())) as store:
        assert isinstance(store, PostgresStore)
        trips = []
        for number in range(20):
            before = store.database.trips
            store.changes.save([prepared(f"note:/{number}", f"Tea number {number}.")])
            trips.append(store.database.trips - before)
        assert len(set(trips[1:])) == 1, "a merge falls due with every eighth"
        store.opened.close()  # type: ignore[attr-defined]
        assert store.counts()["segments"] < 20


def _freeze(frozen: PostgresStore, other: PostgresStore) -> None:
    """Write with one store while another is inside a transaction and does nothing."""
    with frozen.transaction():
        frozen.changes.save([prepared("note:/a", "Never.")])
        other.changes.save([prepared("note:/b", "Written while that one does nothing.")])
        frozen.changes.save([prepared("note:/c", "Never.")])
