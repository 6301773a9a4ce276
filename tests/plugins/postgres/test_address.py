"""Addresses of stores in PostgreSQL: which are refused, and that no error repeats their password."""

from __future__ import annotations

import psycopg
import pytest

from ricordo import Ricordo
from ricordo.errors import UsageError
from ricordo.plugins.postgres.address import parse, schema_of
from ricordo.plugins.postgres.team import group_names
from ricordo.values.store_addresses import is_address, shown

SECRET = "Gr3enLamp"

BAD = {
    "a port that is a word": f"postgresql://kim:{SECRET}@db:x/notes",
    "a port of 0": f"postgresql://kim:{SECRET}@db:0/notes",
    "a port beyond all": f"postgresql://kim:{SECRET}@db:70000/notes",
    "two servers, one with a bad port": f"postgresql://kim:{SECRET}@db1:5432,db2:x/notes",
    "a NUL": f"postgresql://kim:{SECRET}@db\0/notes",
    "an encoded NUL": f"postgresql://kim:{SECRET}@db/%00",
    "a percent sign that encodes nothing": f"postgresql://kim:{SECRET}%zz@db/notes",
    "bytes that are not UTF-8": f"postgresql://kim:{SECRET}%ff@db/notes",
    "a letter that cannot be encoded": f"postgresql://kim:{SECRET}\udcff@db/notes",
    "an open bracket": f"postgresql://kim:{SECRET}@[::1/notes",
    "a slash in the password": f"postgresql://kim:{SECRET}/x@db/notes",
    "a slash after digits": f"postgresql://kim:12/{SECRET}@db/notes",
    "a hash in the password": f"postgresql://kim:{SECRET}#x@db/notes",
    "a question mark in the password": f"postgresql://kim:{SECRET}?x@db/notes",
    "an option that is not known": f"postgresql://kim:{SECRET}@db/notes?nonsense={SECRET}",
    "an option of the wrong type": f"postgresql://kim:{SECRET}@db/notes?connect_timeout={SECRET}",
    "a schema that PostgreSQL would cut": f"postgresql://kim:{SECRET}@db/notes?schema={'a' * 64}",
    "a schema of PostgreSQL's own": f"postgresql://kim:{SECRET}@db/notes?schema=pg_notes",
    "a schema in capital letters": f"postgresql://kim:{SECRET}@db/notes?schema=Red",
    "a number that is none": f"postgresql://kim:{SECRET}@db/notes?prepare={SECRET}",
    "one slash": f"postgresql:/kim:{SECRET}@db/notes",
    "another database": f"mysql://kim:{SECRET}@db/notes",
}


@pytest.mark.parametrize("address", BAD.values(), ids=BAD)
def test_a_bad_address_is_our_error_with_a_hint_and_without_the_password(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        Ricordo.open(address)
    assert caught.value.hint
    assert SECRET not in caught.value.message + caught.value.hint


def test_an_address_is_one_however_its_scheme_is_spelled() -> None:
    for scheme in ("postgresql", "POSTGRESQL", "Postgres", " postgres"):
        address = f"{scheme}://kim:{SECRET}@DB:5432/notes"
        assert is_address(address)
        assert shown(address) == "postgresql://kim@db:5432/notes"
        assert parse(address).dsn == f"postgresql://kim:{SECRET}@DB:5432/notes"


def test_an_at_sign_in_a_password_belongs_to_it() -> None:
    assert parse("postgresql://kim:a@b@[::1]:5432/notes").dsn == "postgresql://kim:a%40b@[::1]:5432/notes"


@pytest.mark.parametrize(
    ("address", "dsn"),
    [
        ("postgresql://ann@a:5432,b:5433/team", "postgresql://ann@a:5432,b:5433/team?target_session_attrs=read-write"),
        (
            "postgresql://ann@a,b/team?target_session_attrs=prefer-standby&schema=red",
            "postgresql://ann@a,b/team?target_session_attrs=prefer-standby",
        ),
        ("postgresql:///?service=team", "postgresql:///?service=team"),
        ("postgresql://db/team?passfile=%2Fhome%2Fann%2Fpass", "postgresql://db/team?passfile=/home/ann/pass"),
        (
            "postgresql://db/team?options=-c%20statement_timeout%3D5s&prepare=5&application_name=a+b",
            "postgresql://db/team?options=-c%20statement_timeout%3D5s&application_name=a%2Bb",
        ),
    ],
)
def test_what_is_not_ours_is_left_to_libpq(address: str, dsn: str) -> None:
    """Several servers, service files, password files, and options with spaces: libpq takes no plus sign for one."""
    assert parse(address).dsn == dsn
    given = psycopg.conninfo.conninfo_to_dict(dsn)
    assert given.get("options", "-c statement_timeout=5s") == "-c statement_timeout=5s"
    assert given.get("application_name", "a+b") == "a+b"


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("postgresql:///?service=team&schema=red", "postgresql:///?service=team&schema=red"),
        ("postgresql:///?service=team", "postgresql:///?service=team"),
        ("postgresql://ann:secret@db/team?sslmode=require", "postgresql://ann@db/team"),
        ("postgresql://ann:secret@db/team?schema=red&sslmode=require", "postgresql://ann@db/team?schema=red"),
        ("postgresql://ann:secret@db/team?workspace=red", "postgresql://ann@db/team?schema=ricordo_red"),
    ],
)
def test_an_address_is_shown_with_what_names_the_store_and_without_its_password(address: str, seen: str) -> None:
    assert parse(address).shown == shown(address) == seen


def test_a_member_gets_an_address_that_libpq_understands() -> None:
    given = parse("postgresql://ann@db/team?schema=red&options=-c%20geqo%3Doff&passfile=/home/ann/pass")
    line = given.for_member("bob", "secret")
    assert line == "postgresql://bob:secret@db/team?options=-c%20geqo%3Doff&schema=red"
    assert parse(line).schema == "red"


def test_every_name_of_a_former_workspace_means_a_schema_of_its_own() -> None:
    names = ["default", "red", "Red", "re d", "re_d", "Größe", "a" * 80, "a" * 81, "pg_x", "1"]
    schemas = [schema_of("ricordo", name) for name in names]
    assert len(set(schemas)) == len(names)
    assert [parse(f"postgresql://db/x?schema={schema}").schema for schema in schemas] == schemas


def test_a_teams_groups_have_names_that_no_other_team_has() -> None:
    places = [("a", "b_c"), ("a_b", "c"), ("a.b", "c"), ("a", "c"), ("a" * 50, "c"), ("a" * 51, "c"), ('a"', "c")]
    names = [name for place in places for name in group_names(*place)]
    assert len(set(names)) == 2 * len(places)
    assert max(len(name.encode()) for name in names) <= 63
    assert not any('"' in name for name in names)


def test_a_bad_port_of_any_server_is_refused() -> None:
    with pytest.raises(UsageError, match="port"):
        parse("postgresql://a:5432,b:99999/team")
