"""Redaction of secrets that have no form of their own, over two lists: what it finds, and what it leaves alone.

The rules were mended by what they missed of the odd cases of both lists; the even ones were held back. One author wrote
the cases and then the rules, so that the share of the half held back is an upper bound for fresh secrets. The varied
lists were written by somebody who had not read the rules, and shuffled with ``random.Random(17)`` before they were
halved; the rules were then mended by what they missed of the half in view.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ricordo.secrets.find import find_secrets, redact


def cases(name: str) -> list[str]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.replace("¦", "").replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


SECRETS = cases("shaped_secrets.txt")
INNOCENTS = cases("shaped_innocents.txt")


def is_gone(case: str) -> bool:
    """Whether the whole secret between the signs « and » is replaced, and nothing of it is left at either end."""
    before, _, rest = case.partition("«")
    secret, _, after = rest.partition("»")
    clean, _ = redact(before + secret + after)
    left = clean.removeprefix(before).removesuffix(after)
    return secret not in clean and secret[:5] not in left and secret[-5:] not in left


def share_found(half: list[str]) -> float:
    return sum(map(is_gone, half)) / len(half)


def share_taken_wrongly(half: list[str]) -> float:
    return sum(bool(find_secrets(text)) for text in half) / len(half)


def test_the_lists_are_long_and_no_case_is_there_twice() -> None:
    assert len(set(SECRETS)) == len(SECRETS) >= 150
    assert len(set(INNOCENTS)) == len(INNOCENTS) >= 150


def test_nearly_all_secrets_are_found_that_the_rules_were_written_for() -> None:
    assert share_found(SECRETS[::2]) >= 0.97  # 96 of 97


def test_most_secrets_are_found_that_were_held_back() -> None:
    assert share_found(SECRETS[1::2]) >= 0.85  # 87 of 97


@pytest.mark.parametrize("first", [0, 1], ids=["in view", "held back"])
def test_innocent_texts_are_left_alone(first: int) -> None:
    assert share_taken_wrongly(INNOCENTS[first::2]) <= 0.02  # none of 123 in view, 1 of 123 held back


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("DB_PASS=kaboom77rain", "DB_PASS=[redacted: password]"),
        ("<password>Zx81-spectrum</password>", "<password>[redacted: password]</password>"),
        ('let api_key: &str = "q8Rz2LmW0vKx7TnB4cYd";', 'let api_key: &str = "[redacted: secret]";'),
        ("redis-cli -a Gr8tWhiteShark ping", "redis-cli -a [redacted: password] ping"),
        ("db?user=root&password=bananenbrot8&ssl=1", "db?user=root&password=[redacted: password]&ssl=1"),
        ("La contraseña es tortilla2021.", "La contraseña es [redacted: password]."),
        ("psk='il gatto nero 22' # Casa", "psk='[redacted: password]' # Casa"),
        ('{"name": "DB_PASS", "value": "kaboom77"}', '{"name": "DB_PASS", "value": "[redacted: password]"}'),
        ('<o:Password Kind="Text">Zx81spec</o:Password>', '<o:Password Kind="Text">[redacted: password]</o:Password>'),
        (
            'variable "db_password" {\n  default = "kaboom77"\n}',
            'variable "db_password" {\n  default = "[redacted: password]"\n}',
        ),
        ("SET pwd = SHA1('kaboom77')", "SET pwd = SHA1('[redacted: password]')"),
        ("jwt.verify(token, 'kaboom77rain')", "jwt.verify(token, '[redacted: secret]')"),
        ("Backup codes: 1234-5678, 2345-6789", "Backup codes: [redacted: password]"),
        ("The gate code is 4711#.", "The gate code is [redacted: password]."),
        ("Passordet til skriveren er kaboom77", "Passordet til skriveren er [redacted: password]"),
        ("password for the attic printer kaBoom77", "password for the attic printer [redacted: password]"),
        ("root pw of the new box -> kaboom77", "root pw of the new box -> [redacted: password]"),
        ("password : heron;4418", "password : [redacted: password]"),
    ],
)
def test_a_value_goes_whole_and_what_stands_around_it_stays(text: str, clean: str) -> None:
    assert redact(text)[0] == clean


FRESH = {half: cases(f"fresh_secrets_{half}.txt") for half in ("in_view", "held_back")}


@pytest.mark.parametrize(("half", "least"), [("in_view", 0.95), ("held_back", 0.8)])
def test_most_secrets_of_a_later_list_are_found(half: str, least: float) -> None:
    assert share_found(FRESH[half]) >= least  # 87 of 87 in view, 70 of 84 held back


@pytest.mark.parametrize("half", ["in_view", "held_back"])
def test_innocent_texts_of_a_later_list_are_left_alone(half: str) -> None:
    assert share_taken_wrongly(cases(f"fresh_innocents_{half}.txt")) <= 0.02  # none of 85 in view and 95 held back


@pytest.mark.parametrize(("half", "least"), [("in_view", 0.97), ("held_back", 0.85)])
def test_most_secrets_of_a_varied_list_are_found(half: str, least: float) -> None:
    assert share_found(cases(f"varied_secrets_{half}.txt")) >= least  # 84 of 85 in view, 75 of 86 held back


@pytest.mark.parametrize("half", ["in_view", "held_back"])
def test_innocent_texts_of_a_varied_list_are_left_alone(half: str) -> None:
    assert share_taken_wrongly(cases(f"varied_innocents_{half}.txt")) <= 0.02  # none of 100 in view, 1 of 100 held back


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "password", "value": "Passwort"}',
        '<data name="Password" xml:space="preserve"><value>Kennwort eingeben</value></data>',
        "password: !vault |",
        "SECRET_SANTA_DATE=2024-12-12",
        "The access code 403 means that you may not enter.",
        "jwt.decode(token, key, algorithms=['HS256'])",
        "password for the database on server web01",
    ],
)
def test_a_text_that_only_looks_like_one_with_a_secret_stays_as_it_is(text: str) -> None:
    assert redact(text)[0] == text
