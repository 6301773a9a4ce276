"""Redaction against the list of cases: what must go, what must stay, and how long the worst texts may take."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ricordo.secrets.find import find_secrets, redact

from ..growth import TOO_MUCH, growth

CASES = tomllib.loads(Path(__file__).with_name("secret_cases.toml").read_text(encoding="utf-8").replace("¦", ""))
SECRETS = {case["name"]: case for case in CASES["secret"]}


@pytest.mark.parametrize("name", SECRETS)
def test_the_secret_of_each_case_is_gone_and_its_surroundings_stay(name: str) -> None:
    case = SECRETS[name]
    clean, kinds = redact(case["text"])
    assert kinds, "nothing was found"
    assert case["secret"] not in clean
    longest = max(case["secret"].split("\n"), key=len)
    assert longest[-8:] not in clean, f"the end of it is left: {clean}"
    before = case["text"].partition(case["secret"])[0]
    assert clean.startswith(before.rstrip()[:3]), "what stands before it is gone too"


@pytest.mark.parametrize("text", CASES["innocent"]["texts"])
def test_an_innocent_text_stays_as_it_is(text: str) -> None:
    assert find_secrets(text) == []


def test_the_list_names_enough_kinds_of_both() -> None:
    assert len(SECRETS) == len(CASES["secret"]) >= 96
    assert len(CASES["innocent"]["texts"]) >= 59


LONG = 240_000
SLOW = (
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "password=",
    "password: a ",
    "://a:",
    "://",
    "token is ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "eyJ",
    "sk-",
    "A",
    "Aa1",
    "A" * 63 + ".",
    "Cookie: a=b; ",
    "cookie:",
    "curl -u ",
    "seed phrase ",
    "seed legal winner thank ",
    "machine a login ",
    "mysql ",
    "Private-Lines: 2\n",
    "Bearer  ",
    "a:1:b:",
    "$2b$",
    "\u200b",
    "p\u200bassword=",
    "-" * 5,
    "key",
    " ",
    "password for the ",
    "<password>",
    "api_key='",
    "| password ",
    " -p",
    "mysql -p ",
    "echo a",
    "credentials a:",
    "пароль ",
)


@pytest.mark.parametrize("piece", SLOW)
def test_texts_made_to_be_slow_cost_four_times_as_much_for_four_times_the_length(piece: str) -> None:
    text = (piece * (LONG // len(piece) + 1))[:LONG]
    assert growth(lambda size: find_secrets(text[:size]), LONG) < TOO_MUCH
