"""No error, setting or line of the log repeats the password of an address."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo import log
from ricordo.errors import Error, NotFound
from ricordo.masking import masked

SECRET = "Gr3enLamp"


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
