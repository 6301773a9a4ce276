"""A team's store in PostgreSQL, used as a person, an engine and a search use it."""

from __future__ import annotations

import gzip
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg_pool.pool import StopWorker
from tests.plugins.postgres import server as postgres_server
from tests.plugins.postgres.server import open_store
from tests.plugins.postgres.team_searches import SEARCHES, TRIPS, fill, trips_of
from tests.store.contract_fixtures import prepared

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.errors import Forbidden, ReadOnlyStore, StoreError, Unavailable, UsageError
from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.connection import Connection
from ricordo.plugins.postgres.schema import SCHEMA_VERSION, migrate
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.steps import one_step
from ricordo.store.tables import TABLES
from ricordo.values.items import Ref


@pytest.fixture
def team() -> str:
    return postgres_server.unused()


def test_a_store_on_a_server_is_used_like_a_file(team: str, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("# Plan\n\nRotate the signing keys every quarter.\n")
    with Ricordo.open(team) as engine:
        assert [saved.status for saved in engine.add(tmp_path / "plan.md").items] == ["created"]
        engine.remember("Lunch is at noon.")
        answer = engine.search("when are keys rotated")
        assert answer.hits[0].ref.endswith("plan.md")
        assert answer.meta.degraded == ()
        assert engine.get(answer.hits[0].ref).content.startswith("# Plan")
        assert engine.status()["items"] == 2
        assert engine.doctor().ok
    with Ricordo.open(team) as again:
        assert again.search("lunch").hits[0].kind == "memory"


@pytest.fixture(scope="module")
def filled() -> Iterator[Ricordo]:
    with Ricordo.open(postgres_server.unused()) as engine:
        fill(engine)
        yield engine


def test_a_store_on_a_server_is_filled_and_searched_without_sqlite(team: str) -> None:
    """Neither the library nor a module of the other store is loaded."""
    code = (
        "import sys\nfrom ricordo import Ricordo\n"
        "with Ricordo.open(sys.argv[1]) as engine:\n"
        "    engine.save('note:/keys', 'Rotate the signing keys every quarter.')\n"
        "    assert engine.search('signing keys').hits\n"
        "    assert engine.doctor().ok\n"
        "print(*(name for name in sys.modules if name == 'apsw' or 'sqlite' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code, team], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


@pytest.mark.parametrize("name", SEARCHES)
def test_a_whole_search_makes_few_trips(filled: Ricordo, name: str) -> None:
    """What does not depend on each other travels together."""
    assert 1 < trips_of(filled, name) <= TRIPS.get(name, 6)


def test_many_new_items_are_saved_in_few_trips(team: str) -> None:
    """Also those that are noted so that they can be undone, and in which entities may be mentioned."""
    with Ricordo.open(team, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        store = engine._context.unsynced_store
        assert isinstance(store, PostgresStore)
        engine.save("entity:/ada", "Ada Lovelace", fields={"title": "Ada Lovelace"})
        before = store.database.trips
        engine.save_many([Entry(f"note:/{n}", f"Note {n} of Ada Lovelace.", "note") for n in range(300)])
        assert store.database.trips - before < 80
        assert engine.status()["items"] == 301
        engine.undo()
        assert engine.status()["items"] == 1


def test_a_mistyped_word_is_found_as_the_word_that_was_meant(filled: Ricordo) -> None:
    mistyped, meant = (
        [hit.ref for hit in filled.search(query, profile="bm25", track=False).hits]
        for query in ("certifcate", "certificate")
    )
    assert mistyped == meant != []


@pytest.mark.parametrize("place", ["server", "file"])
@pytest.mark.parametrize("query", ["comunications", "communicati*"])
def test_a_word_that_two_languages_stem_otherwise_is_found_in_both(
    query: str, place: str, team: str, tmp_path: Path
) -> None:
    where = team if place == "server" else str(tmp_path / "store.db")
    with Ricordo.open(where, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.save("note:/en", "All communications with the press go through the office in London.")
        engine.save("note:/fr", "Toutes les communications avec la presse passent par le bureau de Paris.")
        hits = engine.search(query, profile="bm25", track=False).hits
        assert {hit.ref for hit in hits} == {"note:/en", "note:/fr"}


@pytest.mark.parametrize("place", ["server", "file"])
def test_an_answer_about_the_past_names_the_newest_item_in_the_place_of_each_hit(
    place: str, team: str, tmp_path: Path
) -> None:
    with Ricordo.open(team if place == "server" else str(tmp_path / "store.db")) as engine:
        engine.remember("The office is in Lisbon.", ref="memory:/office")
        then = datetime.now(UTC)
        moved = engine.correct("memory:/office", "The office is in Porto.").ref
        again = engine.correct(moved, "The office is in Faro.").ref
        (hit,) = engine.search("where is the office", as_of=then).hits
        assert (hit.ref, hit.corrected_by, hit.superseded_by) == ("memory:/office", again, "")
        assert [hit.corrected_by for hit in engine.search("where is the office").hits] == [""]


@pytest.mark.parametrize("place", ["server", "file"])
def test_what_was_removed_and_restored_is_found_as_of_a_time_before_that(place: str, team: str, tmp_path: Path) -> None:
    with Ricordo.open(team if place == "server" else str(tmp_path / "store.db")) as engine:
        engine.save("note:/office", "The office is in Lisbon.")
        then = datetime.now(UTC)
        engine.rm("note:/office")
        engine.restore("note:/office")
        ways: tuple[dict[str, Any], ...] = ({}, {"profile": "vector"}, {"by": "text"})
        for options in ways:
            found = engine.search("office is in", as_of=then, **options).hits
            assert [hit.ref for hit in found] == ["note:/office"]


@pytest.mark.parametrize("place", ["server", "file"])
def test_a_listing_by_filters_says_how_many_items_there_are(place: str, team: str, tmp_path: Path) -> None:
    with Ricordo.open(team if place == "server" else str(tmp_path / "store.db")) as engine:
        for number in range(5):
            engine.save(f"note:/{number}", f"Note number {number}.", wait=False)
        engine.remember("A memory.", wait=False)
        for offset in (0, 3):
            answer = engine.search("kind:note", limit=2, offset=offset)
            assert (answer.meta.candidates, len(answer.hits)) == (5, 2)


@pytest.mark.parametrize("query", ["signing keys", "deploy on friday", "rotation of tokens", '"private key"', "keyb*"])
def test_a_file_and_a_server_rank_alike(team: str, tmp_path: Path, query: str) -> None:
    texts = [
        "Rotate the signing keys every quarter.", "A token is signed with the private key.",
        "Never deploy on Friday; deploy on Monday.", "A keyboard has keys, and a mouse has none.",
        "The rotation of tokens is logged.", "Lunch is at noon.",
    ]  # fmt: skip
    answers = []
    for place in (team, str(tmp_path / "store.db")):
        with Ricordo.open(place) as engine:
            for number, text in enumerate(texts):
                engine.remember(text, kind="note", title=f"Note {number}")
            hits = engine.search(query, track=False).hits
            answers.append([(hit.title, pytest.approx(hit.score, abs=1e-5)) for hit in hits])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("place", ["file", "server"])
def test_only_live_items_come_in_by_a_link_and_lead_to_others(place: str, tmp_path: Path) -> None:
    store = tmp_path / "store.db" if place == "file" else postgres_server.unused()
    with Ricordo.open(store, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.save("note:/keys", "The signing key is due. See [[vault]] and [[archive]].")
        for name in ("vault", "archive"):
            engine.save(f"note:/{name}", f"Kept downstairs. See [[behind-{name}]] and [[keys]].")
            engine.save(f"note:/behind-{name}", f"Nobody goes there. Back to [[{name}]].")
        engine.forget("note:/archive")
        hits = engine.search("signing key", profile="vault", track=False).hits
        assert {hit.ref for hit in hits} == {"note:/keys", "note:/vault", "note:/behind-vault"}


def test_the_team_tier_is_searched_with_the_others_and_its_absence_is_told(
    team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ricordo.open(team) as engine:
        engine.remember("The release train leaves on Tuesdays.")
    monkeypatch.setenv("RICORDO_TIERS_TEAM", team)
    with Ricordo.open(str(tmp_path / "own.db")) as engine:
        engine.remember("My release notes are in the drawer.")
        answer = engine.search("release")
        assert {hit.tier for hit in answer.hits} == {"agent", "team"}
        assert answer.meta.degraded == ()
    monkeypatch.setenv("RICORDO_TIERS_TEAM", f"postgresql://nobody:secret@127.0.0.1:{_closed_port()}/gone")
    with Ricordo.open(str(tmp_path / "own.db")) as engine:
        answer = engine.search("release")
        assert [hit.tier for hit in answer.hits] == ["agent"]
        assert len(answer.meta.degraded) == 1
        assert "tier team" in answer.meta.degraded[0]
        assert "secret" not in answer.meta.degraded[0]


def test_a_server_that_is_down_is_an_error_that_says_so() -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        open_store(f"postgresql://x:secret@127.0.0.1:{_closed_port()}/x")


def test_writers_that_gave_up_waiting_leave_their_connections_to_others(team: str) -> None:
    with (
        closing(open_store(team)) as busy,
        closing(open_store(team, busy_seconds=0.1, connections=2)) as store,
    ):
        with busy.database.write() as connection:
            connection.rows("SELECT 1")
            for _ in range(4):  # more than there are connections
                with pytest.raises(Unavailable, match="held by another connection"):
                    store.changes.save([prepared("note:/late", "Late.")])
        store.changes.save([prepared("note:/late", "Late.")])
        assert store.items.get(store.items.require(Ref("note", "/late"))).content == "Late."


@pytest.mark.parametrize("is_first", [True, False])
def test_a_read_just_before_or_while_a_store_is_closed_leaves_nothing_open_on_the_server(
    team: str, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    store = open_store(team)
    with store.database.read() as connection:
        assert isinstance(connection, Connection)
        connection.rows("SELECT 1")
        run = store.database.pool.run_task

        def to_end(task: Any) -> None:  # as its threads do at the end
            if isinstance(task, StopWorker):
                run(task)

        monkeypatch.setattr(store.database.pool, "run_task", to_end)
        if is_first:
            store.close()
    store.close()
    assert connection.raw.closed


def test_the_oldest_step_goes_with_all_that_is_known_of_it(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.store.sql.history.MOST_STEPS", 2)
    taken = []
    with closing(open_store(team)) as store:
        for name in ("a", "b", "c"):
            with one_step("save") as step:
                store.changes.save([prepared(f"note:/{name}", "Text.")])
            taken.append(step.id)
        assert [one.id for one in store.steps.newest(5)] == taken[:0:-1]
        assert [len(store.steps.items(one)) for one in taken] == [0, 1, 1]


def test_a_connection_that_is_killed_costs_no_acknowledged_write(team: str) -> None:
    name = f"killed-{uuid.uuid4().hex}"
    store = open_store(f"{team}&application_name={name}")
    try:
        store.changes.save([prepared("note:/a", "Kept.")])
        with pytest.raises(Unavailable):
            _save_while_killed(store, name)
        _kill_connections(name)
        assert store.items.get(store.items.require(Ref("note", "/a"))).content == "Kept."
        _kill_connections(name)
        store.changes.save([prepared("note:/d", "After it came back.")])
        assert store.items.number(Ref("note", "/b")) is None
        assert store.items.number(Ref("note", "/d")) is not None
    finally:
        store.close()


@pytest.mark.parametrize("act", ["read", "write"])
def test_connections_that_end_one_after_the_other_are_all_replaced(
    team: str, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """A server that stops ends its connections one by one: a connection that was alive when the pool looked is dead
    when it is used. Here the pool does not look, so that it gives one dead connection after the other.
    """
    name = f"killed-{uuid.uuid4().hex}"
    store = open_store(f"{team}&application_name={name}")
    try:
        store.changes.save([prepared("note:/a", "Kept.")])
        lent = [store.database.pool.getconn() for _ in range(3)]
        for raw in lent:
            store.database.pool.putconn(raw)
        assert len(_kill_connections(name)) >= 3
        monkeypatch.setattr(store.database.pool, "check", lambda: None)
        if act == "write":
            store.changes.save([prepared("note:/b", "Written.")])
        assert store.items.number(Ref("note", "/a")) is not None
    finally:
        store.close()


@pytest.mark.parametrize(("option", "kept"), [("", False), ("&prepare=5", True)])
def test_the_server_keeps_statements_planned_only_where_the_address_says_so(team: str, option: str, kept: bool) -> None:
    with closing(open_store(team + option, connections=1)) as store:
        store.changes.save([prepared("note:/a", "Kept.")])
        for _ in range(12):
            assert store.items.number(Ref("note", "/a")) is not None
        with store.database.read() as connection:
            planned = [row[0] for row in connection.rows("SELECT statement FROM pg_prepared_statements")]
    assert any("FROM items" in statement for statement in planned) is kept


def test_a_read_in_which_a_statement_failed_leaves_a_connection_that_works(team: str) -> None:
    store = open_store(team, connections=1)
    try:
        with pytest.raises(psycopg.errors.DivisionByZero), store.database.read() as connection:
            connection.rows("SELECT 1 / 0")
        assert store.items.number(Ref("note", "/a")) is None
    finally:
        store.close()


def test_a_write_that_fails_is_taken_back_also_on_a_connection_that_was_lent_for_a_read_before(team: str) -> None:
    """Also if that read asked for nothing, so that no transaction of it was ended."""
    store = open_store(team, connections=1)
    try:
        with store.database.read():
            pass
        with pytest.raises(RuntimeError):
            _save_and_fail(store)
        assert store.items.number(Ref("note", "/a")) is None
    finally:
        store.close()


def test_who_waits_while_another_process_makes_the_tables_sees_them_afterwards(team: str) -> None:
    """Several clients may be the first at once."""
    schema = parse(team).schema
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
    with (
        psycopg.connect(postgres_server.address(), autocommit=True) as first,
        psycopg.connect(postgres_server.address(), autocommit=True) as look,
        ThreadPoolExecutor(1) as client,
    ):
        with first.transaction():
            migrate(first, schema, "first", create=True, moved=str)
            opened = client.submit(open_store, team)
            deadline = time.monotonic() + 120
            while look.execute(waits, (f"%{schema}%",)).fetchone() == (0,):
                assert time.monotonic() < deadline
                assert not opened.done()
                time.sleep(0.02)
        with closing(opened.result()) as store:
            store.changes.save([prepared("note:/a", "Kept.")])


def test_a_schema_that_holds_tables_of_others_is_left_as_it_is(team: str) -> None:
    schema = parse(team).schema
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.items(mine int)")
        with pytest.raises(psycopg.errors.DuplicateTable):
            open_store(team)
        left = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        assert left == [("items",)]


def test_a_text_that_postgresql_cannot_hold_is_refused(team: str) -> None:
    with closing(open_store(team)) as store, pytest.raises(UsageError, match=r"U\+0000"):
        store.changes.save([prepared("note:/odd", "a\x00b")])


@pytest.fixture
def earlier(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database with a store of an earlier schema."""
    packed = Path(__file__).with_name(f"postgres-{request.param}.sql.gz")
    database = f"upgraded_{uuid.uuid4().hex[:8]}"
    address = urlunsplit(urlsplit(postgres_server.address())._replace(path=f"/{database}"))
    with psycopg.connect(postgres_server.address(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {database}")
        with psycopg.connect(address, autocommit=True) as raw:
            if request.param != 11:
                raw.execute('CREATE SCHEMA "Add-ons"')
                raw.execute('CREATE EXTENSION vector WITH SCHEMA "Add-ons"')
            raw.execute(gzip.decompress(packed.read_bytes()).decode().replace("public.vector", '"Add-ons".vector'))
        yield address
        server.execute(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.mark.parametrize("earlier", [1, 10], indirect=True)
def test_a_store_of_an_earlier_schema_is_brought_up_to_date(earlier: str) -> None:
    """The first was released as 0.1.0; in the other, vectors were of pgvector's type."""
    with psycopg.connect(earlier) as raw:
        is_released = raw.execute("SELECT number FROM ricordo.schema_version").fetchone() == (1,)
    with Ricordo.open(earlier) as engine:
        assert engine.status()["schema"] == SCHEMA_VERSION
        assert engine.get("note:/a").content == "a zebra in the second version"
        assert engine.get("note:/a", version=1).content == "a zebra in the first version"
        assert engine.get("note:/a").fields.tags == ("animal",)
        assert [link.ref for link in engine.links("note:/a").links] == ["note:/plan"]
        assert engine.search("zebra", by="words").hits[0].ref == "note:/a"
        assert engine.search("striped animal", by="meaning").hits[0].ref == "note:/a"
        assert engine.get("memory:/language").provenance.author == ("unknown" if is_released else "person")
        assert "British" in engine.context("").text
        engine.restore("note:/b")
        engine.save("note:/c", "a new text")
        assert engine.doctor().ok


def test_a_store_of_0_2_is_brought_up_to_date_by_its_owner_alone(team: str) -> None:
    schema = parse(team).schema
    reader = f"reader_{uuid.uuid4().hex[:8]}"
    with Ricordo.open(team) as engine:
        engine.team_init()
        invited = engine.team_invite(reader, role="reader").command.split("--store ")[1].split()[0].strip("'")
        refs = [engine.remember(f"The lamp {n} is lit.", on_duplicate="save", wait=False).ref for n in range(2)]
        engine.link(refs[1], refs[0], "contradicts")
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"SET search_path = {schema}")
        raw.execute("ALTER TABLE roots DROP COLUMN about; UPDATE schema_version SET number = 12")
        described = '{"globs": ["*.md"], "about": "minutes of the board"}'
        raw.execute("INSERT INTO roots VALUES('elsewhere', '/board', %s, 1)", (described,))
    with pytest.raises(StoreError, match="only its owner"):
        Ricordo.open(invited)
    with Ricordo.open(team) as engine:
        assert [(root.globs, root.about) for root in engine.roots()] == [(("*.md",), "minutes of the board")]
        assert not any(hit.contradicted_by for hit in engine.search("lamp", track=False).hits)
        assert [one.refs for one in engine.review(kinds=("contradictions",)).findings] == [tuple(refs)]
    with Ricordo.open(invited) as engine:
        assert len(engine.list()) == 2


@pytest.mark.parametrize("earlier", [11], indirect=True)
def test_workspaces_of_an_earlier_schema_move_into_schemas_with_all_that_they_hold(earlier: str) -> None:
    """They shared tables: one without a team, one with a team, and one whose name no schema can have."""
    with psycopg.connect(earlier, autocommit=True) as raw:
        groups = raw.execute("SELECT readers, writers, owners, backup FROM ricordo.workspaces WHERE name = 'red'")
        readers, writers, owners, backup = names = groups.fetchone() or ()
        reader, owner = (f"{name}_{uuid.uuid4().hex[:8]}" for name in ("reader", "owner"))
        for name in names:  # roles are the server's, and so in no dump
            raw.execute(f"DROP ROLE IF EXISTS {name}; CREATE ROLE {name}")
        raw.execute(f"GRANT {readers} TO {writers}, {backup}; GRANT {writers} TO {owners}")
        raw.execute(f"CREATE ROLE {reader} LOGIN PASSWORD 'secret'; GRANT {readers} TO {reader}")
        raw.execute(f"CREATE ROLE {owner} LOGIN CREATEROLE PASSWORD 'secret'; GRANT {owners} TO {owner}")
        raw.execute(f"COMMENT ON ROLE {owner} IS 'Made for a member of a Ricordo team'")
        raw.execute("CREATE VIEW ricordo.of_others AS SELECT 1 AS one")
        before: dict[str, dict[int, int]] = {
            table: dict(raw.execute(f"SELECT workspace, count(*) FROM ricordo.{table} GROUP BY 1").fetchall())
            for table in TABLES
        }
        spaces: dict[int, str] = dict(raw.execute("SELECT id, name FROM ricordo.workspaces").fetchall())
        assert len(spaces) == 3
        last = raw.execute("SELECT max(n) FROM ricordo.items").fetchone()
        words = {"default": "zebra", "red": "heron", "Größe 1": "otter"}
        for name, word in words.items():
            with Ricordo.open(f"{earlier}?workspace={name}") as engine:
                assert engine.get("note:/a").content == f"a {word} in the second version, see [[plan]]"
                assert engine.get("note:/a", version=1).content == f"a {word} in the first version"
                assert [hit.ref for hit in engine.search(word, by="words").hits] == ["note:/a"]
                assert "note:/a" in [hit.ref for hit in engine.search("animal", by="meaning").hits]
                assert engine.search("animal").meta.degraded == ()
                assert engine.store.usage.stats(days=36500, by="query", limit=1).queries > 0
                engine.restore("note:/b")
                engine.save("note:/c", "a new text")
                checks = {check.name: check for check in engine.doctor().checks}
                assert [name for name, check in checks.items() if not check.ok] == []
        schemas = {name: parse(f"{earlier}?workspace={name}").schema for name in words}
        assert schemas["default"] == "ricordo"
        assert schemas["red"] == "ricordo_red"
        for table, counts in before.items():
            if table in ("items", "versions", "vectors", "links", "blobs", "vocabulary", "usage"):
                for number, name in spaces.items():
                    there = raw.execute(f"SELECT count(*) FROM {schemas[name]}.{table}").fetchone()
                    assert there is not None
                    assert there[0] >= counts.get(number, 0), (table, name)
        fresh = raw.execute("SELECT min(n) FROM ricordo.items WHERE path = '/c'").fetchone()
        assert fresh is not None
        assert last is not None
        assert fresh[0] > last[0], "no number is used twice"
        assert raw.execute("SELECT * FROM ricordo_before_13.of_others").fetchall() == [(1,)]
        assert raw.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'ricordo_before_13'").fetchone() == (0,)
        row = raw.execute("SELECT rolcreaterole FROM pg_roles WHERE rolname = %s", (owner,)).fetchone()
        assert row == (False,)
        with Ricordo.open(_as_role(earlier, reader) + "?workspace=red") as engine:
            assert engine.search("heron").hits[0].ref == "note:/a"
            with pytest.raises(ReadOnlyStore):
                engine.save("note:/no", "Not by me.")
        with Ricordo.open(_as_role(earlier, owner) + "?schema=ricordo_red") as engine:
            assert engine.save("note:/by-owner", "Still a writer.").status == "created"
        for query in ("", "?workspace=Größe 1"):
            with pytest.raises(Forbidden):
                Ricordo.open(_as_role(earlier, reader) + query)
        with Ricordo.open(f"{earlier}?workspace=red") as engine:
            assert {member.role for member in engine.team_status().members} == {"owner", "reader", "writer"}
            engine.team_remove(reader)
            engine.team_remove(owner)
            assert [member.role for member in engine.team_status().members] == ["owner"]
        raw.execute(f"DROP ROLE {reader}; DROP ROLE {owner}")


def _problems(engine: Ricordo) -> list[str]:
    return [check.detail for check in engine.doctor().checks if not check.ok]


def _as_role(address: str, name: str) -> str:
    """The same place, as another role."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=f"{name}:secret@{parts.hostname}:{parts.port or 5432}"))


def test_the_doctor_indexes_the_texts_again_where_the_keyword_index_was_damaged(team: str) -> None:
    with Ricordo.open(team) as engine:
        store = engine._context.unsynced_store
        assert isinstance(store, PostgresStore)
        engine.save("note:/long", "\n\n".join(f"# Part {n}\n\n{'The ferry leaves at nine. ' * 30}" for n in range(4)))
        engine.save("note:/keys", "Rotate the signing keys every quarter.", fields={"tags": ["safety"]})
        engine.save("note:/lunch", "Lunch is at noon, in the room where the keys hang.")

        def found() -> list[Any]:
            answers = (engine.search(query, profile="bm25", track=False) for query in ("signing keys", "safety"))
            with store.database.read() as connection:
                lengths = connection.rows("SELECT id, lengths FROM chunks ORDER BY id")
            return [(hit.ref, round(hit.score, 6)) for answer in answers for hit in answer.hits] + list(lengths)

        before = found()
        with store.database.write() as connection:
            connection.run("DELETE FROM postings")
            connection.run("UPDATE chunks SET lengths = decode(repeat('00', length(lengths)), 'hex')")
        assert _problems(engine) == ["the words of chunk 1 are indexed differently from its text"]
        assert [check.name for check in engine.doctor(repair=True).checks if check.repaired] == ["keyword index"]
        assert _problems(engine) == []
        assert found() == before


def test_the_doctor_names_columns_and_indexes_that_are_not_as_this_version_makes_them(team: str) -> None:
    with Ricordo.open(team, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        checks = dict(engine.store.checks())
        assert checks["schema"](False).ok
        with engine.store.opened.database.write() as connection:
            connection.run("DROP INDEX items_text_hash")
            connection.run("ALTER TABLE items ALTER COLUMN size TYPE text")
            connection.run("ALTER TABLE links RENAME COLUMN name TO nam")
        found = checks["schema"](False)
    assert not found.ok
    assert found.detail.split("; ") == [
        "items.size is text, not bigint",
        "run CREATE INDEX items_text_hash ON items(text_hash)",
        "links.name is missing, not text",
    ]


def test_vacuum_takes_texts_that_are_gone_off_the_backlog(team: str) -> None:
    with Ricordo.open(team) as engine:
        engine.save("note:/kept", "Rotate the signing keys every quarter.", wait=False)
        engine.save("note:/gone", "Lunch is at noon.", wait=False)
        waiting = engine.embed(status=True).to_dict()["pending"]
        engine.rm("note:/gone")
        engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days)
        assert (waiting, engine.embed(status=True).to_dict()["pending"]) == (2, 1)
        assert engine.embed().embedded == 1


def _save_while_killed(store: PostgresStore, name: str) -> None:
    with store.transaction():
        store.changes.save([prepared("note:/b", "Lost with its transaction.")])
        _kill_connections(name)
        store.changes.save([prepared("note:/c", "Never.")])


def _save_and_fail(store: PostgresStore) -> None:
    with store.transaction():
        store.changes.save([prepared("note:/a", "Never.")])
        raise RuntimeError


def _closed_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _kill_connections(name: str) -> Any:
    """End every connection with a name, as a restart of the server does."""
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        return raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", (name,)
        ).fetchall()
