"""Secrets are found by the form their issuers give them or by what they are assigned to, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ricordo.secrets.find import find_secrets, redact, redact_values
from ricordo.secrets.forms import FORMS, LEAST, SHORTEST, Form, FoundSecret

ROOT = Path(__file__).parents[2]

# Put together here, so that no scanner of this repository takes them for real ones.
TOKENS = {
    "aws key": "AKIA" + "IOSFODNN7EXAMPLE",
    "github token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8",
    "gitlab token": "glpat-" + "abcDEF123456_7890xyz",
    "slack token": "xoxb-" + "123456789012-abcdefGHIJ",
    "openai key": "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7",
    "anthropic key": "sk-ant-" + "api03-aB3dE5fG7hJ9kL1mN3pQ5rS7",
    "google key": "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "npm token": "npm_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0",
}
TOKENS["github token (fine-grained)"] = "github_pat_" + "11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ"
TOKENS["openai key (old form)"] = "sk-" + "abcdefghijklmnopqrstT3BlbkFJ1234567890AB"


@pytest.mark.parametrize("name", sorted(TOKENS))
def test_a_token_is_known_by_its_form_and_replaced_by_its_name(name: str) -> None:
    kind = name.partition(" (")[0]
    text = f"before {TOKENS[name]} after"
    assert redact(text) == (f"before [redacted: {kind}] after", (kind,))
    assert redact(f"before({TOKENS[name]}), after")[0] == f"before([redacted: {kind}]), after"


def test_a_finding_says_exactly_where_the_secret_stands() -> None:
    token = TOKENS["aws key"]
    assert find_secrets(f"key: {token}.") == [FoundSecret("aws key", 5, 5 + len(token))]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
def test_a_form_is_looked_for_in_pieces_that_are_not_longer_than_its_shortest_token(form: Form) -> None:
    least = min(SHORTEST.get(sign, LEAST) for sign in form.signs)
    assert least <= re._parser.parse(form.expression).getwidth()[0]  # type: ignore[attr-defined]
    assert least == 0 or not any(space in form.expression for space in (" ", r"\s", "[^")), "it may hold a space"


@pytest.mark.parametrize("count", [3, 30])
def test_tokens_of_one_form_are_all_found_wherever_they_stand(count: int) -> None:
    tokens = [f"AKIA{number:016}" for number in range(count)]
    text = "".join(f"a {token}, {token}\n{token}\n" for token in tokens)
    assert [text[found.start : found.end] for found in find_secrets(text)] == [
        t for token in tokens for t in [token] * 3
    ]


def test_a_private_key_goes_as_a_block_and_so_does_one_that_was_cut_off() -> None:
    head, tail = "-----BEGIN " + "RSA PRIVATE KEY-----", "-----END " + "RSA PRIVATE KEY-----"
    body = "\n".join("MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn" for _ in range(4))
    assert redact(f"a\n{head}\n{body}\n{tail}\nb")[0] == "a\n[redacted: private key]\nb"
    cut, kinds = redact(f"a\n{head}\n{body}\n\nthat was it")
    assert kinds == ("private key",)
    assert "MIIE" not in cut
    assert cut.endswith("that was it")


def test_a_secret_that_shows_only_once_the_one_before_it_is_gone_goes_too() -> None:
    glued = ("aB3dE5fG7h" * 50) + TOKENS["github token"]  # the first takes 500 characters and no more
    assert redact(f"Bearer {glued} end") == (
        "Bearer [redacted: authorization][redacted: github token] end",
        ("authorization", "github token"),
    )


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgres://app:s3cr3t@db.local:5432/x", "postgres://app:[redacted: password in url]@db.local:5432/x"),
        ("see https://me:hunter@example.org/a?b=c.", "see https://me:[redacted: password in url]@example.org/a?b=c."),
        ("redis://:abc@localhost", "redis://:[redacted: password in url]@localhost"),
        ("password=hunter2", "password=[redacted: password]"),
        ("PASSWORD: 'P@ssw0rd!' # x", "PASSWORD: '[redacted: password]' # x"),
        ("the password is Summer2024.", "the password is [redacted: password]."),
        ('{"password": "39528vdg7Jb", "user": "x"}', '{"password": "[redacted: password]", "user": "x"}'),
        ("export API_TOKEN=ab12cd34ef56", "export API_TOKEN=[redacted: secret]"),
        ("secret: c2VjcmV0IGlzIHNlY3VyZQ==", "secret: [redacted: secret]"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted: secret]",
        ),
        ("Authorization: Bearer 781292.db7bc3a58fc5f07e", "Authorization: Bearer [redacted: authorization]"),
    ],
)
def test_only_the_secret_part_of_an_assignment_or_address_goes(text: str, clean: str) -> None:
    assert redact(text)[0] == clean


@pytest.mark.parametrize(
    "text",
    [
        "The password is required, and the token is optional. Passwords: see below.",
        "Set password=$DB_PASSWORD or password: ${PASSWORD} or <password>.",
        "max_tokens=4096, token_count: 512, token = tokens[0], secret = get_secret(name)",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 of 550e8400-e29b-41d4-a716-446655440000",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "token: 550e8400-e29b-41d4-a716-446655440000",
        "password: sha256, password hashing is bcrypt2b; the token is base64url-encoded",
        "API key: settings.OPENAI_API_KEY_2024; primary key = user_id_2024ab; sort key: created2024x",
        "https://example.org:8080/a@b and mail me@example.org or git@github.com:a/b.git",
        "postgres://user:<password>@host, postgres://user:${PW}@host, ftp://user:***@host",
        "task-sk-learning, disk-usage-report-2024, sk-learn, risk-abcdef",
        "Basic authentication, bearer of bad news, basic understanding of cryptography",
    ],
)
def test_prose_hashes_names_in_code_and_placeholders_are_no_secrets(text: str) -> None:
    assert find_secrets(text) == []


def test_the_documents_of_this_project_hold_no_secrets() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    assert len(pages) > 10
    assert {page.name: found for page in pages if (found := find_secrets(page.read_text(encoding="utf-8")))} == {}


def test_secrets_in_nested_values_go_too() -> None:
    token = TOKENS["github token"]
    clean, kinds = redact_values({"title": f"my {token}", "metadata": {"a": [token, 3]}, "importance": 4})
    assert kinds == ("github token", "github token")
    assert clean == {
        "title": "my [redacted: github token]",
        "metadata": {"a": ["[redacted: github token]", 3]},
        "importance": 4,
    }
