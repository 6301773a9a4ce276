"""Addresses of stores in PostgreSQL: which are refused, and that no error repeats their password."""

from __future__ import annotations

import pytest

from ricordo import Ricordo
from ricordo.errors import UsageError
from ricordo.plugins.postgres.address import parse
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
