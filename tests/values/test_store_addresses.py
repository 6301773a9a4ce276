"""Addresses of stores: which are refused, and that no error, setting or line of the log repeats their password."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo import Ricordo, log
from ricordo.errors import Error, NotFound, UsageError
from ricordo.masking import masked
from ricordo.values.store_addresses import is_address, parse, shown

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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"POSTGRESQL://kim:{SECRET}@db/notes", "POSTGRESQL://kim:***@db/notes"),
        (f"postgresql://kim:a/b?c@{SECRET}@db/notes", "postgresql://kim:***@db/notes"),
        (f"postgresql://db/notes?sslmode=require&Password={SECRET}", "postgresql://db/notes?sslmode=require&Password=***"),
        ("postgresql://kim@db/notes", "postgresql://kim@db/notes"),
        (f"https://{SECRET}@models.example.org/v1", "https://***@models.example.org/v1"),
        (f"https://kim:{SECRET}@models.example.org/v1", "https://kim:***@models.example.org/v1"),
        (f"https://models.example.org/v1?api_key={SECRET}&a=b", "https://models.example.org/v1?api_key=***&a=b"),
        ("https://social.example:8443/@kim", "https://social.example:8443/@kim"),
        ("notes/a@b:c.db", "notes/a@b:c.db"),
    ],
)  # fmt: skip
def test_the_secrets_of_an_address_are_masked_and_the_rest_is_kept(value: str, expected: str) -> None:
    assert masked(value) == expected


def test_an_error_masks_the_addresses_in_its_words_and_keeps_other_words() -> None:
    error: Error = NotFound(f"no 'amqp://kim:{SECRET}@queue/a' here: a@b", hint=f"See https://{SECRET}@example.org/b.")
    assert error.message == "no 'amqp://kim:***@queue/a' here: a@b"
    assert error.hint == "See https://***@example.org/b."
    assert str(error) == error.message


@pytest.fixture
def log_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RICORDO_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(log, "_to_file", True)
    yield tmp_path / log.FILE_NAME
    logging.getLogger("ricordo").handlers.clear()


def test_the_log_masks_the_addresses_that_other_libraries_repeat(log_file: Path) -> None:
    try:
        raise ValueError(f"cannot read postgresql://kim:{SECRET}@db/notes")
    except ValueError as error:
        log.report("opening failed", error)
    written = log_file.read_text()
    assert "postgresql://kim:***@db/notes" in written
    assert "Traceback" in written
    assert SECRET not in written
