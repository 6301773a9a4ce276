"""A team on a server: who may read and write its store, decided by the server itself."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, Entry, Ricordo, speaking
from ricordo.errors import Forbidden, NewerSchema, NotFound, ReadOnlyStore, StoreError, UsageError
from ricordo.plugins.postgres import schema
from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.schema import SCHEMA_VERSION
from ricordo.plugins.postgres.team import group_names


def run_cli(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ricordo", *words], cwd=cwd, capture_output=True, text=True, check=False
    )


QUIET = ConfigProvider({"embedding.provider": "none"})
WORDS = Path(__file__).parents[2] / "fixtures" / "sentence_model"
ROLES = ("reader", "writer")


class House:
    """A database of its own, an owner who is no superuser, a team with members, and a store of the owner alone."""

    def __init__(self) -> None:
        self.tag = uuid.uuid4().hex[:8]
        self.database = f"team_{self.tag}"
        self.boss = f"boss_{self.tag}"
        self._server = urlsplit(postgres_server.address())
        with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
            raw.execute(f"CREATE DATABASE {self.database}")
            raw.execute(f"CREATE ROLE {self.boss} LOGIN PASSWORD 'boss' CREATEROLE")
            raw.execute(f"GRANT CREATE ON DATABASE {self.database} TO {self.boss}")
        self.alone = self.address(self.boss, "boss")
        self.owner = self.address(self.boss, "boss", "schema=red")
        self.lines: dict[str, str] = {}
        with Ricordo.open(self.alone, config=QUIET) as engine:
            engine.save("note:/diary", "Nobody else may read of the deploys in this diary.")
        with Ricordo.open(self.owner, config=QUIET) as engine:
            engine.save("note:/deploys", "Deploys happen on Tuesdays.")
            engine.team_init()
            for role in ROLES:
                self.lines[role] = engine.team_invite(self.name(role), role=role).command

    def name(self, role: str) -> str:
        return f"{role}_{self.tag}"

    def address(self, user: str, password: str, query: str = "") -> str:
        place = f"{user}:{password}@{self._server.hostname}:{self._server.port}"
        return urlunsplit(("postgresql", place, f"/{self.database}", query, ""))

    def of(self, role: str) -> str:
        """The address that a member was given."""
        return self.lines[role].partition("--store ")[2].strip("'")

    def sql(self, role: str) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of a member, for statements of their own."""
        return psycopg.connect(parse(self.of(role)).dsn, autocommit=True)

    def superuser(self) -> psycopg.Connection[tuple[object, ...]]:
        place = urlunsplit(self._server._replace(path=f"/{self.database}"))
        return psycopg.connect(place, autocommit=True)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    house = House()
    yield house
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"DROP DATABASE IF EXISTS {house.database} WITH (FORCE)")


def found(address: str) -> list[str]:
    with Ricordo.open(address, config=QUIET) as engine:
        return [hit.ref for hit in engine.search("deploys", track=False).hits]


def address_in(command: str) -> str:
    return command.partition("--store ")[2].strip("'")


@pytest.mark.parametrize("role", ROLES)
def test_every_member_finds_what_the_team_knows(house: House, role: str) -> None:
    assert found(house.of(role))[0] == "note:/deploys"


def test_writers_save(house: House) -> None:
    with Ricordo.open(house.of("writer"), config=QUIET) as engine:
        assert engine.save("note:/by-writer", "Saved by a writer.").status == "created"
        engine.edit("note:/by-writer", "Changed by a writer.")
        engine.save_many([Entry(f"note:/many/{n}", f"Number {n}.") for n in range(500)])
        engine.rm("note:/by-writer")
        engine.search("writer")
        engine._context.flush_use()
        assert engine.store.usage.stats(days=1, by="query", limit=1).queries


def test_readers_are_told_that_they_cannot_save(house: House) -> None:
    with (
        Ricordo.open(house.of("reader"), config=QUIET) as engine,
        pytest.raises(ReadOnlyStore, match="can only be read") as caught,
    ):
        engine.save("note:/no", "Not by me.")
    assert "writer" in str(caught.value.hint)


