"""A team on a server: who may read, write, upgrade and back up, decided by the server itself."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, Ricordo, speaking
from ricordo.errors import Forbidden, NotFound, ReadOnlyStore, StoreError, UsageError
from ricordo.plugins.postgres import schema
from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.schema import SCHEMA_VERSION


def run_cli(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ricordo", *words], cwd=cwd, capture_output=True, text=True, check=False
    )


QUIET = ConfigProvider({"embedding.provider": "none"})
WORDS = Path(__file__).parents[2] / "fixtures" / "sentence_model"


class House:
    """A database of its own, an owner who is no superuser, and a team with members."""

    def __init__(self) -> None:
        self.tag = uuid.uuid4().hex[:8]
        self.database = f"team_{self.tag}"
        self.boss = f"boss_{self.tag}"
        self._server = urlsplit(postgres_server.address())
        with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
            raw.execute(f"CREATE DATABASE {self.database}")
            raw.execute(f"CREATE ROLE {self.boss} LOGIN PASSWORD 'boss' CREATEROLE")
            raw.execute(f"GRANT CREATE ON DATABASE {self.database} TO {self.boss}")
        with self.superuser() as raw:
            raw.execute("CREATE EXTENSION vector")
        self.owner = self.address(self.boss, "boss")
        self.lines: dict[str, str] = {}
        with Ricordo.open(self.owner, config=QUIET) as engine:
            engine.save("note:/deploys", "Deploys happen on Tuesdays.")
            engine.team_init()
            for role in ("reader", "writer", "owner", "backup"):
                self.lines[role] = engine.team_invite(self.name(role), role=role).command

    def name(self, role: str) -> str:
        return f"{role}_{self.tag}"

    def address(self, user: str, password: str, query: str = "") -> str:
        place = f"{user}:{password}@{self._server.hostname}:{self._server.port}"
        return urlunsplit(("postgresql", place, f"/{self.database}", query, ""))

    def of(self, role: str) -> str:
        """The address that a member was given."""
        return self.lines[role].partition("--store ")[2].strip("'")

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


@pytest.mark.parametrize("role", ["reader", "writer", "owner", "backup"])
def test_every_member_finds_what_the_team_knows(house: House, role: str) -> None:
    assert found(house.of(role))[0] == "note:/deploys"


@pytest.mark.parametrize("role", ["writer", "owner"])
def test_writers_and_owners_save(house: House, role: str) -> None:
    with Ricordo.open(house.of(role), config=QUIET) as engine:
        assert engine.save(f"note:/by-{role}", f"Saved by a {role}.").status == "created"


@pytest.mark.parametrize("role", ["reader", "backup"])
def test_readers_are_told_that_they_cannot_save(house: House, role: str) -> None:
    with (
        Ricordo.open(house.of(role), config=QUIET) as engine,
        pytest.raises(ReadOnlyStore, match="can only be read") as caught,
    ):
        engine.save("note:/no", "Not by me.")
    assert "writer" in str(caught.value.hint)


@pytest.mark.parametrize("role", ["reader", "writer", "backup"])
def test_only_an_owner_invites_and_removes(house: House, role: str) -> None:
    with Ricordo.open(house.of(role), config=QUIET) as engine:
        with pytest.raises(Forbidden):
            engine.team_invite(f"eve_{house.tag}")
        with pytest.raises(Forbidden):
            engine.team_remove(house.name("writer"))
        assert house.name("writer") in [member.name for member in engine.team_status().members]


def test_an_invited_owner_invites_and_changes_a_role(house: House) -> None:
    name = f"late_{house.tag}"
    with Ricordo.open(house.of("owner"), config=QUIET) as engine:
        first = engine.team_invite(name, role="reader")
        again = engine.team_invite(name, role="writer")
        roles = {member.name: member.role for member in engine.team_status().members}
    assert (first.is_new_login, again.is_new_login) == (True, False)
    assert roles[name] == "writer"
    with Ricordo.open(first.command.partition("--store ")[2].strip("'"), config=QUIET) as engine:
        assert engine.save("note:/late", "Late, but here.").status == "created"


def test_a_removed_member_sees_nothing_any_more_with_a_connection_that_is_open(house: House) -> None:
    name = f"gone_{house.tag}"
    with Ricordo.open(house.owner, config=QUIET) as boss:
        line = boss.team_invite(name, role="writer").command
        with Ricordo.open(line.partition("--store ")[2].strip("'"), config=QUIET) as engine:
            assert engine.search("deploys", track=False).hits
            left = boss.team_remove(name)
            with pytest.raises(Forbidden, match="no longer in the team"):
                engine.search("deploys", track=False)
            with pytest.raises(Forbidden, match="no longer in the team"):
                engine.save("note:/still-here", "Am I?")
        with pytest.raises(NotFound):
            boss.team_remove(name)
        assert boss.search("still here", by="text", track=False).hits == ()
    assert name not in [member.name for member in left]


def test_an_owner_who_is_removed_cannot_come_back_through_logins_that_they_made(house: House) -> None:
    name, made = f"olga_{house.tag}", f"dave_{house.tag}"
    with Ricordo.open(house.owner, config=QUIET) as boss:
        address = boss.team_invite(name, role="owner").command.partition("--store ")[2].strip("'")
        with Ricordo.open(address, config=QUIET) as engine:
            engine.team_invite(made, role="reader")
        with psycopg.connect(parse(address).dsn, autocommit=True) as raw:
            boss.team_remove(name)
            with pytest.raises(psycopg.OperationalError):  # the connection was ended, and there is no new one
                raw.execute(f"GRANT {made} TO {name}")
        with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
            psycopg.connect(parse(address).dsn)
        with house.superuser() as raw:
            row = raw.execute("SELECT rolcreaterole FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
        assert row == (False,)
        again = boss.team_invite(name, role="reader")
        assert again.is_new_login, "a login that was closed gets a new password"
        assert found(again.command.partition("--store ")[2].strip("'"))[0] == "note:/deploys"


def test_a_member_who_becomes_an_owner_invites_others_until_they_are_none_any_more(house: House) -> None:
    name = f"rise_{house.tag}"
    with Ricordo.open(house.owner, config=QUIET) as boss:
        address = boss.team_invite(name, role="reader").command.partition("--store ")[2].strip("'")
        boss.team_invite(name, role="owner")
        with Ricordo.open(address, config=QUIET) as engine:
            assert engine.team_invite(f"new_{house.tag}").is_new_login
        boss.team_invite(name, role="writer")
        with Ricordo.open(address, config=QUIET) as engine, pytest.raises(Forbidden, match="only an owner"):
            engine.team_invite(f"newer_{house.tag}")
        with house.superuser() as raw:
            row = raw.execute("SELECT rolcreaterole, rolcanlogin FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    assert row == (False, True)


def test_an_owner_of_two_teams_who_leaves_one_keeps_login_and_rights_in_the_other(house: House) -> None:
    name = f"twice_{house.tag}"
    with Ricordo.open(house.address(house.boss, "boss", "schema=second"), config=QUIET) as other:
        other.team_init()
        kept = other.team_invite(name, role="owner").command.partition("--store ")[2].strip("'")
        with Ricordo.open(house.owner, config=QUIET) as boss:
            boss.team_invite(name, role="owner")
            boss.team_invite(name, role="writer")
            with Ricordo.open(kept, config=QUIET) as engine:
                assert engine.team_invite(f"third_{house.tag}").is_new_login
            boss.team_invite(name, role="owner")
            boss.team_remove(name)
        with Ricordo.open(kept, config=QUIET) as engine:
            assert engine.save("note:/kept", "Still here.").status == "created"


def test_a_login_that_was_there_before_is_left_as_it_is(house: House) -> None:
    name = f"admin_{house.tag}"
    with psycopg.connect(parse(house.owner).dsn, autocommit=True) as raw:  # who made it may change it
        raw.execute(f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD 'x'")
    with Ricordo.open(house.owner, config=QUIET) as boss:
        boss.team_invite(name, role="owner")
        boss.team_remove(name)
    with house.superuser() as raw:
        row = raw.execute("SELECT rolcreaterole, rolcanlogin FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    assert row == (True, True)


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


def test_where_there_is_no_team_yet_others_than_the_owner_of_the_tables_are_told_who_makes_one(house: House) -> None:
    name = f"granted_{house.tag}"
    with Ricordo.open(house.address(house.boss, "boss", "schema=bare"), config=QUIET) as engine:
        engine.save("note:/tea", "Tea.")
    with house.superuser() as raw:
        raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        raw.execute(f"GRANT USAGE ON SCHEMA bare TO {name}")
        raw.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bare TO {name}")
        raw.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA bare TO {name}")
    with (
        Ricordo.open(house.address(name, "x", "schema=bare"), config=QUIET) as engine,
        pytest.raises(Forbidden, match=f"only {house.boss}, who owns the tables"),
    ):
        engine.team_init()


def test_who_may_not_make_tables_is_told_what_an_administrator_grants(house: House) -> None:
    name = f"nobody_{house.tag}"
    with house.superuser() as raw:
        raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    with pytest.raises(StoreError, match="may not make them") as caught:
        Ricordo.open(house.address(name, "x", "schema=unmade"), config=QUIET)
    assert "GRANT CREATE ON DATABASE" in str(caught.value.hint)


def test_the_role_of_superusers_is_made_again_where_a_restore_left_it_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "APPLICATION_ROLE", f"app_{house.tag}")
    with house.superuser() as raw:
        dsn = raw.info
        address = f"postgresql://{dsn.user}:{dsn.password}@{dsn.host}:{dsn.port}/{house.database}"
    assert found(address)[0] == "note:/deploys"


def test_two_who_open_the_first_stores_of_a_server_at_once_both_succeed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = f"both_{house.tag}"
    monkeypatch.setattr(schema, "APPLICATION_ROLE", role)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
    with house.superuser() as other, house.superuser() as look, ThreadPoolExecutor() as threads:
        with other.transaction():
            other.execute(f"CREATE ROLE {role} NOLOGIN")
            opened = threads.submit(Ricordo.open, house.address(house.boss, "boss", "schema=atonce"), config=QUIET)
            deadline = time.monotonic() + 60
            while look.execute(waiting, (f"CREATE ROLE {role}%",)).fetchone() == (0,):
                assert time.monotonic() < deadline
                assert not opened.done()
                time.sleep(0.02)
        opened.result().close()


def test_members_cannot_touch_the_version_of_the_tables_or_other_workspaces(house: House) -> None:
    with Ricordo.open(house.address(house.boss, "boss", "workspace=other"), config=QUIET) as engine:
        engine.save("note:/secret", "The other team's secret.")
        engine.team_init()
    with psycopg.connect(parse(house.of("writer")).dsn, autocommit=True) as raw:
        for statement in (
            "UPDATE ricordo.schema_version SET number = 1",
            "UPDATE ricordo.workspaces SET readers = NULL",
            "INSERT INTO ricordo.workspaces(name) VALUES('mine')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                raw.execute(statement)
        other = raw.execute("SELECT id FROM ricordo.workspaces WHERE name = 'other'").fetchone()
        assert other is not None
        raw.execute("SELECT set_config('ricordo.workspace', %s, false)", (str(other[0]),))
        raw.execute("SELECT set_config('ricordo.client', '1000', false)")
        assert raw.execute("SELECT count(*) FROM ricordo.items").fetchone() == (0,)
        assert raw.execute("DELETE FROM ricordo.items").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            raw.execute("INSERT INTO ricordo.meta(name, value) VALUES('mine', '1')")
    for role in ("reader", "writer"):
        with pytest.raises(Forbidden, match=f"{house.name(role)}.* not in the team") as caught:
            Ricordo.open(house.of(role) + "?workspace=other", config=QUIET)
        assert "invite" in str(caught.value.hint)


def test_the_backup_role_dumps_everything(house: House) -> None:
    tools = [*Path(tempfile.gettempdir()).glob("ricordo-pg-*/.pg0/installation/*/bin/pg_dump")]
    if not tools:
        pytest.skip("there is no pg_dump of the server's version here")
    done = subprocess.run(
        [str(tools[0]), "--enable-row-security", "--schema", "ricordo", parse(house.of("backup")).dsn],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Deploys happen on Tuesdays." in done.stdout


def test_a_program_that_is_too_old_reads_and_does_not_write(house: House) -> None:
    with Ricordo.open(house.of("writer"), config=QUIET) as engine:
        with house.superuser() as raw:
            raw.execute("UPDATE ricordo.workspaces SET oldest_client = %s", (SCHEMA_VERSION + 1,))
        try:
            for _ in range(17):  # one more than a store has connections: each must come back
                with pytest.raises(ReadOnlyStore, match="too old to write") as caught:
                    engine.save("note:/old", "From an old program.")
            assert "pip install -U" in str(caught.value.hint)
            assert engine.search("deploys", track=False).hits
        finally:
            with house.superuser() as raw:
                raw.execute("UPDATE ricordo.workspaces SET oldest_client = %s", (SCHEMA_VERSION,))
        assert engine.save("note:/new", "From a new program.").status == "created"


def test_a_member_with_another_model_is_told_what_the_team_uses(house: House) -> None:
    place = house.address(house.boss, "boss", "workspace=models")
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
    assert {member.role for member in report.members} == {"reader", "writer", "owner", "backup"}


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
    assert "CREATEROLE" in str(caught.value.hint)


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


@pytest.mark.parametrize(
    ("address", "dsn"),
    [
        ("postgresql://ann@a:5432,b:5433/team", "postgresql://ann@a:5432,b:5433/team?target_session_attrs=read-write"),
        (
            "postgresql://ann@a,b/team?target_session_attrs=prefer-standby&workspace=red",
            "postgresql://ann@a,b/team?target_session_attrs=prefer-standby",
        ),
        ("postgresql:///?service=team", "postgresql:///?service=team"),
        ("postgresql://db/team?passfile=%2Fhome%2Fann%2Fpass", "postgresql://db/team?passfile=%2Fhome%2Fann%2Fpass"),
    ],
)
def test_several_servers_service_files_and_password_files_are_left_to_libpq(address: str, dsn: str) -> None:
    assert parse(address).dsn == dsn
    psycopg.conninfo.conninfo_to_dict(dsn)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql:///?service=team&workspace=red", "postgresql:///?service=team&workspace=red"),
        ("postgresql:///?service=team", "postgresql:///?service=team"),
        ("postgresql://ann:secret@db/team?sslmode=require", "postgresql://ann@db/team"),
    ],
)
def test_an_address_is_shown_with_what_names_the_server(address: str, shown: str) -> None:
    assert parse(address).shown == shown


def test_a_bad_port_of_any_server_is_refused() -> None:
    with pytest.raises(UsageError, match="port"):
        parse("postgresql://a:5432,b:99999/team")