@pytest.mark.parametrize("role", ROLES)
def test_only_the_owner_makes_a_team_invites_and_removes(house: House, role: str) -> None:
    with Ricordo.open(house.of(role), config=QUIET) as engine:
        for act in (
            engine.team_init,
            lambda: engine.team_invite(f"eve_{house.tag}"),
            lambda: engine.team_invite(house.name("reader"), role="writer"),
            lambda: engine.team_remove(house.name("writer")),
        ):
            with pytest.raises((Forbidden, ReadOnlyStore)):
                act()
        assert {(member.name, member.role) for member in engine.team_status().members} >= {
            (house.name("reader"), "reader"),
            (house.name("writer"), "writer"),
            (house.boss, "owner"),
        }


@pytest.mark.parametrize("query", ["", "schema=blue", "workspace=blue"])
@pytest.mark.parametrize("role", ROLES)
def test_members_reach_no_store_but_their_teams_own(house: House, role: str, query: str) -> None:
    """Neither one that has no team, nor one of another team; not through Ricordo, and not with SQL of their own."""
    place = house.address(house.boss, "boss", query)
    with Ricordo.open(place, config=QUIET) as engine:
        if query and not engine.count():
            engine.team_init()
            engine.save("note:/deploys", "The other team's secret.")
    with pytest.raises(Forbidden, match="may not read") as caught:
        Ricordo.open(house.of(role).partition("?")[0] + (f"?{query}" if query else ""), config=QUIET)
    assert "invite" in str(caught.value.hint)
    schema = parse(place).schema
    with house.sql(role) as raw:
        tables = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        assert len(tables) > 25
        for (table,) in tables:
            for statement in (f"SELECT count(*) FROM {schema}.{table}", f"DELETE FROM {schema}.{table}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    raw.execute(statement)


def test_members_cannot_change_what_says_who_may(house: House) -> None:
    with house.sql("writer") as raw:
        for statement in (
            "UPDATE red.schema_version SET number = 1",
            "DELETE FROM red.schema_version",
            "ALTER TABLE red.items ADD COLUMN mine int",
            "TRUNCATE red.items",
            "DROP INDEX red.items_ref",
            "CREATE TABLE red.mine(id int)",
            f"GRANT USAGE ON SCHEMA red TO {house.name('reader')} GRANTED BY {house.boss}",
            "CREATE ROLE mine",
        ):
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
                raw.execute(statement)


def test_nobody_is_given_a_right_over_roles(house: House) -> None:
    with Ricordo.open(house.owner, config=QUIET) as boss, pytest.raises(UsageError):
        boss.team_invite(f"olga_{house.tag}", role="owner")
    with house.superuser() as raw:
        rights = raw.execute(
            "SELECT rolcreaterole, rolcreatedb, rolsuper, rolbypassrls, rolreplication FROM pg_roles"
            " WHERE rolname IN (%s, %s)",
            [house.name(role) for role in ROLES],
        ).fetchall()
        [(admins,)] = raw.execute(
            "SELECT count(*) FROM pg_auth_members x JOIN pg_roles m ON m.oid = x.member"
            " WHERE m.rolname IN (%s, %s) AND x.admin_option",
            [house.name(role) for role in ROLES],
        ).fetchall()
    assert (rights, admins) == ([(False,) * 5] * 2, 0)


def test_a_member_gets_another_role(house: House) -> None:
    name = f"late_{house.tag}"
    with Ricordo.open(house.owner, config=QUIET) as boss:
        first = boss.team_invite(name, role="reader")
        again = boss.team_invite(name, role="writer")
        assert (first.is_new_login, again.is_new_login) == (True, False)
        with Ricordo.open(address_in(first.command), config=QUIET) as engine:
            assert engine.save("note:/late", "Late, but here.").status == "created"
            boss.team_invite(name, role="reader")
            with pytest.raises(ReadOnlyStore, match="can only be read"):
                engine.save("note:/later", "Too late.")
            assert engine.search("deploys", track=False).hits
        assert {member.name: member.role for member in boss.team_status().members}[name] == "reader"


@pytest.mark.parametrize("way", ["invited", "in a role of the operator"])
def test_a_removed_member_sees_nothing_any_more_with_a_connection_that_is_open(house: House, way: str) -> None:
    name = f"gone_{len(way)}_{house.tag}"
    with Ricordo.open(house.owner, config=QUIET) as boss:
        address = address_in(boss.team_invite(name, role="writer").command)
        if way != "invited":
            with psycopg.connect(parse(house.owner).dsn, autocommit=True) as raw:
                _, writers = group_names(house.database, "red")
                raw.execute(f'REVOKE "{writers}" FROM {name}')
                raw.execute(f'CREATE ROLE friends_{house.tag}; GRANT "{writers}" TO friends_{house.tag}')
                raw.execute(f"GRANT friends_{house.tag} TO {name}")
        with Ricordo.open(address, config=QUIET) as engine, psycopg.connect(parse(address).dsn) as idle:
            assert engine.search("deploys", track=False).hits
            left = boss.team_remove(name)
            with pytest.raises(Forbidden, match="no longer in the team"):
                engine.search("deploys", track=False)
            with pytest.raises(Forbidden, match="no longer in the team"):
                engine.save("note:/still-here", "Am I?")
            with pytest.raises(psycopg.OperationalError):  # it was ended, with the locks that it held
                idle.execute("SELECT 1")
        with pytest.raises(NotFound):
            boss.team_remove(name)
        assert boss.search("still here", by="text", track=False).hits == ()
        assert name not in [member.name for member in left]
        back = boss.team_invite(name, role="reader")
        assert not back.is_new_login
    assert found(address)[0] == "note:/deploys"


def test_a_login_that_was_there_before_is_left_as_it_is(house: House) -> None:
    name = f"admin_{house.tag}"
    with psycopg.connect(parse(house.owner).dsn, autocommit=True) as raw:  # who made it may change it
        raw.execute(f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD 'x'")
    with Ricordo.open(house.owner, config=QUIET) as boss:
        boss.team_invite(name, role="writer")
        boss.team_remove(name)
    with house.superuser() as raw:
        row = raw.execute("SELECT rolcreaterole, rolcanlogin FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    assert row == (True, True)


def test_a_role_that_administers_the_groups_invites_logins_that_are_there(house: House) -> None:
    """As the page about teams tells an operator who wants help."""
    carl, dora = f"carl_{house.tag}", f"dora_{house.tag}"
    readers, writers = group_names(house.database, "red")
    with psycopg.connect(parse(house.owner).dsn, autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {carl} LOGIN PASSWORD 'x'; CREATE ROLE {dora} LOGIN PASSWORD 'x'")
        raw.execute(f'GRANT "{readers}", "{writers}" TO {carl} WITH ADMIN OPTION')
    with Ricordo.open(house.address(carl, "x", "schema=red"), config=QUIET) as engine:
        engine.team_invite(dora, role="reader")
        with pytest.raises(Forbidden, match="only the owner"):
            engine.team_invite(f"emil_{house.tag}")
        assert found(house.address(dora, "x", "schema=red"))[0] == "note:/deploys"
        engine.team_remove(dora)
        assert dora not in [member.name for member in engine.team_status().members]


def test_a_team_does_not_begin_with_members_of_one_that_was_here_before(house: House) -> None:
    place, name = house.address(house.boss, "boss", "schema=again"), f"former_{house.tag}"
    with Ricordo.open(place, config=QUIET) as engine:
        engine.team_init()
        engine.team_invite(name)
    with psycopg.connect(parse(place).dsn, autocommit=True) as raw:
        raw.execute("DROP SCHEMA again CASCADE")
        with Ricordo.open(place, config=QUIET) as engine:
            with pytest.raises(UsageError, match=f"with members: .*{name}"):
                engine.team_init()
            for group in reversed(group_names(house.database, "again")):
                raw.execute(f'DROP ROLE "{group}"')
            assert [member.name for member in engine.team_init().members] == [house.boss]


def test_the_server_and_its_log_never_see_a_password(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    connect = psycopg.connect

    def listening(*given: Any, **options: Any) -> Any:
        raw = connect(*given, **options)
        raw.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        return raw

    with house.superuser() as raw:
        raw.execute(f"ALTER ROLE {house.boss} SET log_statement = 'all'")
        raw.execute(f"ALTER ROLE {house.boss} SET client_min_messages = 'log'")
    monkeypatch.setattr(psycopg, "connect", listening)
    with Ricordo.open(house.owner, config=QUIET) as boss:
        address = address_in(boss.team_invite(f"quiet_{house.tag}").command)
    with house.superuser() as raw:
        raw.execute(f"ALTER ROLE {house.boss} RESET ALL")
    password = urlsplit(address).password
    assert password
    assert any("CREATE ROLE" in text for text in said)
    assert not any(password in text for text in said)
    assert found(address)[0] == "note:/deploys"


def test_what_members_could_hold_does_not_keep_writers_waiting(house: House) -> None:
    """Any login may take advisory locks, so that nothing waits for one; and a reader cannot take the turn to write."""
    with house.sql("reader") as raw, Ricordo.open(house.owner, config=QUIET) as boss:
        for number in range(1, 9):
            raw.execute("SELECT pg_advisory_lock(x'5269'::int, %s)", (number,))
        raw.execute("SELECT pg_advisory_lock(x'52696363'::int)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), raw.transaction():
            raw.execute("LOCK TABLE red.write_turn IN EXCLUSIVE MODE")
        with raw.transaction():
            raw.execute("LOCK TABLE red.write_turn, red.items IN ACCESS SHARE MODE")
            assert boss.save("note:/free", "Written meanwhile.").status == "created"
        Ricordo.open(house.address(house.boss, "boss", "schema=made_meanwhile"), config=QUIET).close()


def test_in_a_team_whoever_logged_in_is_the_author_and_undoes_their_own(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speaking, "user_name", lambda: "root")  # as in containers: the same for all
    with Ricordo.open(house.of("writer"), config=QUIET) as bob, Ricordo.open(house.owner, config=QUIET) as ann:
        bob.save("note:/by-bob", "Written by Bob.")
        ann.save("note:/by-ann", "Written by Ann.")
        names = {ref: ann.history(ref)[0].provenance.name for ref in ("note:/by-bob", "note:/by-ann")}
        assert names == {"note:/by-bob": house.name("writer"), "note:/by-ann": house.boss}
        assert [one.ref for one in bob.undo().items] == ["note:/by-bob"]
        assert ann.get("note:/by-ann").content == "Written by Ann."


def test_who_may_not_make_tables_is_told_what_an_administrator_grants(house: House) -> None:
    name = f"nobody_{house.tag}"
    with house.superuser() as raw:
        raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    with pytest.raises(StoreError, match="may not make the tables") as caught:
        Ricordo.open(house.address(name, "x", "schema=unmade"), config=QUIET)
    assert "GRANT CREATE ON DATABASE" in str(caught.value.hint)


def test_a_reader_dumps_the_whole_store(house: House) -> None:
    tools = [*Path(tempfile.gettempdir()).glob("ricordo-pg-*/.pg0/installation/*/bin/pg_dump")]
    if not tools:
        pytest.skip("there is no pg_dump of the server's version here")
    done = subprocess.run(
        [str(tools[0]), "--schema", "red", parse(house.of("reader")).dsn], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Deploys happen on Tuesdays." in done.stdout


def test_a_program_that_is_too_old_reads_and_does_not_write(house: House) -> None:
    with Ricordo.open(house.of("writer"), config=QUIET) as engine:
        with house.superuser() as raw:
            raw.execute("UPDATE red.schema_version SET number = %s", (SCHEMA_VERSION + 1,))
        try:
            for _ in range(17):  # one more than a store has connections: each must come back
                with pytest.raises(ReadOnlyStore, match="too old to write") as caught:
                    engine.save("note:/old", "From an old program.")
            assert "pip install -U" in str(caught.value.hint)
            assert engine.search("deploys", track=False).hits
            with pytest.raises(NewerSchema):
                Ricordo.open(house.owner, config=QUIET)
        finally:
            with house.superuser() as raw:
                raw.execute("UPDATE red.schema_version SET number = %s", (SCHEMA_VERSION,))
        assert engine.save("note:/new", "From a new program.").status == "created"


def test_the_doctor_names_whom_else_the_tables_were_granted_to(house: House) -> None:
    with Ricordo.open(house.owner, config=QUIET) as engine:
        checks = {check.name: check for check in engine.doctor().checks}
        assert checks["team"].ok, checks["team"]
        with psycopg.connect(parse(house.owner).dsn, autocommit=True) as raw:
            raw.execute("GRANT USAGE ON SCHEMA red TO PUBLIC")
            raw.execute(f"GRANT SELECT ON red.items TO {house.name('reader')}")
            checks = {check.name: check for check in engine.doctor().checks}
            raw.execute("REVOKE USAGE ON SCHEMA red FROM PUBLIC")
            raw.execute(f"REVOKE SELECT ON red.items FROM {house.name('reader')}")
        assert not checks["team"].ok
        assert checks["team"].detail.endswith(f"the tables: everybody, {house.name('reader')}")


def test_a_member_with_another_model_is_told_what_the_team_uses(house: House) -> None:
    place = house.address(house.boss, "boss", "schema=models")
    with Ricordo.open(place) as engine:
        engine.save("note:/tea", "Ada prefers tea.")
        pinned = engine.team_init().model
        line = engine.team_invite(f"modeller_{house.tag}").command.partition("--store ")[2].strip("'")
    other = ConfigProvider({"embedding.provider": "hub", "embedding.model": str(WORDS)})
    with Ricordo.open(line, config=other) as engine:
        with pytest.raises(Forbidden, match="made with") as caught:
            engine.embed()
        assert pinned in str(caught.value)
    with Ricordo.open(place, config=other) as engine:
        engine.embed()
        assert engine.team_status().model != pinned


def test_the_numbers_of_a_team(house: House) -> None:
    with Ricordo.open(house.owner, config=QUIET) as engine:
        engine.search("when do deploys happen")
        engine._context.flush_use()
        report = engine.team_status()
        assert engine.status()["bytes"] > 100_000
    assert report.bytes > 100_000
    assert report.lag_seconds is None
    assert "when do deploys happen" in [one.text for one in report.slowest]
    assert {member.role for member in report.members} == {"reader", "writer", "owner"}


def test_without_the_right_to_make_roles_a_team_is_refused_with_what_to_do(house: House) -> None:
    plain = f"plain_{house.tag}"
    with house.superuser() as raw:
        raw.execute(f"CREATE ROLE {plain} LOGIN PASSWORD 'x'")
        raw.execute(f"GRANT CREATE ON DATABASE {house.database} TO {plain}")
    with (
        Ricordo.open(house.address(plain, "x", "schema=plain"), config=QUIET) as engine,
        pytest.raises(Forbidden, match="make roles") as caught,
    ):
        engine.team_init()
    hint = str(caught.value.hint)
    assert "WITH ADMIN OPTION" in hint
    with house.superuser() as raw:  # the operator does what the hint says, and the owner goes on alone
        for group in group_names(house.database, "plain"):
            raw.execute(f'CREATE ROLE "{group}"; GRANT "{group}" TO {plain} WITH ADMIN OPTION')
    with Ricordo.open(house.address(plain, "x", "schema=plain"), config=QUIET) as engine:
        assert [member.role for member in engine.team_init().members] == ["owner"]


@pytest.mark.parametrize("name", ["Ann", "x;y", "", "9lives", "a" * 64])
def test_a_name_that_cannot_be_a_role_is_refused(house: House, name: str) -> None:
    with Ricordo.open(house.owner, config=QUIET) as engine, pytest.raises(UsageError):
        engine.team_invite(name)


def test_a_store_in_a_file_has_no_team(engine: Ricordo) -> None:
    with pytest.raises(UsageError, match="store on a server"):
        engine.team_status()


def test_init_binds_a_project_to_the_teams_store(house: House, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    own = run_cli("remember", "Ada bound her own project to nothing.", "--no-wait", cwd=tmp_path)
    assert own.returncode == 0, own.stderr
    line = house.lines["writer"]
    done = run_cli(*line.removeprefix("ricordo ").replace("'", "").split(), cwd=project)
    assert done.returncode == 0, done.stderr
    saved = run_cli("save", "note:/from-project", "Saved from a bound project.", "--no-wait", cwd=project)
    assert saved.returncode == 0, saved.stderr
    assert "note:/from-project" in run_cli("list", "--drive", "note", cwd=project).stdout
    shown = json.loads(run_cli("search", "bound project", "--by", "words", "--json", cwd=project).stdout)["data"]
    assert {(hit["tier"], hit["ref"].partition(":")[0]) for hit in shown["hits"]} == {
        ("team", "note"),
        ("agent", "memory"),
    }
    with Ricordo.open(house.owner, config=QUIET) as engine:
        assert engine.get("note:/from-project").content == "Saved from a bound project."


@pytest.mark.parametrize(("oldest", "says"), [(16, ""), (99, "PostgreSQL 99 or newer")])
def test_a_server_that_is_too_old_is_refused(
    house: House, oldest: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "OLDEST_SERVER", oldest)
    if not says:
        assert found(house.owner)
        return
    with pytest.raises(StoreError, match="is PostgreSQL") as caught:
        Ricordo.open(house.owner, config=QUIET)
    assert says in str(caught.value.hint)
